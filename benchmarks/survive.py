"""The loss of each zone of a large cluster to which a workload is applied, as a whole command.

Processor time, and as a ratio to reading the cluster and one verdict.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, Final

from benchmarks.audit import timed
from benchmarks.clusters import Cluster, probe_pod, write_list

#: The project's aim for the cluster below, in seconds.
AIM_S: Final = 20.0
LOST: Final = Cluster(pods=50_000)
#: Replicas of the workload.
REPLICAS: Final = 60


def run() -> None:
    """Print what the command takes."""
    pod = probe_pod()
    labels = {"app": "lost"}
    template: dict[str, Any] = {"metadata": {"labels": labels}, "spec": pod["spec"]}
    spec = {"replicas": REPLICAS, "selector": {"matchLabels": labels}, "template": template}
    metadata = {"name": "lost", "namespace": pod["metadata"]["namespace"]}
    workload = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
    with tempfile.TemporaryDirectory() as name:
        cluster, manifest = Path(name) / "cluster.json", Path(name) / "workload.json"
        with cluster.open("wb") as file:
            write_list(LOST, file)
        manifest.write_text(json.dumps(workload))
        given = ("-f", str(manifest), "--cluster", str(cluster), "-o", "json")
        reading, _, _ = timed("explain", *given)
        lost, megabytes, answer = timed("what-if", "--lose-each", "zone", *given)
    print(f"What if, {LOST.nodes:,} nodes, {LOST.pods:,} pods, {REPLICAS} replicas:")
    print(f"  read the cluster, one verdict   {reading:6.1f} s")
    ratio = f"{lost / reading:.1f} x that, {len(answer['outcomes'])} zones"
    print(f"  apply, lose each zone once      {lost:6.1f} s (aim {AIM_S:g}), {ratio}, {megabytes:.0f} MB")


if __name__ == "__main__":
    run()

"""Advice on a large cluster, as whole commands.

Processor time: beside reading the cluster alone. What is enforced takes a search; of what 3 zones cannot
reach, the best is looked for.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, Final

from benchmarks.audit import timed
from benchmarks.clusters import USUAL, probe_pod, write_list

#: The replicas of each advice.
_REPLICAS: Final = "3..30"
#: What is wanted, and its options.
_GOALS: Final = {
    "a third, as it is": ("--lose-at-most", "1/3"),
    "a third, enforced, one a node": ("--lose-at-most", "1/3", "--enforce", "--one-a-node"),
    "one replica, at best a third": ("--lose-at-most", "1"),
}


def run() -> None:
    """Print what the commands take."""
    with tempfile.TemporaryDirectory() as name:
        cluster, pod, workload = (Path(name) / file for file in ("cluster.json", "pod.json", "web.json"))
        with cluster.open("wb") as file:
            write_list(USUAL, file)
        pod.write_text(json.dumps(probe_pod()))
        workload.write_text(json.dumps(_deployment()))
        reading, _, _ = timed("explain", "-f", str(pod), "--cluster", str(cluster), "-o", "json")
        print(f"Advice, {USUAL.nodes:,} nodes, {USUAL.pods:,} pods, {_REPLICAS} replicas:")
        print(f"  {'read the cluster, one verdict':<34}{reading:6.1f} s")
        for title, goal in _GOALS.items():
            options = ("-f", str(workload), "--cluster", str(cluster), "--replicas", _REPLICAS, "-o", "json")
            seconds, megabytes, answer = timed("advise", *options, *goal)
            tried = f"{answer['tried']} of {answer['considered']} sets tried, {megabytes:.0f} MB"
            print(f"  {title:<34}{seconds:6.1f} s, {seconds - reading:.1f} s beyond that; {tried}")


def _deployment() -> dict[str, Any]:
    """Return a Deployment without constraints, whose pods are like the probe."""
    pod, labels = probe_pod(), {"app": "advised"}
    spec = {name: value for name, value in pod["spec"].items() if name != "topologySpreadConstraints"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "advised", "namespace": pod["metadata"]["namespace"]},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


if __name__ == "__main__":
    run()

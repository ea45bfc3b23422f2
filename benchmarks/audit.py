"""An audit of a large cluster, and a comparison of two releases for it, as whole commands.

Processor time, and beside it that of reading the cluster alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from benchmarks.clusters import Cluster, probe_pod, write_list

#: The project's aims for an audit of the cluster below: seconds, and megabytes.
AIM_S, AIM_MB = 30.0, 500
#: The usual cluster, with as many workloads as the aims are for.
AUDITED: Final = Cluster(apps=200)
_RUN: Final = "from webhook.cli.start import run; run()"


def run() -> None:
    """Print what the commands take."""
    with tempfile.TemporaryDirectory() as name:
        cluster, pod = Path(name) / "cluster.json", Path(name) / "pod.json"
        with cluster.open("wb") as file:
            write_list(AUDITED, file)
        pod.write_text(json.dumps(probe_pod()))
        reading, _, _ = timed("explain", "-f", str(pod), "--cluster", str(cluster), "-o", "json")
        audit, megabytes, answer = timed("audit", "--cluster", str(cluster), "-o", "json")
        upgrade, _, _ = timed(
            "what-if",
            "--release",
            "1.36",
            "--kubernetes-version",
            "1.33",
            "--cluster",
            str(cluster),
            "-o",
            "json",
        )
    total = answer["total"]
    each = (audit - reading) / total * 1000
    print(f"Audit, {AUDITED.nodes:,} nodes, {AUDITED.pods:,} pods, {total:,} workloads:")
    print(f"  read the cluster, one verdict   {reading:6.1f} s")
    print(f"  audit                           {audit:6.1f} s (aim {AIM_S:g}), {each:.2f} ms a workload")
    print(f"  memory                          {megabytes:6.0f} MB (aim {AIM_MB})")
    times = (upgrade - reading) / (audit - reading)
    print(f"  upgrade, two releases           {upgrade:6.1f} s, {times:.2f} x that")


def timed(*arguments: str) -> tuple[float, float, dict[str, Any]]:
    """Return the processor time of a command, its memory in megabytes, and its answer."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([sys.executable, "-c", _RUN, *arguments], stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        answer: dict[str, Any] = json.load(out)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, answer


if __name__ == "__main__":
    run()

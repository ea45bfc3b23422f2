"""A large cluster's file: seconds until it is indexed, and the memory of the process that holds it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.clusters import USUAL, write_list
from webhook.snapshot_file import read_snapshot

#: The project's aims: seconds until the index is ready, and MB of the process then.
AIM_S, AIM_MB = 8.0, 350.0


def run() -> None:
    """Print both, beside the time that Python's own reader takes for the same text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "cluster.json")
        with path.open("wb") as file:
            write_list(USUAL, file)
        size = path.stat().st_size / 1e6
        loaded = subprocess.run(
            [sys.executable, "-m", "benchmarks.snapshot", str(path)],
            check=True,
            capture_output=True,
            text=True,
        )
        seconds, before, resident, peak = json.loads(loaded.stdout)
        started = time.perf_counter()
        json.loads(path.read_bytes())
        floor = time.perf_counter() - started
    print(f"Cluster file of {size:.0f} MB, {USUAL.nodes:,} nodes, {USUAL.pods:,} pods:")
    print(
        f"  until indexed {seconds:.1f} s (aim {AIM_S:g}); json.loads alone {floor:.1f} s, "
        f"ratio {seconds / floor:.1f}"
    )
    print(f"  resident {resident:.0f} MB (aim {AIM_MB:g}), peak {peak:.0f} MB, before {before:.0f} MB")


def _load(path: Path) -> None:
    """Load a file and print the seconds, and the megabytes before, after and at most."""
    before = _megabytes("VmRSS")
    started = time.perf_counter()
    problems = list[str]()
    index = read_snapshot(path, warn=problems.append)
    seconds = time.perf_counter() - started
    assert index.pod_count == USUAL.pods, problems  # Whatever is measured must be there.
    print(json.dumps([seconds, before, _megabytes("VmRSS"), _megabytes("VmHWM")]))


def _megabytes(name: str) -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.partition(f"{name}:")[2].split()[0]) * 1024 / 1e6


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _load(Path(sys.argv[1]))
    else:
        run()

"""Cold runs of commands that people wait for: all helps, and ``explain`` on a small cluster.

Each is the least of several runs, in processor time, beside that of an empty program.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from benchmarks.clusters import Cluster, probe_pod, write_list
from webhook.cli.main import command

#: The project's aims: seconds that a help, and an explanation of a pod on the nodes below, may take.
AIM_HELP_S, AIM_EXPLAIN_S = 0.15, 0.45
SMALL: Final = Cluster(nodes=30, pods=300)
#: Runs of each command: the least of them is what the command needs.
RUNS: Final = 5
_START: Final = "from kube_evenkeel.start import run; run()"


def run() -> None:
    """Print the slowest help, and what an explanation takes."""
    helps = {" ".join(path): _least_s(_START, *path, "--help") for path in _paths(command, ())}
    slowest = max(helps, key=lambda path: helps[path])
    with tempfile.TemporaryDirectory() as name:
        cluster, pod = Path(name) / "cluster.json", Path(name) / "pod.json"
        with cluster.open("wb") as file:
            write_list(SMALL, file)
        pod.write_text(json.dumps(probe_pod()))
        explain = _least_s(_START, "explain", "-f", str(pod), "--cluster", str(cluster))
    print(f"Cold runs, the least of {RUNS} each (an empty program: {_least_s('pass'):.2f} s):")
    print(f"  {len(helps)} helps, the slowest: {slowest}  {helps[slowest]:.2f} s (aim {AIM_HELP_S})")
    print(f"  explain on {SMALL.nodes} nodes  {explain:.2f} s (aim {AIM_EXPLAIN_S})")


def _paths(of: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command and of all below it."""
    yield path
    if isinstance(of, click.Group):
        context = click.Context(of)
        for name in of.list_commands(context):
            if (below := of.get_command(context, name)) is not None:
                yield from _paths(below, (*path, name))


def _least_s(code: str, *arguments: str) -> float:
    """Return the processor time of a program that Python runs; Python keeps what it compiles of modules."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def seconds() -> float:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment,
        )  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return usage.ru_utime + usage.ru_stime

    return min(seconds() for _ in range(RUNS))


if __name__ == "__main__":
    run()

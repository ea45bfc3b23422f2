"""Processor time per review of both routes over TLS, beside a handler that does nothing.

That handler is served by gunicorn's own ASGI worker. Both take turns in short slices, so that they meet the
same noise; ratios are taken per round and their medians printed. Processor time per request depends less on
what else the machine does than requests per second.
"""

from __future__ import annotations

import statistics
import tempfile
from collections import defaultdict
from contextlib import ExitStack
from itertools import product
from pathlib import Path

from benchmarks import servers
from benchmarks.load import Load, Target, send
from benchmarks.samples import review
from benchmarks.servers import Running
from webhook.admission.review import Phase

#: Connections of the load generator: some more than the 5 that the API server kept in normal work.
CONNECTIONS = 8
#: Connections of a burst, for the latencies.
MANY = 32
#: Rounds, and seconds per slice. Arbitrary: a minute in all.
ROUNDS = 8
SLICE_S = 1.0
#: How many times the processor time of the empty handler a review may take: the project's aim.
AIM = 2.2

#: Evenkeel itself among the subjects.
OURS = "evenkeel"
#: What is measured, and how each is started.
SUBJECTS = {"empty": servers.empty, OURS: servers.ours}

#: Processes and threads per process.
WORKERS = 1
THREADS = 8


class Series:
    """The slices of one subject."""

    def __init__(self) -> None:
        self.loads: list[Load] = []
        self.processor_us: list[float] = []

    def measure(self, server: Running, target: Target, folder: Path) -> None:
        """Add one slice."""
        before = server.processor_seconds()
        load = send(server, target, folder=folder)
        used = server.processor_seconds() - before
        self.loads.append(load)
        self.processor_us.append(used / (load.per_second * target.seconds) * 1e6)

    def line(self, name: str) -> str:
        """Return the medians as one line."""
        rate = statistics.median(load.per_second for load in self.loads)
        p50 = statistics.median(load.p50_ms for load in self.loads)
        p99 = statistics.median(load.p99_ms for load in self.loads)
        errors = sum(load.errors for load in self.loads)
        cpu = statistics.median(self.processor_us)
        return (
            f"  {name:<14} {rate:8.0f} requests/s   p50 {p50:6.2f} ms   p99 {p99:6.2f} ms"
            f"   {cpu:5.0f} µs processor/request   errors {errors}"
        )


def run() -> None:
    """Print a line for each subject, and the ratios."""
    bodies = {phase: review(phase) for phase in Phase}
    series: dict[tuple[str, Phase, int], Series] = defaultdict(Series)
    with tempfile.TemporaryDirectory() as name, ExitStack() as running:
        folder = Path(name)
        files = servers.make_certificates(folder)
        subjects = {
            subject: running.enter_context(start(folder, files, workers=WORKERS, threads=THREADS))
            for subject, start in SUBJECTS.items()
        }
        for number, (phase, connections) in product(range(ROUNDS + 1), product(Phase, (CONNECTIONS, MANY))):
            if number == 1 and (phase, connections) == (next(iter(Phase)), CONNECTIONS):
                series.clear()  # The first round only warms up.
            target = Target(f"/{phase.value}", bodies[phase], connections, SLICE_S)
            for subject, server in subjects.items():
                series[subject, phase, connections].measure(server, target, folder)
    for connections in (CONNECTIONS, MANY):
        print(
            f"Serving over TLS, {connections} kept-alive connections, {WORKERS} worker of {THREADS} threads:"
        )
        for phase in Phase:
            for subject in SUBJECTS:
                line = series[subject, phase, connections].line(subject if subject != OURS else f"/{phase}")
                print(line)
            ratio = _ratio(series[OURS, phase, connections], series["empty", phase, connections])
            print(f"  /{phase}: {ratio:.2f} times the processor time of the empty handler (aim {AIM})")


def _ratio(mine: Series, floor: Series) -> float:
    return statistics.median(a / b for a, b in zip(mine.processor_us, floor.processor_us, strict=True))


if __name__ == "__main__":
    run()

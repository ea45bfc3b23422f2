"""Requests per second of both routes over TLS, beside a handler that does nothing.

That handler is served twice, with the same number of workers and threads: under gunicorn's own threaded
worker, which is what the aim is held to, and under ours, which shows what reading, deciding and writing a
review costs there. All take turns in short slices, so that they meet the same noise; ratios are taken per
round and their medians printed. Processor time per request does not depend on what else the machine does.
"""

from __future__ import annotations

import statistics
import tempfile
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path

from benchmarks import servers
from benchmarks.load import Load, Target, send
from benchmarks.samples import review
from benchmarks.servers import Running
from webhook.admission.respond import Phase

#: Connections of the load generator, between the 5 that the API server kept in normal work and the 69 of a
#: burst. With only a few, the ratio tells how the kernel happened to share them among the workers.
CONNECTIONS = 32
#: Rounds, and seconds per slice. Arbitrary: half a minute in all.
ROUNDS = 8
SLICE_S = 1.0
#: The least share of the empty handler's requests/s that ours must reach.
AIM = 0.75

#: Evenkeel itself among the subjects.
OURS = "evenkeel"
#: What is measured, and how each is started.
SUBJECTS = {"empty, gthread": servers.stock, "empty, ours": servers.empty, OURS: servers.ours}

#: Processes and threads per process: one worker per core of a small node, and the default threads.
WORKERS = 2
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
    """Print a line for each subject and the ratios."""
    bodies = {phase: review(phase) for phase in Phase}
    series: dict[tuple[str, Phase], Series] = defaultdict(Series)
    with tempfile.TemporaryDirectory() as name, ExitStack() as running:
        folder = Path(name)
        files = servers.make_certificates(folder)
        subjects = {
            subject: running.enter_context(start(folder, files, workers=WORKERS, threads=THREADS))
            for subject, start in SUBJECTS.items()
        }
        for number in range(ROUNDS + 1):
            if number == 1:
                series.clear()  # The first round only warms up.
            for phase, body in bodies.items():
                target = Target(f"/{phase.value}", body, CONNECTIONS, SLICE_S)
                for subject, server in subjects.items():
                    series[subject, phase].measure(server, target, folder)
    print(f"Serving over TLS, {CONNECTIONS} kept-alive connections, {WORKERS} workers of {THREADS} threads:")
    for phase in Phase:
        for subject in SUBJECTS:
            print(series[subject, phase].line(subject if subject != OURS else f"/{phase}"))
        stock, own = (
            _ratio(series[OURS, phase], series[empty, phase]) for empty in SUBJECTS if empty != OURS
        )
        print(f"  /{phase}: {stock:.2f} of gunicorn's empty handler (aim {AIM}), {own:.2f} of ours")


def _ratio(mine: Series, floor: Series) -> float:
    return statistics.median(
        a.per_second / b.per_second for a, b in zip(mine.loads, floor.loads, strict=True)
    )


if __name__ == "__main__":
    run()

"""Resident memory of one worker before and after many reviews."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks import servers
from benchmarks.load import Target, send
from benchmarks.samples import review
from webhook.admission.review import Phase

#: Reviews before the first look, and until the second.
WARM_UP = 5_000
#: The reviews between the two looks.
REVIEWS = 100_000
#: Seconds per slice of load, and connections. Arbitrary.
SLICE_S = 2.0
#: Kept-alive connections. Arbitrary.
CONNECTIONS = 8
#: How much more memory the worker may use at the end.
AIM = 1.05


def run() -> None:
    """Print memory before and after, and the ratio."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = servers.make_certificates(folder)
        with servers.ours(folder, files, workers=1, threads=8) as server:
            _send_at_least(server, WARM_UP, folder)
            before = server.resident_kib()
            sent = _send_at_least(server, REVIEWS, folder)
            after = server.resident_kib()
    print(
        f"Memory of one worker: {before / 1024:.1f} MiB, after {sent:,} more reviews {after / 1024:.1f} MiB,"
        f" ratio {after / before:.3f} (aim at most {AIM})"
    )


def _send_at_least(server: servers.Running, count: int, folder: Path) -> int:
    """Send reviews of both phases in turn."""
    sent = 0
    while sent < count:
        for phase in Phase:
            target = Target(f"/{phase.value}", review(phase), CONNECTIONS, SLICE_S)
            load = send(server, target, folder=folder)
            if load.errors:
                raise RuntimeError(f"{load.errors} of the answers were errors")
            sent += int(load.per_second * SLICE_S)
    return sent


if __name__ == "__main__":
    run()

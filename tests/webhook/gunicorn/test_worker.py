"""Workers share connections evenly."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.webhook.running import eventually, serving
from webhook.serving.balance import ConnectionCounts


@pytest.mark.parametrize(
    ("counts", "ahead"),
    [
        pytest.param([3], [False], id="one worker"),
        pytest.param([3, 3], [False, False], id="3 and 3"),
        pytest.param([4, 3], [True, False], id="4 and 3"),
        pytest.param([2, 5, 0], [True, True, False], id="2, 5 and 0"),
    ],
)
def test_who_is_ahead(counts: list[int], ahead: list[bool]) -> None:
    """A worker is ahead if any other holds fewer."""
    table = ConnectionCounts()
    for worker, count in enumerate(counts, 1):
        table.set(worker, count)

    assert ahead == [table.is_ahead(worker) for worker in range(1, len(counts) + 1)]


def test_workers_that_ended_do_not_count() -> None:
    """A worker that ended holds nobody back, and its successor may have any number."""
    table = ConnectionCounts()
    table.set(1, 5)
    table.set(2, 0)
    table.leave(2)

    assert not table.is_ahead(1)
    table.set(1_000_002, 1)
    assert table.is_ahead(1)


def sockets(process: int) -> int:
    """Return how many sockets a process holds; one that is just being closed does not count."""
    held = 0
    for entry in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):
            held += str(entry.readlink()).startswith("socket")
    return held


def test_connections_that_come_at_once_are_shared(tmp_path: Path) -> None:
    """Of 24 connections each of 2 workers gets a fair part, whomever the kernel wakes."""
    with serving(tmp_path, "--workers=2", "--threads=2") as server, ExitStack() as stack:
        eventually(lambda: len(server.workers()) == 2)
        for _ in range(24):
            stack.enter_context(server.tls())
        held = [sockets(worker) for worker in server.workers()]

        # Each also holds the listener, and perhaps the end of an answered request.
        assert 24 <= sum(held) - 2 <= 26
        assert min(held) >= 7

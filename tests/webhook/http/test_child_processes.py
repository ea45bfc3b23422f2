"""Work in child processes: what comes back, and which limits hold."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S, eventually
from webhook.http.child_processes import AbandonedError, ChildProcesses, Limit, LimitError, ResourceLimits

MIB = 1 << 20


def _children(*, memory_bytes: int = 64 * MIB) -> ChildProcesses:
    return ChildProcesses(ResourceLimits(timeout_s=PATIENCE_S, memory_bytes=memory_bytes))


def _kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _take(mebibytes: int) -> int:
    return len(bytearray(mebibytes * MIB))


class _UnportableError(Exception):
    """Cannot be made from its message."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


def _raise(error: Exception) -> None:
    raise error


@pytest.mark.parametrize("size", [0, 5 * MIB], ids=["0 bytes", "5 MiB: more than a pipe holds"])
def test_what_it_returns(size: int) -> None:
    """The result of the work comes back from another process."""
    pid, found = _children().run(lambda: (os.getpid(), b"x" * size))

    assert os.getpid() != pid
    assert b"x" * size == found


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        pytest.param(ValueError("no"), ValueError, id="an error"),
        pytest.param(_UnportableError(1, 2), RuntimeError, id="one that cannot be pickled"),
    ],
)
def test_what_it_raises(error: Exception, raised: type[Exception]) -> None:
    """An exception of the work is raised, with where it was raised."""
    with pytest.raises(raised, match=str(error)) as caught:
        _children().run(lambda: _raise(error))

    assert "in _raise" in str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("work", "timeout_s", "limit"),
    [
        pytest.param(signal.pause, 0.2, Limit.TIMEOUT, id="timeout: more than 0.2 s"),
        pytest.param(lambda: _take(200), None, Limit.MEMORY, id="memory: 200 MiB of 64"),
        pytest.param(_kill_itself, None, Limit.KILLED, id="killed: by a signal"),
        pytest.param(lambda: os._exit(3), None, Limit.KILLED, id="killed: ended by itself"),
    ],
)
def test_limits(work: Callable[[], object], timeout_s: float | None, limit: Limit) -> None:
    """Work that meets a limit ends there, and holds up nobody after it."""
    children = _children()
    with pytest.raises(LimitError) as caught:
        children.run(work, timeout_s=timeout_s)

    assert limit == caught.value.limit
    assert 1 == children.run(lambda: 1)


def _spin() -> None:
    while True:
        pass


def test_processor_time() -> None:
    """Work that computes too long ends, and waiting costs it nothing."""
    children = ChildProcesses(ResourceLimits(timeout_s=PATIENCE_S, memory_bytes=64 * MIB, processor_s=0.2))
    with pytest.raises(LimitError, match=r"more than 0\.2 s of processor time") as caught:
        children.run(_spin)

    assert Limit.TIMEOUT == caught.value.limit
    children.run(lambda: signal.sigtimedwait([], 0.5))


def test_memory_within_the_limit() -> None:
    """Memory below the limit may be had, and as much more as is reserved."""
    children = _children(memory_bytes=64 * MIB)

    assert 32 * MIB == children.run(lambda: _take(32))
    assert 200 * MIB == children.run(lambda: _take(200), reserved=200 * MIB)


def test_one_at_a_time() -> None:
    """Who waits too long for others is told that it is busy; who waits less is answered."""
    children = _children()
    found: list[object] = []

    def wait() -> None:
        try:
            children.run(signal.pause, timeout_s=0.2)
        except LimitError as error:
            found.append(error.limit)

    threads = [threading.Thread(target=wait) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {Limit.TIMEOUT} <= set(found) <= {Limit.TIMEOUT, Limit.BUSY}
    assert 1 == children.run(lambda: 1)


def test_end() -> None:
    """At the end running children are killed, and no more are begun."""
    children = _children()
    found: list[Limit] = []

    def wait() -> None:
        try:
            children.run(signal.pause)
        except LimitError as error:
            found.append(error.limit)

    thread = threading.Thread(target=wait)
    thread.start()
    eventually(lambda: children._running)
    children.end()
    thread.join(PATIENCE_S)

    assert [Limit.BUSY] == found
    with pytest.raises(LimitError):
        children.run(lambda: 1)


def test_nothing_of_the_parent_stays_open() -> None:
    """A child holds no connection open, and does not do what a signal makes the server do."""
    with Path(os.devnull).open() as opened:
        number = opened.fileno()
        state = _children().run(
            lambda: (
                {entry.name for entry in Path("/proc/self/fd").iterdir()},
                signal.getsignal(signal.SIGTERM),
                os.nice(0),
            )
        )

    assert str(number) not in state[0]
    assert 5 >= len(state[0])
    assert signal.SIG_DFL == state[1]
    assert os.nice(0) < state[2]


def test_the_cluster_stays_as_it_is_while_the_child_is_forked() -> None:
    """The block that keeps events away is entered before the fork and left after it."""
    steps = ["before"]

    @contextmanager
    def frozen() -> Iterator[None]:
        steps.append("frozen")
        yield
        steps.append("after")

    assert ["before", "frozen"] == _children().run(lambda: steps, frozen=frozen)
    assert ["before", "frozen", "after"] == steps


def test_a_client_that_leaves() -> None:
    """The work ends with the connection of who waits for it, also if that is closed before it begins."""
    ours, theirs = socket.socketpair()
    with ours, ThreadPoolExecutor() as pool:
        children = _children()
        running = pool.submit(children.run, signal.pause, client=ours.fileno())
        eventually(lambda: children._running)
        theirs.close()

        with pytest.raises(AbandonedError):
            running.result()
        with pytest.raises(AbandonedError):
            _children().run(signal.pause, client=ours.fileno())


def test_several_at_once(tmp_path: Path) -> None:
    """As many run at once as may; the two wait for one another."""
    children = ChildProcesses(ResourceLimits(timeout_s=PATIENCE_S, memory_bytes=64 * MIB), at_once=2)

    def meet(own: str, other: str) -> str:
        (tmp_path / own).touch()
        eventually((tmp_path / other).exists)
        return own

    with ThreadPoolExecutor() as pool:
        both = [pool.submit(children.run, partial(meet, *names)) for names in (("a", "b"), ("b", "a"))]

        assert ["a", "b"] == [each.result() for each in both]

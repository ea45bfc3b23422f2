"""Work in children of a fork server: what comes back, which limits hold, and that no thread is forked."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing import forkserver
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S, eventually
from webhook.fork_server import (
    AbandonedError,
    ChildProcesses,
    ForkServer,
    Limit,
    LimitError,
)
from webhook.forked import ResourceLimits

MIB = 1 << 20
LIMITS = ResourceLimits(timeout_s=PATIENCE_S, memory_bytes=64 * MIB)


class Counter:
    """What the server holds: a number, and a lock, which cannot be pickled."""

    def __init__(self) -> None:
        self.number = 0
        self.lock = threading.RLock()
        self.inner = self

    def add(self, values: list[int]) -> int:
        self.number += sum(values)
        return self.number


@pytest.fixture(scope="module", autouse=True)
def imported() -> None:
    """Have this module imported once for all of the servers."""
    forkserver.set_forkserver_preload([__name__])
    forkserver.ensure_running()


@pytest.fixture
def server() -> Iterator[ForkServer]:
    """A fork server that holds a counter."""
    server = ForkServer()
    server.hand_over(Counter)
    yield server
    server.end()


@pytest.fixture
def children(server: ForkServer) -> ChildProcesses:
    """Its children, one at a time."""
    return ChildProcesses(server, LIMITS)


def number(held: Counter) -> int:
    return held.number


def process(_held: Counter, size: int) -> tuple[int, int, int, bytes]:
    """Return the process, its parent, and how many threads that has."""
    parent = os.getppid()
    return os.getpid(), parent, len(list(Path(f"/proc/{parent}/task").iterdir())), b"x" * size


def pause(_held: Counter) -> None:
    signal.pause()


def kill_itself(_held: Counter) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def end_itself(_held: Counter) -> None:
    os._exit(3)


def take(_held: Counter, mebibytes: int) -> int:
    return len(bytearray(mebibytes * MIB))


def spin(_held: Counter) -> None:
    while True:
        pass


def sleep(_held: Counter, seconds: float) -> None:
    signal.sigtimedwait([], seconds)


def meet(_held: Counter, folder: Path, own: str, other: str) -> str:
    (folder / own).touch()
    eventually((folder / other).exists)
    return own


class UnportableError(Exception):
    """Cannot be made from its message."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


def fail(_held: Counter, *, portable: bool) -> None:
    if portable:
        raise ValueError("no")
    raise UnportableError(1, 2)


def state(_held: Counter) -> tuple[set[str], object, int, str]:
    return (
        {entry.name for entry in Path("/proc/self/fd").iterdir()},
        signal.getsignal(signal.SIGCHLD),
        os.nice(0),
        Path("/proc/self/oom_score_adj").read_text().strip(),
    )


@pytest.mark.parametrize("size", [0, 5 * MIB], ids=["0 bytes", "5 MiB: more than a socket holds"])
def test_what_it_returns(children: ChildProcesses, size: int) -> None:
    """The result comes from a child of a process that has one thread, though this one has several."""
    with ThreadPoolExecutor() as pool:
        found = pool.submit(children.run, partial(process, size=size)).result()

    assert found[0] != os.getpid() != found[1]
    assert 1 == found[2]
    assert b"x" * size == found[3]


def test_what_it_is_told(server: ForkServer, children: ChildProcesses) -> None:
    """What changes is there at the next question; an error is raised where it was told."""
    assert [3, 10] == [server.tell("add", [1, 2]), server.tell("inner.inner.add", [7])]
    assert 10 == children.run(number)
    with pytest.raises(TypeError):
        server.tell("add", 1)
    with pytest.raises(AttributeError):
        server.tell("inner.missing")
    assert 10 == children.run(number)


def test_any_depth_is_told(server: ForkServer) -> None:
    """As deep as what orjson reads; what is deeper is an error of its own, and the next is told."""
    nested: list[object] = []
    for _ in range(1024):
        nested = [nested]
    with pytest.raises(TypeError):
        server.tell("add", nested)
    for _ in range(3000):
        nested = [nested]
    with pytest.raises(ValueError, match="nested"):
        server.tell("add", nested)

    assert 1 == server.tell("add", [1])


@pytest.mark.parametrize(
    ("portable", "raised"),
    [
        pytest.param(True, ValueError, id="an error"),
        pytest.param(False, RuntimeError, id="one that cannot be pickled"),
    ],
)
def test_what_it_raises(children: ChildProcesses, *, portable: bool, raised: type[Exception]) -> None:
    """An exception of the work is raised, with where it was raised."""
    with pytest.raises(raised) as caught:
        children.run(partial(fail, portable=portable))

    assert "in fail" in str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("work", "timeout_s", "limit"),
    [
        pytest.param(pause, 0.5, Limit.TIMEOUT, id="timeout: more than 0.5 s"),
        pytest.param(partial(take, mebibytes=200), None, Limit.MEMORY, id="memory: 200 MiB of 64"),
        pytest.param(kill_itself, None, Limit.KILLED, id="killed: by a signal"),
        pytest.param(end_itself, None, Limit.KILLED, id="killed: ended by itself"),
    ],
)
def test_limits(
    server: ForkServer,
    children: ChildProcesses,
    work: Callable[[Counter], object],
    timeout_s: float | None,
    limit: Limit,
) -> None:
    """Work that meets a limit ends alone: the next question is answered by the same server."""
    server.tell("add", [1])
    with pytest.raises(LimitError) as caught:
        children.run(work, timeout_s=timeout_s)

    assert limit == caught.value.limit
    assert 1 == children.run(number)
    assert not server.failed


def test_processor_time(server: ForkServer) -> None:
    """Work that computes too long ends, and waiting costs it nothing."""
    limits = ResourceLimits(timeout_s=PATIENCE_S, memory_bytes=64 * MIB, processor_s=0.2)
    children = ChildProcesses(server, limits)
    with pytest.raises(LimitError, match=r"more than 0\.2 s of processor time") as caught:
        children.run(spin)

    assert Limit.TIMEOUT == caught.value.limit
    children.run(partial(sleep, seconds=0.5))


def test_memory_within_the_limit(children: ChildProcesses) -> None:
    """Memory below the limit may be had, and as much more as is reserved."""
    assert 32 * MIB == children.run(partial(take, mebibytes=32))
    assert 200 * MIB == children.run(partial(take, mebibytes=200), reserved=200 * MIB)


def test_one_at_a_time(children: ChildProcesses) -> None:
    """Who waits too long for others is told that it is busy; who waits less is answered."""
    children.run(number)
    found: list[object] = []

    def wait() -> None:
        try:
            children.run(pause, timeout_s=0.2)
        except LimitError as error:
            found.append(error.limit)

    threads = [threading.Thread(target=wait) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {Limit.TIMEOUT} <= set(found) <= {Limit.TIMEOUT, Limit.BUSY}
    assert 0 == children.run(number)


def _children_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_end(server: ForkServer, children: ChildProcesses) -> None:
    """At the end running children are killed, and no more are begun; that is no failure."""
    server.start()
    pid = server._process.pid
    with ThreadPoolExecutor() as pool:
        running = pool.submit(children.run, pause)
        [child] = eventually(lambda: _children_of(pid))
        server.end()
        with pytest.raises(LimitError) as caught:
            running.result()

    assert Limit.BUSY == caught.value.limit
    with pytest.raises(LimitError):
        children.run(number)
    eventually(lambda: not Path(f"/proc/{child}").exists())
    assert not server.failed


def test_a_server_that_is_killed(server: ForkServer, children: ChildProcesses) -> None:
    """It is known, and who asks it is told to come again; nothing of it stays."""
    server.start()
    with ThreadPoolExecutor() as pool:
        running = pool.submit(children.run, pause)
        [child] = eventually(lambda: _children_of(server._process.pid))
        os.kill(server._process.pid, signal.SIGKILL)
        eventually(lambda: server.failed)
        for ask in (running.result, partial(children.run, number)):
            with pytest.raises(LimitError) as caught:
                ask()
            assert Limit.BUSY == caught.value.limit

    with pytest.raises((OSError, EOFError)):
        server.tell("add", [1])
    eventually(lambda: not Path(f"/proc/{child}").exists())


def test_it_ends_with_its_object() -> None:
    """A reading that nothing refers to any more leaves no process."""
    server = ForkServer()
    server.start()
    pid = server._process.pid
    del server

    eventually(lambda: not Path(f"/proc/{pid}").exists())


def test_nothing_of_the_parent_stays_open(children: ChildProcesses) -> None:
    """A child holds no connection open, is less urgent than who asked, and the first to go."""
    with Path(os.devnull).open() as opened:
        descriptors, handler, nice, first = children.run(state)
        assert str(opened.fileno()) not in descriptors or 5 >= len(descriptors)

    assert 5 >= len(descriptors)
    assert signal.SIG_DFL == handler
    assert os.nice(0) < nice
    assert "1000" == first


def test_a_client_that_leaves(server: ForkServer, children: ChildProcesses) -> None:
    """The work ends with the connection of who waits for it, also if that is closed before it begins."""
    server.start()
    ours, theirs = socket.socketpair()
    with ours, ThreadPoolExecutor() as pool:
        running = pool.submit(children.run, pause, client=ours.fileno())
        [child] = eventually(lambda: _children_of(server._process.pid))
        theirs.close()

        with pytest.raises(AbandonedError):
            running.result()
        with pytest.raises(AbandonedError):
            children.run(pause, client=ours.fileno())
    eventually(lambda: not Path(f"/proc/{child}").exists())


def test_several_at_once(server: ForkServer, tmp_path: Path) -> None:
    """As many run at once as may; the two wait for one another."""
    children = ChildProcesses(server, LIMITS, at_once=2)

    with ThreadPoolExecutor() as pool:
        both = [
            pool.submit(children.run, partial(meet, folder=tmp_path, own=own, other=other))
            for own, other in (("a", "b"), ("b", "a"))
        ]

        assert ["a", "b"] == [each.result() for each in both]

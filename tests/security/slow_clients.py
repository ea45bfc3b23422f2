"""Clients that drip or never read, many at once."""

from __future__ import annotations

import multiprocessing
import os
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.synchronize import Event
from typing import Final, TypeAlias

from tests.webhook.running import REVIEW

#: Opens a TLS connection.
Connect: TypeAlias = Callable[[], ssl.SSLSocket]

#: Bytes of a body of which each comes in a TLS record of its own; 23 times as many on the wire.
BURST = 60_000
HEAD = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"

#: The behavior of one client with one connection.
Misbehavior: TypeAlias = Callable[[ssl.SSLSocket, Event], None]


def one_byte_records(sock: ssl.SSLSocket, stopped: Event) -> None:
    """Send a body in TLS records of one byte, as fast as they are taken."""
    sock.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % BURST)
    for number in range(BURST):
        sock.send(b" ")
        if number % 1000 == 0 and stopped.is_set():
            return


def dripped_head(sock: ssl.SSLSocket, stopped: Event) -> None:
    """Send a byte of a head now and then."""
    sock.sendall(b"POST /validate HTTP/1.1\r\nX-A: ")
    while not stopped.wait(0.1):
        sock.send(b"a")


def slow_body(sock: ssl.SSLSocket, stopped: Event) -> None:
    """Send a body for which a thread would be needed in the end, a little at a time."""
    sock.sendall(HEAD.replace(b"/validate", b"/v1/score") + b"Content-Length: 1000000\r\n\r\n")
    while not stopped.wait(0.2):
        sock.send(b"a" * 100)


def never_read(sock: ssl.SSLSocket, stopped: Event) -> None:
    """Ask for a page again and again, and read nothing."""
    while not stopped.wait(0.1):
        sock.send(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n")


def pipelined(sock: ssl.SSLSocket, stopped: Event) -> None:
    """Send reviews as fast as they are taken, and read what comes of them now and then."""
    one = HEAD + b"Content-Length: %d\r\n\r\n" % len(REVIEW) + REVIEW
    while not stopped.is_set():
        sock.sendall(one * 100)
        sock.recv(1 << 20)


def misbehave(connect: Connect, kind: Misbehavior, count: int, stopped: Event) -> None:
    """Let so many clients do their worst, each again when it was ended."""
    # They stand for other machines, which take no processor time of ours.
    os.nice(19)

    def go_on() -> None:
        while not stopped.wait(0.05):
            with suppress(OSError), connect() as sock:
                sock.settimeout(1.0)
                kind(sock, stopped)

    threads = [threading.Thread(target=go_on) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextmanager
def beside(connect: Connect, groups: dict[Misbehavior, int]) -> Iterator[None]:
    """Let clients misbehave until the block ends."""
    context = multiprocessing.get_context("fork")
    stopped = context.Event()
    processes = [
        context.Process(target=misbehave, args=(connect, kind, count, stopped))
        for kind, count in groups.items()
    ]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        stopped.set()
        for process in processes:
            process.join()


#: As many as there may be in a hard day: of clients that drip, of slow bodies, of clients that never read.
CROWD: Final[dict[Misbehavior, int]] = {
    dripped_head: 56,
    one_byte_records: 4,
    slow_body: 24,
    never_read: 12,
}

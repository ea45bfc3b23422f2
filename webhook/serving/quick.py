"""Whole small requests, answered by the main loop: all that one turn found, step by step.

In each step one request follows the other, so that the same instructions in a row find the processor's caches
full of them: it takes a third less time than to answer each request from its first step to its last.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from webhook.gunicorn.protocol import Connection
from webhook.serving.exchange import Exchange
from webhook.serving.postponed import PostponedError

#: Answers that wait at once: a third of the connections that a worker may hold, so that others find room.
MOST_POSTPONED = 300


class Next(Enum):
    """What becomes of a connection after a step."""

    #: Wait for more of the same request.
    WAIT = "wait"
    #: Wait for another request.
    KEEP = "keep"
    #: The last answer was sent.
    LINGER = "linger"
    #: Nobody is there.
    CLOSE = "close"
    #: A whole quick request is there, or a step of its answer is done.
    ANSWER = "answer"
    #: A thread must go on.
    THREAD = "thread"
    #: Wait until the client has read.
    SEND = "send"
    #: Wait until the application has what it needs for the answer.
    POSTPONE = "postpone"


class QuickLane:
    """Holds the connections with a quick request of this turn, and answers them."""

    def __init__(
        self,
        handle_request: Callable[[Any, Exchange], Any],
        guard: Callable[[Connection, Callable[[Connection], Next]], Next],
        after: Callable[[Connection, Next], None],
    ) -> None:
        """Take what the worker does.

        Args:
            handle_request: Answers a request into an exchange; returns whether another may follow.
            guard: Takes a step, and says what becomes of the connection also if it fails.
            after: Does that.
        """
        self._handle_request = handle_request
        self._guard = guard
        self._after = after
        self._ready: list[Connection] = []
        self._postponed: list[Connection] = []

    @property
    def waiting(self) -> bool:
        """Whether answers are postponed, which are looked after with every call of ``answer``."""
        return bool(self._postponed)

    def add(self, connection: Connection) -> None:
        """Take a connection on which a whole quick request has come."""
        self._ready.append(connection)

    def answer(self) -> None:
        """Answer every request that was taken, and those that were postponed and can be answered now."""
        ready, self._ready = self._ready, []
        ready = self._take(ready, _parse)
        ready = self._take([*self._due(), *ready], self._call)
        self._take(ready, _send)

    def _take(self, connections: list[Connection], step: Callable[[Connection], Next]) -> list[Connection]:
        """Take a step with each connection, and return those with which the next one can be taken."""
        left = []
        for connection in connections:
            outcome = self._guard(connection, step)
            if outcome is Next.ANSWER:
                left.append(connection)
            else:
                self._after(connection, outcome)
        return left

    def _due(self) -> list[Connection]:
        """Return the connections whose postponed answer can be given now."""
        if not self._postponed:
            return []
        postponed, self._postponed = self._postponed, []
        due: list[Connection] = []
        for connection in postponed:
            (due if connection.exchange.sock.postponed.ready() else self._postponed).append(connection)
        return due

    def _call(self, connection: Connection) -> Next:
        exchange = connection.exchange
        exchange.sock.may_postpone = len(self._postponed) < MOST_POSTPONED
        try:
            keep = self._handle_request(exchange.request, exchange)
        except PostponedError as postponed:
            exchange.sock.postponed = postponed
            self._postponed.append(connection)
            return Next.POSTPONE
        connection.keeps = bool(keep and connection.parser.finish_body())
        return Next.ANSWER


def _parse(connection: Connection) -> Next:
    connection.exchange = Exchange(connection, connection.gathered_request())
    return Next.ANSWER


def _send(connection: Connection) -> Next:
    exchange, connection.exchange = connection.exchange, None
    connection.begin_answer(exchange.sock.content)
    return send_on(connection)


def send_on(connection: Connection) -> Next:
    """Send as much of an answer as the client is ready to read."""
    if not connection.send_on():
        return Next.SEND
    return Next.KEEP if connection.keeps else Next.LINGER

"""An answer that must wait for something, where nothing may wait: the server asks again when it is there."""

from __future__ import annotations

from collections.abc import Callable


class PostponedError(Exception):
    """Raised by the application in place of an answer; see ``exchange.Outbox``.

    Attributes:
        body: The request's body, which can be read only once.
        ready: Tells whether the application should be asked again; quick, and never blocks.
    """

    def __init__(self, body: bytes, ready: Callable[[], bool]) -> None:
        super().__init__("the answer must wait")
        self.body = body
        self.ready = ready

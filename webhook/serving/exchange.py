"""One request and its answer where nothing may wait: the answer is collected, then sent without blocking.

gunicorn writes an answer to the socket as the application makes it, head and body apart, and waits wherever
the client does. Answered in the main loop, that would let one client stop all others.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from gunicorn.http.message import Request

from webhook.gunicorn.protocol import Connection
from webhook.serving.postponed import PostponedError


class Outbox:
    """Takes what gunicorn's ``Response`` writes to a socket.

    gunicorn shows it to the application as ``gunicorn.socket``.

    Attributes:
        content: What was written.
        may_postpone: Whether the application may raise ``PostponedError`` in place of an answer.
        postponed: What it raised before; None if it is asked for the first time.
        began: When the request was there, by ``time.monotonic()``; others may be answered before it.
        getpeercert: Returns the certificate that the client showed, as of an ``ssl.SSLSocket``.
    """

    def __init__(self, getpeercert: Callable[[bool], Any] = lambda _binary: None) -> None:
        self.content = bytearray()
        self.getpeercert = getpeercert
        self.may_postpone = False
        self.postponed: PostponedError | None = None
        self.began = time.monotonic()

    def sendall(self, data: bytes) -> None:
        """Keep data for later."""
        self.content += data

    def shutdown(self, _how: int) -> None:
        """Refuse: gunicorn asks for it after an application failed half way, and then closes.

        Raises:
            OSError: Always.
        """
        raise OSError

    def close(self) -> None:
        """Throw away half an answer."""
        self.content.clear()


class Exchange:
    """What gunicorn's ``handle_request`` looks at of a connection, with an outbox for its socket.

    Attributes:
        request: The request, parsed.
        sock: Where the answer is collected.
        client: The peer's address.
        server: The listener's address.
    """

    def __init__(self, connection: Connection, request: Request) -> None:
        self.request = request
        self.sock = Outbox(connection.peer_certificate)
        self.client: Any = connection.client
        self.server: Any = connection.server

"""Hands requests of the API to the process that answers them, over a Unix socket; reviews never wait for it.

Bodies and answers pass as they come, so that neither is held in memory, and who sends slowly is waited for by
the connection's deadline alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Iterable
from http import HTTPStatus
from pathlib import Path
from typing import Final

import h11

from webhook.http.body import Receive, Scope, Send
from webhook.http.problems import JSON, RefusalError
from webhook.telemetry.logs import LOGGER

#: Requests that are handed over at once: far more than the API answers at once, which refuses the others.
_MOST_HANDED: Final = 64
#: Bytes of an answer that are read at once.
_BLOCK: Final = 64 * 1024
#: Seconds that a request waits for a process that is being started, and between two looks for it.
_CONNECT_S, _LOOK_EVERY_S = 5.0, 0.1
#: Header fields that are those of one connection.
_OF_CONNECTIONS: Final = frozenset(
    {b"connection", b"expect", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"upgrade"}
)
_BUSY: Final = "as many requests are being answered as may be at once: try again"
_AWAY: Final = "the process that answers this route is away or being started: try again"


class ApiGateway:
    """An ASGI callable that another process answers."""

    def __init__(self, path: Path, *, timeout_s: float) -> None:
        """Connect to nothing yet.

        Args:
            path: The socket of the other process.
            timeout_s: Seconds for a whole request.
        """
        self._path = path
        self._timeout_s = timeout_s
        self._handed = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; with 503 where there is no one to answer it."""
        exchange = _Exchange(scope, receive, send)
        self._handed += 1
        try:
            if self._handed > _MOST_HANDED:
                await exchange.refuse(RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, _BUSY))
                return
            async with asyncio.timeout(self._timeout_s):
                await exchange.run(self._path)
        except RefusalError as refusal:
            await exchange.refuse(refusal)
        except (OSError, h11.RemoteProtocolError) as error:
            # What has begun can only be broken off.
            if exchange.begun:
                raise
            LOGGER.warning("api_away", extra={"fields": {"path": scope["path"], "why": repr(error)}})
            await exchange.refuse(RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, _AWAY))
        finally:
            self._handed -= 1


class _Exchange:
    """One request, and its answer as far as it has come."""

    begun: bool  #: Whether some of the answer was sent.

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun = False
        self._scope = scope
        self._receive = receive
        self._send = send
        self._http = h11.Connection(h11.CLIENT)

    async def run(self, path: Path) -> None:
        """Hand the request over, and return when its answer was sent or its client is gone.

        Raises:
            OSError: No one answers, or not in time.
            RemoteProtocolError: The answer broke off.
            RefusalError: It is no request of HTTP/1.1.
        """
        with await _connected(path) as api:
            ways = {asyncio.ensure_future(self._hand_over(api)), asyncio.ensure_future(self._answer(api))}
            try:
                done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                for way in done:
                    way.result()
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)

    async def _hand_over(self, api: socket.socket) -> None:
        """Send the request on as it comes; return when the client is gone."""
        scope = self._scope
        target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
        headers = [*_passed_on(scope["headers"]), (b"Connection", b"close")]
        if not any(name == b"host" for name, _ in headers):
            headers.append((b"Host", b"localhost"))
        try:
            head = self._http.send(h11.Request(method=scope["method"], target=target, headers=headers))
        except h11.LocalProtocolError as error:
            raise RefusalError(HTTPStatus.BAD_REQUEST, str(error)) from error
        loop, data, more = asyncio.get_running_loop(), head or b"", True
        # What was refused before it had come is read no more, and the answer says why.
        with contextlib.suppress(ConnectionError):
            await loop.sock_sendall(api, data)
            while more:
                message = await self._receive()
                if message["type"] != "http.request":
                    return
                more = bool(message.get("more_body"))
                data = self._http.send(h11.Data(message["body"])) or b""
                data += b"" if more else self._http.send(h11.EndOfMessage()) or b""
                await loop.sock_sendall(api, data)
        while (await self._receive())["type"] == "http.request":
            pass

    async def _answer(self, api: socket.socket) -> None:
        """Send the answer on as it comes."""
        while not isinstance(event := self._http.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                self._http.receive_data(await asyncio.get_running_loop().sock_recv(api, _BLOCK))
            elif isinstance(event, h11.Response):
                self.begun = True
                headers = [(name, value) for name, value in _passed_on(event.headers) if name != b"date"]
                await self._send(
                    {"type": "http.response.start", "status": event.status_code, "headers": headers}
                )
            elif isinstance(event, h11.Data):
                body = bytes(event.data)
                await self._send({"type": "http.response.body", "body": body, "more_body": True})
        await self._send({"type": "http.response.body", "body": b""})

    async def refuse(self, refusal: RefusalError) -> None:
        """Answer with an error."""
        body = refusal.body()
        headers = {"Content-Type": JSON, "Content-Length": str(len(body)), **refusal.headers}
        sent = [(name.encode(), value.encode()) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": refusal.status.value, "headers": sent})
        await self._send({"type": "http.response.body", "body": body})


async def _connected(path: Path) -> socket.socket:
    """Return a connection; not one of asyncio's streams, which forget an answer when no more can be sent."""
    ends = time.monotonic() + _CONNECT_S
    while True:
        api = socket.socket(socket.AF_UNIX)
        api.setblocking(False)  # noqa: FBT003  # its only argument
        try:
            # The kernel connects at once, or refuses to.
            api.connect(str(path))
        except OSError:
            api.close()
            if time.monotonic() > ends:
                raise
            await asyncio.sleep(_LOOK_EVERY_S)
        else:
            return api


def _passed_on(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in headers if name not in _OF_CONNECTIONS]

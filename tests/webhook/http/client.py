"""A client of the whole ASGI application, without a server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from flask.wrappers import Response
from werkzeug.test import Client

from webhook.http.application import HttpApplication
from webhook.http.state import ServerState

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment


def a_client(state: ServerState) -> Client:
    """Return a client of a server that answers from ``state``."""
    return Client(_AsWsgi(HttpApplication(state)), Response)


class _AsWsgi:
    """Lets a client of WSGI applications talk to an ASGI application."""

    def __init__(self, app: HttpApplication) -> None:
        self._app = app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": environ["wsgi.input"].read()}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        async def call() -> None:
            await self._app(_scope(environ), receive, send)

        asyncio.run(call())
        start, body = sent
        headers = [(name.decode(), value.decode()) for name, value in start["headers"]]
        start_response(f"{start['status']} ", headers)
        return [body["body"]]


def _scope(environ: WSGIEnvironment) -> dict[str, Any]:
    named = {name.removeprefix("HTTP_"): value for name, value in environ.items() if name.startswith("HTTP_")}
    named |= {name: environ[name] for name in ("CONTENT_TYPE", "CONTENT_LENGTH") if environ.get(name)}
    return {
        "type": "http",
        "http_version": "1.1",
        "method": environ["REQUEST_METHOD"],
        "scheme": "https",
        "path": environ["PATH_INFO"].encode("latin-1").decode(),
        "query_string": environ["QUERY_STRING"].encode(),
        "server": ("127.0.0.1", 8443),
        "headers": [
            (name.lower().replace("_", "-").encode(), value.encode()) for name, value in named.items()
        ],
        "extensions": {},
        "evenkeel.arrived": time.monotonic(),
    }

"""Flask's pages behind ASGI: who may see them, their bodies, and the threads that make them.

A bridge of our own and not a2wsgi's: that one takes a thread as soon as a request begins, and reads the body
and writes the answer from it, so that as many slow clients as there are threads stop all others. Here a
thread begins when the whole body has come, and has ended before the first byte of the answer is sent.
"""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from webhook.fork_server import Limit
from webhook.http.body import (
    BodyReader,
    ClientGoneError,
    Receive,
    Scope,
    Send,
    announced_length,
)
from webhook.http.limits import BusyError
from webhook.http.problems import JSON, RefusalError
from webhook.http.state import ServerState
from webhook.rbac import Resource
from webhook.settings import Settings
from webhook.telemetry.logs import LOGGER

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication, WSGIEnvironment


class Guarded(NamedTuple):
    """A route that shows what runs in a cluster."""

    methods: frozenset[str]  #: The HTTP methods that it has; Flask refuses others.
    resource: Resource  #: What its callers must have a right to.
    #: Returns the most bytes that a body may have; None where none is read.
    limit: Callable[[Settings], int] | None


#: Every route that needs authorization, but those of the API.
GUARDED: Final[Mapping[str, Guarded]] = {
    "/metrics": Guarded(frozenset({"GET", "HEAD"}), Resource.METRICS, None)
}


_Found = TypeVar("_Found")


class _Answer(NamedTuple):
    """The response with a page, or its refusal."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class Pages:
    """Answers every path but the admission routes.

    Args:
        state: What the process knows.
        app: The Flask app.
        guarded: The routes that need authorization.
    """

    def __init__(self, state: ServerState, app: WSGIApplication, guarded: Mapping[str, Guarded]) -> None:
        self._state = state
        self._guarded = guarded
        self._app = app
        self._bodies = BodyReader()
        # It starts no thread before it is used, which is after the fork.
        self._threads = ThreadPoolExecutor(state.settings.threads, "pages")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; not at all if the client leaves before it has come."""
        try:
            answer = await self._answer(scope, receive)
        except RefusalError as refusal:
            fields = {"path": scope["path"], "status": refusal.status.value, "error": refusal.message}
            LOGGER.info("request_refused", extra={"fields": fields})
            answer = _error(refusal)
        except ClientGoneError:
            return
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})

    async def _answer(self, scope: Scope, receive: Receive) -> _Answer:
        environ = _environ(scope)
        guarded = self._guarded.get(scope["path"])
        if guarded is None or scope["method"] not in guarded.methods:
            return await self._in_thread(partial(self._call, environ))
        check = partial(self._state.access.check, environ, guarded.resource)
        decision = await self._in_thread(check)
        if not decision.allowed:
            # Who has decided it has logged it.
            challenge = {"WWW-Authenticate": 'Bearer realm="evenkeel"'}
            more = challenge if decision.status is HTTPStatus.UNAUTHORIZED else {}
            return _error(RefusalError(decision.status, decision.message), more)
        if guarded.limit is None:
            return await self._in_thread(partial(self._call, environ))
        return await self._compute(scope, receive, environ, guarded.limit(self._state.settings))

    async def _compute(self, scope: Scope, receive: Receive, environ: WSGIEnvironment, limit: int) -> _Answer:
        """Read a body and have it computed, as few at once as may be.

        Raises:
            RefusalError: There are enough, or the body cannot be read.
            ClientGoneError: The body never came.
        """
        headers = dict(scope["headers"])
        length = announced_length(headers)
        large = length is None or length > self._state.settings.max_body_bytes
        with ExitStack() as held:
            try:
                held.enter_context(self._state.computing.enter(large=large))
            except BusyError:
                self._state.telemetry.limited.labels(Limit.BUSY.value).inc()
                text = "as many requests are being answered as may be at once: try again"
                raise RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, text) from None
            body = await self._bodies.read_json(headers, receive, limit)
            environ["CONTENT_LENGTH"] = str(len(body))
            environ["wsgi.input"] = io.BytesIO(body)
            # A client that leaves does not end the thread, whose place is free when it has ended.
            return await self._in_thread(partial(self._call, environ), held.pop_all())

    async def _in_thread(self, work: Callable[[], _Found], held: ExitStack | None = None) -> _Found:
        """Return the result of a thread, and release the held resources when it has ended."""
        future = self._threads.submit(work)
        if held is not None:
            future.add_done_callback(lambda _: held.close())
        return await asyncio.wrap_future(future)

    def _call(self, environ: WSGIEnvironment) -> _Answer:
        """Run the Flask app."""
        started: list[tuple[int, list[tuple[str, str]]]] = []

        def start_response(status: str, headers: list[tuple[str, str]], _error: object = None) -> Any:
            started.append((int(status.partition(" ")[0]), headers))

        # Flask's answers are in memory already; their parts hold nothing that must be closed.
        body = b"".join(self._app(environ, start_response))
        return _Answer(*started[-1], body)


def _environ(scope: Scope) -> WSGIEnvironment:
    """Return the WSGI environment of a request, without its body."""
    # A Unix socket has neither.
    host, port = scope["server"] or ("localhost", 0)
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        # WSGI has bytes as latin-1.
        "PATH_INFO": scope["path"].encode("utf-8").decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": host,
        "SERVER_PORT": str(port),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in scope["headers"]:
        if name not in (b"content-length", b"transfer-encoding"):
            key = name.decode("latin-1").upper().replace("-", "_")
            key = key if key == "CONTENT_TYPE" else f"HTTP_{key}"
            text = value.decode("latin-1")
            environ[key] = f"{environ[key]},{text}" if key in environ else text
    return environ


def _error(refusal: RefusalError, more: Mapping[str, str] = {}) -> _Answer:  # not changed
    body = refusal.body()
    headers = {"Content-Type": JSON, "Content-Length": str(len(body)), **refusal.headers, **more}
    return _Answer(refusal.status.value, list(headers.items()), body)

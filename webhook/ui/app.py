"""The page's server as a WSGI application: what is answered, and how errors look.

It listens on loopback, where every program and every web page of the machine can send requests;
``webhook.ui.access`` says which of them are answered.
"""

from __future__ import annotations

import gzip
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Final

import orjson
from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException, NotFound, RequestEntityTooLarge

from webhook.http.child_processes import AbandonedError, LimitError
from webhook.http.problems import JSON
from webhook.http.views.compute import STATUSES
from webhook.kube.api_server import ClusterError
from webhook.ui.access import PageAccess
from webhook.ui.answers import ManifestProblem, PageError
from webhook.ui.bundle import INDEX, BuiltFile
from webhook.ui.manifest import ProblemsError
from webhook.ui.page_state import PageState
from webhook.ui.remote import ask
from webhook.ui.routes import ROUTES, PageRoute

#: Bytes of a body: etcd holds at most 1.5 MiB per object, and a patch compares two.
MOST_BODY_BYTES: Final = 4 * 1024 * 1024
#: Of 1 to 9: a map of 150,000 pods takes 0.1 s, once.
_LEVEL: Final = 5
#: Bytes of an answer below which gzip saves nothing worth its time.
_LEAST_PACKED: Final = 1024
#: What every answer says to a browser.
HEADERS: Final[Mapping[str, str]] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class _Refusal(Exception):  # noqa: N818  # an answer, not a failure
    """A request that gets an HTTP error instead of an answer."""

    def __init__(self, status: HTTPStatus, message: str, problems: Iterable[ManifestProblem] = ()) -> None:
        super().__init__(message)
        self.status, self.message, self.problems = status, message, list(problems)


def create_page(state: PageState, files: Mapping[str, BuiltFile], access: PageAccess) -> Flask:
    """Return the application.

    Args:
        state: What answers are made from.
        files: The files of the page.
        access: Who may ask.
    """
    app = Flask("evenkeel-page", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MOST_BODY_BYTES
    app.url_map.merge_slashes = False
    packed_map = gzip.compress(state.map, _LEVEL, mtime=0)
    app.before_request(lambda: _check_origin(access))
    for route in ROUTES:
        view = _view(route, state, access)
        app.add_url_rule(route.path, f"{route.method} {route.path}", view, methods=[route.method])
    app.add_url_rule("/", "index", lambda: _file(files, INDEX))
    app.add_url_rule("/<name>", "file", lambda name: _file(files, name))
    app.add_url_rule("/open/<code>", "open", lambda code: _open(access, code))
    app.after_request(lambda response: _finish(response, state.map, packed_map))
    app.register_error_handler(_Refusal, _refused)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, _own_error)
    return app


def _check_origin(access: PageAccess) -> None:
    """Refuse what another site could have sent; it may link to the page."""
    headers = dict(request.headers.items())
    refusal = access.refusal(headers)
    if not refusal and request.path.startswith("/api/") and access.is_foreign(headers):
        refusal = "requests of other sites are refused"
    if refusal:
        raise _Refusal(HTTPStatus.FORBIDDEN, refusal)


def _open(access: PageAccess, code: str) -> Response:
    """Send a browser that was just started to the page."""
    if not access.take_code(code):
        text = "this address was used already: open the one that evenkeel ui printed"
        raise _Refusal(HTTPStatus.GONE, text)
    return Response(status=HTTPStatus.SEE_OTHER, headers={"Location": access.address})


def _view(route: PageRoute, state: PageState, access: PageAccess) -> Callable[..., Response]:
    def view() -> Response:
        if not access.bears_token(request.headers.get("Authorization", "")):
            text = "the token is missing or wrong: open the address that evenkeel ui printed"
            raise _Refusal(HTTPStatus.UNAUTHORIZED, text)
        body = _read_body() if route.body is not None else b""
        return Response(_answer(route, state, request.args, body), content_type=JSON)

    return view


def _read_body() -> bytes:
    if request.mimetype != JSON:
        raise _Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the body must be {JSON}")
    if request.content_length is None:
        raise _Refusal(HTTPStatus.LENGTH_REQUIRED, "the body has no length")
    return request.get_data(cache=False)


def _answer(route: PageRoute, state: PageState, names: Mapping[str, str], body: bytes) -> bytes:
    try:
        work = route.compute(state, names, body)
        if isinstance(work, bytes):
            return work
        # As the index is when the request comes; if the person does something else meanwhile, it ends.
        client = request.environ.get("werkzeug.socket")
        found = state.children.run(
            work, frozen=state.cluster.index.reading, client=None if client is None else client.fileno()
        )
        asked = route.remote and state.cluster.remote is not None
        return ask(state.cluster, route.remote, found) if asked else found
    except ProblemsError as error:
        status = HTTPStatus.NOT_FOUND if error.missing else HTTPStatus.BAD_REQUEST
        raise _Refusal(status, error.message, error.problems) from error
    except LimitError as error:
        raise _Refusal(STATUSES[error.limit], error.message) from error
    except AbandonedError as error:
        raise _Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "the client is gone") from error
    except ClusterError as error:
        raise _Refusal(HTTPStatus.BAD_GATEWAY, str(error)) from error


def _file(files: Mapping[str, BuiltFile], name: str) -> Response:
    # By name among those that were read: no path leads to another file.
    found = files.get(name)
    if found is None:
        raise NotFound
    response = Response(found.content, content_type=found.media_type)
    if len(found.content) >= _LEAST_PACKED and _takes_gzip():
        _pack(response, found.packed)
    return response


def _finish(response: Response, map_: bytes, packed_map: bytes) -> Response:
    for name, value in HEADERS.items():
        response.headers[name] = value
    content = response.get_data()
    if response.content_type == JSON and len(content) >= _LEAST_PACKED and _takes_gzip():
        _pack(response, packed_map if content == map_ else gzip.compress(content, 1, mtime=0))
    return response


def _takes_gzip() -> bool:
    return request.accept_encodings.best_match(("gzip", "identity")) == "gzip"


def _pack(response: Response, packed: bytes) -> None:
    response.set_data(packed)
    response.content_encoding = "gzip"
    response.vary.add("Accept-Encoding")


def _refused(refusal: _Refusal) -> Response:
    return _error(refusal.status, refusal.message, refusal.problems)


def _http_error(error: HTTPException) -> Response:
    text = f"{request.method} {request.path}: {error.name.lower()}"
    if isinstance(error, RequestEntityTooLarge):
        text = f"the body is larger than {MOST_BODY_BYTES >> 20} MiB"
    response = _error(HTTPStatus(error.code or 500), text)
    for name, value in error.get_headers():
        if name == "Allow":
            response.headers[name] = value
    return response


def _own_error(error: Exception) -> Response:
    if os.environ.get("EVENKEEL_DEBUG") == "1":
        sys.stderr.write("".join(traceback.format_exception(error)))
    name = type(error).__name__
    text = f"internal error: {name}: {error}; please report it (EVENKEEL_DEBUG=1 shows where)"
    return _error(HTTPStatus.INTERNAL_SERVER_ERROR, text)


def _error(status: HTTPStatus, message: str, problems: Iterable[ManifestProblem] = ()) -> Response:
    text = message.encode("utf-8", "backslashreplace").decode()
    answer: PageError = {"error": text, "problems": list(problems)}
    return Response(orjson.dumps(answer), status=status.value, content_type=JSON)

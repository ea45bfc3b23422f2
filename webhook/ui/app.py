"""The page's server as a WSGI application: what is answered, and how errors look.

It listens on loopback, where every program and every web page of the machine can send requests;
``webhook.ui.server`` says which of them are answered.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Final

from flask import Flask, Response, request
from werkzeug.exceptions import NotFound

from policies.manifests.wire import dumps
from webhook.fork_server import AbandonedError, LimitError
from webhook.http.flask_answers import answer_errors, compress, limit_refusal
from webhook.http.problems import JSON, RefusalError
from webhook.kube.api_server import ClusterError
from webhook.ui.embedded import INDEX, BuiltFile
from webhook.ui.manifest import ManifestProblem, PageError, ProblemsError
from webhook.ui.placing import answer_of
from webhook.ui.readings import PageState, Readings
from webhook.ui.routes import ROUTES, PageRoute
from webhook.ui.server import PageAccess

#: Bytes of a body: etcd holds at most 1.5 MiB per object, and a patch compares two.
MOST_BODY_BYTES: Final = 4 * 1024 * 1024
#: The header of a request that says which reading of the cluster it is about.
READING: Final = "Evenkeel-Reading"
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


class _ManifestError(RefusalError):
    """A request with a manifest that has problems, which the editor shows at their lines."""

    def __init__(self, status: HTTPStatus, message: str, problems: Iterable[ManifestProblem]) -> None:
        super().__init__(status, message)
        self.problems = list(problems)


def create_page(readings: Readings, files: Mapping[str, BuiltFile], access: PageAccess) -> Flask:
    """Return the application.

    Args:
        readings: What answers are made from.
        files: The files of the page.
        access: Who may send requests.
    """
    app = Flask("evenkeel-page", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MOST_BODY_BYTES
    app.url_map.merge_slashes = False
    app.before_request(lambda: _check_origin(access))
    for route in ROUTES:
        view = _view(route, readings, access)
        app.add_url_rule(route.path, f"{route.method} {route.path}", view, methods=[route.method])
    app.add_url_rule("/", "index", lambda: _file(files, INDEX))
    app.add_url_rule("/<name>", "file", lambda name: _file(files, name))
    app.add_url_rule("/open/<code>", "open", lambda code: _open(access, code))
    app.after_request(lambda response: _finish(response, readings.state))
    answer_errors(app, _body, failed=_failed)
    return app


def _check_origin(access: PageAccess) -> None:
    """Refuse what another site could have sent; it may link to the page."""
    headers = dict(request.headers.items())
    refusal = access.refusal(headers)
    if not refusal and request.path.startswith("/api/") and access.is_foreign(headers):
        refusal = "requests of other sites are refused"
    if refusal:
        raise RefusalError(HTTPStatus.FORBIDDEN, refusal)


def _open(access: PageAccess, code: str) -> Response:
    """Send a browser that was just started to the page."""
    if not access.take_code(code):
        text = "this address was used already: open the one that evenkeel ui printed"
        raise RefusalError(HTTPStatus.GONE, text)
    return Response(status=HTTPStatus.SEE_OTHER, headers={"Location": access.address})


def _view(route: PageRoute, readings: Readings, access: PageAccess) -> Callable[..., Response]:
    def view() -> Response:
        if not access.bears_token(request.headers.get("Authorization", "")):
            text = "the token is missing or wrong: open the address that evenkeel ui printed"
            raise RefusalError(HTTPStatus.UNAUTHORIZED, text)
        state = readings.state
        # Positions of nodes and workloads mean others there.
        if request.headers.get(READING, number := str(state.cluster.reading)) != number:
            raise RefusalError(HTTPStatus.CONFLICT, "the cluster was read again since this page was made")
        body = _read_body() if route.body is not None else b""
        return Response(_answer(route, state, request.args, body), content_type=JSON)

    return view


def _read_body() -> bytes:
    if request.mimetype != JSON:
        raise RefusalError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the body must be {JSON}")
    if request.content_length is None:
        raise RefusalError(HTTPStatus.LENGTH_REQUIRED, "the body has no length")
    return request.get_data(cache=False)


def _answer(route: PageRoute, state: PageState, names: Mapping[str, str], body: bytes) -> bytes:
    try:
        work = route.compute(state, names, body)
        if isinstance(work, bytes):
            return work
        # If the person does something else meanwhile, it ends.
        client = request.environ.get("werkzeug.socket")
        found = state.children.run(work, client=None if client is None else client.fileno())
        if route.remote is None or state.cluster.remote is None:
            return found
        return route.remote.wrap(answer_of(state.cluster, route.remote.path, found))
    except ProblemsError as error:
        status = HTTPStatus.NOT_FOUND if error.missing else HTTPStatus.BAD_REQUEST
        raise _ManifestError(status, error.message, error.problems) from error
    except LimitError as error:
        raise limit_refusal(error) from error
    except AbandonedError as error:
        raise RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, "the client is gone") from error
    except ClusterError as error:
        raise RefusalError(HTTPStatus.BAD_GATEWAY, str(error)) from error


def _file(files: Mapping[str, BuiltFile], name: str) -> Response:
    # By name among those that were read: no path leads to another file.
    found = files.get(name)
    if found is None:
        raise NotFound
    return compress(Response(found.content, content_type=found.media_type), found.packed)


def _finish(response: Response, state: PageState) -> Response:
    for name, value in HEADERS.items():
        response.headers[name] = value
    return compress(response, state.packed_map if response.get_data() == state.map else None)


def _body(refusal: RefusalError) -> bytes:
    """Return the body of an error."""
    message = refusal.message
    if (
        refusal.status is HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        and (request.content_length or 0) > MOST_BODY_BYTES
    ):
        message = f"the body is larger than {MOST_BODY_BYTES >> 20} MiB"
    text = message.encode("utf-8", "backslashreplace").decode()
    problems = refusal.problems if isinstance(refusal, _ManifestError) else []
    return dumps(PageError(text, problems))


def _failed(error: Exception) -> str:
    if os.environ.get("EVENKEEL_DEBUG") == "1":
        sys.stderr.write("".join(traceback.format_exception(error)))
    name = type(error).__name__
    return f"internal error: {name}: {error}; please report it (EVENKEEL_DEBUG=1 shows where)"

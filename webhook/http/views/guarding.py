"""Ask of a request whether it is answered, before its view sees it."""

from __future__ import annotations

from collections.abc import Callable

from flask import Response, request

from webhook.http.authorization.access_reviews import Decision, Result
from webhook.http.problems import JSON, problem
from webhook.http.views.current_state import state
from webhook.rbac import Resource


def require_access(resource: Resource) -> Callable[[], Response | None]:
    """Return what a blueprint calls before each request whose answer shows a resource."""

    def check() -> Response | None:
        """Return the refusal of the current request, None if it may go on; its body stays unread."""
        decision = state().access.check(request.environ, resource)
        return None if decision.allowed else _refusal(decision)

    return check


def _refusal(decision: Decision) -> Response:
    response = Response(problem(decision.message), status=decision.status.value, content_type=JSON)
    if decision.result is Result.UNAUTHENTICATED:
        response.headers["WWW-Authenticate"] = 'Bearer realm="evenkeel"'
    if decision.result is Result.ERROR:
        response.headers["Retry-After"] = "1"
    return response

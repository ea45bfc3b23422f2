"""Decides for every request to a guarded route whether it is answered, and says so to log and metrics."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from webhook.http.authorization.access_reviews import AccessDecision, RequestedAccess, Result, nobody
from webhook.http.authorization.decision_cache import DecisionCache
from webhook.http.authorization.mode import AccessSettings, Mode, access_mode
from webhook.http.authorization.token_reviewer import Credential, TokenReviewer, read_credential
from webhook.http.limits import BusyError, MaxConcurrent
from webhook.kube.api_server import ApiServer
from webhook.rbac import Resource
from webhook.telemetry.logs import LOGGER

#: Callers that the API server reviews in a second, for each worker; known ones are not limited.
#: What it answers us counts with priority and fairness, as do our watches and our Lease.
_ASKED_PER_S: Final = 50.0

#: The verbs of methods, as the API server has them; no role names another method.
_VERBS: Final = {"GET": "get", "HEAD": "get", "POST": "create"}

#: Decided without a look at the request.
_OPEN: Final = AccessDecision(result=Result.ALLOWED)
_BUSY: Final = AccessDecision(
    result=Result.ERROR, message="too many callers are being reviewed at once: try again"
)
_CLOSED: Final = AccessDecision(
    result=Result.DENIED,
    message=(
        "this server cannot authenticate callers, and is reachable from elsewhere: start it with --live to "
        "use the API server, with --access open to answer every caller, or listen on loopback"
    ),
)


class Authorizer(Protocol):
    """Decides whether a request is answered."""

    def check(self, environ: Mapping[str, Any], resource: Resource) -> AccessDecision:
        """Look at the headers of a request in its WSGI environment; its body stays unread.

        Args:
            environ: The request.
            resource: What its route shows.
        """


class OpenAuthorizer:
    """Lets every caller in."""

    def check(self, environ: Mapping[str, Any], resource: Resource) -> AccessDecision:  # noqa: ARG002  # as every guard
        """Allow."""
        return _OPEN


class ClosedAuthorizer:
    """Lets no caller in, since there is no API server to decide."""

    def check(self, environ: Mapping[str, Any], resource: Resource) -> AccessDecision:
        """Deny."""
        _log(_CLOSED, _action(environ, resource), environ)
        return _CLOSED


class KubernetesAuthorizer:
    """Lets in whom Kubernetes knows and lets.

    Args:
        reviewer: Sends the reviews.
        memory: Keeps what it said.
        places: Requests that may wait for it at once: each holds a thread, and probes need some too.
        count: Called with every result.
        rate: Lets through how many it may be asked about.
    """

    def __init__(
        self,
        reviewer: TokenReviewer,
        memory: DecisionCache,
        *,
        places: int,
        count: Callable[[str], None],
        rate: RateLimiter | None = None,
    ) -> None:
        self._reviewer = reviewer
        self._rate = rate or RateLimiter(_ASKED_PER_S)
        self._memory = memory
        self._max_concurrent = MaxConcurrent(places)
        self._count = count

    def check(self, environ: Mapping[str, Any], resource: Resource) -> AccessDecision:
        """Decide, log and count."""
        action = _action(environ, resource)
        decision = self._decide(environ, action)
        self._count(decision.result.value)
        _log(decision, action, environ)
        return decision

    def _decide(self, environ: Mapping[str, Any], action: RequestedAccess) -> AccessDecision:
        credential = read_credential(environ)
        if credential is None:
            return nobody()
        if kept := self._memory.recall(credential, action):
            return kept
        try:
            with self._max_concurrent.enter(large=False):
                return self._memory.ask(credential, action, lambda: self._ask(credential, action))
        except BusyError:
            return _BUSY

    def _ask(self, credential: Credential, action: RequestedAccess) -> AccessDecision:
        return self._reviewer.decide(credential, action) if self._rate.take() else _BUSY


def build_authorizer(
    settings: AccessSettings, api: ApiServer | None, *, places: int, count: Callable[[str], None]
) -> Authorizer:
    """Return the guard that the settings select.

    Args:
        settings: The server's settings.
        api: The API server of the live cluster; None without one.
        places: Requests that may wait for it at once.
        count: Called with every result of a review.

    Raises:
        UsageError: The address is none.
    """
    mode = access_mode(settings)
    if mode is Mode.OPEN:
        return OpenAuthorizer()
    if mode is Mode.CLOSED or api is None:
        return ClosedAuthorizer()
    return KubernetesAuthorizer(TokenReviewer(api), DecisionCache(), places=places, count=count)


def _action(environ: Mapping[str, Any], resource: Resource) -> RequestedAccess:
    method = environ["REQUEST_METHOD"]
    return RequestedAccess(_VERBS.get(method, method.lower()), resource)


def _log(decision: AccessDecision, action: RequestedAccess, environ: Mapping[str, Any]) -> None:
    fields = {
        "user": decision.user,
        "verb": action.verb,
        "resource": action.resource.value,
        "path": environ["PATH_INFO"],
        "result": decision.result.value,
    }
    if decision.why:
        fields["why"] = decision.why
    if decision.result is Result.ERROR:
        LOGGER.error("access_undecided", extra={"fields": fields | {"why": decision.why or decision.message}})
    else:
        LOGGER.info("access_decided", extra={"fields": fields})


class RateLimiter:
    """Lets a number of calls through in a second, after a pause as many at once; threads may share it."""

    def __init__(self, per_s: float, *, now: Callable[[], float] = time.monotonic) -> None:
        """Begin with a whole second's worth.

        Args:
            per_s: How many a second.
            now: The clock, in seconds.
        """
        self._per_s = per_s
        self._now = now
        self._lock = threading.Lock()
        self._left = per_s
        self._counted_at = now()

    def take(self) -> bool:
        """Return whether one more may pass now, and count it if so."""
        with self._lock:
            now = self._now()
            self._left = min(self._per_s, self._left + (now - self._counted_at) * self._per_s)
            self._counted_at = now
            if self._left < 1:
                return False
            self._left -= 1
            return True

"""Decides for every request to a guarded route whether it is answered, and says so to log and metrics.

Whether callers are authenticated at all is by the settings. Decisions are remembered for a while, and a
review is sent once, however many threads wait for it.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from enum import StrEnum
from ipaddress import ip_address
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from webhook.http.authorization.token_reviewer import (
    AccessDecision,
    Credential,
    RequestedAccess,
    Result,
    TokenReviewer,
    read_credential,
)
from webhook.http.limits import BusyError, MaxConcurrent, RateLimiter
from webhook.kube.api_server import ApiServer
from webhook.listener import parse_bind
from webhook.rbac import PROXIED_HEADER, Resource
from webhook.settings import Access, Settings
from webhook.telemetry.logs import LOGGER

#: Seconds for which a decision counts: as long as a right that is taken away, or a token that is revoked or
#: expires, may still work; and as long as a right that was just given may not. No errors.
LIFETIMES_S: Final = {Result.ALLOWED: 30.0, Result.DENIED: 5.0, Result.UNAUTHENTICATED: 5.0}
#: Decisions that are kept of those that let a caller in, and again of all others, so that no flood of wrong
#: tokens drives out the right ones. Some 300 bytes each.
MOST_KEPT: Final = 1024

#: A question: the token's digest, how it came, and what is to be done.
_Key: TypeAlias = tuple[bytes, bool, RequestedAccess]
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
_UNAUTHENTICATED: Final = AccessDecision(
    result=Result.UNAUTHENTICATED,
    message=(
        "this route needs authentication: send Authorization: Bearer TOKEN, or through the API server's "
        f"proxy {PROXIED_HEADER}: Bearer TOKEN"
    ),
)
_CLOSED: Final = AccessDecision(
    result=Result.DENIED,
    message=(
        "this server cannot authenticate callers, and is reachable from elsewhere: start it with --live to "
        "use the API server, with --access open to answer every caller, or listen on loopback"
    ),
)


class Mode(StrEnum):
    """Who is answered: every caller, those whom Kubernetes allows, or none without an API server."""

    OPEN = "open"
    KUBERNETES = "kubernetes"
    CLOSED = "closed"


def access_mode(settings: Settings) -> Mode:
    """Return who is answered.

    Raises:
        UsageError: The address is none.
    """
    if settings.access is Access.OPEN:
        return Mode.OPEN
    if settings.access is Access.AUTO and (settings.self_signed or is_loopback(settings.bind)):
        return Mode.OPEN
    return Mode.KUBERNETES if settings.live else Mode.CLOSED


def is_loopback(bind: str) -> bool:
    """Return whether only this machine reaches an address; for a name it is unknown how long that holds."""
    host, _ = parse_bind(bind)
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class _Kept(NamedTuple):
    decision: AccessDecision
    until: float


class DecisionCache:
    """Decisions by token and action; any number of threads may use it."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic, most: int = MOST_KEPT) -> None:
        """Start with nothing.

        Args:
            now: The clock, in seconds.
            most: Decisions that are kept of each sort.
        """
        self._now = now
        self._most = most
        self._lock = threading.Lock()
        self._good: OrderedDict[_Key, _Kept] = OrderedDict()
        self._bad: OrderedDict[_Key, _Kept] = OrderedDict()
        self._asked: dict[_Key, Future[AccessDecision]] = {}

    def __len__(self) -> int:
        return len(self._good) + len(self._bad)

    def recall(self, credential: Credential, action: RequestedAccess) -> AccessDecision | None:
        """Return the decision of a short while ago, None if there is none."""
        key = _key(credential, action)
        with self._lock:
            return self._recall(key)

    def get_or_decide(
        self, credential: Credential, action: RequestedAccess, decide: Callable[[], AccessDecision]
    ) -> AccessDecision:
        """Return the decision of a short while ago, the one in progress, or a new one."""
        key = _key(credential, action)
        with self._lock:
            if kept := self._recall(key):
                return kept
            asked = self._asked.get(key)
            mine = None if asked else self._asked.setdefault(key, Future())
        if asked:
            return asked.result()
        assert mine is not None  # noqa: S101  # one of both
        try:
            decision = decide()
        except BaseException as error:
            mine.set_exception(error)
            raise
        else:
            self._keep(key, decision)
            mine.set_result(decision)
            return decision
        finally:
            with self._lock:
                del self._asked[key]

    def _recall(self, key: _Key) -> AccessDecision | None:
        kept = self._good.get(key) or self._bad.get(key)
        return kept.decision if kept and self._now() < kept.until else None

    def _keep(self, key: _Key, decision: AccessDecision) -> None:
        with self._lock:
            self._good.pop(key, None)
            self._bad.pop(key, None)
            if (seconds := LIFETIMES_S.get(decision.result)) is not None:
                shelf = self._good if decision.allowed else self._bad
                shelf[key] = _Kept(decision, self._now() + seconds)
                if len(shelf) > self._most:
                    # Of the same sort, what was kept first also ends first, or nearly so.
                    shelf.popitem(last=False)


def _key(credential: Credential, action: RequestedAccess) -> _Key:
    return credential.digest, credential.proxied, action


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
            return _UNAUTHENTICATED
        if kept := self._memory.recall(credential, action):
            return kept
        try:
            with self._max_concurrent.enter(large=False):
                return self._memory.get_or_decide(
                    credential,
                    action,
                    lambda: self._reviewer.decide(credential, action) if self._rate.take() else _BUSY,
                )
        except BusyError:
            return _BUSY


def build_authorizer(
    settings: Settings, api: ApiServer | None, *, places: int, count: Callable[[str], None]
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

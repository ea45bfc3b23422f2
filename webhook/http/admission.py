"""The admission routes as a bare WSGI callable; every other path goes to the app behind it.

A web framework's routing and request objects cost several times what a review does, so ``/mutate`` and
``/validate`` do without. What is decided, and its JSON, is ``respond``'s; this module only reads the
request, tells the log and the metrics, and writes the answer.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple

import orjson

from policies.admission.admission_rules import rules_at_admission
from webhook.admission.budget import Budget, Pace, usable_s
from webhook.admission.respond import NotCachedError, Phase, Reply, respond
from webhook.admission.review import ReviewError
from webhook.http.body import RefusalError, read_json_body
from webhook.http.limits import BusyError
from webhook.http.problems import JSON, problem, status_line
from webhook.serving.postponed import PostponedError
from webhook.telemetry.logs import LOGGER, Value

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

    from webhook.http.state import ServerState

#: The phase that each admission route asks for.
PHASES: Final[Mapping[str, Phase]] = {f"/{phase.value}": phase for phase in Phase}

#: Seconds at most that a review waits for what the cache of the cluster does not have yet: the event of a
#: ReplicaSet comes tens of milliseconds after the first pod. Arbitrary; nobody who waits for a pod notices.
LONGEST_WAIT_S: Final = 1.0
#: Seconds between two looks whether it has come, in a thread. Arbitrary.
_WAIT_TURN_S: Final = 0.01


class _Request(NamedTuple):
    """One request to an admission route.

    Attributes:
        body: The AdmissionReview.
        phase: Which webhook is asked.
        query: The query of the URL, which has the timeout.
        started: When it came, by ``time.monotonic()``.
    """

    body: bytes
    phase: Phase
    query: str
    started: float

    @property
    def deadline(self) -> float:
        """When nothing is waited for any more, by ``time.monotonic()``."""
        return self.started + min(LONGEST_WAIT_S, usable_s(self.query))


class AdmissionApp:
    """Answers the admission routes itself and hands every other path to ``fallback``."""

    def __init__(self, state: ServerState, fallback: WSGIApplication) -> None:
        self._state = state
        self._fallback = fallback
        self._limit = state.settings.max_body_bytes
        self._asks_for_certificate = bool(state.settings.client_ca)
        self._done: deque[tuple[Phase, Reply, float]] = deque()
        self._pace, self._rules_pace = Pace(), Pace()
        # Before the workers are forked: reading fifty modules would take the first review's time.
        rules_at_admission()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        phase = PHASES.get(environ["PATH_INFO"])
        if phase is None:
            return self._fallback(environ, start_response)
        sock = environ.get("gunicorn.socket")
        # Of those that came in the same moment, the last waits for all others.
        started = getattr(sock, "began", None) or time.monotonic()
        before: PostponedError | None = getattr(sock, "postponed", None)
        try:
            if self._asks_for_certificate:
                _check_certificate(environ)
            body = before.body if before else read_json_body(environ, self._limit)
            request = _Request(body, phase, environ.get("QUERY_STRING", ""), started)
            reply = self._answer(request, sock, waited=before is not None)
        except RefusalError as refusal:
            answer = self._refuse(refusal, phase, start_response)
            return [] if environ["REQUEST_METHOD"] == "HEAD" else answer
        start_response("200 OK", [("Content-Type", JSON), ("Content-Length", str(len(reply.body)))])
        return [reply.body]

    def _answer(self, request: _Request, sock: object, *, waited: bool) -> Reply:
        """Return the answer to a review, if need be once the cache of the cluster has what it needs.

        Args:
            request: What is asked.
            sock: What the server answers through: in its main loop, an ``Outbox``.
            waited: Whether it was postponed before.

        Raises:
            PostponedError: The main loop must ask again.
            RefusalError: See ``_review``.
        """
        may_postpone: bool | None = getattr(sock, "may_postpone", None)
        in_time = time.monotonic() < request.deadline
        try:
            return self._review(request, may_wait=in_time and may_postpone is not False, waited=waited)
        except NotCachedError as error:
            miss = error.miss

        def ready() -> bool:
            # Of the context in force now: one that cannot be used any more is nothing to wait for.
            return time.monotonic() >= request.deadline or miss.found(self._state.usable_context().snapshot)

        if may_postpone:
            raise PostponedError(request.body, ready)
        return self._review(request, waited=self._wait(ready))

    def _wait(self, ready: Callable[[], bool]) -> bool:
        """Wait in a thread, as half of them may at once; return whether that was possible."""
        try:
            with self._state.scoring.enter(large=False):
                while not ready():
                    time.sleep(_WAIT_TURN_S)
        except BusyError:
            return False
        return True

    def _review(self, request: _Request, *, may_wait: bool = False, waited: bool = False) -> Reply:
        """Return the answer to a review, and note it for ``settle``.

        Args:
            request: What is asked.
            may_wait: Whether the answer may come later.
            waited: Whether it does.

        Raises:
            NotCachedError: The answer may come later, and should.
            RefusalError: The body is no AdmissionReview (400), or we failed on it (500). Never with
                Retry-After: the API server would repeat the call until its timeout instead of applying
                failurePolicy.
        """
        body, phase, query, started = request
        began = time.perf_counter()
        try:
            context = self._state.usable_context()
            budget = rules_budget = None
            if phase is Phase.VALIDATE and context.cluster is not None:
                budget = Budget(self._pace, query=query, started=started)
                rules_budget = Budget(self._rules_pace, query=query, started=started)
            reply = respond(body, phase, context, budget=budget, rules_budget=rules_budget, may_wait=may_wait)
        except NotCachedError:
            raise
        except ReviewError as error:
            raise RefusalError(HTTPStatus.BAD_REQUEST, error.message, errors=error.errors) from error
        except Exception as error:
            # Whatever a hostile body found: this review fails, the worker goes on.
            fields = {"uid": _uid(body), "phase": phase.value, "bytes": len(body)}
            LOGGER.exception("review_failed", extra={"fields": fields})
            raise RefusalError(HTTPStatus.INTERNAL_SERVER_ERROR, "internal error, see the log") from error
        seconds = time.perf_counter() - began
        if waited:
            reply = reply._replace(waited_s=time.monotonic() - started - seconds)
        self._done.append((phase, reply, seconds))
        return reply

    def settle(self) -> None:
        """Count and log the reviews that were answered since the last time.

        The server does it after each turn of its main loop, for all that the turn answered: nobody waits for
        it then, and the same few instructions one review after the other take a fraction of what they take
        among others.
        """
        events = self._state.events
        while self._done:
            phase, reply, seconds = self._done.popleft()
            self._state.telemetry.count_review(phase, reply, seconds=seconds)
            if events.enabled(logging.INFO):
                events.hold(logging.INFO, f"review_{reply.verdict}", _fields(reply, phase, seconds))
        events.flush()
        if dropped := events.take_dropped():
            self._state.telemetry.count_dropped_log_lines(dropped)

    def _refuse(self, refusal: RefusalError, phase: Phase, start_response: StartResponse) -> Iterable[bytes]:
        self._state.telemetry.count_failure(phase, refusal.status.value)
        LOGGER.info(
            "request_refused",
            extra={
                "fields": {"phase": phase.value, "status": refusal.status.value, "error": refusal.message}
            },
        )
        body = problem(refusal.message, refusal.errors)
        headers = [("Content-Type", JSON), ("Content-Length", str(len(body)))]
        if refusal.status is HTTPStatus.METHOD_NOT_ALLOWED:
            headers.append(("Allow", "POST"))
        start_response(status_line(refusal.status), headers)
        return [body]


def _check_certificate(environ: WSGIEnvironment) -> None:
    """Make sure that the client showed a certificate; the handshake has verified whatever was shown.

    Raises:
        RefusalError: It did not.
    """
    peer_certificate = getattr(environ.get("gunicorn.socket"), "getpeercert", None)
    if peer_certificate is None or not peer_certificate(True):  # noqa: FBT003  # the socket's own signature
        text = (
            "reviews need a client certificate of the authority that --client-ca names; the API server sends "
            "one if its --admission-control-config-file says which"
        )
        raise RefusalError(HTTPStatus.FORBIDDEN, text)


def _uid(body: bytes) -> str:
    """Return the uid of a review that could not be answered, empty if there is none."""
    try:
        uid = orjson.loads(body)["request"]["uid"]
    except (ValueError, TypeError, LookupError):
        return ""
    return uid if isinstance(uid, str) else ""


def _fields(reply: Reply, phase: Phase, seconds: float) -> dict[str, Value]:
    """Return what the log line of a review tells, leaving out what is empty."""
    fields: dict[str, Value] = {
        "uid": reply.uid,
        "phase": phase.value,
        "op": reply.operation,
        "kind": reply.kind,
        "ns": reply.namespace,
        "name": reply.name,
    }
    if reply.sub_resource:
        fields["sub"] = reply.sub_resource
    if reply.rules:
        fields["rules"] = ",".join(reply.rules)
    if reply.exempted:
        fields["exempted"] = ",".join(rule for rule, _ in reply.exempted)
    if reply.injected:
        fields["injected"] = reply.injected
    if reply.dry_run:
        fields["dry_run"] = True
    return fields | _cluster_fields(reply) | {"ms": round(seconds * 1000, 3)}


def _cluster_fields(reply: Reply) -> dict[str, Value]:
    """Return what the log line of a review tells of what the cluster had to do with it."""
    fields: dict[str, Value] = {}
    if reply.missed:
        fields["cluster"] = "not-cached"
    if reply.waited_s is not None:
        fields["waited_ms"] = round(reply.waited_s * 1000, 3)
    if reply.forecast_skipped:
        fields["forecast"] = "skipped"
    elif reply.forecast_s is not None:
        fields["forecast_ms"] = round(reply.forecast_s * 1000, 3)
    if reply.rules_skipped:
        fields["node_rules"] = "skipped"
    elif reply.rules_s is not None:
        fields["node_rules_ms"] = round(reply.rules_s * 1000, 3)
    return fields

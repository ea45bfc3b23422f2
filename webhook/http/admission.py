"""The admission routes as an ASGI callable: a web framework's routing and objects cost several reviews.

What is decided, and its JSON, is ``webhook.admission.respond``'s; this module only reads the request, waits
for what the cache of the cluster does not have yet, tells log and metrics, and writes the answer. A review
is computed in the event loop: it is short, and handing it to a thread costs more than it takes. Most reviews
are small and wait for nothing: ``at_once`` answers those without ASGI, and leaves the others to ``__call__``.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple

from policies.admission.admission_rules import rules_at_admission
from webhook.admission.budget import Budget, usable_s
from webhook.admission.respond import (
    NotCachedError,
    Phase,
    PreviewWantedError,
    Reply,
    respond,
    respond_unreviewable,
)
from webhook.admission.review import Review, ReviewError
from webhook.http.body import (
    BodyReader,
    ClientGoneError,
    Headers,
    MissingRest,
    Receive,
    RefusalError,
    Scope,
    Send,
    check_headers,
)
from webhook.http.preview import not_looked_at, preview_change
from webhook.http.preview_limits import LONGEST_PREVIEW_S, MOST_PREVIEWS
from webhook.http.problems import JSON, problem
from webhook.telemetry.logs import LOGGER, Value

if TYPE_CHECKING:
    from policies.admission.decision import NamespaceChange
    from policies.config.spread_policy import SpreadPolicy
    from webhook.http.state import ServerState

#: The phase that each admission route asks for.
PHASES: Final[Mapping[str, Phase]] = {f"/{phase.value}": phase for phase in Phase}

#: Seconds at most that a review waits for what the cache of the cluster does not have yet: the event of a
#: ReplicaSet comes tens of milliseconds after the first pod. Nobody who waits for a pod notices.
LONGEST_WAIT_S: Final = 1.0
#: Reviews that wait at once: a third of the connections that a worker may hold, so that others find room.
MOST_WAITING: Final = 300
#: Seconds between two looks whether it has come. The event takes some times as long.
_WAIT_TURN_S: Final = 0.01

#: The share of a request's time in which a large review waits for room: the rest is for being denied.
_ROOM_SHARE: Final = 0.5
#: What a client reads of an error of ours.
_INTERNAL: Final = "internal error, see the log"

_CONTENT_TYPE: Final = (b"Content-Type", JSON.encode())


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


class AdmissionRoutes:
    """Answers ``/mutate`` and ``/validate``."""

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._limit = state.settings.max_review_bytes
        self._needs_certificate = bool(state.settings.client_ca)
        self._bodies = BodyReader()
        self._waiting = self._previewing = 0
        self._preview_turn = asyncio.Semaphore(1)
        self._done: deque[tuple[Phase, Reply, float]] = deque()
        # Before the workers are forked: reading fifty modules would take the first review's time.
        rules_at_admission()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; not at all if the client leaves before it has come."""
        phase = PHASES[scope["path"]]
        try:
            async with AsyncExitStack() as held:
                reply = await self._received(scope, receive, held)
        except RefusalError as refusal:
            await self._refuse(refusal, phase, send)
        except ClientGoneError:
            pass
        else:
            length = (b"Content-Length", b"%d" % len(reply.body))
            start = {"type": "http.response.start", "status": 200, "headers": (_CONTENT_TYPE, length)}
            await send(start)
            await send({"type": "http.response.body", "body": reply.body})

    async def _received(self, scope: Scope, receive: Receive, held: AsyncExitStack) -> Reply:
        """Receive a review and return the answer.

        Args:
            scope: The request.
            receive: Returns the next part of its body.
            held: Holds the room that the review takes in memory.

        Raises:
            RefusalError: It gets none.
            ClientGoneError: It never came.
        """
        query, arrived = scope["query_string"].decode("latin-1"), scope["evenkeel.arrived"]
        until = arrived + usable_s(query) * _ROOM_SHARE
        body = await self._bodies.read_review(self._checked(scope), receive, self._limit, held, until=until)
        request = _Request(body.data, PHASES[scope["path"]], query, arrived)
        match body.missing:
            case MissingRest.NOTHING:
                return await self._answer(request)
            case MissingRest.TOO_LARGE:
                return self._unreviewed(request, f"its review has more than {self._limit} bytes")
            case MissingRest.NO_ROOM:
                return self._unreviewed(request, "too many large objects are being reviewed, try again")

    def at_once(self, phase: Phase, scope: Scope) -> Callable[[bytes], bytes | None] | None:
        """Return what answers a review when its body has come; None where ``__call__`` must refuse it."""
        try:
            length = check_headers(self._checked(scope))
        except RefusalError:
            return None
        if length is None or length > self._limit:
            return None
        return partial(self._answer_at_once, phase, scope)

    def _answer_at_once(self, phase: Phase, scope: Scope, body: bytes) -> bytes | None:
        """Return the answer to a review; None where it must wait, or is none of 200."""
        query, started = scope["query_string"].decode("latin-1"), scope["evenkeel.arrived"]
        try:
            return self._decided(_Request(body, phase, query, started), may_wait=True).body
        except Exception:  # noqa: BLE001  # whatever it is, __call__ meets it again and says it
            return None

    def _checked(self, scope: Scope) -> Headers:
        """Return the headers of a request that may be answered.

        Raises:
            RefusalError: It may not.
        """
        if scope["method"] != "POST":
            raise RefusalError(HTTPStatus.METHOD_NOT_ALLOWED, "use POST")
        # The handshake has verified whatever certificate was shown.
        if self._needs_certificate and "tls" not in scope["extensions"]:
            text = (
                "reviews need a client certificate of the authority that --client-ca names; the API server "
                "sends one if its --admission-control-config-file says which"
            )
            raise RefusalError(HTTPStatus.FORBIDDEN, text)
        return dict(scope["headers"])

    async def _answer(self, request: _Request) -> Reply:
        """Return the answer to a review, if need be once the cache of the cluster has what it needs.

        Raises:
            RefusalError: See ``_review``.
        """
        in_time = time.monotonic() < request.deadline
        may_wait = in_time and self._waiting < MOST_WAITING
        try:
            return self._review(request, may_wait=may_wait)
        except PreviewWantedError as error:
            if may_wait and self._previewing < MOST_PREVIEWS:
                return await self._with_preview(request, error.change)
            why = "too many other reviews wait" if in_time else "there was no time"
            return self._review(request, previewed=[not_looked_at(why)])
        except NotCachedError as error:
            miss = error.miss
        self._waiting += 1
        try:
            # Of the context in force now: one that cannot be used any more is nothing to wait for.
            while time.monotonic() < request.deadline and not miss.found(
                self._state.usable_context().snapshot
            ):
                await asyncio.sleep(_WAIT_TURN_S)
        finally:
            self._waiting -= 1
        return self._review(request, waited=True)

    async def _with_preview(self, request: _Request, change: SpreadPolicy | NamespaceChange) -> Reply:
        """Return the answer to a review, with what it would change for existing workloads.

        Raises:
            RefusalError: See ``_review``.
        """
        deadline = request.started + min(usable_s(request.query), LONGEST_PREVIEW_S)
        self._previewing += 1
        try:
            async with asyncio.timeout(deadline - time.monotonic()):
                await self._preview_turn.acquire()
            try:
                # In a thread, which waits for a child process.
                work = partial(preview_change, change, self._state, deadline=deadline)
                previewed = await asyncio.get_running_loop().run_in_executor(None, work)
            finally:
                self._preview_turn.release()
        except TimeoutError:
            previewed = [not_looked_at("other previews took all of the time")]
        except Exception as error:  # noqa: BLE001  # the review itself can be answered all the same
            LOGGER.error("preview_failed", exc_info=error)
            previewed = [not_looked_at("internal error, see the log")]
        finally:
            self._previewing -= 1
        return self._review(request, previewed=previewed, waited=True)

    def _review(
        self,
        request: _Request,
        *,
        may_wait: bool = False,
        waited: bool = False,
        previewed: Sequence[str] | None = None,
    ) -> Reply:
        """Return the answer to a review; the arguments are those of ``_decided``.

        Raises:
            NotCachedError: The answer may come later, and should.
            PreviewWantedError: The same.
            RefusalError: The body is no AdmissionReview (400), or we failed on it (500) and it says not even
                whose it is. Never with Retry-After: the API server would repeat the call until its timeout
                instead of applying failurePolicy.
        """
        try:
            return self._decided(request, may_wait=may_wait, waited=waited, previewed=previewed)
        except (NotCachedError, PreviewWantedError):
            raise
        except ReviewError as error:
            raise RefusalError(HTTPStatus.BAD_REQUEST, error.message, errors=error.errors) from error
        except Exception as error:  # noqa: BLE001  # whatever a hostile body found: the worker goes on
            return self._failed(request, error)

    def _failed(self, request: _Request, error: Exception) -> Reply:
        """Return the answer to a review that we failed on.

        Raises:
            RefusalError: It says not even whose it is (500).
        """
        fields = {"uid": _uid(request.body), "phase": request.phase.value, "bytes": len(request.body)}
        LOGGER.error("review_failed", exc_info=error, extra={"fields": fields})
        try:
            return self._unreviewed(request, _INTERNAL)
        except Exception:  # noqa: BLE001  # the same again, or one that needs no second line
            raise RefusalError(HTTPStatus.INTERNAL_SERVER_ERROR, _INTERNAL) from error

    def _unreviewed(self, request: _Request, why: str) -> Reply:
        """Return the answer to a review that cannot be decided: a refusal where a policy may deny the object.

        Raises:
            RefusalError: It is not even the beginning of a review (400).
        """
        began = time.perf_counter()
        context = self._state.usable_context()
        reply = respond_unreviewable(request.body, request.phase, context, why)
        if reply is None:
            raise RefusalError(HTTPStatus.BAD_REQUEST, why)
        self._note(request.phase, reply, time.perf_counter() - began)
        return reply

    def _decided(
        self,
        request: _Request,
        *,
        may_wait: bool,
        waited: bool = False,
        previewed: Sequence[str] | None = None,
    ) -> Reply:
        """Return the answer to a review, and note it for ``settle``.

        Args:
            request: What is asked.
            may_wait: Whether the answer may come later.
            waited: Whether it does.
            previewed: What is told of existing workloads; None if it is not known.
        """
        body, phase, query, started = request
        began = time.perf_counter()
        context = self._state.usable_context()
        budget = rules_budget = None
        if phase is Phase.VALIDATE and context.cluster is not None:
            budget = Budget(query=query, started=started)
            rules_budget = Budget(query=query, started=started)
        reply = respond(
            body,
            phase,
            context,
            budget=budget,
            rules_budget=rules_budget,
            may_wait=may_wait,
            previewed=previewed,
        )
        seconds = time.perf_counter() - began
        if waited:
            reply = reply._replace(waited_s=time.monotonic() - started - seconds)
        self._note(phase, reply, seconds)
        return reply

    def _note(self, phase: Phase, reply: Reply, seconds: float) -> None:
        """Note an answer for ``settle``."""
        if not self._done:
            asyncio.get_running_loop().call_soon(self.settle)
        self._done.append((phase, reply, seconds))

    def settle(self) -> None:
        """Count and log the reviews that were answered since the last time.

        The event loop does it after all that it answered in one turn: nobody waits for it then, and the same
        few instructions one review after the other take a fraction of what they take among others.
        """
        events = self._state.events
        while self._done:
            phase, reply, seconds = self._done.popleft()
            self._state.telemetry.count_review(phase, reply, seconds=seconds)
            if events.enabled(logging.INFO):
                events.hold(logging.INFO, f"review_{reply.verdict}", _fields(reply, phase, seconds))
        events.flush()

    async def _refuse(self, refusal: RefusalError, phase: Phase, send: Send) -> None:
        self._state.telemetry.count_failure(phase, refusal.status.value)
        fields = {"phase": phase.value, "status": refusal.status.value, "error": refusal.message}
        LOGGER.info("request_refused", extra={"fields": fields})
        body = problem(refusal.message, refusal.errors)
        headers = [_CONTENT_TYPE, (b"Content-Length", b"%d" % len(body))]
        if refusal.status is HTTPStatus.METHOD_NOT_ALLOWED:
            headers.append((b"Allow", b"POST"))
        await send({"type": "http.response.start", "status": refusal.status.value, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def _uid(body: bytes) -> str:
    """Return the uid of a review that could not be answered, empty if there is none."""
    review = Review.of_beginning(body)
    return review.uid if review else ""


def _fields(reply: Reply, phase: Phase, seconds: float) -> dict[str, Value]:
    """Return what the log line of a review tells, leaving out what is empty."""
    fields: dict[str, Value] = {
        "uid": reply.uid,
        "phase": str(phase),
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
    if reply.unreviewable:
        fields["unreviewable"] = reply.unreviewable
    _add_cluster_fields(fields, reply)
    fields["ms"] = round(seconds * 1000, 3)
    return fields


def _add_cluster_fields(fields: dict[str, Value], reply: Reply) -> None:
    """Add what the log line of a review tells of what the cluster had to do with it."""
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

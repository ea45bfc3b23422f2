"""The admission routes as an ASGI callable: a web framework's routing and objects cost several reviews.

What is decided, and its JSON, is ``webhook.admission.respond``'s; this module only reads the request, waits
for what the cache of the cluster does not have yet, tells log and metrics, and writes the answer. A review
is computed in the event loop: it is short, and handing it to a thread costs more than it takes. Most reviews
are small and wait for nothing: ``at_once`` answers those without ASGI, and what it has begun of the others
comes to ``__call__`` with their scope.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from policies.admission.admission_rules import rules_at_admission
from webhook.admission.budget import Budget
from webhook.admission.reply import Reply, log_fields
from webhook.admission.respond import (
    RefusedReview,
    respond,
    respond_unreviewable,
)
from webhook.admission.review import Phase, ReviewRequest
from webhook.http.body import (
    BodyReader,
    ClientGoneError,
    Headers,
    MissingRest,
    Receive,
    Scope,
    Send,
)
from webhook.http.problems import JSON, RefusalError, problem
from webhook.http.review_waits import BegunReview, ReviewWaits
from webhook.registration import split_path
from webhook.telemetry.logs import LOGGER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webhook.http.state import ServerState

#: The phase of each admission route.
PHASES: Final[Mapping[str, Phase]] = {f"/{phase.value}": phase for phase in Phase}

#: The share of a request's time in which a large review waits for room: the rest is for being denied.
_ROOM_SHARE: Final = 0.5

_JSON: Final = JSON.encode()
_CONTENT_TYPE: Final = (b"Content-Type", _JSON)


class AdmissionRoutes:
    """Answers ``/mutate`` and ``/validate``."""

    def __init__(self, state: ServerState) -> None:
        self._state, self._current = state, state.current
        self._limit = state.settings.max_review_bytes
        self._needs_certificate = bool(state.settings.client_ca)
        self._bodies = BodyReader()
        self._waits = ReviewWaits(state)
        self._done: deque[BegunReview] = deque()
        # Before the workers are forked: reading fifty modules would take the first review's time.
        rules_at_admission()

    def at_once(self, phase: Phase, scope: Scope) -> Callable[[bytes], BegunReview] | None:
        """Return the function that answers a review when its body has come; None where ``__call__`` reads it.

        Args:
            phase: Which webhook is called.
            scope: The head of the request, of which gunicorn has seen that the body is small.
        """
        headers = dict(scope["headers"])
        usual = headers.get(b"content-type") == _JSON and int(headers[b"content-length"]) <= self._limit
        return partial(self._begin, phase, scope) if usual and self._has_certificate(scope) else None

    def _begin(self, phase: Phase, scope: Scope, body: bytes) -> BegunReview:
        """Answer a review whose body has come, if that takes no waiting."""
        began = time.perf_counter()
        request = self._request(body, phase, scope)
        outcome = respond(request, self._current.usable())
        seconds = time.perf_counter() - began
        if not isinstance(outcome, Reply) or outcome.preliminary:
            return BegunReview(request, outcome, seconds, None)
        begun = BegunReview(request, outcome, seconds, outcome.body)
        self._note(begun)
        return begun

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; not at all if the client leaves before it has come."""
        phase = PHASES[split_path(scope["path"])[0]]
        try:
            async with AsyncExitStack() as held:
                begun = scope.get("evenkeel.begun") or await self._receive(phase, scope, receive, held)
                if isinstance(begun.outcome, Reply) and begun.outcome.preliminary:
                    begun = await self._waits.finish(begun, begun.outcome)
                    self._note(begun)
                outcome = begun.outcome
        except RefusalError as refusal:
            outcome = RefusedReview(refusal.status, refusal.message, refusal.errors)
        except ClientGoneError:
            return
        match outcome:
            case Reply():
                await _send(send, HTTPStatus.OK, outcome.body)
            case RefusedReview():
                await _send(send, outcome.status, self._refuse(outcome, phase))

    async def _receive(
        self, phase: Phase, scope: Scope, receive: Receive, held: AsyncExitStack
    ) -> BegunReview:
        """Receive a review and begin to answer it.

        Args:
            phase: Which webhook is called.
            scope: The request.
            receive: Returns the next part of its body.
            held: Holds the room that the review takes in memory.

        Raises:
            RefusalError: It gets no answer.
            ClientGoneError: It never came.
        """
        headers = self._checked(scope)
        until = _budget(scope).deadline(share=_ROOM_SHARE)
        body = await self._bodies.read_review(headers, receive, self._limit, held, until=until)
        match body.missing:
            case MissingRest.NOTHING:
                return self._begin(phase, scope, body.data)
            case MissingRest.TOO_LARGE:
                why = f"its review has more than {self._limit} bytes"
            case MissingRest.NO_ROOM:
                why = "too many large objects are being reviewed, try again"
        began, request = time.perf_counter(), self._request(body.data, phase, scope)
        outcome = respond_unreviewable(request, self._current.usable(), why)
        begun = BegunReview(request, outcome, time.perf_counter() - began, None)
        self._note(begun)
        return begun

    def _request(self, body: bytes, phase: Phase, scope: Scope) -> ReviewRequest:
        """Return a request whose body has come; whatever token its path has, it is answered."""
        tokens = None if "tls" in scope["extensions"] else self._state.path_tokens
        known = tokens is None or tokens.admits(split_path(scope["path"])[1])
        return ReviewRequest(body, phase, _budget(scope), known)

    def _has_certificate(self, scope: Scope) -> bool:
        """Return whether a client has shown what it must; the handshake has verified it."""
        return not self._needs_certificate or "tls" in scope["extensions"]

    def _checked(self, scope: Scope) -> Headers:
        """Return the headers of a request that may be answered.

        Raises:
            RefusalError: It may not.
        """
        if scope["method"] != "POST":
            raise RefusalError(HTTPStatus.METHOD_NOT_ALLOWED, "use POST")
        if not self._has_certificate(scope):
            text = (
                "reviews need a client certificate of the authority that --client-ca names; the API server "
                "sends one if its --admission-control-config-file says which"
            )
            raise RefusalError(HTTPStatus.FORBIDDEN, text)
        return dict(scope["headers"])

    def _note(self, begun: BegunReview) -> None:
        """Note an answer for ``settle``."""
        if not self._done:
            asyncio.get_running_loop().call_soon(self.settle)
        self._done.append(begun)

    def settle(self) -> None:
        """Count and log the reviews that were answered since the last time.

        The event loop does it after all that it answered in one turn: no client waits for it then, and the
        same few instructions one review after the other take a fraction of what they take among others.
        """
        events = self._state.events
        while self._done:
            request, reply, seconds, _ = self._done.popleft()
            if not isinstance(reply, Reply):
                continue
            self._state.telemetry.reviews.count(request.phase, reply, seconds=seconds)
            self._state.forecasts.note(reply)
            if events.enabled(logging.INFO):
                fields = log_fields(reply, request.phase, seconds)
                events.hold(logging.INFO, f"review_{reply.decision.verdict}", fields)
        events.flush()

    def _refuse(self, refused: RefusedReview, phase: Phase) -> bytes:
        """Count and log an HTTP error; return its body."""
        self._state.telemetry.failures.labels(phase, str(refused.status.value)).inc()
        fields = {"phase": phase.value, "status": refused.status.value, "error": refused.message}
        LOGGER.info("request_refused", extra={"fields": fields})
        return problem(refused.message, refused.errors)


def _budget(scope: Scope) -> Budget:
    """Return the time that a request has."""
    return Budget(scope["query_string"].decode("latin-1"), scope["evenkeel.arrived"])


async def _send(send: Send, status: HTTPStatus, body: bytes) -> None:
    """Send an answer of JSON."""
    headers = [_CONTENT_TYPE, (b"Content-Length", b"%d" % len(body))]
    if status is HTTPStatus.METHOD_NOT_ALLOWED:
        headers.append((b"Allow", b"POST"))
    await send({"type": "http.response.start", "status": status.value, "headers": headers})
    await send({"type": "http.response.body", "body": body})

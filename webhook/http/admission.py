"""The admission routes as an ASGI callable: a web framework's routing and objects cost several reviews.

What is decided, and its JSON, is ``webhook.admission.respond``'s; this module only reads the request, waits
for what the cache of the cluster does not have yet, tells log and metrics, and writes the answer. A review
is computed in the event loop: it is short, and handing it to a thread costs more than it takes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from contextlib import ExitStack
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from policies.admission.admission_rules import rules_at_admission
from webhook.admission.reply import Reply, log_fields
from webhook.admission.respond import (
    RefusedReview,
    respond,
    respond_unreviewable,
)
from webhook.admission.review import Budget, Phase, ReviewRequest
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

#: Why a large review was not read.
_NO_ROOM: Final = "too many large objects are being reviewed, try again"
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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; not at all if the client leaves before it has come."""
        route, token = split_path(scope["path"])
        phase, budget = PHASES[route], _budget(scope)
        try:
            headers, until = self._checked(scope), budget.deadline(share=_ROOM_SHARE)
            # Holds the room that the review takes in memory.
            with ExitStack() as held:
                body = await self._bodies.read_review(headers, receive, self._limit, held, until=until)
                request = ReviewRequest(body.data, phase, budget, self._is_known(scope, token))
                begun = self._begin(request, body.missing)
                if isinstance(begun.outcome, Reply) and begun.outcome.preliminary:
                    begun = await self._waits.finish(begun, begun.outcome)
                outcome = begun.outcome
            self._note(begun)
        except RefusalError as refusal:
            outcome = RefusedReview(refusal.status, refusal.message, refusal.errors)
        except ClientGoneError:
            return
        match outcome:
            case Reply():
                await _send(send, HTTPStatus.OK, outcome.body)
            case RefusedReview():
                await _send(send, outcome.status, self._refuse(outcome, phase))

    def _begin(self, request: ReviewRequest, missing: MissingRest) -> BegunReview:
        """Answer a review that has come, or its beginning, as far as that takes no waiting."""
        began, context = time.perf_counter(), self._current.usable()
        if missing is MissingRest.NOTHING:
            outcome = respond(request, context)
        else:
            too_large = f"its review has more than {self._limit} bytes"
            why = too_large if missing is MissingRest.TOO_LARGE else _NO_ROOM
            outcome = respond_unreviewable(request, context, why)
        return BegunReview(request, outcome, time.perf_counter() - began)

    def _is_known(self, scope: Scope, token: str) -> bool:
        """Return whether a caller is the API server; whatever token its path has, it is answered."""
        tokens = None if "tls" in scope["extensions"] else self._state.path_tokens
        return tokens is None or tokens.admits(token)

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
            request, reply, seconds = self._done.popleft()
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

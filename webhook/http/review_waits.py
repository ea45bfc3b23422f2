"""Reviews that cannot be answered at once: what they wait for, how long, and how many of them.

Only those wait: the event loop answers others meanwhile. Previews of existing workloads are computed in a
thread, a workload at a time, as the status of policies is: each costs what a review of it would.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from policies.admission.decision import AdmissionWarning, CacheMiss, NamespaceChange
from policies.admission.policy_preview import preview_warnings, preview_workloads
from policies.config.context import STRANGER
from webhook.admission.reply import Reply, reply_to
from webhook.admission.respond import RefusedReview, respond
from webhook.admission.review import ReviewRequest
from webhook.http.state import LONGEST_PREVIEW_S, ServerState
from webhook.telemetry.logs import LOGGER

if TYPE_CHECKING:
    from policies.config.spread_policy import SpreadPolicy

#: Seconds at most that a review waits for what the cache of the cluster does not have yet: the event of a
#: ReplicaSet comes tens of milliseconds after the first pod. No one who waits for a pod notices.
LONGEST_WAIT_S: Final = 1.0
#: Reviews that wait at once: a third of the connections that a worker may hold, so that others find room.
MOST_WAITING: Final = 300
#: Seconds between two looks whether it has come. The event takes some times as long.
_WAIT_TURN_S: Final = 0.01

#: Previews that wait for one another; more than people change policies at once.
MOST_PREVIEWS: Final = 8
#: Seconds that are kept for what comes after the last workload: the answer.
_RESERVE_S: Final = 0.2


class BegunReview(NamedTuple):
    """A review as far as it is answered."""

    request: ReviewRequest  #: The request.
    outcome: Reply | RefusedReview  #: What came of it so far.
    seconds: float  #: Seconds that it took to decide, without waiting.


class ReviewWaits:
    """The reviews of one process that wait."""

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._waiting = self._previewing = 0
        self._preview_turn = asyncio.Semaphore(1)

    async def finish(self, begun: BegunReview, reply: Reply) -> BegunReview:
        """Answer a review once there is what its reply lacks, or without it if it cannot wait any longer."""
        if not begun.request.from_api_server:
            return begun._replace(outcome=_as_it_is(begun.request, reply, STRANGER))
        in_time = time.monotonic() < begun.request.budget.deadline(LONGEST_WAIT_S)
        why = "too many other reviews wait" if in_time else "there was no time"
        if in_time and self._waiting < MOST_WAITING:
            change, miss = reply.decision.change, reply.decision.miss
            if change is not None and self._previewing < MOST_PREVIEWS:
                return await self._await_preview(begun, reply, change)
            if change is None and miss is not None:
                return await self._await_cache(begun, miss)
        return begun._replace(outcome=_as_it_is(begun.request, reply, why))

    async def _await_cache(self, begun: BegunReview, miss: CacheMiss) -> BegunReview:
        """Decide a review again as soon as the cache of the cluster has what it needs."""
        deadline = begun.request.budget.deadline(LONGEST_WAIT_S)
        self._waiting += 1
        try:
            # In the context in force now: one that cannot be used any more is nothing to wait for.
            while not (came := miss.found(self._state.current.usable().snapshot)):
                if time.monotonic() >= deadline:
                    break
                await asyncio.sleep(_WAIT_TURN_S)
        finally:
            self._waiting -= 1
        waited_s = time.monotonic() - begun.request.budget.started - begun.seconds
        outcome, began = begun.outcome, time.perf_counter()
        if came:
            outcome = respond(begun.request, self._state.current.usable())
        seconds = begun.seconds + time.perf_counter() - began
        outcome = _as_it_is(begun.request, outcome, "there was no time")
        if isinstance(outcome, Reply):
            outcome = outcome._replace(waited_s=waited_s)
        return begun._replace(outcome=outcome, seconds=seconds)

    async def _await_preview(
        self, begun: BegunReview, held: Reply, change: SpreadPolicy | NamespaceChange
    ) -> BegunReview:
        """Answer a review with what it would change for existing workloads."""
        deadline = begun.request.budget.deadline(LONGEST_PREVIEW_S)
        began = time.monotonic()
        self._previewing += 1
        try:
            previewed = await self._preview(change, deadline)
        except TimeoutError:
            previewed = [not_looked_at("other previews took all of the time")]
        except Exception as error:  # noqa: BLE001  # the review itself can be answered all the same
            LOGGER.error("preview_failed", exc_info=error)
            previewed = [not_looked_at("internal error, see the log")]
        finally:
            self._previewing -= 1
        reply = reply_to(begun.request, held.review, held.decision, previewed)
        return begun._replace(outcome=reply._replace(preview_s=time.monotonic() - began))

    async def _preview(self, change: SpreadPolicy | NamespaceChange, deadline: float) -> list[str]:
        """Return the warnings of what a change does, one preview after the other.

        Raises:
            TimeoutError: The others took too long.
        """
        async with asyncio.timeout(deadline - time.monotonic()):
            await self._preview_turn.acquire()
        try:
            work = partial(preview_change, change, self._state, deadline=deadline)
            return await asyncio.get_running_loop().run_in_executor(None, work)
        finally:
            self._preview_turn.release()


def _as_it_is(request: ReviewRequest, outcome: Reply | RefusedReview, why: str) -> Reply | RefusedReview:
    """Return the answer that needs no waiting; ``why`` says what kept a preview from being made."""
    if isinstance(outcome, Reply) and outcome.decision.change is not None:
        return reply_to(request, outcome.review, outcome.decision, [not_looked_at(why)])
    return outcome


def preview_change(
    change: SpreadPolicy | NamespaceChange, state: ServerState, *, deadline: float
) -> list[str]:
    """Return the warnings; none where nothing is known of workloads. Takes until the deadline at most.

    Args:
        change: What is reviewed.
        state: The server's.
        deadline: When the answer must be there, by ``time.monotonic()``.
    """
    before, workloads, with_policy = state.current.usable(), state.workloads, state.with_policy
    if not before.live or workloads is None or with_policy is None:
        return []
    if before.cluster is None:
        return [not_looked_at(before.withheld)]
    found, last = workloads(), deadline - _RESERVE_S
    if isinstance(change, NamespaceChange):
        found = found.narrowed(change.name, None)
        with before.reading():
            after = before.with_namespace(*change)
    else:
        after = before.with_policies(with_policy(change))

    def in_time() -> bool:
        # Reviews that wait for the interpreter get it after each workload, not after some milliseconds.
        time.sleep(0)
        return time.monotonic() < last

    today = datetime.now(UTC).date()
    return preview_warnings(preview_workloads(found, before, after, today=today, in_time=in_time))


def not_looked_at(why: str) -> str:
    """Return the warning that nothing is known of existing workloads."""
    return str(AdmissionWarning(f"existing workloads were not looked at: {why}"))

"""The preview of existing workloads for the author of a policy or of a namespace, within the time there is.

The preview is computed in a child process: reviews go on meanwhile, and no lock is held.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from policies.admission.decision import NamespaceChange
from policies.admission.policy_preview import preview_workloads
from policies.admission.preview_warnings import preview_warnings
from policies.admission.warnings import AdmissionWarning
from webhook.http.child_processes import Limit, LimitError

if TYPE_CHECKING:
    from policies.config.spread_policy import SpreadPolicy
    from webhook.http.state import ServerState

#: Seconds that are kept for what comes after the last workload: a child that ends, and the answer.
_RESERVE_S: Final = 0.2
#: What is said of limits that are those of the review, not of the server.
_NO_TIME: Final = {Limit.TIMEOUT: "there was no time", Limit.BUSY: "other requests took all of the time"}


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
    of_namespace = change.name if isinstance(change, NamespaceChange) else ""
    policies = () if isinstance(change, NamespaceChange) else with_policy(change)
    last = deadline - _RESERVE_S

    def compute() -> list[str]:
        if isinstance(change, NamespaceChange):
            after = before.with_namespace(*change)
        else:
            # Here, for many policies take a while to index.
            after = before.with_policies(policies)
        preview = preview_workloads(
            workloads.narrowed(of_namespace, None),
            before,
            after,
            today=datetime.now(UTC).date(),
            in_time=lambda: time.monotonic() < last,
        )
        return preview_warnings(preview)

    try:
        return state.previews.run(
            compute, frozen=before.reading, timeout_s=max(0.0, deadline - time.monotonic())
        )
    except LimitError as error:
        return [not_looked_at(_NO_TIME.get(error.limit, error.message))]


def not_looked_at(why: str) -> str:
    """Return the warning that nothing is known of existing workloads."""
    return str(AdmissionWarning(f"existing workloads were not looked at: {why}"))

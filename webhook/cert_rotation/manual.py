"""Rotate because a person demands it: with no server running, and until everyone trusts what is new."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from certs.rotate import Action, Demand
from webhook.cert_rotation.reconcile import ClockError, ObservedState, Reconciler
from webhook.kube.api_server import ClusterError

#: What was done, in words.
_DONE: Final = {
    Action.REPLACE_CA: "created a new CA",
    Action.ISSUE: "issued a new serving certificate",
}


def require_secret(reconciler: Reconciler) -> None:
    """Make sure that there is a Secret, whatever it holds: a mistyped name would get keys of its own.

    Raises:
        ClusterError: There is none, or the cluster cannot be read.
    """
    stored = reconciler.observe().stored
    if stored.manifest is None:
        raise ClusterError(f"{stored.source} does not exist: give its name, or --create to create it")


def rotate(
    reconciler: Reconciler,
    demand: Demand,
    *,
    timeout_s: float,
    sleep: Callable[[float], object],
    report: Callable[[str], object],
) -> ObservedState:
    """Do what is demanded, and go on until nothing more is due.

    Args:
        reconciler: The cluster's certificates.
        demand: What to replace.
        timeout_s: Seconds to wait, at most.
        sleep: Waits for a number of seconds.
        report: Gets what is done and what is waited for, a line each.

    Returns:
        What is there then.

    Raises:
        ClusterError: The cluster cannot be read, or what must be waited for does not come.
    """
    left, reported = timeout_s, ""
    while True:
        observed, rotation = reconciler.reconcile(demand=demand)
        demand, plan = rotation.demand, rotation.plan
        for done in rotation.done:
            report(_DONE[done.action])
        if plan.action is Action.KEEP:
            return observed
        if plan.action is Action.REFUSE:
            raise ClockError(f"nothing is issued: {plan.reason}; set it (timedatectl), then try again")
        if left <= 0:
            raise ClusterError(f"timed out after {timeout_s:.0f} s, waiting {plan.reason}")
        if plan.reason != reported:
            reported = plan.reason
            report(f"waiting {plan.reason}; it can take a minute")
        sleep(1.0)
        left -= 1.0

"""Rotate because somebody asks for it: with no server running, and until everybody trusts what is new."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from certs.rotate import Demand, Step
from webhook.cert_rotation.reconcile import ObservedState, Reconciler
from webhook.kube.api_server import ClusterError

#: The steps that give what is asked for.
_FULFILLING: Final = {
    Demand.LEAF: {Step.ISSUE, Step.SWITCH, Step.MAKE},
    Demand.AUTHORITY: {Step.SWITCH, Step.MAKE},
}
#: Seconds between two looks while something must wait. Arbitrary.
_LOOK_EVERY_S: Final = 1.0


class NotInTimeError(ClusterError):
    """What a rotation waits for has not come."""


class ClockError(ClusterError):
    """The clock of this machine is not the API server's, so what is issued here could be worth nothing."""


class NoSecretError(ClusterError):
    """There is no Secret of that name."""


def require_secret(rotation: Reconciler) -> None:
    """Make sure that there is a Secret, whatever it holds.

    Raises:
        NoSecretError: There is none.
        ClusterError: The cluster cannot be asked.
    """
    stored = rotation.look().stored
    if stored.manifest is None:
        raise NoSecretError(f"{stored.source} is not there: give its name, or --create to make it")


def rotate(
    rotation: Reconciler,
    demand: Demand,
    *,
    patience_s: float,
    wait: Callable[[float], object],
    tell: Callable[[str], object],
) -> ObservedState:
    """Do what is asked for, and go on until nothing more is due.

    Args:
        rotation: The cluster's certificates.
        demand: A new serving certificate, or a new authority with it.
        patience_s: Seconds to wait, at most.
        wait: Waits for so many seconds.
        tell: Gets what is done and what is waited for, a line each.

    Returns:
        What is there then.

    Raises:
        ClusterError: The cluster cannot be asked, or what must be waited for does not come.
    """
    left, told = patience_s, ""
    while True:
        view, plan = rotation.reconcile(demand=demand)
        if plan.step is Step.KEEP:
            return view
        if plan.step is Step.REFUSE:
            raise ClockError(f"nothing is issued: {plan.reason}; set it right (timedatectl), then try again")
        if plan.step is not Step.WAIT:
            tell(_DONE.get(plan.step, plan.step.value))
            if plan.step in _FULFILLING.get(demand, ()):
                demand = Demand.NOTHING
            continue
        if left <= 0:
            raise NotInTimeError(f"not done after {patience_s:.0f} s: waited {plan.reason}")
        if plan.reason != told:
            told = plan.reason
            tell(f"waiting {plan.reason}; it can take a minute")
        wait(_LOOK_EVERY_S)
        left -= _LOOK_EVERY_S


#: What was done, in words.
_DONE: Final = {
    Step.ISSUE: "issued a new serving certificate",
    Step.SWITCH: "the standby authority is active now and has signed a new serving certificate",
    Step.MAKE: "made two new authorities and a serving certificate",
}

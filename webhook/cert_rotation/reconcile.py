"""Read a cluster's certificates, and do what ``certs.rotate`` decides: to the Secret, then to the webhooks.

Every write fails if another process has written since the read, so any number of processes may reconcile at
once: the second one reads again. Order matters. The configurations are read before the Secret, so a bundle is
never put into a configuration that is newer than the Secret it was taken from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from certs.clocks import clock_problem
from certs.keyring import Keyring
from certs.names import Target
from certs.rotate import Action, Demand, Plan, Rotation, Trust, rotate
from webhook.cert_rotation.cluster_objects import (
    Configuration,
    SecretStore,
    StoredSecret,
    publish,
    read_configurations,
)
from webhook.kube.api_server import ApiError, ApiServer, ClusterError
from webhook.telemetry.logs import LOGGER

#: What was done, in words.
_DONE: Final = {
    Action.REPLACE_CA: "created a new CA",
    Action.ISSUE: "issued a new serving certificate",
}
#: How often a conflict is answered by reading again, at most.
_ATTEMPTS: Final = 5


class ClockError(ClusterError):
    """The clock of this machine is not the API server's, so what is issued here could be worth nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedState:
    """The certificates of a cluster as they were read."""

    stored: StoredSecret  #: The Secret.
    configurations: tuple[Configuration, ...]  #: Both webhook configurations, whether they exist or not.
    trust: Trust  #: Which CAs the configurations trust, and since when.

    @property
    def keyring(self) -> Keyring:
        """The keyring in the Secret."""
        return self.stored.keyring


class Reconciler:
    """The certificates of one target; not for several threads at once.

    Attributes:
        names: The names that the serving certificate must have.
        skew: How far the clock of this machine was ahead of the API server's at the last look.
    """

    def __init__(self, api: ApiServer, target: Target, *, now: Callable[[], datetime]) -> None:
        """Nothing is sent yet.

        Raises:
            CertificateError: A Service or a namespace cannot have such a name.
        """
        self.names = target.names()
        self.skew = timedelta(0)
        self._api = api
        self._webhooks = target.webhooks
        self._secret = SecretStore(api, target.namespace, target.secret)
        self._now, self._looked_at = now, now()
        self._trust = Trust()

    def now(self) -> datetime:
        """Return the time of the last look, by the API server's clock if ours differs: it verifies."""
        return self._looked_at - self.skew if clock_problem(self.skew) else self._looked_at

    def observe(self) -> ObservedState:
        """Read the configurations and the Secret.

        Raises:
            ClusterError: They cannot be read.
        """
        configurations = read_configurations(self._api, self._webhooks)
        stored = self._secret.read()
        # Once: a clock that is set between two readings would count as right.
        self._looked_at, date = self._now(), self._api.date
        self.skew = self._looked_at - date if date else timedelta(0)
        return self._observed(stored, configurations)

    def reconcile(
        self,
        observed: ObservedState | None = None,
        *,
        demand: Demand = Demand.NOTHING,
        publishing: bool = True,
    ) -> tuple[ObservedState, Rotation]:
        """Do whatever is due, first to the Secret and then to the configurations.

        Args:
            observed: What was just read; None to read first.
            demand: What a person wants replaced.
            publishing: Do the configurations too.

        Returns:
            What is there now, and what was done to the Secret.

        Raises:
            ClusterError: Something cannot be read or written, or others are always faster.
        """
        done: list[Plan] = []
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                observed, rotation = self._rotate(observed or self.observe(), demand)
                done += rotation.done
                # What was written is not demanded again if the configurations have changed meanwhile.
                demand = rotation.demand
                # Where this machine must not create the keys that are due, there is no bundle either.
                if publishing and rotation.plan.action is not Action.REFUSE:
                    observed = self._publish(observed)
            except ApiError as error:
                if attempt == _ATTEMPTS or not (error.conflict or error.not_found):
                    raise
                observed = None
            else:
                return observed, replace(rotation, done=tuple(done))
        raise AssertionError("the last attempt returns or raises")

    def _rotate(self, observed: ObservedState, demand: Demand) -> tuple[ObservedState, Rotation]:
        """Do to the Secret whatever is due, by one write."""
        rotation = rotate(
            observed.keyring, observed.trust, names=self.names, now=self.now(), demand=demand, skew=self.skew
        )
        if rotation.done:
            observed = replace(observed, stored=self._secret.write(observed.stored, rotation.keyring))
        for plan in rotation.done:
            fields = {"secret": self._secret.source, "action": plan.action.value, "reason": plan.reason}
            LOGGER.info("certificate_secret_written", extra={"fields": fields})
        return observed, rotation

    def _publish(self, observed: ObservedState) -> ObservedState:
        """Put the Secret's CAs into the configurations that have others."""
        bundle = observed.keyring.bundle(self.now())
        configurations = []
        for old in observed.configurations:
            new = publish(self._api, old, bundle)
            configurations.append(new)
            if new is not old:
                fields = {"configuration": new.source, "cas": len(bundle)}
                LOGGER.info("ca_bundle_published", extra={"fields": fields})
        return self._observed(observed.stored, tuple(configurations))

    def _observed(self, stored: StoredSecret, configurations: tuple[Configuration, ...]) -> ObservedState:
        bundles = [bundle for found in configurations for bundle in found.trusted.values()]
        self._trust = self._trust.observe(bundles, self.now())
        return ObservedState(stored=stored, configurations=configurations, trust=self._trust)


def require_secret(reconciler: Reconciler) -> None:
    """Make sure that there is a Secret, whatever it holds: a mistyped name would get keys of its own.

    Raises:
        ClusterError: There is none, or the cluster cannot be read.
    """
    stored = reconciler.observe().stored
    if stored.manifest is None:
        raise ClusterError(f"{stored.source} does not exist: give its name, or --create to create it")


def rotate_on_demand(
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

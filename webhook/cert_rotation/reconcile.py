"""Look at a cluster's certificates, and do what ``certs.rotate`` decides: first to the Secret.

Everything is written under the condition that nobody else has written meanwhile, so any number of processes
may do this at once: who comes second looks again. Order matters. The configurations are read before the
Secret, so a bundle is never put into a configuration that is newer than the Secret it was made from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from certs.clocks import clock_problem
from certs.keypair import KeyPair
from certs.keyring import Keyring
from certs.names import Service as ServiceNames
from certs.names import SubjectNames, parse_names
from certs.rotate import (
    Demand,
    Lifetimes,
    Plan,
    Publication,
    Step,
    carry_out,
    plan_rotation,
    serving_problem,
)
from webhook.cert_rotation.configurations import (
    Configuration,
    publish,
    published_bundles,
    read_configurations,
)
from webhook.cert_rotation.secret import SecretStore, Stored
from webhook.kube.api_server import ApiError, ApiServer
from webhook.logs import LOGGER

#: How often a round is begun anew because somebody else was faster. Arbitrary; the next look comes soon.
_ATTEMPTS: Final = 5
#: How many steps one round takes at most. Making everything and adding what others trust takes three.
_STEPS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a cluster has its certificates.

    Attributes:
        namespace: Of the Secret and the Service.
        secret: Its name.
        service: The Service that the certificate is for.
        webhooks: The name of both webhook configurations.
    """

    namespace: str
    secret: str = "evenkeel-tls"  # noqa: S105  # a name
    service: str = "evenkeel"
    webhooks: str = "evenkeel"

    def names(self) -> SubjectNames:
        """Return the names of the serving certificate.

        Raises:
            NamesError: A Service or a namespace cannot be called so.
        """
        return parse_names(service=ServiceNames(name=self.service, namespace=self.namespace))


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedState:
    """What a look has seen.

    Attributes:
        stored: The Secret.
        configurations: Both webhook configurations, there or not.
        publication: Whom the API servers trust, and since when.
    """

    stored: Stored
    configurations: tuple[Configuration, ...]
    publication: Publication

    @property
    def keyring(self) -> Keyring:
        """What the Secret holds."""
        return self.stored.keyring

    def missing(self) -> tuple[str, ...]:
        """Return the webhook configurations that are not there."""
        return tuple(found.source for found in self.configurations if found.manifest is None)


class Reconciler:
    """The certificates of one place, looked at again and again; not for several threads at once.

    Attributes:
        skew: How far the clock of this machine was ahead of the API server's at the last look.
    """

    def __init__(
        self,
        api: ApiServer,
        place: Target,
        *,
        now: Callable[[], datetime],
        lifetimes: Lifetimes | None = None,
    ) -> None:
        """Nothing is sent yet.

        Raises:
            NamesError: A Service or a namespace cannot be called so.
        """
        self.place = place
        self.names = place.names()
        self.lifetimes = lifetimes or Lifetimes()
        self._api = api
        self._secret = SecretStore(api, place.namespace, place.secret)
        self._now = now
        self._publication = Publication()
        self.skew = timedelta(0)

    def now(self) -> datetime:
        """Return the current time, by the API server's clock if this machine's differs: it verifies."""
        now = self._now()
        return now - self.skew if clock_problem(self.skew) else now

    def look(self) -> ObservedState:
        """Read the configurations and the Secret.

        Raises:
            ClusterError: They cannot be read.
        """
        configurations = read_configurations(self._api, self.place.webhooks)
        stored = self._secret.read()
        date = self._api.date
        self.skew = self._now() - date if date else timedelta(0)
        self._observe(configurations)
        return ObservedState(stored=stored, configurations=configurations, publication=self._publication)

    def plan(self, view: ObservedState, *, demand: Demand = Demand.NOTHING) -> Plan:
        """Decide the next step on what was seen."""
        return plan_rotation(
            view.keyring,
            view.publication,
            names=self.names,
            now=self.now(),
            lifetimes=self.lifetimes,
            demand=demand,
            skew=self.skew,
        )

    def _take_step(self, view: ObservedState, plan: Plan, *, spare: KeyPair | None = None) -> ObservedState:
        """Do what was planned to the Secret.

        Args:
            view: What was seen.
            plan: What was planned on it.
            spare: A good serving certificate, should the Secret hold no good one and nobody to sign one.

        Raises:
            ApiError: With ``conflict`` or ``not_found`` if it is no longer what was seen.
            UnreachableError: There is no answer.
        """
        keyring = view.keyring
        if plan.step is Step.MAKE and serving_problem(keyring.serving, self.names, self.now()):
            keyring = replace(keyring, serving=spare)
        changed = carry_out(
            plan.step,
            keyring,
            view.publication,
            names=self.names,
            now=self.now(),
            lifetimes=self.lifetimes,
        )
        stored = self._secret.write(view.stored, changed)
        LOGGER.info(
            "certificate_secret_written",
            extra={"fields": {"secret": stored.source, "step": plan.step.value, "reason": plan.reason}},
        )
        return replace(view, stored=stored)

    def reconcile(
        self,
        view: ObservedState | None = None,
        *,
        demand: Demand = Demand.NOTHING,
        spare: KeyPair | None = None,
        publishing: bool = True,
    ) -> tuple[ObservedState, Plan]:
        """Do whatever is due, first in the Secret and then in the configurations.

        Args:
            view: What a look has just seen; None to look first.
            demand: What a person asks for; it is asked for until a step of it was taken.
            spare: A good serving certificate, should the Secret hold no good one and nobody to sign one.
            publishing: Do the configurations too.

        Returns:
            What is there now, and the last plan: to wait, that this machine must not, or that nothing is
            left to do; or the step that fulfilled the demand.

        Raises:
            ClusterError: Something cannot be read or written, or others are always faster.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                view, plan = self._renewed(view or self.look(), demand, spare)
                # Where keys are due that this machine must not make, there is no bundle either.
                if publishing and plan.step is not Step.REFUSE:
                    view = self._published(view)
            except ApiError as error:
                if attempt == _ATTEMPTS or not (error.conflict or error.not_found):
                    raise
                view = None
            else:
                return view, plan
        raise AssertionError("the last attempt returns or raises")

    def _renewed(
        self, view: ObservedState, demand: Demand, spare: KeyPair | None
    ) -> tuple[ObservedState, Plan]:
        """Do to the Secret whatever is due."""
        for _ in range(_STEPS):
            plan = self.plan(view, demand=demand)
            if plan.step in {Step.KEEP, Step.WAIT, Step.REFUSE}:
                break
            view = self._take_step(view, plan, spare=spare)
            if demand is not Demand.NOTHING and plan.step in {Step.SWITCH, Step.ISSUE, Step.MAKE}:
                break
        return view, plan

    def _published(self, view: ObservedState) -> ObservedState:
        """Put the Secret's bundle into the configurations that have another."""
        bundle = view.keyring.bundle(self.now())
        configurations = []
        for old in view.configurations:
            new = publish(self._api, old, bundle)
            configurations.append(new)
            if new is not old:
                LOGGER.info(
                    "ca_bundle_published",
                    extra={"fields": {"configuration": new.source, "authorities": len(bundle)}},
                )
        if tuple(configurations) == view.configurations:
            return view
        self._observe(tuple(configurations))
        return replace(view, configurations=tuple(configurations), publication=self._publication)

    def _observe(self, configurations: tuple[Configuration, ...]) -> None:
        self._publication = self._publication.observe(published_bundles(configurations), self.now())

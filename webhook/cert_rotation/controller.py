"""Serves a certificate of the shared Secret in one replica, and reconciles the Secret while it leads.

Every replica reads the Secret and the webhook configurations every few seconds: three small reads, which
cost an API server less than three watches and need no more rights than to read by name. A pair is written
into a private folder for ``certs.serving``, and only if API servers trust it already, or if what is served
is no good anyway. So whatever happens to the Secret, no replica changes from a certificate that is trusted
to one that is not; and while the API server is away, what is served stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from certs import store
from certs.clocks import clock_problem
from certs.errors import CertificateError
from certs.inspect import leads_to, signer_of
from certs.keypair import KeyPair
from certs.keyring import SERVING_CERTIFICATE, SERVING_KEY, serving_data
from certs.rotate import Action, is_better, serving_problem
from webhook.cert_rotation.cluster_objects import Configuration
from webhook.cert_rotation.reconcile import ClockError, ObservedState, Reconciler
from webhook.component import Confidential, Elect, LeaderComponent
from webhook.kube.api_server import ApiError, ClusterError, UnreachableError
from webhook.registration import RegistrationDifferences
from webhook.telemetry.logs import LOGGER, ProblemLog

if TYPE_CHECKING:
    from webhook.telemetry.metrics import Telemetry

#: Seconds between two looks. A caBundle that was overwritten is restored within them.
LOOK_EVERY_S: Final = 5.0
#: Seconds between two looks while something is not as it should be yet.
LOOK_AGAIN_S: Final = 1.0
#: Seconds for which an API server that does not answer is waited for at the start. Then the process ends, and
#: its kubelet restarts it with a back-off.
_TIMEOUT_S: Final = 60.0


class CertificateController(LeaderComponent):
    """One replica's serving certificate: ``provision`` before listening, then ``start``, and ``stop``."""

    def __init__(
        self,
        reconciler: Reconciler,
        folder: Path,
        *,
        elect: Elect,
        judge: Callable[[Configuration], RegistrationDifferences],
    ) -> None:
        """Nothing is sent or written yet.

        Args:
            reconciler: The cluster's certificates, for this controller alone.
            folder: A private folder, for the pair that is served.
            elect: Stands for election.
            judge: Compares a webhook configuration with what this release installs.
        """
        super().__init__("certificates", elect=elect, event="leading")
        self._judge = judge
        self._registrations: dict[str, RegistrationDifferences] = {}
        self.certificate: Path = folder / SERVING_CERTIFICATE
        self.key: Path = folder / SERVING_KEY
        self._reconciler = reconciler
        self._folder = folder
        self._served: KeyPair | None = None
        self._observed: ObservedState | None = None
        self._problem = "the certificates of the cluster were not read yet"
        self._problems = ProblemLog()

    @property
    def authority_expiry(self) -> datetime | None:
        """When the CA of the certificate that is served expires, UTC; None if it is not known."""
        if self._served is None or self._observed is None:
            return None
        signer = signer_of(self._served, self._observed.keyring.trusted)
        return signer.not_valid_after_utc if signer else None

    @property
    def skew(self) -> timedelta:
        """How far this machine's clock was ahead of the API server's at the last look."""
        return self._reconciler.skew

    def warnings(self) -> list[str]:
        """Return the problems in the cluster that are no reason to send requests elsewhere. Costs nothing."""
        found = [Confidential(gap) for entry in self._registrations.values() for gap in entry.gaps]
        return [*found, *filter(None, [clock_problem(self.skew)])]

    def observe(self, telemetry: Telemetry) -> None:
        """Report the state of the certificates as metrics."""
        expiry = self.authority_expiry
        telemetry.certificates.update(
            authority_expires_at=expiry.timestamp() if expiry else None,
            current=not self.problem(),
            leading=self.leading,
            skew_s=self.skew.total_seconds(),
            registered=self.registered(),
        )

    def registered(self) -> dict[str, bool]:
        """Return whether the API server sends workloads to each webhook; empty before the first look."""
        return {path.removeprefix("/"): entry.reviewed for path, entry in self._registrations.items()}

    def problem(self) -> str:
        """Return why an API server would not trust what is served; empty if it would. Costs nothing.

        It is what the last successful look has found, by the API server's clock: while the API server does
        not answer, replicas that were in order stay in order.
        """
        return self._problem

    def provision(
        self, *, timeout_s: float = _TIMEOUT_S, sleep: Callable[[float], object] = time.sleep
    ) -> None:
        """Get a pair to serve, from the Secret or, where that has none, by creating one.

        No replica leads yet, and none needs to: of all replicas that create the Secret one succeeds, and the
        others take what it has created.

        Args:
            timeout_s: Seconds for which an API server that does not answer is waited for.
            sleep: Waits for a number of seconds.

        Raises:
            ClusterError: There is no pair to be had, and why.
            CertificateError: The pair cannot be written to the folder.
        """
        left = timeout_s
        while True:
            try:
                self._provision()
            except (ApiError, UnreachableError) as error:
                if left <= 0 or (isinstance(error, ApiError) and error.forbidden):
                    raise
                self._problems.report("certificates_unavailable", str(error))
                left -= LOOK_AGAIN_S
                sleep(LOOK_AGAIN_S)
            else:
                return

    def start(self) -> None:
        """Follow the Secret from now on, and stand for election; what the folder holds is what is served."""
        try:
            self._served = store.read_pair(self.certificate, self.key)
        except CertificateError:
            self._served = None
        super().start()

    def _provision(self) -> None:
        observed, reconciler = self._reconciler.observe(), self._reconciler
        if serving_problem(observed.keyring.serving, reconciler.names, reconciler.now()):
            # Putting the bundle into the configurations is left to the leader.
            observed, rotation = reconciler.reconcile(observed, publishing=False)
            if rotation.plan.action is Action.REFUSE:
                raise ClockError(f"there is nothing to serve, and none is issued: {rotation.plan.reason}")
        self._adopt(observed)

    def _step(self) -> float:
        """Reconcile, and return the seconds until that is due again."""
        try:
            in_order = self._reconcile()
        except (ClusterError, CertificateError) as error:
            self._problems.report("certificates_unavailable", str(error))
            in_order = isinstance(error, UnreachableError)  # no hurry: it may be down for long
        except Exception as error:  # noqa: BLE001  # nothing would start this thread again
            self._problems.report("certificates_unavailable", f"{type(error).__name__}: {error}", trace=error)
            in_order = True
        else:
            self._problems.report("certificates_unavailable", "")
        return LOOK_EVERY_S if in_order else LOOK_AGAIN_S

    def _reconcile(self) -> bool:
        """Read, reconcile while leading, and serve what is good; return whether all is in order.

        Raises:
            ClusterError: The cluster cannot be read or written.
            CertificateError: The folder cannot be written.
        """
        observed = self._reconciler.observe()
        self._check_clock()
        self._check_secret(observed)
        action = Action.KEEP
        if self.leading:
            observed, rotation = self._reconciler.reconcile(observed)
            action = rotation.plan.action
        self._adopt(observed)
        broken = self._problem or self._problems.reason("certificate_secret_broken")
        return action in {Action.KEEP, Action.REFUSE} and not broken

    def _check_clock(self) -> None:
        """Leave it to others to lead while this machine's clock is wrong: it must sign nothing."""
        problem = clock_problem(self.skew)
        self._problems.report("clock_differs", problem)
        if problem:
            self.resign()
        else:
            self.campaign()

    def _check_secret(self, observed: ObservedState) -> None:
        """Report what is wrong with the Secret."""
        keyring, names, now = observed.keyring, self._reconciler.names, self._reconciler.now()
        unfit = serving_problem(keyring.serving, names, now)
        broken = "; ".join(keyring.problems) or (unfit and f"{observed.stored.source}: {unfit}")
        self._problems.report("certificate_secret_broken", broken)

    def _adopt(self, observed: ObservedState) -> None:
        """Serve what the Secret holds if that is better than what is served, and remember what is wrong."""
        self._check_secret(observed)
        names, now, offered = self._reconciler.names, self._reconciler.now(), observed.keyring.serving
        if offered and is_better(observed.keyring, self._served, observed.trust, names=names, now=now):
            with store.locked(self._folder):
                store.replace_files(self._folder, serving_data(offered))
            self._served = offered
            expiry = f"{offered.not_after:%Y-%m-%dT%H:%M:%SZ}"
            fields = {"fingerprint": offered.fingerprint, "not_after": expiry}
            LOGGER.info("certificate_adopted", extra={"fields": fields})
        missing = [found.source for found in observed.configurations if found.manifest is None]
        self._problems.report("webhook_configuration_missing", ", ".join(missing))
        found = {entry.path: self._judge(entry) for entry in observed.configurations}
        told = [gap for entry in found.values() for gap in entry.gaps]
        self._problems.report("webhook_configuration_incomplete", "" if missing else "; ".join(told))
        self._registrations = found
        self._observed = observed
        self._problem = self._distrusted_by(observed)

    def _distrusted_by(self, observed: ObservedState) -> str:
        """Return why what is served is no good, or which webhook does not trust it; empty if all do."""
        if self._served is None:
            return f"{observed.stored.source}: there is nothing to serve"
        if problem := serving_problem(self._served, self._reconciler.names, self._reconciler.now()):
            return problem
        for configuration in observed.configurations:
            for webhook, bundle in configuration.trusted.items():
                if not leads_to(self._served.certificate, bundle):
                    why = "does not lead to the served certificate" if bundle else "is empty or broken"
                    return f"{configuration.source}: the caBundle of {webhook} {why}"
        return ""

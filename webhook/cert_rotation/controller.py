"""Keeps one replica's serving certificate: follows the Secret, and mends it while this replica leads.

Every replica looks at the Secret and the webhook configurations every few seconds: three small reads, which
take less from an API server than three watches and need no more rights than to read by name. A pair is
written into a private folder for ``certs.serving``, and only if API servers trust it already, or if what is
served is no good anyway. So whatever happens to the Secret, no replica changes from a certificate that is
trusted to one that is not; and while the API server is away, what is served stays.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from certs import store
from certs.clocks import clock_problem
from certs.errors import CertificateError
from certs.inject import trusted_by
from certs.inspect import leads_to
from certs.keypair import KeyPair
from certs.rotate import Step, serving_problem, signer_of
from webhook.cert_rotation.manual import ClockError
from webhook.cert_rotation.reconcile import ObservedState, Reconciler
from webhook.kube.api_server import ApiError, ClusterError, UnreachableError
from webhook.logs import LOGGER

#: Seconds between two looks while nothing is to be done. Arbitrary; a caBundle that somebody overwrote is put
#: back within it.
_LOOK_EVERY_S: Final = 5.0
#: Seconds between two looks while something is not as it should be yet. Arbitrary.
_LOOK_AGAIN_S: Final = 1.0
#: How much shorter or longer each pause is, so that replicas do not ask in step. Arbitrary.
_JITTER: Final = 0.2
#: Seconds for which an API server that does not answer is waited for at the start. Arbitrary; then the
#: process ends, and its kubelet starts it again after a pause that grows.
_PATIENCE_S: Final = 60.0
#: Seconds that ``stop`` waits for a look that is under way. Arbitrary.
_STOP_S: Final = 2.0

#: Stands for election until the returned function is called: the first argument is called when this replica
#: begins to lead, the second when it ends.
Elect = Callable[[Callable[[], None], Callable[[], None]], Callable[[], None]]


class CertificateController:
    """One replica's serving certificate: ``provision`` before listening, then ``start``, and ``stop``."""

    def __init__(
        self,
        rotation: Reconciler,
        folder: Path,
        *,
        elect: Elect,
        look_every_s: float = _LOOK_EVERY_S,
        look_again_s: float = _LOOK_AGAIN_S,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Nothing is sent or written yet.

        Args:
            rotation: The cluster's certificates; nobody else uses this one.
            folder: A private folder, for the pair that is served.
            elect: Stands for election.
            look_every_s: Seconds between two looks while nothing is to be done.
            look_again_s: Seconds between two looks otherwise.
            jitter: Returns numbers from 0 to 1.
        """
        self.certificate: Path = folder / store.SERVING_CERTIFICATE
        self.key: Path = folder / store.SERVING_KEY
        self._rotation = rotation
        self._folder = folder
        self._elect = elect
        self._look_every_s = look_every_s
        self._look_again_s = look_again_s
        self._jitter = jitter
        self._wake = threading.Event()
        self._stopping = False
        self._leading = False
        self._resign: Callable[[], None] | None = None
        self._thread = threading.Thread(target=self._run, name="certificates", daemon=True)
        self._served: KeyPair | None = None
        self._view: ObservedState | None = None
        self._problem = "the certificates of the cluster were not looked at yet"
        self._told: dict[str, str] = {}

    @property
    def leading(self) -> bool:
        """Whether this replica mends what it finds."""
        return self._leading

    @property
    def authority_expiry(self) -> datetime | None:
        """When the authority of the certificate that is served expires, UTC; None if it is not known."""
        if self._served is None or self._view is None:
            return None
        signer = signer_of(self._served, self._view.keyring.trusted)
        return signer.not_valid_after_utc if signer else None

    @property
    def skew(self) -> timedelta:
        """How far this machine's clock was ahead of the API server's at the last look."""
        return self._rotation.skew

    def warnings(self) -> list[str]:
        """Return what is wrong in the cluster that is no reason to send requests elsewhere. Costs nothing."""
        found = self._view.configurations if self._view else ()
        unregistered = [
            f"{entry.source} {'holds no webhook' if entry.manifest else 'does not exist'}: the API server "
            f"sends nothing to /{entry.webhook}"
            for entry in found
            if not entry.registered
        ]
        return [*unregistered, *filter(None, [clock_problem(self.skew)])]

    def registered(self) -> dict[str, bool]:
        """Return whether the API server is told to call each webhook; empty before the first look."""
        found = self._view.configurations if self._view else ()
        return {entry.webhook: entry.registered for entry in found}

    def problem(self) -> str:
        """Return why an API server would not trust what is served; empty if it would. Costs nothing.

        It is what the last successful look has found, by the API server's clock: while the API server does
        not answer, replicas that were in order stay in order.
        """
        return self._problem

    def provision(
        self, *, patience_s: float = _PATIENCE_S, wait: Callable[[float], object] | None = None
    ) -> None:
        """Get a pair to serve, from the Secret or, where that has none, by making one.

        Nobody leads yet, and nobody needs to: of all replicas that make the Secret one succeeds, and the
        others take what it has made.

        Args:
            patience_s: Seconds for which an API server that does not answer is waited for.
            wait: Waits for so many seconds; None to sleep.

        Raises:
            ClusterError: There is no pair to be had, and why.
            CertificateError: The pair cannot be written to the folder.
        """
        wait = wait or self._wake.wait
        left = patience_s
        while True:
            try:
                view = self._rotation.look()
                if serving_problem(view.keyring.serving, self._rotation.names, self._rotation.now()):
                    # Putting the bundle into the configurations is left to whoever will lead.
                    view, plan = self._rotation.reconcile(view, publishing=False)
                    if plan.step is Step.REFUSE:
                        raise ClockError(f"there is nothing to serve, and none is issued: {plan.reason}")
                self._adopt(view)
            except (ApiError, UnreachableError) as error:
                pause = self._pause_s(self._look_again_s)
                if left <= 0 or (isinstance(error, ApiError) and error.forbidden):
                    raise
                self._tell("cluster", "certificates_unavailable", str(error))
                left -= pause
                wait(pause)
            else:
                return

    def start(self) -> None:
        """Follow the Secret from now on, and stand for election; what the folder holds is what is served."""
        if self._served is None:
            self._served = self._left_behind()
        self._stand_for_election()
        self._thread.start()

    def stop(self) -> None:
        """Let another replica lead, and follow no more; the pair stays."""
        self._stopping = True
        self._wake.set()
        self._resign_from_election()
        if self._thread.is_alive():
            self._thread.join(_STOP_S)

    def _stand_for_election(self) -> None:
        if self._resign is None and not self._stopping:
            self._resign = self._elect(self._begin_to_lead, self._end_to_lead)

    def _resign_from_election(self) -> None:
        resign, self._resign = self._resign, None
        if resign is not None:
            resign()

    def _look_at_the_clock(self) -> None:
        """Leave it to others to lead while this machine's clock is wrong: it must sign nothing."""
        problem = clock_problem(self._rotation.skew)
        self._tell("clock", "clock_differs", problem)
        if problem:
            self._resign_from_election()
        else:
            self._stand_for_election()

    def _left_behind(self) -> KeyPair | None:
        """Return the pair that another process has provided."""
        try:
            return store.read_pair(self.certificate, self.key)
        except CertificateError:
            return None

    def _begin_to_lead(self) -> None:
        self._leading = True
        LOGGER.info("leading_started")
        self._wake.set()

    def _end_to_lead(self) -> None:
        self._leading = False
        LOGGER.info("leading_stopped")

    def _run(self) -> None:
        pause_s = 0.0
        while not self._stopping:
            self._wake.wait(self._pause_s(pause_s))
            self._wake.clear()
            if not self._stopping:
                pause_s = self._look_every_s if self._look_once() else self._look_again_s

    def _pause_s(self, pause_s: float) -> float:
        return pause_s * (1 + _JITTER * (2 * self._jitter() - 1))

    def _look_once(self) -> bool:
        """Look, mend while leading, and serve what is good; return whether the next look has time."""
        try:
            view = self._rotation.look()
            self._look_at_the_clock()
            self._tell_broken(view)
            step = Step.KEEP
            if self._leading:
                view, plan = self._rotation.reconcile(view, spare=self._served)
                step = plan.step
            self._adopt(view)
        except (ClusterError, CertificateError) as error:
            self._tell("cluster", "certificates_unavailable", str(error))
            return isinstance(error, UnreachableError)  # no hurry: it may be down for long
        except Exception as error:  # noqa: BLE001  # nobody would begin this thread anew
            self._tell("cluster", "certificates_unavailable", f"{type(error).__name__}: {error}", trace=error)
            return True
        self._tell("cluster", "certificates_unavailable", "")
        return step in {Step.KEEP, Step.REFUSE} and not self._problem and not self._told.get("secret")

    def _adopt(self, view: ObservedState) -> None:
        """Serve what the Secret holds if that is better than what is served, and remember what is wrong."""
        offered = view.keyring.serving
        unfit = self._tell_broken(view)
        if offered is not None and not unfit and offered != self._served and self._is_better(offered, view):
            with store.locked(self._folder):
                store.replace_files(self._folder, store.serving_files(offered))
            self._served = offered
            LOGGER.info(
                "certificate_adopted",
                extra={
                    "fields": {
                        "fingerprint": offered.fingerprint,
                        "not_after": f"{offered.not_after:%Y-%m-%dT%H:%M:%SZ}",
                    }
                },
            )
        self._tell("missing", "webhook_configuration_missing", ", ".join(view.missing()))
        self._view = view
        self._problem = self._distrusted_by(view)

    def _tell_broken(self, view: ObservedState) -> str:
        """Tell what is wrong with the Secret; return why its certificate cannot be served."""
        unfit = serving_problem(view.keyring.serving, self._rotation.names, self._rotation.now())
        broken = "; ".join(view.keyring.problems) or (unfit and f"{view.stored.source}: {unfit}")
        self._tell("secret", "certificate_secret_broken", broken)
        return unfit

    def _is_better(self, offered: KeyPair, view: ObservedState) -> bool:
        """Tell whether a good pair may take the place of the one that is served."""
        served, now = self._served, self._rotation.now()
        if served is None or serving_problem(served, self._rotation.names, now):
            return True
        if not view.publication.trusts(served):
            return True
        signer = signer_of(offered, view.keyring.trusted)
        return signer is not None and view.publication.settled(signer, now, self._rotation.lifetimes.settle)

    def _distrusted_by(self, view: ObservedState) -> str:
        """Return why what is served is no good, or which webhook does not trust it; empty if all do."""
        if self._served is None:
            return f"{view.stored.source}: there is nothing to serve"
        if unfit := serving_problem(self._served, self._rotation.names, self._rotation.now()):
            return unfit
        certificate = self._served.certificate()
        for configuration in view.configurations:
            for webhook, bundle in trusted_by(configuration.manifest or {}).items():
                if not leads_to(certificate, tuple(bundle)):
                    why = "does not lead to the served certificate" if bundle else "is empty or broken"
                    return f"{configuration.source}: the caBundle of {webhook} {why}"
        return ""

    def _tell(self, subject: str, event: str, reason: str, *, trace: Exception | None = None) -> None:
        """Log what is wrong when it begins, when it becomes something else, and when it is over."""
        if reason == self._told.get(subject, ""):
            return
        if reason:
            LOGGER.warning(event, extra={"fields": {"reason": reason}}, exc_info=trace)
        else:
            LOGGER.info(f"{event}_resolved")
        self._told[subject] = reason

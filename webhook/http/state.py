"""What one server process knows: its settings, what it decides by, and whether it should get requests."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

from webhook.http.authorization.authorizer import Authorizer, ClosedAuthorizer
from webhook.http.child_processes import ChildProcesses, ResourceLimits
from webhook.http.limits import MaxConcurrent
from webhook.http.preview_limits import preview_processes
from webhook.kube.left_out import left_out_warning
from webhook.settings import Settings
from webhook.telemetry.logs import LOGGER, EventLog

if TYPE_CHECKING:
    from policies.config.context import AdmissionContext
    from policies.config.policy_set import PolicySet
    from policies.placement.cluster_workloads import ClusterWorkloads
    from webhook.cert_rotation.controller import CertificateController
    from webhook.kube.informer import ClusterCache
    from webhook.policy_controller.controller import PolicyController
    from webhook.policy_controller.status_writer import PolicyStatusWriter
    from webhook.skew.controller import SkewController
    from webhook.telemetry.metrics import Telemetry

#: Seconds for which what was found about the age of a picture counts: every review asks. Little
#: next to the age that counts as old.
_LOOK_EVERY_S: Final = 1.0
#: Seconds for which the API server may refuse a kind before the picture counts as old: others write
#: meanwhile, unlike while it is away. Authorizers know their rules a second or two after a start.
_REFUSED_S: Final = 5.0
#: Seconds after which a worker tells the metrics anew how it follows the cluster. Below the usual
#: interval of scrapes.
_OBSERVE_EVERY_S: Final = 5.0


def _now() -> datetime:
    return datetime.now(UTC)


class Validity(Protocol):
    """From when until when a certificate is valid, UTC."""

    @property
    def not_before(self) -> datetime:
        """Its begin."""

    @property
    def not_after(self) -> datetime:
        """Its end."""


@dataclass(slots=True, kw_only=True)
class ServerState:
    """Built once before the workers are forked; afterwards each worker has its own copy.

    Attributes:
        settings: What the server was told.
        context: What reviews are decided by while the picture of the cluster can be used.
        telemetry: The metrics.
        events: The log.
        certificate: Returns the served certificate's validity.
        now: The clock.
        draining: Whether the process was asked to end.
        computing: Lets the requests that take long have half of the threads.
        children: The processes that compute the answers of /v1.
        previews: Those that compute what a policy changes.
        workloads: The workloads of the cluster; None if there is no cluster.
        live: Follows the cluster; None if its picture is a file, or there is none.
        keeper: Keeps the certificate of --cert-secret; None where somebody else does.
        skew: Measures how workloads are spread; None where that is not wanted.
        policies: Puts changes of policies into force; None where they never change.
        status_writer: Writes the status of the cluster's policies; None where that was not asked for.
        monotonic: The clock that measures ages, in seconds.
        access: Decides who may use the routes that show what runs in a cluster; nobody, if nothing is said.
    """

    settings: Settings
    context: AdmissionContext
    telemetry: Telemetry
    events: EventLog
    certificate: Callable[[], Validity]
    now: Callable[[], datetime] = _now
    draining: bool = False
    computing: MaxConcurrent = field(init=False)
    children: ChildProcesses = field(init=False)
    previews: ChildProcesses = field(init=False, default_factory=preview_processes)
    workloads: ClusterWorkloads | None = None
    live: ClusterCache | None = None
    keeper: CertificateController | None = None
    skew: SkewController | None = None
    policies: PolicyController | None = None
    status_writer: PolicyStatusWriter | None = None
    monotonic: Callable[[], float] = time.monotonic
    access: Authorizer = field(default_factory=ClosedAuthorizer)
    _usable: AdmissionContext = field(init=False)
    _look_again: float = field(init=False, default=-math.inf)
    _observe_again: float = field(init=False, default=-math.inf)
    _looking: threading.Lock = field(init=False, default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.computing = MaxConcurrent(self.settings.max_concurrent)
        budget = ResourceLimits(
            timeout_s=self.settings.request_timeout_s,
            memory_bytes=self.settings.max_request_memory_bytes,
            timeout_option="--request-timeout-s",
            memory_option="--max-request-memory-bytes",
        )
        self.children = ChildProcesses(budget)
        self._usable = self.context

    def begin(self) -> None:
        """Start what works beside the requests: called once in each worker, after the fork."""
        # Those of the process that it was forked from.
        self.events.take_dropped()
        if self.keeper is not None:
            self.keeper.start()
        if self.live is not None:
            self.live.start()
        if self.skew is not None:
            self.skew.start(self.usable_context)
        if self.policies is not None:
            self.policies.start()
        if self.status_writer is not None:
            self.status_writer.start()

    def prepared(self) -> bool:
        """Tell whether reviews can be decided by the cluster, or there is none to wait for."""
        return not self._unsynced_reason()

    def end(self) -> None:
        """Stop what ``begin`` started, and what requests did."""
        # Threads wait for them, and the process for its threads.
        self.children.end()
        self.previews.end()
        # The Lease first: another replica waits for it, and time may run out.
        if self.keeper is not None:
            self.keeper.stop()
        if self.skew is not None:
            self.skew.stop()
        if self.status_writer is not None:
            self.status_writer.stop()
        if self.policies is not None:
            self.policies.stop()
        if self.live is not None:
            self.live.stop()

    def enforce(self, policies: PolicySet) -> None:
        """Put policies into force: a review that has begun is decided by those of its beginning."""
        with self._looking:
            self.context = self.context.with_policies(policies)
            self._usable = self._judged_context()

    def observe(self) -> None:
        """Tell the metrics what was not logged, how the cluster is followed and certificates are kept."""
        if dropped := self.events.take_dropped():
            self.telemetry.count_dropped_log_lines(dropped)
        if self.live is not None:
            self.telemetry.cluster_followed(
                self.live.kinds(), age_s=self.live.age_s(), stale=bool(self._stale_reason())
            )
        if self.policies is not None:
            self.telemetry.policies_followed(self.policies.counts())
        if self.keeper is not None:
            expiry = self.keeper.authority_expiry
            self.telemetry.certificates_kept(
                authority_expires_at=expiry.timestamp() if expiry else None,
                current=not self.keeper.problem(),
                leading=self.keeper.leading,
                skew_s=self.keeper.skew.total_seconds(),
                registered=self.keeper.registered(),
            )

    def tick(self) -> None:
        """Observe if the last time is a while ago: of several workers only one answers a scrape."""
        now = self.monotonic()
        if now >= self._observe_again:
            self._observe_again = now + _OBSERVE_EVERY_S
            self.observe()

    def usable_context(self) -> AdmissionContext:
        """Return what to decide by now: without the cluster if its picture is too old."""
        due = self.live is not None and self.monotonic() >= self._look_again
        # Whoever finds another thread looking goes by what was found last.
        if due and self._looking.acquire(blocking=False):
            try:
                self._look_again = self.monotonic() + _LOOK_EVERY_S
                self._usable = self._judged_context()
            finally:
                self._looking.release()
        return self._usable

    def _judged_context(self) -> AdmissionContext:
        """Return the context without the cluster if its picture is too old, and tell when that changes."""
        why = self._stale_reason()
        if bool(why) != bool(self._usable.withheld):
            LOGGER.warning("cluster_cache_stale" if why else "cluster_usable", extra={"fields": {"why": why}})
        return self.context.without_cluster(why) if why else self.context

    def _unsynced_reason(self) -> str:
        """Return which kinds of the live cluster were never listed, empty if all were or none is followed."""
        if self.live is not None and not self.live.synced:
            return f"the cluster is not listed yet: {', '.join(self.live.unsynced())}"
        if self.policies is not None and self.policies.unsynced:
            return "the policies of the cluster are not listed yet"
        return ""

    def _stale_reason(self) -> str:
        """Return why the picture of the live cluster cannot be used, empty if it can."""
        if self.live is None:
            return ""
        if not self.live.synced:
            return self._unsynced_reason()
        if refused := self.live.refused(longer_s=_REFUSED_S):
            return f"the API server refuses to list or watch {', '.join(refused)}"
        age_s = self.live.age_s()
        if age_s > self.settings.max_snapshot_age_s:
            return f"the picture of the cluster is {age_s:.0f} s old"
        return ""

    def unready_reasons(self) -> list[str]:
        """Return why no request should be sent here, empty if there is no reason."""
        reasons = []
        if self.draining:
            reasons.append("draining: the server was asked to end")
        # Who keeps the certificate judges it by the clock of the API server, which verifies it.
        wrong = self._validity_problem() if self.keeper is None else self.keeper.problem()
        if wrong:
            reasons.append(wrong)
        # Age is no reason: the other replicas' pictures are as old, and most of a review needs none.
        if unsynced := self._unsynced_reason():
            reasons.append(unsynced)
        return reasons

    def warnings(self) -> list[str]:
        """Return what is wrong, though requests should go on coming here; empty if nothing is."""
        found = self.keeper.warnings() if self.keeper is not None else []
        stale = "" if self._unsynced_reason() else self._stale_reason()
        if stale:
            found.append(f"{stale}: nothing that depends on the cluster is reported or injected")
        if self.live is not None and (left_out := self.live.left_out()):
            found.append(left_out_warning(left_out))
        if self.policies is not None:
            found += self.policies.warnings()
        if self.skew is not None:
            found += self.skew.warnings()
        return found

    def _validity_problem(self) -> str:
        """Return why the served certificate is not valid now, empty if it is."""
        certificate, now = self.certificate(), self.now()
        if certificate.not_after <= now:
            return f"certificate expired at {certificate.not_after:%Y-%m-%dT%H:%M:%SZ}"
        if now < certificate.not_before:
            return f"certificate is not valid before {certificate.not_before:%Y-%m-%dT%H:%M:%SZ}"
        return ""

"""Prometheus metrics, summed over all workers.

In a server every worker writes its values to memory-mapped files below ``PROMETHEUS_MULTIPROC_DIR``, and
whichever worker answers adds them all up. prometheus-client decides by that variable when it is first
imported, so this module must be imported after it was set. Without it, values are the process' own.

Label values are bounded: phases, verdicts and rule ids only, never a name or kind that a client sent. Only
``skew_metrics``, which a setting turns on, has names of workloads, up to a limit.
"""

from __future__ import annotations

import os
from collections import Counter as Counts
from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client import values as client_values
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.values import MultiProcessValue

from webhook.telemetry.metric_files import MetricFile, SkewSeries
from webhook.telemetry.review_metrics import ReviewMetrics

if TYPE_CHECKING:
    from webhook.kube.kind_record import KindRecord

#: The media type of ``render()``.
CONTENT_TYPE: Final = CONTENT_TYPE_LATEST

#: The variable with the folder of the workers' files.
_SHARED_FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"


class _ProcessId:
    """The process id, read once in each process: three system calls a review are a tenth of its time."""

    def __init__(self) -> None:
        self._value = os.getpid()
        os.register_at_fork(after_in_child=self._read_pid)

    def _read_pid(self) -> None:
        self._value = os.getpid()

    def __call__(self) -> int:
        return self._value


if _SHARED_FOLDER in os.environ:
    client_values.MmapedDict = MetricFile  # type: ignore[assignment, attr-defined]
    client_values.ValueClass = MultiProcessValue(_ProcessId())  # type: ignore[no-untyped-call]


class _Gauges:
    """Makes gauges of what the living workers found: the one that looked last, the most, or the least."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.last, self.most, self.least = (
            partial(Gauge, registry=registry, multiprocess_mode=mode)
            for mode in ("livemostrecent", "livemax", "livemin")
        )


class ClusterMetrics:
    """How a live cluster is followed."""

    def __init__(self, registry: CollectorRegistry) -> None:
        gauges = _Gauges(registry)
        self._synced = gauges.least("evenkeel_cluster_synced", "Whether the live cluster has been listed.")
        self._age = gauges.most("evenkeel_cluster_age_seconds", "Age of the cache of the live cluster.")
        self._stale = gauges.most(
            "evenkeel_cluster_cache_stale", "Whether what is known of the live cluster is too old to be used."
        )
        self._objects = gauges.last(
            "evenkeel_cluster_objects",
            "Objects in the cluster cache, by kind: pods on a node, Services with a selector.",
            ("kind",),
        )
        self._left_out = gauges.most(
            "evenkeel_cluster_objects_left_out",
            "Objects of the live cluster that cannot be read and are not used, by kind.",
            ("kind",),
        )
        self._unread = gauges.most(
            "evenkeel_cluster_kind_unread",
            "Whether the live cluster is read without a kind, for lack of a right or because it has none.",
            ("kind",),
        )
        self._counters = {
            name: Counter(f"evenkeel_cluster_{name}_total", text, ["kind"], registry=registry)
            for name, text in (
                ("events", "Events of watches, by kind."),
                ("lists", "Whole lists that were read, by kind."),
                ("errors", "Lists and watches that failed, by kind."),
            )
        }
        self._counted = Counts[tuple[str, str]]()

    def update(self, kinds: Iterable[KindRecord], *, age_s: float, stale: bool) -> None:
        """Take over what each kind has counted since this process began; stale is not used."""
        synced = True
        for kind in kinds:
            synced = synced and (kind.synced or bool(kind.unread))
            self._objects.labels(kind.kind).set(kind.objects)
            self._left_out.labels(kind.kind).set(len(kind.left_out))
            self._unread.labels(kind.kind).set(bool(kind.unread))
            for name, counter in self._counters.items():
                count: int = getattr(kind, name)
                counter.labels(kind.kind).inc(count - self._counted[name, kind.kind])
                self._counted[name, kind.kind] = count
        self._synced.set(synced)
        self._age.set(age_s)
        self._stale.set(stale)


class PolicyMetrics:
    """Which policies a replica has."""

    def __init__(self, registry: CollectorRegistry) -> None:
        gauges = _Gauges(registry)
        self._in_force = gauges.last(
            "evenkeel_policies", "Policies in force, by source (file, cluster).", ("source",)
        )
        self._invalid = gauges.most(
            "evenkeel_policies_invalid",
            "Policies with errors, whose last good version stays in force, by source (file, cluster).",
            ("source",),
        )

    def update(self, counts: Mapping[str, tuple[int, int]]) -> None:
        """Take over how many are in force and how many have errors, by source (file, cluster)."""
        for source, (in_force, invalid) in counts.items():
            self._in_force.labels(source).set(in_force)
            self._invalid.labels(source).set(invalid)


class KeptCertificates:
    """How the certificates of a cluster stand."""

    def __init__(self, registry: CollectorRegistry) -> None:
        gauges = _Gauges(registry)
        self._authority_expiry = gauges.last(
            "evenkeel_authority_expiry_timestamp_seconds",
            "When the authority that signs expires, as seconds since 1970.",
        )
        self._current = gauges.least(
            "evenkeel_ca_bundle_current", "Whether both webhook configurations trust the served certificate."
        )
        self._leading = gauges.most("evenkeel_leader", "Whether this replica renews the certificates of all.")
        self._skew = gauges.last(
            "evenkeel_clock_skew_seconds", "How far the clock of this replica is ahead of the API server's."
        )
        self._registered = gauges.last(
            "evenkeel_webhook_registered",
            "Whether a webhook configuration has the API server send workloads to this webhook (mutate, "
            "validate): it exists, and its path, rules, selectors and conditions leave something.",
            ("webhook",),
        )

    def update(
        self,
        *,
        authority_expires_at: float | None,
        current: bool,
        leading: bool,
        skew_s: float,
        registered: Mapping[str, bool],
    ) -> None:
        """Take over how they stand now.

        Args:
            authority_expires_at: When the authority of the served certificate expires, POSIX seconds; None
                if it is not known.
            current: Whether the webhook configurations trust what is served.
            leading: Whether this process renews certificates.
            skew_s: How far this machine's clock is ahead of the API server's, in seconds.
            registered: Whether the API server is configured to call each webhook.
        """
        if authority_expires_at is not None:
            self._authority_expiry.set(authority_expires_at)
        self._current.set(current)
        self._leading.set(leading)
        self._skew.set(skew_s)
        for webhook, told in registered.items():
            self._registered.labels(webhook).set(told)


class Telemetry:
    """Every metric of the server; those that are attributes are counted where it happens."""

    def __init__(self, version: str, *, registry: CollectorRegistry | None = None) -> None:
        self._registry = registry if registry is not None else CollectorRegistry()
        counter = partial(Counter, registry=self._registry)
        gauge = partial(Gauge, registry=self._registry)
        #: Those of answered reviews.
        self.reviews = ReviewMetrics(self._registry)
        self.failures = counter(
            "evenkeel_admission_failures_total",
            "Admission requests that got an HTTP error, by phase and status code.",
            ["phase", "code"],
        )
        self.access = counter(
            "evenkeel_access_reviews_total",
            "Requests to authorized routes, by result (allowed, denied, unauthenticated, error).",
            ["result"],
        )
        self.log_lines_dropped = counter(
            "evenkeel_log_lines_dropped_total",
            "Lines of the log that were dropped, for stderr did not take them at once.",
        )
        self.limited = counter(
            "evenkeel_requests_limited_total",
            "Requests of /v1 that met a limit: busy, timeout, memory, killed.",
            ["reason"],
        )
        self.certificate_reloads = counter(
            "evenkeel_certificate_reloads_total",
            "Changes of the certificate's files that were noticed, by result (loaded, failed).",
            ["result"],
        )
        self.certificate_begin = gauge(
            "evenkeel_certificate_not_before_timestamp_seconds",
            "When the served certificate begins to be valid, as seconds since 1970.",
            multiprocess_mode="mostrecent",
        )
        self.certificate_expiry = gauge(
            "evenkeel_certificate_expiry_timestamp_seconds",
            "When the served certificate expires, as seconds since 1970.",
            multiprocess_mode="mostrecent",
        )
        build = gauge(
            "evenkeel_build_info",
            "Always 1; the version is the label.",
            ["version"],
            multiprocess_mode="max",
        )
        build.labels(version).set(1)
        shared = os.environ.get(_SHARED_FOLDER)
        #: How workloads are spread.
        self.skew = SkewSeries(Path(shared) if shared else None)

    # They are made when there is something to report: a gauge says 0 from its first moment on.

    @cached_property
    def cluster(self) -> ClusterMetrics:
        """How this process follows a live cluster."""
        return ClusterMetrics(self._registry)

    @cached_property
    def policies(self) -> PolicyMetrics:
        """Which policies this process has."""
        return PolicyMetrics(self._registry)

    @cached_property
    def certificates(self) -> KeptCertificates:
        """How the certificates of a cluster stand."""
        return KeptCertificates(self._registry)

    def forget_process(self, process: int) -> None:
        """Drop what an ended worker said of itself alone."""
        if _SHARED_FOLDER in os.environ:
            mark_process_dead(process)  # type: ignore[no-untyped-call]
            self.skew.withdraw(process)

    def render(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        registry = self._registry
        if _SHARED_FOLDER in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry) + self.skew.text()

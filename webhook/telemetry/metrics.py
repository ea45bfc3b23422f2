"""Prometheus metrics, summed over all workers.

In a server every worker writes its values to memory-mapped files below ``PROMETHEUS_MULTIPROC_DIR``, and
whichever worker answers adds them all up. prometheus-client decides by that variable when it is first
imported, so this module must be imported after it was set. Without it, values are the process' own.

Label values are bounded: phases, verdicts and rule ids only, never a name or kind that a client sent. Only
``skew_metrics``, which a setting turns on, has names of workloads, up to a limit.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client import values as client_values
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.values import MultiProcessValue

from webhook.telemetry.cluster_metrics import ClusterMetrics, KeptCertificates, PolicyMetrics
from webhook.telemetry.metric_files import MetricFile, SkewSeries
from webhook.telemetry.review_metrics import ReviewMetrics

if TYPE_CHECKING:
    from webhook.kube.kind_record import KindStatus

#: The media type of ``render()``.
CONTENT_TYPE: Final = CONTENT_TYPE_LATEST

#: The variable with the folder of the workers' files.
_SHARED_FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"


class _ProcessId:
    """The process id, read once in each process: three system calls a review are a tenth of its time."""

    def __init__(self) -> None:
        self._value = os.getpid()
        os.register_at_fork(after_in_child=self._ask)

    def _ask(self) -> None:
        self._value = os.getpid()

    def __call__(self) -> int:
        return self._value


if _SHARED_FOLDER in os.environ:
    client_values.MmapedDict = MetricFile  # type: ignore[attr-defined]
    client_values.ValueClass = MultiProcessValue(_ProcessId())  # type: ignore[no-untyped-call]


class Telemetry:
    """Every metric of the server."""

    def __init__(self, version: str, *, registry: CollectorRegistry | None = None) -> None:
        self._registry = registry if registry is not None else CollectorRegistry()
        #: Those of answered reviews.
        self.reviews = ReviewMetrics(self._registry)
        self._failures = Counter(
            "evenkeel_admission_failures_total",
            "Admission requests that got an HTTP error, by phase and status code.",
            ["phase", "code"],
            registry=self._registry,
        )
        self._access = Counter(
            "evenkeel_access_reviews_total",
            "Requests to authorized routes, by result (allowed, denied, unauthenticated, error).",
            ["result"],
            registry=self._registry,
        )
        self._log_lines_dropped = Counter(
            "evenkeel_log_lines_dropped_total",
            "Lines of the log that were dropped, for stderr did not take them at once.",
            registry=self._registry,
        )
        self._limited = Counter(
            "evenkeel_requests_limited_total",
            "Requests of /v1 that met a limit: busy, timeout, memory, killed.",
            ["reason"],
            registry=self._registry,
        )
        # Two scrapes of the metrics at once would otherwise count the same twice.
        self._taking_over = threading.Lock()
        self._cluster: ClusterMetrics | None = None
        self._kept: KeptCertificates | None = None
        shared = os.environ.get(_SHARED_FOLDER)
        self._skew = SkewSeries(Path(shared) if shared else None)
        self._policies: PolicyMetrics | None = None
        self._set_up_process_metrics(version)

    def _set_up_process_metrics(self, version: str) -> None:
        self._certificate_begin = Gauge(
            "evenkeel_certificate_not_before_timestamp_seconds",
            "When the served certificate begins to be valid, as seconds since 1970.",
            registry=self._registry,
            multiprocess_mode="mostrecent",
        )
        self._certificate_expiry = Gauge(
            "evenkeel_certificate_expiry_timestamp_seconds",
            "When the served certificate expires, as seconds since 1970.",
            registry=self._registry,
            multiprocess_mode="mostrecent",
        )
        self._certificate_reloads = Counter(
            "evenkeel_certificate_reloads_total",
            "Changes of the certificate's files that were noticed, by result (loaded, failed).",
            ["result"],
            registry=self._registry,
        )
        build = Gauge(
            "evenkeel_build_info",
            "Always 1; the version is the label.",
            ["version"],
            registry=self._registry,
            multiprocess_mode="max",
        )
        build.labels(version).set(1)

    def count_failure(self, phase: str, code: int) -> None:
        """Count an admission request that got an HTTP error."""
        self._failures.labels(phase, str(code)).inc()

    def count_access(self, result: str) -> None:
        """Count an answer to the question whether a caller may use a route."""
        self._access.labels(result).inc()

    def count_dropped_log_lines(self, lines: int) -> None:
        """Count lines of the log that were dropped."""
        self._log_lines_dropped.inc(lines)

    def count_limited(self, reason: str) -> None:
        """Count a request that was not computed to its end."""
        self._limited.labels(reason).inc()

    def cluster_followed(self, kinds: Iterable[KindStatus], *, age_s: float, stale: bool) -> None:
        """Note how this process follows a live cluster, and whether what is known of it is not used."""
        with self._taking_over:
            if self._cluster is None:
                self._cluster = ClusterMetrics(self._registry)
            self._cluster.update(kinds, age_s=age_s, stale=stale)

    def policies_followed(self, counts: Mapping[str, tuple[int, int]]) -> None:
        """Note how many policies this process has.

        Args:
            counts: How many are in force and how many have errors, by source (file, cluster).
        """
        with self._taking_over:
            if self._policies is None:
                self._policies = PolicyMetrics(self._registry)
            self._policies.update(counts)

    def certificates_kept(
        self,
        *,
        authority_expires_at: float | None,
        current: bool,
        leading: bool,
        skew_s: float,
        registered: Mapping[str, bool],
    ) -> None:
        """Note how the certificates of a cluster stand.

        Args:
            authority_expires_at: When the authority of the served certificate expires, POSIX seconds; None
                if it is not known.
            current: Whether the webhook configurations trust what is served.
            leading: Whether this process renews certificates.
            skew_s: How far this machine's clock is ahead of the API server's, in seconds.
            registered: Whether the API server is configured to call each webhook.
        """
        with self._taking_over:
            if self._kept is None:
                self._kept = KeptCertificates(self._registry)
            self._kept.update(authority_expires_at, current=current, leading=leading)
            self._kept.observe(skew_s=skew_s, registered=registered)

    def skew_exported(self, families: list[Metric]) -> None:
        """Export how workloads are spread, in place of what this process exported before.

        Raises:
            OSError: There is no space for it.
        """
        self._skew.publish(families)

    def skew_withdrawn(self) -> None:
        """Export no more how workloads are spread."""
        self._skew.withdraw()

    def forget_process(self, process: int) -> None:
        """Drop what an ended worker said of itself alone."""
        if _SHARED_FOLDER in os.environ:
            mark_process_dead(process)  # type: ignore[no-untyped-call]
            self._skew.withdraw(process)

    def certificate_loaded(self, begins_at: float, expires_at: float) -> None:
        """Note that a certificate is served which is valid between two POSIX times, in seconds."""
        self._certificate_begin.set(begins_at)
        self._certificate_expiry.set(expires_at)

    def certificate_reloaded(self, *, succeeded: bool) -> None:
        """Count that the certificate's files changed, and whether they could be loaded."""
        self._certificate_reloads.labels("loaded" if succeeded else "failed").inc()

    def render(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        registry = self._registry
        if _SHARED_FOLDER in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry) + self._skew.text()

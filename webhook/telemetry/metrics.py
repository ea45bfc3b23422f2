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
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client import values as client_values
from prometheus_client.exposition import CONTENT_TYPE_LATEST
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
        os.register_at_fork(after_in_child=self._read_pid)

    def _read_pid(self) -> None:
        self._value = os.getpid()

    def __call__(self) -> int:
        return self._value


if _SHARED_FOLDER in os.environ:
    client_values.MmapedDict = MetricFile  # type: ignore[attr-defined]
    client_values.ValueClass = MultiProcessValue(_ProcessId())  # type: ignore[no-untyped-call]


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
        # Two scrapes of the metrics at once would otherwise count the same twice.
        self._taking_over = threading.Lock()
        self._cluster: ClusterMetrics | None = None
        self._kept: KeptCertificates | None = None
        self._policies: PolicyMetrics | None = None

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

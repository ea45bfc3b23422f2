"""The metrics of what a replica knows of its cluster: the objects it follows, the certificates it keeps.

They are made when there is something to report: a gauge says 0 from its first moment on.
"""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge

if TYPE_CHECKING:
    from webhook.kube.kind_record import KindStatus


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

    def update(self, kinds: Iterable[KindStatus], *, age_s: float, stale: bool) -> None:
        """Take over what each kind has counted since this process began."""
        synced = True
        for kind in kinds:
            synced = synced and (kind.synced or kind.unread)
            self._objects.labels(kind.kind).set(kind.objects)
            self._left_out.labels(kind.kind).set(kind.left_out)
            self._unread.labels(kind.kind).set(kind.unread)
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
        """Take over how many are in force and how many have errors, by source."""
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

    def update(self, authority_expires_at: float | None, *, current: bool, leading: bool) -> None:
        """Take over how they stand now."""
        if authority_expires_at is not None:
            self._authority_expiry.set(authority_expires_at)
        self._current.set(current)
        self._leading.set(leading)

    def observe(self, *, skew_s: float, registered: Mapping[str, bool]) -> None:
        """Take over what else the last look has seen: the API server's clock, and which webhooks it calls."""
        self._skew.set(skew_s)
        for webhook, told in registered.items():
            self._registered.labels(webhook).set(told)

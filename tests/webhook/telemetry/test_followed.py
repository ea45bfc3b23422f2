"""The metrics of a replica's cluster."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from webhook.kube.kind_record import KindRecord, LeftOutObject
from webhook.telemetry.metrics import ClusterMetrics, KeptCertificates


def test_counters_tell_what_came_since() -> None:
    """A kind counts from the begin of the process; a counter takes over the difference."""
    registry = CollectorRegistry()
    metrics = ClusterMetrics(registry)
    pods = KindRecord("Pod", lambda: 3)
    for name in ("a", "b"):
        pods.leave_out(LeftOutObject(kind="Pod", name=name, reason="it is no JSON"))
    for pods.events in (7, 9):
        metrics.update([pods], age_s=2.0, stale=False)

    assert 9 == registry.get_sample_value("evenkeel_cluster_events_total", {"kind": "Pod"})
    assert 2 == registry.get_sample_value("evenkeel_cluster_objects_left_out", {"kind": "Pod"})


@pytest.mark.parametrize("stale", [True, False])
def test_a_picture_that_is_not_used(*, stale: bool) -> None:
    """Whether it is used is told beside its age: a refusal makes it stale sooner."""
    registry = CollectorRegistry()
    ClusterMetrics(registry).update([], age_s=9.0, stale=stale)

    assert stale == registry.get_sample_value("evenkeel_cluster_cache_stale")
    assert 9.0 == registry.get_sample_value("evenkeel_cluster_age_seconds")


def test_registration_and_clock() -> None:
    """Each webhook by itself: one configuration may be gone."""
    registry = CollectorRegistry()
    KeptCertificates(registry).update(
        authority_expires_at=None,
        current=True,
        leading=True,
        skew_s=-7.0,
        registered={"mutate": False, "validate": True},
    )

    assert (-7.0, 0.0, 1.0) == (
        registry.get_sample_value("evenkeel_clock_skew_seconds"),
        registry.get_sample_value("evenkeel_webhook_registered", {"webhook": "mutate"}),
        registry.get_sample_value("evenkeel_webhook_registered", {"webhook": "validate"}),
    )

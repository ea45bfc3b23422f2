"""Metrics: what is counted under which labels."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from policies.admission.decision import AdmissionVerdict, CacheMiss, Decision, SkipCause, SkippedRules
from webhook.admission.reply import Reply
from webhook.admission.review import Budget, Phase, Review
from webhook.fork_server import Limit
from webhook.telemetry.metrics import Telemetry


@pytest.fixture
def registry() -> CollectorRegistry:
    """A registry of its own."""
    return CollectorRegistry()


@pytest.fixture
def telemetry(registry: CollectorRegistry) -> Telemetry:
    """Metrics that nobody has counted yet."""
    return Telemetry("1.2.3", registry=registry)


def a_reply(
    verdict: AdmissionVerdict,
    *,
    skipped: tuple[str, ...] = (),
    cause: SkipCause = SkipCause.OBJECT,
    forecast_s: float | None = None,
    rules_s: float | None = None,
    waited_s: float | None = None,
    **decided: Any,
) -> Reply:
    """Return a reply that mentions only what metrics look at."""
    review = Review("1", "CREATE", "", "Pod", "", "shop", "web", {}, None, dry_run=False, user="")
    budget = Budget("", 0.0)
    budget.forecast_s, budget.rules_s = forecast_s, rules_s
    reasons = (SkippedRules(skipped, "too large", cause),) if skipped else ()
    decision = Decision(verdict=verdict, skipped=reasons, **decided)
    return Reply(b"{}", review, decision, budget, waited_s=waited_s)


def test_exemptions_and_waits_are_counted(telemetry: Telemetry, registry: CollectorRegistry) -> None:
    """Each exemption counts by rule and source; a wait by whether what it was for came."""
    replies = (
        a_reply(AdmissionVerdict.ALLOWED, exempted=(("wrong-type", "annotation"), ("wrong-type", "policy"))),
        a_reply(AdmissionVerdict.INJECTED, waited_s=0.1),
        a_reply(AdmissionVerdict.ALLOWED, waited_s=1.0, miss=CacheMiss("shop")),
        a_reply(AdmissionVerdict.ALLOWED, miss=CacheMiss("shop")),
    )
    for reply in replies:
        telemetry.reviews.count(Phase.MUTATE, reply, seconds=0.001)

    for source in ("annotation", "policy"):
        labels = {"rule": "wrong-type", "source": source}
        assert 1 == registry.get_sample_value("evenkeel_exemptions_total", labels)
    assert [1, 1] == [
        registry.get_sample_value("evenkeel_cache_waits_total", {"result": result})
        for result in ("found", "missing")
    ]
    assert 2 == registry.get_sample_value("evenkeel_cache_misses_total")


def test_reviews_are_counted_by_phase_and_verdict(telemetry: Telemetry, registry: CollectorRegistry) -> None:
    """A review counts once, with its time, its injected constraints and its broken rules."""
    telemetry.reviews.count(Phase.MUTATE, a_reply(AdmissionVerdict.INJECTED, injected=2), seconds=0.0001)
    telemetry.reviews.count(
        Phase.VALIDATE, a_reply(AdmissionVerdict.DENIED, rules=("max-skew",)), seconds=0.002
    )

    expected = {
        ("evenkeel_admission_requests_total", ("mutate", "injected")): 1,
        ("evenkeel_admission_requests_total", ("validate", "denied")): 1,
        ("evenkeel_admission_requests_total", ("validate", "allowed")): 0,
    }
    for (name, (phase, verdict)), count in expected.items():
        assert count == registry.get_sample_value(name, {"phase": phase, "verdict": verdict})
    assert 2 == registry.get_sample_value("evenkeel_injected_constraints_total")
    assert 1 == registry.get_sample_value("evenkeel_rule_violations_total", {"rule": "max-skew"})
    assert 0.002 == registry.get_sample_value(
        "evenkeel_admission_duration_seconds_sum", {"phase": "validate"}
    )


def test_forecasts(telemetry: Telemetry, registry: CollectorRegistry) -> None:
    """Verdicts on next pods are timed, and those that were not begun are counted."""
    for reply in (
        a_reply(AdmissionVerdict.ALLOWED),
        a_reply(AdmissionVerdict.WARNED, forecast_s=0.25),
        *(a_reply(AdmissionVerdict.ALLOWED, skipped=("unschedulable",), cause=cause) for cause in SkipCause),
    ):
        telemetry.reviews.count(Phase.VALIDATE, reply, seconds=0.3)

    assert 1 == registry.get_sample_value("evenkeel_forecast_duration_seconds_count")
    assert 0.25 == registry.get_sample_value("evenkeel_forecast_duration_seconds_sum")
    assert [1, 1, 1] == [
        registry.get_sample_value("evenkeel_forecasts_skipped_total", {"reason": reason})
        for reason in ("object", "cluster", "timeout")
    ]


def test_rules_on_nodes(telemetry: Telemetry, registry: CollectorRegistry) -> None:
    """Rules that look at every node are timed, and those that were not begun are counted."""
    for reply in (
        a_reply(AdmissionVerdict.ALLOWED),
        a_reply(AdmissionVerdict.WARNED, rules_s=0.25),
        a_reply(AdmissionVerdict.ALLOWED, skipped=("min-domains-unmet",)),
    ):
        telemetry.reviews.count(Phase.VALIDATE, reply, seconds=0.3)

    assert 1 == registry.get_sample_value("evenkeel_node_rules_duration_seconds_count")
    assert 0.25 == registry.get_sample_value("evenkeel_node_rules_duration_seconds_sum")
    assert 1 == registry.get_sample_value("evenkeel_node_rules_skipped_total")


def test_limits(telemetry: Telemetry, registry: CollectorRegistry) -> None:
    """Requests that met a limit are counted by it."""
    for limit in (Limit.TIMEOUT, Limit.BUSY, Limit.TIMEOUT):
        telemetry.limited.labels(limit.value).inc()

    assert (2, 1) == tuple(
        registry.get_sample_value("evenkeel_requests_limited_total", {"reason": reason})
        for reason in ("timeout", "busy")
    )


def test_certificates(telemetry: Telemetry, registry: CollectorRegistry) -> None:
    """Expiry and reloads are told."""
    telemetry.certificate_begin.set(1_700_000_000)
    telemetry.certificate_expiry.set(1_800_000_000)
    telemetry.certificate_reloads.labels("failed").inc()

    assert 1_700_000_000 == registry.get_sample_value("evenkeel_certificate_not_before_timestamp_seconds")
    assert 1_800_000_000 == registry.get_sample_value("evenkeel_certificate_expiry_timestamp_seconds")
    assert 1 == registry.get_sample_value("evenkeel_certificate_reloads_total", {"result": "failed"})


def test_rendered(telemetry: Telemetry) -> None:
    """The text format names the version."""
    assert b'evenkeel_build_info{version="1.2.3"} 1.0\n' in telemetry.render()

"""Metrics of answered reviews: how many, how long, and what became of their objects."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from policies.admission.decision import AdmissionVerdict

if TYPE_CHECKING:
    from webhook.admission.reply import Reply

#: The two webhooks.
_PHASES: Final = ("mutate", "validate")
#: Upper bounds in seconds. A review takes some 60 µs; the cluster's patience ends at 1 to 30 s.
DURATION_BUCKETS: Final = (
    50e-6, 75e-6, 100e-6, 150e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 100e-3, 250e-3, 1.0,
)  # fmt: skip


class ReviewMetrics:
    """The metrics of reviews. Children are looked up once: a lookup by labels costs 2 µs."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._set_up_reviews(registry)
        self._set_up_node_metrics(registry)
        counter = partial(Counter, registry=registry)
        self._injected = counter("evenkeel_injected_constraints_total", "Constraints that patches added.")
        self._unreviewable = counter(
            "evenkeel_unreviewable_total",
            "Objects that could not be reviewed, by phase and verdict (denied, warned, allowed).",
            ["phase", "verdict"],
        )
        self._exemptions = counter(
            "evenkeel_exemptions_total",
            "Reviews that broke a rule from which they are exempt, by rule and source (annotation, policy).",
            ["rule", "source"],
        )
        self._cache_waits = counter(
            "evenkeel_cache_waits_total",
            "Reviews that waited for an owner or namespace to be in the cache, by result (found, missing).",
            ["result"],
        )
        self._cache_misses = counter(
            "evenkeel_cache_misses_total",
            "Reviews decided without an owner or namespace that was not in the cache: nothing was injected.",
        )
        self._violations = counter(
            "evenkeel_rule_violations_total", "Reviews that broke a rule, by the rule's id.", ["rule"]
        )

    def _set_up_reviews(self, registry: CollectorRegistry) -> None:
        requests = Counter(
            "evenkeel_admission_requests_total",
            "Reviews answered, by phase (mutate, validate) and verdict.",
            ["phase", "verdict"],
            registry=registry,
        )
        self._count = {
            (phase, v): requests.labels(phase, v.value) for phase in _PHASES for v in AdmissionVerdict
        }
        duration = Histogram(
            "evenkeel_admission_duration_seconds",
            "Time to decide a review, without reading and sending it.",
            ["phase"],
            buckets=DURATION_BUCKETS,
            registry=registry,
        )
        self._duration = {phase: duration.labels(phase) for phase in _PHASES}

    def _set_up_node_metrics(self, registry: CollectorRegistry) -> None:
        """Register the metrics of what looks at the nodes of a cluster."""
        counter = partial(Counter, registry=registry)
        histogram = partial(Histogram, buckets=DURATION_BUCKETS, registry=registry)
        self._forecasts = histogram(
            "evenkeel_forecast_duration_seconds",
            "Time of the verdict on a workload's next pod, where one was made.",
        )
        self._forecasts_skipped = counter(
            "evenkeel_forecasts_skipped_total",
            "Verdicts on the next pod that were not made, by reason: the timeout was near (timeout), the "
            "object is too large (object), or the cluster stores too much to look at (cluster).",
            ["reason"],
        )
        self._node_rules = histogram(
            "evenkeel_node_rules_duration_seconds",
            "Time of the rules that look at every node, where they ran.",
        )
        self._node_rules_skipped = counter(
            "evenkeel_node_rules_skipped_total",
            "Reviews in which rules were not begun: the timeout was near, or the object too large.",
        )

    def count(self, phase: str, reply: Reply, *, seconds: float) -> None:
        """Count one answered review, with the seconds that it took."""
        decision, budget = reply.decision, reply.budget
        self._count[phase, decision.verdict].inc()
        self._duration[phase].observe(seconds)
        if budget.forecast_s is not None:
            self._forecasts.observe(budget.forecast_s)
        if budget.rules_s is not None:
            self._node_rules.observe(budget.rules_s)
        if decision.skipped:
            if (skipped := reply.forecast_skipped) is not None:
                self._forecasts_skipped.labels(skipped.cause.value).inc()
            self._node_rules_skipped.inc(reply.rules_skipped)
        self._count_rare(phase, reply)
        for exemption in decision.exempted:
            self._exemptions.labels(*exemption).inc()
        for rule in decision.rules:
            self._violations.labels(rule).inc()

    def _count_rare(self, phase: str, reply: Reply) -> None:
        decision = reply.decision
        if reply.waited_s is not None:
            self._cache_waits.labels("missing" if decision.miss else "found").inc()
        if decision.miss is not None:
            self._cache_misses.inc()
        if reply.unreviewable:
            self._unreviewable.labels(phase, decision.verdict.value).inc()
        if decision.injected:
            self._injected.inc(decision.injected)

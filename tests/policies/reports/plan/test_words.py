"""The words that text and Markdown share."""

from __future__ import annotations

from dataclasses import replace

from policies.manifests.words import IN_SENTENCE
from policies.reports.plan.words import asides, domains_text, pending_messages
from policies.scheduler.binding import Step
from tests.policies.reports.plan.plans import EMPTY, RUN


def test_many_domains() -> None:
    """Those that change are listed first, many with equal numbers are one entry."""
    (domains, *_) = (found for workload in RUN.plan.workloads for found in workload.domains)
    now = {f"n{number:02}": 1 for number in range(40)}
    text = domains_text(replace(domains, now=now, after=now | {"n39": 2}))

    assert "n39 1 → 2, n00 and 38 others 1; skew 0 → 1" == text


def test_many_messages() -> None:
    """Pods with one message are counted; of many messages the first are told."""
    workload = RUN.plan.workloads[0]
    steps = tuple(Step(namespace="a", name="b", message=f"{number}") for number in range(30)) * 2
    found = list(pending_messages(replace(workload, pods=replace(workload.pods, steps=steps))))

    assert IN_SENTENCE == len(found)
    assert (2, "0") == found[0]


def test_nothing_is_left_out() -> None:
    """An exact plan has no remarks."""
    assert [] == list(asides(replace(EMPTY, plan=replace(EMPTY.plan, assumed=False))))

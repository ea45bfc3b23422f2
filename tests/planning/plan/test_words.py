"""The words that text and Markdown share."""

from __future__ import annotations

from dataclasses import replace

from planning.plan.words import asides, domains_text, pending_messages, rollout_text
from planning.simulation.rollout.rollout import simulate_rollout
from planning.simulation.rollout.rollout_start import RolloutSettings
from policies.manifests.words import IN_SENTENCE
from policies.pods.known_pods import UNREAD_PODS
from policies.scheduler.binding import SchedulingAttempt
from tests.builders import a_constraint
from tests.planning.plan.plans import EMPTY, RUN
from tests.planning.rollouts import THREE_ZONES, a_context, a_deployment, running


def test_many_domains() -> None:
    """Those that change are listed first, many with equal numbers are one entry."""
    (domains, *_) = (found for workload in RUN.plan.workloads for found in workload.domains)
    now = {f"n{number:02}": 1 for number in range(40)}
    text = domains_text(replace(domains, now=now, after=now | {"n39": 2}))

    assert "n39 1 → 2, n00 and 38 others 1; skew 0 → 1" == text


def test_many_messages() -> None:
    """Pods with one message are counted; of many messages the first are told."""
    workload = RUN.plan.workloads[0]
    steps = tuple(SchedulingAttempt(namespace="a", name="b", message=f"{number}") for number in range(30)) * 2
    found = list(pending_messages(replace(workload, pods=replace(workload.pods, steps=steps))))

    assert IN_SENTENCE == len(found)
    assert (2, "0") == found[0]


def test_nothing_is_left_out() -> None:
    """An exact plan has no remarks."""
    assert [] == list(asides(replace(EMPTY, plan=replace(EMPTY.plan, assumed=False))))


def test_a_scale_down_among_equal_pods() -> None:
    """Which pods are deleted is open, and so is the skew that they leave."""
    pods = running("r1", n1=2, n2=2, n3=2)
    obj, settings = a_deployment(6, a_constraint()), RolloutSettings(known=UNREAD_PODS, scale=3)
    rollout = simulate_rollout(obj, a_context(*THREE_ZONES, *pods), settings)
    workload = RUN.plan.workloads[0]
    text = rollout_text(replace(workload, pods=replace(workload.pods, rollout=rollout)))

    worst, likely = rollout.courses.worst_skews[0], rollout.courses.likely.skews[0]
    of_worst = f", with a skew of up to {worst}" if worst > likely else ""
    assert f"scale: every replica has a node; of equal pods and nodes Kubernetes takes any{of_worst}" == text
    assert worst == 2

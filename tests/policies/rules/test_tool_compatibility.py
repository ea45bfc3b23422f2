"""Tests of the rules about tools beside the scheduler: silent unless the tool is there."""

from __future__ import annotations

import pytest

from policies.model.version import KubernetesVersion
from policies.rules.base import Context, all_rules
from tests.policies.rules.placing import HOST, ZONE, a_workload
from tests.policies.rules.run_rules import problems

SOFT = a_workload(f"topologyKey: {ZONE}, own", replicas=6).replace("DoNotSchedule", "ScheduleAnyway")
HARD = a_workload(f"topologyKey: {ZONE}, own, minDomains: 3", replicas=6)
BY_HOST = a_workload(f"topologyKey: {HOST}, own, maxSkew: 4", replicas=6)
SCALED = """
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {minReplicas: 6, maxReplicas: 60, scaleTargetRef: {kind: Deployment, name: web}}
"""
#: A manifest that each rule has something to say of, once its tool is in use.
SUBJECTS = {
    "autoscaler-adds-one-node-a-loop": HARD + SCALED,
    "autoscaler-ignores-schedule-anyway": SOFT,
    "descheduler-ignores-min-domains": HARD,
    "karpenter-hostname-minimum": BY_HOST,
}


def _in_use(rule: str, *, version: str = "1.36") -> Context:
    params = all_rules()[rule].params
    assert params is not None
    return Context(params=params(in_use=True), version=KubernetesVersion.parse(version))


@pytest.mark.parametrize("rule", SUBJECTS)
def test_silent_without_the_tool(rule: str) -> None:
    """Nobody who lacks the tool hears of it."""
    params = all_rules()[rule].params
    assert params is not None

    assert [] == problems(rule, SUBJECTS[rule], Context(params=params()))
    assert 1 == len(problems(rule, SUBJECTS[rule], _in_use(rule)))


@pytest.mark.parametrize(
    ("rule", "manifest"),
    [
        pytest.param(
            "karpenter-hostname-minimum", BY_HOST.replace("6", "4"), id="4 replicas, maxSkew 4: one node"
        ),
        pytest.param(
            "karpenter-hostname-minimum",
            BY_HOST.replace("{app: web}}, max", "{app: b}}, max"),
            id="counts others",
        ),
        pytest.param("autoscaler-adds-one-node-a-loop", HARD, id="nothing scales it"),
        pytest.param(
            "autoscaler-adds-one-node-a-loop", BY_HOST + SCALED, id="hosts: every new node is a domain"
        ),
        pytest.param("autoscaler-ignores-schedule-anyway", HARD, id="a hard one over zones"),
        pytest.param("autoscaler-ignores-schedule-anyway", SOFT.replace("6", "1"), id="one replica"),
        pytest.param(
            "descheduler-ignores-min-domains", HARD.replace("minDomains: 3", "minDomains: 1"), id="1 is none"
        ),
    ],
)
def test_silent_where_it_does_no_harm(rule: str, manifest: str) -> None:
    """A default of the tool itself is no finding."""
    assert [] == problems(rule, manifest, _in_use(rule))


def test_min_domains_of_an_old_release() -> None:
    """Where the scheduler does not know minDomains either, the two agree."""
    rule = "descheduler-ignores-min-domains"

    assert [] == problems(rule, HARD, _in_use(rule, version="1.26"))


def test_karpenter_counts_nodes() -> None:
    """The number of nodes is that of the replicas by maxSkew, rounded up."""
    (problem,) = problems("karpenter-hostname-minimum", BY_HOST, _in_use("karpenter-hostname-minimum"))

    assert "2 nodes for 6 replicas" in problem.message

"""Rules that look at nodes count the same domains as the engine, in every release."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policies.model.topology import ClusterTopology
from policies.model.version import KubernetesVersion
from policies.rules.base import Context, all_rules
from policies.scheduler.evaluate import evaluate
from policies.scheduler.releases import behavior_of
from policies.scheduler.workload_topology import WorkloadTopology
from tests.policies.rules.documents import text_of
from tests.policies.rules.placing import a_context
from tests.policies.rules.run_rules import problems, workloads
from tests.policies.scheduler.clusters import a_node, a_pod, a_request, an_index

ZONE = "topology.kubernetes.io/zone"
RELEASES = [pytest.param(KubernetesVersion(1, minor), id=f"1.{minor}") for minor in range(24, 39)]
POLICIES = st.sampled_from([None, "Honor", "Ignore"])


@st.composite
def _nodes(draw: st.DrawFn) -> list[dict[str, Any]]:
    nodes = []
    for number in range(draw(st.integers(1, 5))):
        labels = {"pool": draw(st.sampled_from("xy"))}
        if draw(st.integers(0, 5)):
            labels[ZONE] = draw(st.sampled_from("abc"))
        taints = draw(st.sampled_from([[], ["gpu:NoSchedule"], ["soft:PreferNoSchedule"]]))
        nodes.append(a_node(f"n{number}", labels, taints=taints))
    return nodes


@st.composite
def _templates(draw: st.DrawFn) -> dict[str, Any]:
    constraint: dict[str, Any] = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": draw(st.sampled_from(["DoNotSchedule", "ScheduleAnyway"])),
        "labelSelector": {"matchLabels": {"app": "web"}},
        "nodeAffinityPolicy": draw(POLICIES),
        "nodeTaintsPolicy": draw(POLICIES),
    }
    if draw(st.booleans()) and constraint["whenUnsatisfiable"] == "DoNotSchedule":
        constraint["minDomains"] = draw(st.integers(1, 3))
    spec: dict[str, Any] = {
        "topologySpreadConstraints": [{name: value for name, value in constraint.items() if value}]
    }
    if draw(st.booleans()):
        spec["nodeSelector"] = {"pool": "x"}
    if draw(st.booleans()):
        spec["tolerations"] = [{"operator": "Exists"}]
    return spec


@pytest.mark.parametrize("version", RELEASES)
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(nodes=_nodes(), spec=_templates())
def test_rules_count_as_the_engine(
    version: KubernetesVersion, nodes: list[dict[str, Any]], spec: dict[str, Any]
) -> None:
    """The domains that rules go by, and ``minDomains``, are those of the engine."""
    manifest = _deployment(spec)
    context = a_context(nodes, version=version)
    index = an_index(nodes)
    pod = a_pod("web", labels={"app": "web"}, spread=spec["topologySpreadConstraints"], **_rest(spec))
    verdict = evaluate(a_request(pod, {}, index, behavior_of(version)), index)
    (applied,) = verdict.request.constraints
    (result,) = verdict.results
    there = zip(result.domains.values, result.domains.exists, strict=True)
    expected = {value for value, exists in there if exists}
    (workload,) = workloads(manifest)
    inventory = context.inventory or ClusterTopology()
    (declared,) = workload.constraints
    topology = WorkloadTopology.of(workload, inventory, version, hard=applied.is_hard)

    assert expected == {domain.value for domain in topology.domains(declared.constraint)}
    single = len(expected) == 1 and applied.constraint.min_domains == 1
    assert single == bool(problems("single-domain", manifest, context))
    assert applied.constraint.min_domains == topology.min_domains(declared.constraint)


@pytest.mark.parametrize("version", RELEASES)
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(nodes=_nodes(), spec=_templates())
def test_fields_that_a_release_drops_change_nothing(
    version: KubernetesVersion, nodes: list[dict[str, Any]], spec: dict[str, Any]
) -> None:
    """No rule but the one that reports them finds anything else for a field that the release drops."""
    context = a_context(nodes, version=version)
    (entry,) = spec["topologySpreadConstraints"]
    behavior = behavior_of(version)
    dropped = set() if behavior.min_domains else {"minDomains", "matchLabelKeys"}
    if not behavior.inclusion_policies:
        dropped |= {"nodeAffinityPolicy", "nodeTaintsPolicy"}
    kept = {name: value for name, value in entry.items() if name not in dropped}
    without = {**spec, "topologySpreadConstraints": [kept]}

    for rule in all_rules():
        if rule != "field-not-in-release":
            assert _paths(rule, _deployment(without), context) == _paths(rule, _deployment(spec), context)


def _paths(rule: str, manifest: str, context: Context) -> list[str]:
    return [f"{problem.path}: {problem.message}" for problem in problems(rule, manifest, context)]


def _rest(spec: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in spec.items() if name != "topologySpreadConstraints"}


def _deployment(spec: dict[str, Any]) -> str:
    labels = {"app": "web"}
    return text_of(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {
                "replicas": 4,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {**spec, "containers": [{"name": "c"}]}},
            },
        }
    )

"""Rules that look at nodes count what the engine counts, in every release."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.model.topology import ClusterTopology
from policies.model.topology_keys import HOSTNAME, ZONE
from policies.model.version import KubernetesVersion
from policies.rules.base import Context, all_rules
from policies.scheduler.evaluate import evaluate
from policies.scheduler.node_table import MISSING
from policies.scheduler.releases import behavior_of
from policies.scheduler.request import AppliedConstraint
from policies.scheduler.result import SchedulingResult
from policies.scheduler.workload_topology import WorkloadTopology
from tests.examples import examples
from tests.policies.rules.placing import a_context, most_placed, room
from tests.policies.rules.run_rules import problems, workloads
from tests.policies.scheduler.clusters import a_node, a_pod, a_request, an_index, fitting

RELEASES = [KubernetesVersion(1, minor) for minor in range(24, 39)]
POLICIES = st.sampled_from([None, "Honor", "Ignore"])
REPLICAS = 4
APP = {"app": "web"}
#: Rules that say how many pods there is room for.
ROOM_RULES = (
    "anti-affinity-above-domains",
    "constraints-unsatisfiable-together",
    "min-domains-above-domains",
    "rollout-without-room",
    "unreachable-domain-counted",
)


@st.composite
def _nodes(draw: st.DrawFn) -> list[dict[str, Any]]:
    nodes = []
    for number in range(draw(st.integers(1, 5))):
        labels = {"pool": draw(st.sampled_from("xxy"))}
        if draw(st.integers(0, 9)):
            labels[ZONE] = draw(st.sampled_from("abc"))
        taints = draw(st.sampled_from([[], [], [], ["gpu:NoSchedule"], ["soft:PreferNoSchedule"]]))
        node = a_node(f"n{number}", labels, taints=taints)
        if not draw(st.integers(0, 9)):
            del node["metadata"]["labels"][HOSTNAME]
        nodes.append(node)
    return nodes


@st.composite
def _constraints(draw: st.DrawFn, key: str, action: str) -> dict[str, Any]:
    constraint = {
        "maxSkew": draw(st.integers(1, 2)),
        "topologyKey": key,
        "whenUnsatisfiable": action,
        "labelSelector": {"matchLabels": APP},
        "nodeAffinityPolicy": draw(POLICIES),
        "nodeTaintsPolicy": draw(POLICIES),
        "matchLabelKeys": draw(st.sampled_from([None, None, ["pod-template-hash"]])),
    }
    if action == "DoNotSchedule":
        constraint["minDomains"] = draw(st.sampled_from([None, None, 1, 2, 3]))
    return {name: value for name, value in constraint.items() if value}


@st.composite
def _specs(draw: st.DrawFn, actions: tuple[str, ...] = ("DoNotSchedule", "ScheduleAnyway")) -> dict[str, Any]:
    keys = draw(st.sampled_from([[ZONE], [HOSTNAME], ["rack"], [ZONE, HOSTNAME]]))
    spread = [draw(_constraints(key, draw(st.sampled_from(actions)))) for key in keys]
    spec: dict[str, Any] = {"topologySpreadConstraints": spread}
    if not draw(st.integers(0, 2)):
        spec["nodeSelector"] = {"pool": "x"}
    if not draw(st.integers(0, 2)):
        spec["tolerations"] = [{"operator": "Exists"}]
    return spec


def _evaluate(
    nodes: list[dict[str, Any]], spec: dict[str, Any], version: KubernetesVersion
) -> SchedulingResult:
    """Return the engine's result for the first pod, of a cluster without others."""
    index = an_index(nodes)
    rest = {name: value for name, value in spec.items() if name != "topologySpreadConstraints"}
    labels = {**APP, "pod-template-hash": "r1"}
    pod = a_pod("web", labels=labels, spread=spec["topologySpreadConstraints"], **rest)
    return evaluate(a_request(pod, {}, index, behavior_of(version)), index)


@examples(100)
@given(version=st.sampled_from(RELEASES), nodes=_nodes(), spec=_specs())
def test_eligible_nodes(
    version: KubernetesVersion, nodes: list[dict[str, Any]], spec: dict[str, Any]
) -> None:
    """The domains that rules go by, their nodes and ``minDomains`` are those of the engine."""
    result = _evaluate(nodes, spec, version)
    (workload,) = workloads(_deployment(spec), version)
    cluster = a_context(nodes, version=version).inventory or ClusterTopology()
    for declared, counted in zip(workload.constraints, result.results, strict=True):
        topology = WorkloadTopology.of(workload, cluster, version, hard=declared.is_hard)
        domains = counted.domains
        expected = {
            value: count for value, count in zip(domains.values, domains.nodes.tolist(), strict=True) if count
        }

        assert counted.applied.constraint.min_domains == declared.constraint.min_domains
        if not _is_counted_by_node(counted.applied):
            found = topology.domains(declared.constraint)
            assert expected == {domain.value: len(domain.nodes) for domain in found}
    topology = WorkloadTopology.of(workload, cluster, version)
    assert fitting(result) == [node.name for node in topology.usable]


@examples(100)
@given(version=st.sampled_from(RELEASES), nodes=_nodes(), spec=_specs())
def test_findings(version: KubernetesVersion, nodes: list[dict[str, Any]], spec: dict[str, Any]) -> None:
    """A rule about domains finds just those constraints of which the engine's counts say so."""
    result = _evaluate(nodes, spec, version)
    expected: dict[str, list[int]] = {
        "topology-key-on-no-node": [],
        "single-domain": [],
        "min-domains-above-domains": [],
        "unreachable-domain-counted": [],
        "fewer-replicas-than-domains": [],
    }
    for at, counted in enumerate(result.results):
        constraint, domains = counted.applied.constraint, counted.domains
        eligible = int(np.count_nonzero(domains.exists))
        with_feasible = set(domains.of_node[result.feasible].tolist()) - {MISSING}
        within_room = REPLICAS <= constraint.max_skew * len(with_feasible)
        if (domains.of_node == MISSING).all():
            expected["topology-key-on-no-node"].append(at)
        is_hard, needed = counted.applied.is_hard, constraint.min_domains
        if eligible == 1 and needed == 1 and not _is_counted_by_node(counted.applied):
            expected["single-domain"].append(at)
        if not is_hard:
            continue
        if 0 < eligible < needed and not within_room:
            expected["min-domains-above-domains"].append(at)
        if with_feasible and eligible > len(with_feasible) and eligible >= needed and not within_room:
            expected["unreachable-domain-counted"].append(at)
        if min(eligible, needed) > 1:
            expected["fewer-replicas-than-domains"].append(at)
    context = a_context(nodes, version=version)
    scaled = _deployment(spec) + AUTOSCALER

    for rule, positions in expected.items():
        manifest = scaled if rule == "fewer-replicas-than-domains" else _deployment(spec)
        found = _positions(rule, manifest, context)
        if rule == "single-domain":
            found = [at for at in found if not _is_counted_by_node(result.results[at].applied)]
        assert (rule, positions) == (rule, found)


@examples(150)
@given(
    version=st.sampled_from(RELEASES),
    nodes=_nodes(),
    spec=_specs(actions=("DoNotSchedule",)),
    replicas=st.integers(2, 5),
    apart=st.sampled_from([None, None, ZONE, HOSTNAME]),
)
def test_room(
    version: KubernetesVersion,
    nodes: list[dict[str, Any]],
    spec: dict[str, Any],
    replicas: int,
    apart: str | None,
) -> None:
    """Where a rule says that so many pods have room, the engine places no more, whatever their order."""
    if apart is not None:
        term = {"topologyKey": apart, "labelSelector": {"matchLabels": APP}}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        spec = {**spec, "affinity": {"podAntiAffinity": required}}
    strategy = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    manifest = _deployment(spec, strategy=strategy, replicas=replicas)
    context = a_context(nodes, version=version)
    for rule in ROOM_RULES:
        for problem in problems(rule, manifest, context):
            most = room(problem)
            assert most is not None
            placed = most_placed(nodes, manifest, wanted=most + 1, apart=apart, version=version)
            assert (rule, placed) <= (rule, most)


@pytest.mark.parametrize("version", RELEASES, ids=str)
@pytest.mark.parametrize("by_revision", [False, True], ids=["all pods", "one revision"])
@pytest.mark.parametrize("max_skew", [3, 4, 5])
def test_a_skew_that_never_binds(
    version: KubernetesVersion,
    max_skew: int,
    by_revision: bool,  # noqa: FBT001
) -> None:
    """The rule finds a ``maxSkew`` just where a fifth pod of an update fits beside four in one zone."""
    constraint: dict[str, Any] = {
        "maxSkew": max_skew,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": APP},
    }
    if by_revision:
        constraint["matchLabelKeys"] = ["pod-template-hash"]
    nodes = [a_node("a", {ZONE: "a"}), a_node("b", {ZONE: "b"})]

    def fits(old: int, new: int) -> bool:
        pods = [
            a_pod(f"web-{revision}-{number}", "a", {**APP, "pod-template-hash": revision})
            for revision, count in (("r1", old), ("r2", new))
            for number in range(count)
        ]
        index = an_index([*nodes, *pods])
        pod = a_pod("web", labels={**APP, "pod-template-hash": "r2"}, spread=[constraint])
        return "a" in fitting(evaluate(a_request(pod, {}, index, behavior_of(version)), index))

    spec = {"topologySpreadConstraints": [constraint]}
    expected = fits(REPLICAS, 0) and fits(0, REPLICAS - 1)

    assert expected == bool(
        problems("max-skew-never-binds", _deployment(spec), a_context(nodes, version=version))
    )


@pytest.mark.parametrize("version", RELEASES, ids=str)
@examples(8)
@given(nodes=_nodes(), spec=_specs())
def test_fields_that_a_release_drops_change_nothing(
    version: KubernetesVersion, nodes: list[dict[str, Any]], spec: dict[str, Any]
) -> None:
    """No rule but the one that reports them finds anything else for a field that the release drops."""
    context = a_context(nodes, version=version)
    behavior = behavior_of(version)
    dropped = set() if behavior.min_domains else {"minDomains", "matchLabelKeys"}
    if not behavior.inclusion_policies:
        dropped |= {"nodeAffinityPolicy", "nodeTaintsPolicy"}
    kept = [
        {name: value for name, value in entry.items() if name not in dropped}
        for entry in spec["topologySpreadConstraints"]
    ]
    without = {**spec, "topologySpreadConstraints": kept}

    for rule in all_rules():
        if rule != "field-not-in-release":
            assert _paths(rule, _deployment(without), context) == _paths(rule, _deployment(spec), context)


def _paths(rule: str, manifest: str, context: Context) -> list[str]:
    return [f"{problem.path}: {problem.message}" for problem in problems(rule, manifest, context)]


def _is_counted_by_node(applied: AppliedConstraint) -> bool:
    """Return whether the engine counts no domains: those of a soft constraint over hosts are the nodes."""
    return not applied.is_hard and applied.constraint.topology_key == HOSTNAME


def _positions(rule: str, manifest: str, context: Context) -> list[int]:
    """Return the position of each constraint that a rule finds."""
    paths = (str(problem.path) for problem in problems(rule, manifest, context))
    found = (re.search(r"topologySpreadConstraints\[(\d+)\]", path) for path in paths)
    return [int(match[1]) for match in found if match is not None]


#: Lets a Deployment go down to one replica.
AUTOSCALER = """
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 1
  maxReplicas: 4
"""


def _deployment(spec: dict[str, Any], **fields: Any) -> str:
    return json.dumps(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {
                "replicas": REPLICAS,
                "selector": {"matchLabels": APP},
                "template": {"metadata": {"labels": APP}, "spec": {**spec, "containers": [{"name": "c"}]}},
            }
            | fields,
        }
    )

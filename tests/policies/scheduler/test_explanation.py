"""The sum of a scheduling result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from policies.model.taints import Taint
from policies.scheduler.domain_stats import ConstraintStats, EqualDomains, Explanation, explain
from policies.scheduler.evaluate import evaluate
from policies.scheduler.node_table import MISSING
from policies.scheduler.profile import Plugin
from policies.scheduler.rejections import RejectedNodes, Shortage, SkewViolation
from policies.scheduler.result import FilterResult, SchedulingResult
from tests.builders import HOSTNAME, a_constraint, a_node, a_pod
from tests.planning.verdicts import on
from tests.policies.scheduler.clusters import a_request, an_index, objects_of
from tests.policies.scheduler.strategies import cases

Object = dict[str, Any]


def explained(
    pod: Object, *objects: Mapping[str, Any], args: Object | None = None
) -> tuple[SchedulingResult, Explanation]:
    index = an_index(objects)
    verdict = evaluate(a_request(pod, args or {}, index), index)
    return verdict, explain(verdict, index)


def _pod(*constraints: Object, **spec: Any) -> Object:
    return a_pod(spec={"topologySpreadConstraints": list(constraints), **spec})


def test_domains() -> None:
    """Every domain has its numbers, one that no counted node is in too; nodes that do not count are told."""
    selected, other = {"pool": "x"}, {"pool": "y"}
    nodes = [a_node("n1", "b"), a_node("n2", "a"), a_node("n3", "c"), a_node("n4")]
    for node, labels in zip(nodes, (selected, selected, other, selected), strict=True):
        node["metadata"]["labels"] |= labels
    _, explanation = explained(_pod(a_constraint(), nodeSelector=selected), *nodes, *on("n1", 2))
    (standing,) = explanation.constraints

    assert [("a", 0, 1, True, 1, True), ("b", 2, 1, True, 3, False), ("c", 0, 0, False, 1, True)] == [
        (domain.value, domain.matching, domain.nodes, domain.counted, domain.skew, domain.fits)
        for domain in standing.domains
    ]
    assert (0, 2, 1, 1) == (
        standing.minimum,
        standing.domain_count,
        standing.lacking_nodes,
        standing.left_out_nodes,
    )
    assert (EqualDomains(0, 1, 1), EqualDomains(2, 1, 0)) == standing.histogram
    assert [1, 0, 0] == [domain.feasible for domain in standing.domains]


def test_the_domain_of_nodes_without_the_label() -> None:
    """Under the system defaults nodes without a zone are a domain, and yet told as lacking the label."""
    pod = a_pod(spec={"nodeSelector": {"pool": "x"}})
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": pod["metadata"]["namespace"]},
        "spec": {"selector": pod["metadata"]["labels"]},
    }
    selected, other = {"pool": "x"}, {"pool": "y"}
    nodes = [a_node("n1", "a"), a_node("n2", "a"), a_node("n3"), a_node("n4")]
    for node, labels in zip(nodes, (selected, other, selected, other), strict=True):
        node["metadata"]["labels"] |= labels
    _, explanation = explained(pod, service, *nodes, *on("n3", 2), args={"defaultingType": "System"})
    standing = explanation.constraints[1]

    assert [("", 2, 1), ("a", 0, 1)] == [
        (domain.value, domain.matching, domain.nodes) for domain in standing.domains
    ]
    assert (2, 2, 1) == (standing.domain_count, standing.lacking_nodes, standing.left_out_nodes)


def test_many_domains() -> None:
    """Of many domains the worst and the best are told, the others by their counts."""
    nodes = [a_node(f"n{number:02}") for number in range(40)]
    pods = [pod for number in range(9) for pod in on(f"n{number:02}", number)]
    _, explanation = explained(_pod(a_constraint(topologyKey=HOSTNAME)), *nodes, *pods)
    (standing,) = explanation.constraints

    assert not standing.all_listed
    assert ["n08", "n07", "n06", "n00", "n09", "n10"] == [domain.value for domain in standing.domains]
    assert [32, *[1] * 8] == [alike.domains for alike in standing.histogram]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [({"matchLabels": {"a": "b"}}, False), ({}, True), (None, True)],
    ids=["some: counts", "{}: counts nothing in 1.36", "none: counts nothing"],
)
def test_selectors_that_count_nothing(selector: Any, expected: bool) -> None:  # noqa: FBT001  # parametrized
    """A selector that can match no pod is told from one that happens to match none."""
    _, explanation = explained(_pod(a_constraint(labelSelector=selector)), a_node("n1", "a"))

    assert expected == explanation.constraints[0].counts_nothing


def test_reasons_with_operands() -> None:
    """Nodes are grouped by all that refuses them, with what decided."""
    nodes = [
        a_node("n1", "a"),
        a_node("n2", "b", taints=[{"key": "gpu", "value": "x", "effect": "NoSchedule"}]),
        a_node("n3", "a"),
        a_node("n4", "c", unschedulable=True),
        a_node("n5"),
    ]
    containers = [{"name": "c", "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}]
    busy = a_pod(name="busy", labels={}, spec={"nodeName": "n3", "containers": containers})
    more = busy | {"metadata": busy["metadata"] | {"name": "more"}}
    _, explanation = explained(
        _pod(a_constraint(), containers=containers), *nodes, *on("n1", 2), *on("n2", 3), busy, more
    )

    assert [
        ("n1", [(Plugin.POD_TOPOLOGY_SPREAD, None, (), (_breach("a", 2, 3),))]),
        (
            "n2",
            [
                (Plugin.TAINT_TOLERATION, Taint("gpu", "x", "NoSchedule"), (), ()),
                (Plugin.POD_TOPOLOGY_SPREAD, None, (), (_breach("b", 3, 4),)),
            ],
        ),
        (
            "n3",
            [
                (
                    Plugin.NODE_RESOURCES_FIT,
                    None,
                    (Shortage(resource="cpu", requested=2000, least=0, most=0),),
                    (),
                ),
                (Plugin.POD_TOPOLOGY_SPREAD, None, (), (_breach("a", 2, 3),)),
            ],
        ),
        ("n4", [(Plugin.NODE_UNSCHEDULABLE, None, (), ())]),
        ("n5", [(Plugin.POD_TOPOLOGY_SPREAD, None, (), (SkewViolation(constraint=0, lacks_key=True),))]),
    ] == sorted(map(_told, explanation.rejected))


def _breach(domain: str, matching: int, skew: int) -> SkewViolation:
    return SkewViolation(
        constraint=0, lacks_key=False, domain=domain, domains=1, matching=matching, least=skew, most=skew
    )


def _told(group: RejectedNodes) -> tuple[str, list[Any]]:
    (name,) = group.examples
    return name, [
        (refusal.plugin, refusal.taint, refusal.shortages, refusal.violations) for refusal in group.rejections
    ]


def test_tiers() -> None:
    """Feasible nodes are told by score, the best first, with the lead in points of weight 2."""
    soft = a_constraint(topologyKey=HOSTNAME, whenUnsatisfiable="ScheduleAnyway")
    verdict, explanation = explained(
        _pod(soft), a_node("n1"), a_node("n2"), a_node("n3"), *on("n1", 1), *on("n3", 1)
    )
    assert verdict.scores is not None
    best, second = sorted(set(verdict.scores.tolist()), reverse=True)

    assert [(best, 1, ("n2",)), (second, 2, ("n1", "n3"))] == [
        (tier.score, tier.count, tier.examples) for tier in explanation.tiers
    ]
    assert 2 * (best - second) == explanation.lead


@pytest.mark.parametrize("nodes", [1, 2])
def test_nothing_is_scored(nodes: int) -> None:
    """One feasible node is not scored, nor are several without a soft constraint."""
    _, explanation = explained(_pod(a_constraint()), *(a_node(f"n{number}", "a") for number in range(nodes)))

    assert ([(None, nodes)], None) == (
        [(tier.score, tier.count) for tier in explanation.tiers],
        explanation.lead,
    )


@given(cases())
def test_sums(case: Object) -> None:
    """Groups and tiers together are all nodes, and histograms all domains; every refusal has its operands."""
    verdict, explanation = explained(case["pod"], *objects_of(case), args=case["args"])

    assert len(verdict.names) == (
        sum(refusing.count for refusing in explanation.rejected)
        + sum(tier.count for tier in explanation.tiers)
    )
    for standing, result in zip(explanation.constraints, verdict.results, strict=True):
        assert np.count_nonzero(result.domains.exists) == sum(a.domains for a in standing.histogram)
        if standing.all_listed and isinstance(result, FilterResult):
            _check_against_nodes(standing, result)
    for refusing in explanation.rejected:
        for refusal in refusing.rejections:
            assert bool(refusal.taint) == (refusal.plugin is Plugin.TAINT_TOLERATION)
            assert bool(refusal.violations) == (refusal.plugin is Plugin.POD_TOPOLOGY_SPREAD)
            assert bool(refusal.shortages) == (refusal.plugin is Plugin.NODE_RESOURCES_FIT)


def _check_against_nodes(standing: ConstraintStats, result: FilterResult) -> None:
    """Every node's own check agrees with its domain's."""
    told = {domain.value: (domain.skew, domain.fits) for domain in standing.domains}
    for node, domain in enumerate(result.domains.of_node.tolist()):
        if domain != MISSING:
            expected = (int(result.skew[node]), bool(result.satisfied[node]))
            assert expected == told[result.domains.values[domain]]

"""DoNotSchedule constraints: which nodes may take a pod."""

from __future__ import annotations

from typing import Any

import pytest

from policies.scheduler.profile import Plugin
from policies.scheduler.result import FilterResult
from tests.policies.scheduler.clusters import a_constraint, a_node, a_pod, ask, fitting, zones


@pytest.mark.parametrize(
    ("sizes", "fields", "expected"),
    [
        pytest.param({"a": 3, "b": 1}, {}, ["b"], id="sizes [3,1], maxSkew 1: only the emptier zone"),
        pytest.param({"a": 3, "b": 1}, {"maxSkew": 3}, ["a", "b"], id="sizes [3,1], maxSkew 3: both"),
        pytest.param({"a": 3, "b": 1}, {"maxSkew": 2}, ["b"], id="sizes [3,1], maxSkew 2: 4 - 1 is 3"),
        pytest.param(
            {"a": 1, "b": 1}, {"minDomains": 3}, [], id="2 domains under minDomains 3: minimum is 0"
        ),
        pytest.param(
            {"a": 1, "b": 1}, {"minDomains": 2}, ["a", "b"], id="2 domains, minDomains 2: minimum is 1"
        ),
        pytest.param(
            {"a": 0, "b": 0}, {"minDomains": 9}, ["a", "b"], id="empty domains under minDomains: 1 - 0"
        ),
        pytest.param({"a": 9, "b": 0}, {"labelSelector": None}, ["a", "b"], id="no selector counts none"),
        pytest.param({"a": 9, "b": 0}, {"labelSelector": {}}, ["a", "b"], id="empty selector counts none"),
        pytest.param(
            {"a": 2, "b": 1},
            {"labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}},
            ["b"],
            id="sizes [2,1], app exists",
        ),
    ],
)
def test_placeable(sizes: dict[str, int], fields: dict[str, Any], expected: list[str]) -> None:
    """A domain may take the pod while its new count stays within maxSkew of the minimum."""
    verdict = ask(zones(**sizes), a_pod("next", spread=[a_constraint(**fields)]))

    assert expected == fitting(verdict)


def test_a_pod_outside_its_own_selector() -> None:
    """A pod that does not match itself adds nothing: sizes [1,0], maxSkew 1 leave both zones open."""
    verdict = ask(zones(a=1, b=0), a_pod("next", labels={"app": "other"}, spread=[a_constraint()]))
    result = verdict.results[0]

    assert ["a", "b"] == fitting(verdict)
    assert isinstance(result, FilterResult)
    assert (0, 0, [1, 0]) == (result.applied.self_match, result.minimum, result.skew.tolist())


def test_node_without_the_key() -> None:
    """A node that lacks the key is refused for good, and the pods on it do not count."""
    objects = [*zones(a=1, b=1), a_node("bare"), a_pod("p", "bare")]
    verdict = ask(objects, a_pod("next", spread=[a_constraint()]))
    (spread,) = [each for each in verdict.rejections if each.plugin is Plugin.POD_TOPOLOGY_SPREAD]

    assert ["a", "b"] == fitting(verdict)
    assert [0, 0, 2] == spread.of_node.tolist()
    assert "UnschedulableAndUnresolvable" == spread.reasons[1].code


def test_a_node_must_have_every_key() -> None:
    """With two hard constraints a node without one of the keys counts for neither."""
    objects = [*zones(a=1, b=0), a_node("c", {"zone": "c"})]
    for node in objects[:2]:
        node["metadata"]["labels"]["rack"] = "r"
    spread = [a_constraint(), a_constraint("rack", maxSkew=5)]

    assert ["b"] == fitting(ask(objects, a_pod("next", spread=spread)))


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param({}, [], id="taints ignored: the tainted zone pins the minimum at 0"),
        pytest.param({"nodeTaintsPolicy": "Honor"}, ["a", "b"], id="taints honored: it is no domain"),
    ],
)
def test_tainted_zone(policy: dict[str, str], expected: list[str]) -> None:
    """A zone whose nodes are tainted counts as an empty domain unless nodeTaintsPolicy is Honor."""
    objects = [*zones(a=1, b=1), a_node("c", {"zone": "c"}, taints=["gpu=yes:NoSchedule"])]

    assert expected == fitting(ask(objects, a_pod("next", spread=[a_constraint(**policy)])))


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param({}, ["a", "b"], id="affinity honored: the other zone is no domain"),
        pytest.param({"nodeAffinityPolicy": "Ignore"}, [], id="affinity ignored: it pins the minimum at 0"),
    ],
)
def test_zone_outside_the_affinity(policy: dict[str, str], expected: list[str]) -> None:
    """A zone that the pod does not ask for counts only if nodeAffinityPolicy is Ignore."""
    objects = [*zones(a=1, b=1), a_node("c", {"zone": "c"})]
    terms = [{"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["c"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    pod = a_pod("next", spread=[a_constraint(**policy)], affinity={"nodeAffinity": required})

    assert expected == fitting(ask(objects, pod))

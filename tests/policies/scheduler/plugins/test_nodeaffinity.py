"""The nodes that a pod selects."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.version import KubernetesVersion
from policies.scheduler.profile import Plugin
from policies.scheduler.releases import behavior_of
from tests.policies.scheduler.clusters import a_node, a_pod, ask, fitting, reasons


def test_reason() -> None:
    """A node without the label is rejected in the scheduler's own words."""
    result = ask([a_node("n")], a_pod("next", nodeSelector={"disk": "ssd"}))

    assert {
        Plugin.NODE_AFFINITY: (
            "node(s) didn't match Pod's node affinity/selector",
            "UnschedulableAndUnresolvable",
        )
    } == reasons(result)


def test_selected() -> None:
    """A node with the label is feasible."""
    nodes = [a_node("a"), a_node("b", {"disk": "ssd"})]

    assert ["b"] == fitting(ask(nodes, a_pod("next", nodeSelector={"disk": "ssd"})))


def a_pod_with(*terms: list[str]) -> dict[str, Any]:
    """Return a pod whose terms each ask for all of some node names at once."""
    selected = [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]}
        for names in terms
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": selected}}
    return a_pod("next", affinity={"nodeAffinity": required})


CONFLICT = "0/2 nodes are available: pod affinity terms conflict."
GONE = 'nodeinfo not found for node name "gone"'


@pytest.mark.parametrize(
    ("minor", "terms", "fits", "message"),
    [
        pytest.param(27, [["a", "b"], ["b"]], ["b"], "", id="1.27: one of two terms contradicts"),
        pytest.param(26, [["a", "b"], ["b"]], [], CONFLICT, id="1.26: one of two terms contradicts"),
        pytest.param(27, [["a", "b"]], [], CONFLICT, id="1.27: the only term contradicts"),
        pytest.param(27, [["gone"], ["b"]], ["b"], "", id="1.27: one of two nodes is gone"),
        pytest.param(26, [["gone"], ["b"]], [], GONE, id="1.26: one of two nodes is gone"),
    ],
)
def test_names_by_release(minor: int, terms: list[list[str]], fits: list[str], message: str) -> None:
    """Up to 1.26 a name that cannot be keeps the pod from all nodes."""
    behavior = behavior_of(KubernetesVersion(1, minor))
    result = ask([a_node("a"), a_node("b")], a_pod_with(*terms), behavior)

    assert fits == fitting(result)
    assert message == result.message

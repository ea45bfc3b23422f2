"""The sentence of a pod that no node takes."""

from __future__ import annotations

from typing import Any

import pytest

from planning.simulation.verdicts import pending_sentence
from tests.builders import HOSTNAME, a_constraint, a_node, a_pod
from tests.planning.verdicts import a_placement, on

SPOT = {"key": "spot", "value": "true", "effect": "NoSchedule"}
NODES = [
    a_node("n1", "a"),
    a_node("n2", "b"),
    a_node("n3", "c", unschedulable=True),
    *(a_node(f"s{number}", "c", taints=[SPOT]) for number in range(2)),
]
PODS = [*on("n1", 2), *on("n2", 2)]
MORE = [a_node(f"m{number}", "a") for number in range(4)]


@pytest.mark.parametrize(
    ("spec", "nodes", "pods", "expected"),
    [
        pytest.param(
            {"topologySpreadConstraints": [a_constraint()]},
            NODES,
            PODS,
            "zone c has none of these pods and no node there takes one (2 tainted spot=true, 1 cordoned), "
            "so a and b, which have 2 each, may not take a third (maxSkew 1)",
            id="who holds the minimum, why, and whom it stops",
        ),
        pytest.param(
            {"topologySpreadConstraints": [a_constraint(topologyKey=HOSTNAME)]},
            [*NODES, *MORE],
            [*PODS, *(pod for node in MORE for pod in on(node["metadata"]["name"], 1))],
            "nodes n3, s0 and s1 have none of these pods and do not take one (2 tainted spot=true, 1 "
            "cordoned), so 6 others, which have 1 to 2, may not take another (maxSkew 1)",
            id="hosts are nodes, and many are a number",
        ),
        pytest.param(
            {"topologySpreadConstraints": [a_constraint(minDomains=5)]},
            NODES,
            PODS,
            "there are 3 zones, fewer than minDomains 5, so the minimum counts as 0: a and b, which have 2 "
            "each, may not take a third (maxSkew 1)",
            id="minDomains",
        ),
        pytest.param(
            {"topologySpreadConstraints": [a_constraint(topologyKey="rack")]},
            NODES,
            PODS,
            "2 nodes that could take it lack the label rack",
            id="a key that no node has",
        ),
        pytest.param(
            {"topologySpreadConstraints": [a_constraint()], "nodeSelector": {"disk": "ssd"}},
            NODES,
            PODS,
            "none of 5 nodes takes it: 2 tainted spot=true, 2 outside its node affinity, 1 cordoned",
            id="no node passes all else: the commonest reasons",
        ),
        pytest.param({}, [], [], "there is no node", id="no node"),
    ],
)
def test_why_no_node_takes_it(
    spec: dict[str, Any], nodes: list[dict[str, Any]], pods: list[dict[str, Any]], expected: str
) -> None:
    """One sentence has the cause, with names and numbers."""
    placement = a_placement(a_pod(spec=spec), *nodes, *pods)

    assert expected == pending_sentence(placement.result, placement.cluster)


def test_a_resource() -> None:
    """What is lacking is named as the scheduler names it."""
    containers = [{"name": "c", "image": "c", "resources": {"requests": {"cpu": "64"}}}]
    placement = a_placement(a_pod(spec={"containers": containers}), a_node("n1", "a"))

    assert "none of 1 node takes it: 1 short of cpu" == pending_sentence(placement.result, placement.cluster)


def test_names_of_strangers() -> None:
    """A label may hold anything; a sentence is one line of text."""
    nodes = [a_node("n1", "a"), a_node("n2", "b\x1b[2J", unschedulable=True)]
    placement = a_placement(a_pod(spec={"topologySpreadConstraints": [a_constraint()]}), *nodes, *on("n1", 1))

    assert "\x1b" not in pending_sentence(placement.result, placement.cluster)

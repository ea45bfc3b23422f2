"""Constraints over a label that no node has."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from policies.model.node import Node
from policies.model.topology import ClusterTopology
from policies.rules.base import Context
from tests.policies.rules.run_rules import problems

MANIFEST = """
apiVersion: v1
kind: Pod
metadata: {{name: web, labels: {{app: web}}}}
spec:
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: {key}
      whenUnsatisfiable: {action}
      labelSelector: {{matchLabels: {{app: web}}}}
"""
ZONE = "topology.kubernetes.io/zone"


def _nodes(count: int) -> tuple[Node, ...]:
    return tuple(
        Node(f"n{number}", {ZONE: "a"}, (), unschedulable=False, allocatable={}) for number in range(count)
    )


@pytest.mark.parametrize(
    ("nodes", "domains", "key", "action", "expected"),
    [
        pytest.param(_nodes(2), {}, ZONE, "DoNotSchedule", 0, id="2 of 2 nodes have it"),
        pytest.param(
            _nodes(2),
            {},
            "Zone",
            "DoNotSchedule",
            1,
            id="0 of 2, one spelled alike",
        ),
        pytest.param(
            _nodes(2),
            {},
            "topologies.kubernetes.io/zone",
            "DoNotSchedule",
            1,
            id="0 of 2, a letter too many",
        ),
        pytest.param(
            _nodes(1),
            {},
            "rack",
            "ScheduleAnyway",
            1,
            id="0 of 1, soft",
        ),
        pytest.param(_nodes(2), {"rack": ("1", "2")}, "rack", "DoNotSchedule", 0, id="a policy lists it"),
        pytest.param((), {}, "rack", "DoNotSchedule", 0, id="a cluster without nodes"),
        pytest.param(None, {}, "rack", "DoNotSchedule", 0, id="nothing is known of the nodes"),
    ],
)
def test_keys(
    nodes: tuple[Node, ...] | None,
    domains: dict[str, tuple[str, ...]],
    key: str,
    action: str,
    expected: int,
    *,
    wording: Callable[[str], str],
) -> None:
    """A key is reported if there are nodes, none has it, and no policy lists its domains."""
    context = Context(inventory=ClusterTopology(nodes, domains))
    found = problems("topology-key-on-no-node", MANIFEST.format(key=key, action=action), context)

    assert expected == len(found)
    assert all(wording(problem.message) == problem.message for problem in found)


@pytest.mark.parametrize("action", ["ScheduleAnyway", "DoNotSchedule"])
def test_other_constraints(action: str, wording: Callable[[str], str]) -> None:
    """A node without one of the soft keys has no part in the score, so the other constraints are dead too."""
    soft = MANIFEST.format(key=ZONE, action="ScheduleAnyway").partition("topologySpreadConstraints:")[2]
    context = Context(inventory=ClusterTopology(_nodes(2)))
    (problem,) = problems(
        "topology-key-on-no-node", MANIFEST.format(key="rack", action=action).rstrip() + soft, context
    )

    assert wording(problem.message) == problem.message


NODE_POOL = """
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
"""


@pytest.mark.parametrize(
    ("key", "others", "expected"),
    [
        pytest.param("karpenter.sh/capacity-type", NODE_POOL, 0, id="Karpenter's own label"),
        pytest.param("karpenter.k8s.aws/instance-family", NODE_POOL, 0, id="its provider's label"),
        pytest.param("karpenter.sh/capacity-type", "", 1, id="its label, but nobody runs it"),
        pytest.param("rack", NODE_POOL, 1, id="another label"),
    ],
)
def test_labels_of_nodes_to_come(key: str, others: str, expected: int) -> None:
    """A label that no node has yet is no problem where the nodes that are added will have it."""
    text = MANIFEST.format(key=key, action="DoNotSchedule") + others
    context = Context(inventory=ClusterTopology(nodes=_nodes(2)))

    assert expected == len(problems("topology-key-on-no-node", text, context))

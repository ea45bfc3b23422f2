"""Constraints that have but one domain."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from policies.model.node import Node
from policies.model.taints import Taint
from policies.model.topology import ClusterTopology
from policies.rules.base import Context
from tests.policies.rules.run_rules import problems

GPU = (Taint("gpu", "", "NoSchedule"),)
MANIFEST = """
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      {pod}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {{matchLabels: {{app: web}}}}
          {constraint}
"""


def _node(name: str, zone: str | None, taints: tuple[Taint, ...] = ()) -> Node:
    labels = {"name": name} if zone is None else {"name": name, "zone": zone}
    return Node(name, labels, taints, unschedulable=False, allocatable={})


ONE = (_node("one", "a"), _node("two", "a"), _node("bare", None))
TWO = (_node("one", "a"), _node("two", "b"))
TAINTED = (_node("one", "a"), _node("two", "b", GPU))


@pytest.mark.parametrize(
    ("nodes", "domains", "pod", "constraint", "expected"),
    [
        pytest.param(ONE, (), "", "", 1, id="2 in a"),
        pytest.param(ONE[:1], (), "", "", 1, id="1 in a"),
        pytest.param(TWO, (), "", "", 0, id="1 in a, 1 in b"),
        pytest.param(ONE, ("a", "b"), "", "", 0, id="2 in a, a policy lists b"),
        pytest.param(ONE[2:], (), "", "", 0, id="none at all is topology-key-on-no-node's"),
        pytest.param(None, ("a",), "", "", 1, id="a is listed"),
        pytest.param(None, (), "", "", 0, id="nothing is known"),
        pytest.param(ONE, (), "", "minDomains: 2", 0, id="2 in a, minDomains 2: left to others"),
        pytest.param(
            TWO,
            (),
            "nodeSelector: {name: one}",
            "",
            1,
            id="pinned to a",
        ),
        pytest.param(
            TWO,
            (),
            "nodeSelector: {name: one}",
            "nodeAffinityPolicy: Ignore",
            0,
            id="pinned, but both count",
        ),
        pytest.param(TAINTED, (), "", "", 0, id="a tainted domain counts"),
        pytest.param(
            TAINTED,
            (),
            "",
            "nodeTaintsPolicy: Honor",
            1,
            id="a tainted domain that does not",
        ),
        pytest.param(
            TAINTED,
            (),
            "tolerations: [{operator: Exists}]",
            "nodeTaintsPolicy: Honor",
            0,
            id="a tainted domain that is tolerated",
        ),
    ],
)
def test_domains(
    nodes: tuple[Node, ...] | None,
    domains: tuple[str, ...],
    pod: str,
    constraint: str,
    expected: int,
    *,
    wording: Callable[[str], str],
) -> None:
    """Only nodes that the constraint itself includes have a domain."""
    inventory = ClusterTopology(nodes, {"zone": domains} if domains else {})
    found = problems(
        "single-domain", MANIFEST.format(pod=pod, constraint=constraint), Context(inventory=inventory)
    )

    assert expected == len(found)
    assert all(wording(problem.message) == problem.message for problem in found)

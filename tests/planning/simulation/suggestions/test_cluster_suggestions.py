"""The changes in the cluster by which a pod fits."""

from __future__ import annotations

from typing import Any

import pytest

from planning.simulation.suggestions.cluster_suggestions import cluster_suggestions
from policies.config.context import AdmissionContext
from policies.pods.placement import evaluate_manifest
from policies.scheduler.changes import ChangeKind, ClusterChange
from tests.builders import HOSTNAME, ZONE, a_constraint, a_node, a_pod
from tests.planning.verdicts import on
from tests.policies.scheduler.clusters import an_index

Object = dict[str, Any]
CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
TEAM = {"key": "team", "effect": "NoSchedule"}
FULL = [a_node("n1", "a"), a_node("n2", "b"), *on("n1", 2), *on("n2", 2)]


def changes(obj: Object, *objects: Object) -> list[tuple[Any, ...]]:
    """Return the proposed changes: the kind, the nodes, and what is not at its default."""
    placement = evaluate_manifest(obj, AdmissionContext(policies=(), cluster=an_index(objects)))
    found = [changed.change for changed in cluster_suggestions(placement.result, placement.cluster)]
    return [tuple(filter(None, _told(change))) for change in found]


def _told(change: ClusterChange) -> tuple[Any, ...]:
    count = change.count if change.count > 1 else None
    return (
        str(change.what),
        *change.nodes,
        change.key.rpartition("/")[2],
        change.value,
        ",".join(change.without),
        count,
    )


def _pod(*constraints: Object, **spec: Any) -> Object:
    return a_pod(spec={"topologySpreadConstraints": list(constraints), **spec})


def _terminating(node: str, count: int) -> list[Object]:
    return [
        pod
        | {"metadata": pod["metadata"] | {"name": f"gone-{n}", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
        for n, pod in enumerate(on(node, count))
    ]


@pytest.mark.parametrize(
    ("obj", "objects", "expected"),
    [
        pytest.param(
            _pod(a_constraint()),
            [*FULL, a_node("n3", "c", unschedulable=True, taints=[CORDON])],
            [("cordon", "n3"), ("newNode", "n3", "zone", "c")],
            id="cordoned zone: uncordon, or a node more",
        ),
        pytest.param(
            _pod(a_constraint()),
            [*FULL, a_node("n3", "c", unschedulable=True, taints=[CORDON, TEAM])],
            [("newNode", "n3", "zone", "c", "team")],
            id="cordoned and tainted: only a node without the taint",
        ),
        pytest.param(
            _pod(a_constraint()),
            [
                *FULL,
                a_node("n3", "c", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]),
            ],
            [("newNode", "n3", "zone", "c")],
            id="a node that is not ready: another one like it",
        ),
        pytest.param(_pod(a_constraint(topologyKey="rack")), FULL, [], id="a key that no node has: nothing"),
        pytest.param(
            _pod(a_constraint(nodeAffinityPolicy="Ignore"), nodeSelector={HOSTNAME: "n4"}),
            [*on("n1", 1), *on("n2", 1), a_node("n1", "a"), a_node("n2", "b"), a_node("n4")],
            [("nodeLabel", "n4", "zone", "a")],
            id="the only node that is asked for lacks the label",
        ),
        pytest.param(
            _pod(a_constraint(minDomains=4)),
            FULL,
            [("newNode", "n1", "zone", 2)],
            id="minDomains 4 of 2: two new domains",
        ),
        pytest.param(
            _pod(containers=[{"name": "c", "resources": {"requests": {"cpu": "3"}}}]),
            [a_node("n1"), *on("n1", 10)],
            [("newNode", "n1")],
            id="a full node: one more",
        ),
        pytest.param(
            _pod(),
            [a_node("n1"), *on("n1", 9), *_terminating("n1", 1)],
            [("termination", "n1"), ("newNode", "n1")],
            id="a terminating pod holds the last place: wait",
        ),
        pytest.param(
            _pod(containers=[{"name": "c", "resources": {"requests": {"cpu": "9"}}}]),
            [a_node("n1")],
            [],
            id="larger than any node: nothing",
        ),
        pytest.param(_pod(nodeSelector={"a": "b"}), FULL, [], id="nodes nobody has: nothing"),
        pytest.param(_pod(schedulingGates=[{"name": "g"}]), FULL, [], id="gated: nothing"),
        pytest.param(_pod(), [], [], id="no nodes: nothing"),
    ],
)
def test_what_is_proposed(obj: Object, objects: list[Object], expected: list[tuple[Any, ...]]) -> None:
    """Each was judged on the changed cluster; what does not help is not proposed."""
    assert expected == changes(obj, *objects)


def test_what_gives_up_less_comes_first() -> None:
    """Wait, then uncordon, then label, then pay for a node."""
    kinds = (ChangeKind.TERMINATION, ChangeKind.CORDON, ChangeKind.NODE_LABEL, ChangeKind.NEW_NODE)
    costs = [ClusterChange(what=what, nodes=("n",), key=ZONE).cost for what in kinds]

    assert costs == sorted(set(costs))

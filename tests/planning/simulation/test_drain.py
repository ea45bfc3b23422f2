"""What ``kubectl drain`` evicts, in which order, and where it stops."""

from __future__ import annotations

from typing import Any

import pytest

from planning.simulation.disruption_budgets import SEVERAL_BUDGETS, VIOLATES_BUDGET, BudgetCount
from planning.simulation.drain import NO_CONTROLLER
from tests.builders import a_node, a_pod
from tests.planning.losses import a_budget, pods_of
from tests.planning.simulation.drains import drain_of

Object = dict[str, Any]

TWO = [a_node("n1", "a"), a_node("n2", "b")]
#: A taint that keeps every pod away.
FULL = [{"key": "full", "effect": "NoSchedule"}]


def _with(pod: Object, **fields: Any) -> Object:
    return {**pod, **fields}


def _not_ready(pod: Object, phase: str = "Running") -> Object:
    return pod | {"status": {"phase": phase, "conditions": [{"type": "Ready", "status": "False"}]}}


def test_without_budgets() -> None:
    """Pods go by namespace and name, and are scheduled again on another node."""
    found = drain_of([*TWO, *pods_of("web", ["n1", "n2", "n1"]), *pods_of("db", ["n1"])], "n1")

    assert ["db-0", "web-0", "web-2"] == found.evicted
    assert (("n1",), {}) == (found.drain.drained, found.refused)
    assert {"n2"} == {entry.step.node for entry in found.again.displaced if entry.step}
    node = found.simulation.cluster.nodes.find("n1")
    assert node is not None
    assert node.unschedulable


def test_a_budget_that_never_allows_it() -> None:
    """Two of two must be ready: kubectl would try for ever."""
    objects = [*TWO, *pods_of("api", ["n1", "n2"]), a_budget("api", minAvailable=2)]
    found = drain_of(objects, "n1")

    assert ([], {"api-0": VIOLATES_BUDGET}, ()) == (found.evicted, found.refused, found.drain.drained)
    (refused,) = found.drain.refused
    assert (("api",), BudgetCount(2, 2, 0)) == (refused.budgets, refused.counted)
    (outcome,) = found.budgets.outcomes("shop", {"app": "api"}, found.drain.refused)
    assert ("api", 2, 2, 2, 0, ("api-0",)) == (
        outcome.name,
        outcome.required,
        outcome.before,
        outcome.running,
        outcome.allowed,
        outcome.blocks,
    )


def test_a_budget_that_waits_for_replacements() -> None:
    """One goes at a time, and the next once the replacement of the last is ready."""
    objects = [*TWO, *pods_of("api", ["n1", "n1", "n1"]), a_budget("api", maxUnavailable=1)]
    found = drain_of(objects, "n1", replicas={"api": 3})

    assert (["api-0", "api-1", "api-2"], ("n1",)) == (found.evicted, found.drain.drained)
    assert [entry.step.node for entry in found.again.displaced if entry.step] == ["n2", "n2", "n2"]


def test_replacements_that_never_become_ready() -> None:
    """Without room elsewhere one pod goes, and the others stay."""
    nodes = [a_node("n1", "a"), a_node("n2", "b", taints=FULL)]
    objects = [*nodes, *pods_of("api", ["n1", "n1", "n1"]), a_budget("api", minAvailable=2)]
    found = drain_of(objects, "n1")

    assert (["api-0"], ["api-1", "api-2"]) == (found.evicted, list(found.refused))
    (outcome,) = found.budgets.outcomes("shop", {"app": "api"}, found.drain.refused)
    assert (2, 3, 2, 0) == (outcome.required, outcome.before, outcome.running, outcome.allowed)


def test_bare_pods() -> None:
    """A node with one keeps all of its pods, and the next node is drained all the same."""
    objects = [
        *TWO,
        a_node("n3", "c"),
        a_pod(name="bare", spec={"nodeName": "n1"}),
        *pods_of("web", ["n1", "n2"]),
        *pods_of("api", ["n1"]),
        a_budget("api", minAvailable=1),
    ]
    found = drain_of(objects, "n1", "n2")

    assert (["web-1"], {"bare": NO_CONTROLLER}) == (found.evicted, found.refused)
    assert ("n2",) == found.drain.drained
    (refused,) = found.drain.refused
    assert () == refused.budgets


def test_who_stays_and_who_blocks() -> None:
    """Pods of DaemonSets and static ones stay; what has two budgets is never allowed."""
    objects = [
        *TWO,
        *pods_of("agent", ["n1"], kind="DaemonSet"),
        a_pod(name="static", spec={"nodeName": "n1"}, owner=("v1", "Node", "n1")),
        *pods_of("api", ["n1", "n2"]),
        a_budget("api", minAvailable=0),
        a_budget("any", "api", minAvailable=0),
        *pods_of("web", ["n1"]),
    ]
    found = drain_of(objects, "n1")

    assert ["agent-0", "static"] == [pod.name for pod in found.drain.stayed]
    assert {"api-0": SEVERAL_BUDGETS} == found.refused
    assert ["web-0"] == found.evicted
    assert [("any", "api")] == [each.budgets for each in found.drain.refused]


@pytest.mark.parametrize(
    ("number", "spec", "goes"),
    [
        # Two of three are ready, of which two must be.
        (1, {"minAvailable": 2}, True),
        (1, {"minAvailable": 3}, False),
        (1, {"minAvailable": 3, "unhealthyPodEvictionPolicy": "AlwaysAllow"}, True),
        (1, {"minAvailable": 3, "unhealthyPodEvictionPolicy": "IfHealthyBudget"}, False),
        # None must be: the budget is not taken for one that is met.
        (1, {"minAvailable": 0}, True),
        (0, {"minAvailable": 2}, False),
        (0, {"minAvailable": 1}, True),
    ],
)
def test_pods_that_are_not_ready(number: int, spec: Object, *, goes: bool) -> None:
    """They are no loss where the budget is met, or where it does not protect them."""
    pods = pods_of("api", ["n2", "n2", "n2"])
    pods[1] = _not_ready(pods[1])
    pods[number]["spec"]["nodeName"] = "n1"
    found = drain_of([*TWO, *pods, a_budget("api", **spec)], "n1")

    assert goes == bool(found.evicted)


def test_pods_that_have_not_started() -> None:
    """No budget protects them."""
    pods = pods_of("api", ["n1", "n2"])
    pods[0] = _not_ready(pods[0], "Pending")
    found = drain_of([*TWO, *pods, a_budget("api", minAvailable=2)], "n1")

    assert ["api-0"] == found.evicted


def test_pods_without_labels() -> None:
    """No budget protects them, whatever it selects."""
    pod = a_pod(name="web", labels={}, spec={"nodeName": "n1"}, owner=("apps/v1", "ReplicaSet", "web"))
    budget = a_budget("all", minAvailable="100%")
    budget["spec"]["selector"] = {}
    found = drain_of([*TWO, pod, *pods_of("api", ["n1"]), budget], "n1")

    assert (["web"], ["api-0"]) == (found.evicted, list(found.refused))


def test_what_the_status_knows() -> None:
    """What it allows counts first, and then what has changed since."""
    objects = [*TWO, *pods_of("api", ["n1", "n1"]), a_budget("api", minAvailable=1)]
    none = _with(objects[-1], status={"disruptionsAllowed": 0})
    both = _with(objects[-1], status={"disruptionsAllowed": 2})

    assert ["api-0", "api-1"] == drain_of(objects, "n1").evicted
    assert [] == drain_of([*objects[:-1], none], "n1").evicted
    assert 2 == len(drain_of([*objects[:-1], both], "n1").evicted)


def test_evictions_that_are_under_way() -> None:
    """A pod of which one was allowed counts no more, also where the status does not say how many are left."""
    budget = a_budget("api", minAvailable=1) | {
        "status": {"disruptedPods": {"api-1": "2026-01-01T00:00:00Z"}}
    }
    found = drain_of([*TWO, *pods_of("api", ["n1", "n2"]), budget], "n1")

    assert ([], ["api-0"]) == (found.evicted, list(found.refused))


def test_pods_that_are_being_deleted() -> None:
    """They go, and nothing replaces them; budgets do not count them."""
    pods = pods_of("api", ["n1", "n2"])
    pods[0]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    found = drain_of([*TWO, *pods, a_budget("api", minAvailable=1)], "n1")

    assert (["api-0"], ()) == (found.evicted, found.again.displaced)


def test_percentages_of_the_replicas_that_are_wanted() -> None:
    """Half of ten is five, though only four run; of what has no number as many are wanted as run."""
    objects = [*TWO, *pods_of("api", ["n1", "n1", "n1", "n2"]), a_budget("api", minAvailable="50%")]

    assert [] == drain_of(objects, "n1", replicas={"api": 10}).evicted
    assert 3 == len(drain_of(objects, "n1").evicted)


def test_budgets_that_were_not_read() -> None:
    """All go that a budget could keep; those of a DaemonSet stay."""
    objects = [*TWO, *pods_of("api", ["n1"]), *pods_of("agent", ["n2"], kind="DaemonSet")]

    assert ["api-0"] == drain_of(objects, "n1", budgets_read=False).evicted
    assert [] == drain_of(objects, "n2", budgets_read=False).evicted


def test_volumes_that_go_with_their_pods() -> None:
    """Those are noted whose emptyDir is lost."""
    cached = pods_of("api", ["n1"], volumes=[{"name": "cache", "emptyDir": {}}])
    found = drain_of([*TWO, *cached, *pods_of("web", ["n1"])], "n1")

    assert ["api-0"] == [pod.name for pod in found.drain.with_local_data]


def test_several_nodes() -> None:
    """All are cordoned before any pod goes, and no replacement comes to a later one."""
    nodes = [*TWO, a_node("n3", "c")]
    found = drain_of([*nodes, *pods_of("web", ["n1", "n2"])], "n1", "n2", "gone")

    assert {"n3"} == {entry.step.node for entry in found.again.displaced if entry.step}
    assert ("n1", "n2") == found.drain.drained

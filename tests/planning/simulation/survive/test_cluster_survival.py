"""The loss of domains of a whole cluster: whose pods are hit, what becomes of them, and what is judged."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from planning.simulation.survive.damage import Damage
from tests.builders import a_constraint, a_deployment, a_node, a_pod, a_replica_set
from tests.planning.clusters import ZONE_KEY
from tests.planning.simulation.survive.cluster_losses import (
    NODES,
    a_budget,
    a_report,
    damaged,
    pods_of,
    pods_with_volumes,
)

Object = dict[str, Any]


def test_what_is_gone() -> None:
    """Nodes, pods and workloads of each domain, most pods first; what nothing replaces is named."""
    report = a_report(
        *pods_of("web", ["n1", "n1", "n2"], "100m"),
        *pods_of("agent", ["n1", "n2"], kind="DaemonSet"),
        a_pod(name="bare", spec={"nodeName": "n2"}),
        nodes=[*NODES, a_node("n4", "a")],
    )

    assert [("a", 2, 3, 1), ("b", 1, 3, 1), ("c", 1, 0, 0)] == [
        (each.domain, each.nodes, each.pods, each.workloads) for each in report.impacts
    ]
    assert {"pods of DaemonSets": 1, "pods without a controller": 1} == report.impacts[1].not_recreated
    assert (True, True) == (report.verdict, report.complete)


def test_one_domain() -> None:
    """A named domain alone is lost."""
    report = a_report(*pods_of("web", ["n1", "n2"]), domain="b")

    assert ["b"] == [loss.impact.domain for loss in report.losses]


@pytest.mark.parametrize(
    ("pods", "damages", "numbers"),
    [
        pytest.param(pods_of("web", ["n1", "n2"]), (), (2, 1, 2), id="none"),
        pytest.param(pods_of("web", ["n1"]), (Damage.INTERRUPTED,), (1, 0, 1), id="all at once"),
        pytest.param(
            pods_of("web", ["n1", "n2", "n3"], "3"), (Damage.PENDING,), (3, 2, 2), id="one stays pending"
        ),
        pytest.param(
            [*pods_of("web", ["n1"], "3"), *pods_of("full", ["n2", "n3"], "3")],
            (Damage.DOWN, Damage.PENDING, Damage.INTERRUPTED),
            (1, 0, 0),
            id="none runs again",
        ),
    ],
)
def test_damage(pods: list[Object], damages: tuple[Damage, ...], numbers: tuple[int, int, int]) -> None:
    """How many run before, right after and in the end decides."""
    web = damaged(a_report(*pods), "a")["web"]

    assert (damages, numbers) == (web.damages, (web.before, web.left, web.running))
    assert (Damage.PENDING in damages) is bool(web.message)


def test_some_may_be_missing() -> None:
    """As many as are allowed are no damage."""
    report = a_report(*pods_of("web", ["n1", "n2", "n3"], "3"), allowed_missing=1)

    assert ((), True) == (damaged(report, "a")["web"].damages, report.verdict)


@pytest.mark.parametrize(
    ("spec", "is_below"),
    [
        pytest.param({"minAvailable": 3}, True, id="a number"),
        pytest.param({"minAvailable": 2}, False, id="as many run"),
        pytest.param({"minAvailable": "90%"}, True, id="a share of those that should run"),
        pytest.param({"maxUnavailable": 1}, False, id="one may be missing"),
        pytest.param({"maxUnavailable": 0}, True, id="none may be missing"),
    ],
)
def test_budget(spec: Object, is_below: bool) -> None:  # noqa: FBT001  # a parameter of a test
    """Fewer run in the end than a PodDisruptionBudget asks for."""
    pods = pods_of("web", ["n1", "n2", "n3"], "3")
    web = damaged(a_report(*pods, a_budget("pdb", "web", **spec)), "a")["web"]

    assert is_below is (Damage.BELOW_BUDGET in web.damages)
    assert [("pdb", 3, 2)][: int(is_below)] == [(b.name, b.before, b.running) for b in web.budgets]


def test_budget_of_replicas_that_should_run() -> None:
    """A share is one of the replicas of the workload, not of the pods that happen to run."""
    workload = a_deployment(replicas=10)
    replica_set = a_replica_set(workload, "5d9")
    replica_set["spec"]["replicas"] = 10
    pods = [
        a_pod(
            name=f"web-{node}",
            labels=replica_set["spec"]["template"]["metadata"]["labels"],
            owner=("apps/v1", "ReplicaSet", "web-5d9"),
            spec={"nodeName": node, "containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]},
        )
        for node in ("n1", "n2", "n3")
    ]
    web = damaged(a_report(workload, replica_set, *pods, a_budget("pdb", "web", minAvailable="50%")), "a")

    assert [("Deployment", 5, 3, 2)] == [
        (web["web"].ref.kind, b.required, b.before, b.running) for b in web["web"].budgets
    ]


def test_skew() -> None:
    """Pods that go where there is room are spread worse than their constraint has it."""
    constraint = a_constraint(
        whenUnsatisfiable="ScheduleAnyway", labelSelector={"matchLabels": {"app": "web"}}
    )
    pods = pods_of("web", ["n1", "n1", "n2", "n3"], "1", topologySpreadConstraints=[constraint])
    full, even = (
        a_report(*pods, *others, fail_on=Damage.SKEWED) for others in (pods_of("full", ["n3"], "3"), ())
    )

    assert (Damage.SKEWED,) == damaged(full, "a")["web"].damages
    assert [(1, 1, 2)] == [(s.max_skew, s.before, s.after) for s in damaged(full, "a")["web"].skews]
    assert (False, True) == (full.verdict, even.verdict)


def test_worst_first() -> None:
    """The workload without any pod comes before the one that lacks one, before the one that is whole."""
    report = a_report(
        *pods_of("a-fine", ["n1", "n2"], "10m"),
        *pods_of("b-short", ["n1", "n2", "n3"], "2500m"),
        *pods_of("c-down", ["n1"], "1500m", nodeSelector={"kubernetes.io/hostname": "n1"}),
    )

    assert ["c-down", "b-short", "a-fine"] == list(damaged(report, "a"))
    assert "a" == report.worst.impact.domain if report.worst else None
    assert report.verdict is False


@pytest.mark.parametrize(
    ("fail_on", "survives"),
    [
        (Damage.DOWN, True), (Damage.BELOW_BUDGET, True), (Damage.PENDING, False),
        (Damage.INTERRUPTED, False), (Damage.SKEWED, False),
    ],
)  # fmt: skip
def test_fail_on(fail_on: Damage, survives: bool) -> None:  # noqa: FBT001  # a parameter of a test
    """A damage fails where it, or a lesser one, is too much."""
    pods = pods_of("web", ["n1", "n2", "n3"], "3")

    assert survives is a_report(*pods, fail_on=fail_on, budgets=True).verdict


def test_budgets_that_were_not_read() -> None:
    """Where only they decide there is no verdict; where nothing is missing they do not matter."""
    short, whole = pods_of("web", ["n1", "n2", "n3"], "3"), pods_of("web", ["n1", "n2", "n3"])

    assert a_report(*short, fail_on=Damage.BELOW_BUDGET).verdict is None
    assert a_report(*whole, fail_on=Damage.BELOW_BUDGET).verdict is True


def test_what_cannot_be_scheduled_again() -> None:
    """A workload whose pods Kubernetes would reject today has no verdict, and is not green."""
    broken = [a_constraint(maxSkew=0, labelSelector={"matchLabels": {"app": "web"}})]
    report = a_report(*pods_of("web", ["n1", "n2"], topologySpreadConstraints=broken))
    web = damaged(report, "a")["web"]

    assert (None, 1, ()) == (report.verdict, web.untried, web.damages)
    assert "maxSkew" in web.reasons[0]


def test_evicted_pods_are_damage() -> None:
    """Pods that go for others of higher priority are missing from their own workload."""
    report = a_report(
        *pods_of("high", ["n1"], "3", priority=10),
        *pods_of("low", ["n2"], "3"),
        *pods_of("full", ["n3"], "3"),
    )
    (loss,) = (loss for loss in report.losses if loss.impact.domain == "a")

    assert (1, 1) == (loss.evicted, loss.pending)
    assert 1 == sum(each.evicted for each in loss.workloads)
    assert any(Damage.DOWN in each.damages and each.evicted for each in loss.workloads)


def test_one_namespace() -> None:
    """Workloads of other namespaces are scheduled again, and not judged."""
    web = pods_of("web", ["n1", "n2"], "100m")
    others = [
        pod | {"metadata": pod["metadata"] | {"namespace": "data"}} for pod in pods_of("db", ["n1"], "100m")
    ]
    report = a_report(*web, *others, namespace="shop")

    assert ({"web"}, 2) == (set(damaged(report, "a")), report.losses[0].recovered)


def test_an_outage() -> None:
    """Nodes that cannot be reached keep pods of DaemonSets."""
    agents = pods_of("agent", ["n1", "n2"], "10m", kind="DaemonSet")
    report = a_report(*agents, *pods_of("web", ["n1"]), unreachable=True)

    assert (1, {}) == (report.impacts[0].pods, report.impacts[0].not_recreated)


def test_ended_early() -> None:
    """The loss in which it was to stop has what was done, and only damage that is certain."""
    calls = count()
    pods = [*pods_of("web", ["n1"] * 2, "100m"), *pods_of("full", ["n2", "n3"], "3900m")]
    report = a_report(*pods, stop=lambda: next(calls) > 1)

    assert (None, False, 1) == (report.verdict, report.complete, len(report.losses))
    web = damaged(report, "a")["web"]
    assert ((Damage.INTERRUPTED,), 1) == (web.damages, web.untried)
    assert 3 == len(report.impacts)


def test_before_anything() -> None:
    """Where nothing was lost, what would be gone is known all the same."""
    report = a_report(*pods_of("web", ["n1"]), stop=lambda: True)

    assert (None, None, ()) == (report.verdict, report.worst, report.losses)
    assert ("a", 1) == (report.impacts[0].domain, report.impacts[0].pods)
    assert ZONE_KEY == report.key


def test_lost_volumes() -> None:
    """A pod whose volume is in the lost zone says so; one whose volume is elsewhere does not."""
    report = a_report(*pods_with_volumes())

    assert {"a": [("db-0", "v-0")], "b": [("db-1", "v-1")], "c": []} == {
        loss.impact.domain: [
            (each.ref.name, lost.volume) for each in loss.workloads for lost in each.lost_volumes
        ]
        for loss in report.losses
    }

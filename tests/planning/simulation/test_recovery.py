"""In which order displaced pods are scheduled again, and which are not."""

from __future__ import annotations

import pytest

from planning.simulation.recovery import PodOutcome
from tests.builders import a_constraint, a_deployment
from tests.planning.what_ifs import (
    LOSE_A,
    NODES,
    another_pod,
    its_pods,
    outcomes_of,
    try_out,
)


def test_others_compete_by_priority() -> None:
    """With room for one of two, the higher priority gets it; the order of creation decides between equals."""
    web = a_deployment(cpu="3")
    objects = [
        *NODES[:2],
        *its_pods(web, {"web-1": "n1"}),
        another_pod("db-new", "n1", "0", creationTimestamp="2026-02-01T00:00:00Z"),
        another_pod("db-old", "n1", "0", creationTimestamp="2026-01-01T00:00:00Z"),
        another_pod("db-first", "n1", "2", priority=1000),
    ]
    everyone, cluster = try_out(objects, LOSE_A, workload=web)
    own, _ = try_out(objects, LOSE_A, workload=web, others=0)
    unknown, _ = try_out(objects, LOSE_A, workload=web, known=False)

    assert [("db-first", "n2"), ("web-1", "pending"), ("db-old", "n2"), ("db-new", "n2")] == list(
        outcomes_of(everyone).items()
    )
    assert {"data": 3} == {name: len(table) for name, table in cluster.pod_tables()}
    assert ("n2", "notTried") == (outcomes_of(own)["web-1"], outcomes_of(own)["db-first"])
    assert ("n2", "notTried") == (outcomes_of(unknown)["web-1"], outcomes_of(unknown)["db-first"])
    assert (True, True, False) == tuple(each.recovery.complete for each in (everyone, own, unknown))


def test_what_nothing_replaces() -> None:
    """Bare pods, those of DaemonSets and static ones are gone."""
    objects = [
        *NODES,
        another_pod("bare", "n1", owner=None),
        another_pod("agent", "n1", owner=("apps/v1", "DaemonSet", "agent")),
        another_pod("static", "n1", owner=("v1", "Node", "n1")),
    ]
    result, cluster = try_out(objects, LOSE_A)

    assert (3, 0) == (result.recovery.count(PodOutcome.NOT_RECREATED), cluster.pod_count)


def test_a_pod_that_nothing_can_prepare() -> None:
    """A pod that the API server would reject is not scheduled again, and has the reason."""
    broken = another_pod("db", "n1")
    broken["spec"]["topologySpreadConstraints"] = [a_constraint(maxSkew=0)]
    result, _ = try_out([*NODES, broken], LOSE_A)

    assert [PodOutcome.NOT_TRIED] == [entry.outcome for entry in result.recovery.displaced]


def test_more_others_than_are_tried() -> None:
    """The given workload's pods are all scheduled again, however many others there are."""
    web = a_deployment(cpu="1m")
    objects = [
        *NODES,
        *its_pods(web, {"web-1": "n1"}),
        another_pod("db-1", "n1", "0"),
        another_pod("db-2", "n1", "0"),
    ]
    result, _ = try_out(objects, LOSE_A, workload=web, others=1)

    assert {"db-1": "n2", "db-2": "notTried", "web-1": "n3"} == outcomes_of(result)


def test_victims_are_displaced_too() -> None:
    """A pod that fits nowhere has one of lower priority evicted, whose replacement is tried after it."""
    objects = [*NODES[:2], another_pod("low", "n2", "4"), another_pod("high", "n1", "4", priority=10)]
    result, _ = try_out(objects, LOSE_A)
    high, low = result.recovery.displaced

    assert {"high": "n2", "low": "pending"} == outcomes_of(result)
    assert ("data/high", ("data/low",)) == (low.evicted_for, high.step and high.step.evicted)
    assert ((), None) == (result.recovery.unmodeled, high.evicted_for)


def test_an_evicted_pod_of_a_daemon_set_waits_for_its_own_node() -> None:
    """Its controller makes it again for that node; the room on another one is not for it."""
    agent = ("apps/v1", "DaemonSet", "agent")
    objects = [
        *NODES,
        another_pod("high", "n1", "4", priority=10),
        another_pod("agent", "n2", "2", owner=agent),
        another_pod("top", "n3", "2", priority=20),
    ]
    result, cluster = try_out(objects, LOSE_A)
    evicted = result.recovery.displaced[1]

    assert {"high": "n2", "agent": "pending"} == outcomes_of(result)
    assert ("data/high", "") == (evicted.evicted_for, evicted.why)
    assert evicted.step is not None
    assert "1 Insufficient cpu" in evicted.step.message
    assert {"data": 2} == {name: len(table) for name, table in cluster.pod_tables()}


_SET = ("apps/v1", "StatefulSet", "db")


@pytest.mark.parametrize(
    ("owner", "policy", "last"),
    [
        pytest.param(_SET, "OrderedReady", "pending", id="2 fits nowhere: 10 is not created"),
        pytest.param(_SET, None, "pending", id="its object is not known: as by default"),
        pytest.param(_SET, "Parallel", "n2", id="Parallel: 10 does not wait for 2"),
        pytest.param(("apps/v1", "ReplicaSet", "db"), None, "n2", id="of another kind"),
    ],
)
def test_pods_that_wait_for_those_before_them(
    owner: tuple[str, str, str], policy: str | None, last: str
) -> None:
    """A StatefulSet creates a pod once those of lower ordinals are ready, however old each was."""
    objects = [
        *NODES[:2],
        another_pod("db-10", "n1", "1", owner=owner, creationTimestamp="2026-01-01T00:00:00Z"),
        another_pod("db-2", "n1", "5", owner=owner, creationTimestamp="2026-02-01T00:00:00Z"),
    ]
    if policy is not None:
        metadata = {"name": "db", "namespace": "data"}
        stored = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata}
        objects.append({**stored, "spec": {"podManagementPolicy": policy}})
    result, _ = try_out(objects, LOSE_A)
    steps = {entry.pod.name: entry.step for entry in result.recovery.displaced}

    assert {"db-2": "pending", "db-10": last} == outcomes_of(result)
    waits = steps["db-10"] is not None and steps["db-10"].message.startswith("not created: db-2 is not ready")
    assert waits is (last == "pending")


def test_a_given_set_waits_too() -> None:
    """The pods of the workload that the question is about are created in their order as well."""
    web = a_deployment(cpu="3")
    pods = its_pods(web, {"web-10": "n1", "web-2": "n1", "web-3": "n2"})[1:]
    for pod in pods:
        pod["metadata"]["ownerReferences"][0] |= {"kind": "StatefulSet", "name": "web"}
    objects = [*NODES[:2], *pods]
    result, _ = try_out(objects, LOSE_A, workload=web | {"kind": "StatefulSet"})
    messages = [entry.step.message for entry in result.recovery.displaced if entry.step is not None]

    assert [("web-2", "pending"), ("web-10", "pending")] == list(outcomes_of(result).items())
    assert ["0/1 nodes are avail", "not created: web-2 "] == [message[:19] for message in messages]


def test_stopped() -> None:
    """Pods that were not tried before the stop do not count as pending."""
    web, stops = a_deployment(cpu="1m"), iter([False, True])
    objects = [*NODES, *its_pods(web, {"web-1": "n1", "web-2": "n1"})]
    result, _ = try_out(objects, LOSE_A, workload=web, stop=lambda: next(stops))

    assert {"web-1": "n2", "web-2": "notTried"} == outcomes_of(result)

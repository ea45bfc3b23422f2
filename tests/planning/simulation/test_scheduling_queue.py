"""Queues: the replicas of a workload, or pods that are given one by one."""

from __future__ import annotations

from typing import Any

import pytest

from planning.simulation.limits import MOST_PODS
from planning.simulation.scheduling_queue import queue_pods, queue_replicas
from planning.simulation.simulated_queue import simulate_queue
from policies.config.context import AdmissionContext
from policies.manifests.fields import FieldPath
from policies.pods.known_pods import UNREAD_PODS
from policies.pods.placement import PlacementError
from tests.builders import a_node, a_pod, a_workload
from tests.planning.clusters import known_of
from tests.planning.verdicts import on
from tests.policies.scheduler.clusters import an_index

QUEUE = FieldPath(("queue",))


def _context(*pods: dict[str, Any]) -> AdmissionContext:
    return AdmissionContext(policies=(), cluster=an_index([a_node("n1", "a"), a_node("n2", "b"), *pods]))


def _pod(name: str, namespace: str = "shop", **spec: Any) -> dict[str, Any]:
    pod = a_pod(spec=spec)
    return pod | {"metadata": pod["metadata"] | {"name": name, "namespace": namespace}}


def _queued(*pods: dict[str, Any]) -> list[tuple[FieldPath, dict[str, Any]]]:
    return [(QUEUE.index(position), pod) for position, pod in enumerate(pods)]


def _as_replica(pod: dict[str, Any]) -> dict[str, Any]:
    return pod | {
        "metadata": pod["metadata"] | {"labels": a_workload("StatefulSet")["spec"]["selector"]["matchLabels"]}
    }


@pytest.mark.parametrize(
    ("kind", "running", "count", "expected"),
    [
        pytest.param("StatefulSet", 1, None, 2, id="3 wanted, 1 has a node: 2"),
        pytest.param("StatefulSet", 4, None, 0, id="3 wanted, 4 have one: 0"),
        pytest.param("StatefulSet", 1, 5, 5, id="5 named: 5"),
        pytest.param("StatefulSet", 1, 0, 0, id="0 named: 0"),
        pytest.param("Job", 1, None, 1, id="no number of replicas: 1"),
    ],
)
def test_how_many_replicas(kind: str, running: int, count: int | None, expected: int) -> None:
    """By default those are scheduled that have no node."""
    workload = a_workload(kind, "apps" if kind == "StatefulSet" else "batch")
    if kind == "StatefulSet":
        workload["spec"]["replicas"] = 3
    context = _context(*map(_as_replica, on("n1", running)))

    assert expected == len(queue_replicas(workload, context, UNREAD_PODS, count=count).pods)


@pytest.mark.parametrize("kind", ["Job", "CronJob"])
@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        pytest.param({"parallelism": 4}, 4, id="4 at once"),
        pytest.param({"parallelism": 4, "completions": 3}, 3, id="4 at once, 3 in all"),
        pytest.param({"parallelism": None, "completions": 3}, 1, id="3 in all"),
        pytest.param({"parallelism": 0}, 0, id="none"),
        pytest.param(
            {"parallelism": -1, "completions": "2"}, ["parallelism", "completions"], id="no numbers"
        ),
        pytest.param({"parallelism": MOST_PODS + 1}, ["parallelism"], id="more than are scheduled"),
    ],
)
def test_a_job(kind: str, numbers: dict[str, Any], expected: int | list[str]) -> None:
    """By default the pods are scheduled that it runs at once."""
    workload = a_workload("Job", "batch")
    workload["spec"] |= numbers
    if kind == "CronJob":
        workload |= {"kind": kind, "spec": {"schedule": "@daily", "jobTemplate": {"spec": workload["spec"]}}}
    way = "spec." if kind == "Job" else "spec.jobTemplate.spec."
    if isinstance(expected, int):
        assert expected == len(queue_replicas(workload, _context(), UNREAD_PODS).pods)
        return
    with pytest.raises(PlacementError) as caught:
        queue_replicas(workload, _context(), UNREAD_PODS)

    assert [f"{way}{name}" for name in expected] == [str(error.path) for error in caught.value.errors]


@pytest.mark.parametrize("replicas", [-1, "3", 1.5, True, 10**10])
def test_no_possible_number(replicas: object) -> None:
    """A number of replicas that no workload can have is an error, whatever number is named."""
    workload = a_workload("StatefulSet")
    workload["spec"]["replicas"] = replicas
    for count in (None, 2):
        with pytest.raises(PlacementError) as caught:
            queue_replicas(workload, _context(), UNREAD_PODS, count=count)

        assert ["spec.replicas"] == [str(error.path) for error in caught.value.errors]


def test_more_replicas_than_are_scheduled() -> None:
    """A number that the API server takes but no cluster runs is an error, unless another is named."""
    workload = a_workload("StatefulSet")
    workload["spec"]["replicas"] = MOST_PODS + 1
    with pytest.raises(PlacementError) as caught:
        queue_replicas(workload, _context(), UNREAD_PODS)

    assert ["spec.replicas"] == [str(error.path) for error in caught.value.errors]
    assert 2 == len(queue_replicas(workload, _context(), UNREAD_PODS, count=2).pods)


def test_a_pod_of_a_daemon_set_for_each_node() -> None:
    """Its own tolerations and the node's name decide; old pods make way, and full nodes keep it pending."""
    taint = {"key": "team", "value": "x", "effect": "NoSchedule"}
    nodes = [
        a_node("n1", "a"),
        a_node("n2", "b", unschedulable=True),
        a_node("n3", "c", taints=[taint]),
        a_node("n4", "c") | {"status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "0"}}},
    ]
    context = AdmissionContext(policies=(), cluster=an_index([*nodes, *on("n1", 1)]))
    found = simulate_queue(queue_replicas(a_workload("DaemonSet"), context, UNREAD_PODS))

    assert [("web-n1", "n1"), ("web-n2", "n2"), ("web-n4", None)] == [
        (step.name, step.node) for step in found.steps
    ]
    assert "Too many pods" in found.steps[-1].message
    assert not found.succeeds


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        pytest.param({}, {"count": 2}, id="a number of pods"),
        pytest.param({}, {"changes_nodes": True}, id="nodes that come or go"),
        pytest.param({"nodeSelector": {"disk": "tape"}}, {}, id="no node for which one is made"),
    ],
)
def test_a_daemon_set_is_refused(spec: dict[str, Any], options: dict[str, Any]) -> None:
    """Its controller makes one pod for each node that there is, and as many as it makes are judged."""
    with pytest.raises(PlacementError) as caught:
        queue_replicas(a_workload("DaemonSet", spec=spec), _context(), UNREAD_PODS, **options)

    assert ["kind"] == [str(error.path) for error in caught.value.errors]


def test_every_error_of_a_queue() -> None:
    """A pod that is broken, of another kind, or named as another is; the place of each is told."""
    running = on("n1", 1)
    running[0]["metadata"] |= {"name": "taken", "namespace": "shop"}
    pods = _queued(
        _pod("twice"),
        _pod("twice"),
        _pod("twice", "other"),
        _pod("taken"),
        _pod("broken", nodeName=3),
        a_workload("Deployment"),
    )
    with pytest.raises(PlacementError) as caught:
        queue_pods(pods, _context(*running), UNREAD_PODS)

    assert [
        "queue[1].metadata.name",
        "queue[3].metadata.name",
        "queue[4].spec.nodeName",
        "queue[5].kind",
    ] == [str(error.path) for error in caught.value.errors]


def test_the_cluster_stays_as_it_is() -> None:
    """Pods of several namespaces are bound in a fork, each time in a new one."""
    context = _context()
    queue = queue_pods(_queued(_pod("p"), _pod("p", "other"), _pod("q")), context, UNREAD_PODS)
    first, second = simulate_queue(queue), simulate_queue(queue)

    assert context.cluster is not None
    assert ["n1", "n2", "n1"] == [step.node for step in first.simulation.steps]
    assert first.simulation == second.simulation
    assert (0, 0) == (context.cluster.pod_count, queue.cluster.pod_count)


@pytest.mark.parametrize(("known", "expected"), [(True, "pending"), (False, "notTried")])
def test_what_replaces_evicted_pods(known: bool, expected: str) -> None:  # noqa: FBT001
    """Where only the index of a cluster is known, as of the server's, the answer says what is left out."""
    full: dict[str, Any] = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "4"}}}]}
    low = [_pod(name, nodeName=node, **full) for name, node in (("l1", "n1"), ("l2", "n2"))]
    for pod in low:
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "low", "controller": True}
        pod["metadata"]["ownerReferences"] = [owner]
    found = known_of(low) if known else UNREAD_PODS
    queue = queue_pods(_queued(_pod("high", priority=10, **full)), _context(*low), found)

    simulated = simulate_queue(queue)

    assert [expected] == [str(pod.outcome) for pod in simulated.simulation.evicted]
    assert known != any("evicted pods" in text for text in simulated.not_looked_at)

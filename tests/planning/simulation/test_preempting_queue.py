"""Pods with priorities that are scheduled one after another, against a plain loop over single verdicts."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from planning.simulation.cluster_simulation import ClusterSimulation, QueuedPod
from tests.examples import examples
from tests.planning.plain_queue import PlainQueue
from tests.policies.scheduler.clusters import a_constraint, a_node, a_pod, a_request, an_index

Object = dict[str, Any]

NODES = [a_node(f"n{number}", {"zone": "ab"[number % 2]}) for number in range(4)]
ANTI_AFFINITY = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
        ]
    }
}

PINNED = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
            ]
        }
    }
}

_sizes = st.sampled_from(("1", "2", "3", "4"))
_running = st.lists(
    st.tuples(st.sampled_from([node["metadata"]["name"] for node in NODES]), _sizes, st.integers(0, 2)),
    max_size=10,
)
_shapes = st.sampled_from(
    (
        {},
        {"spread": [a_constraint(topologyKey="zone")]},
        {"affinity": ANTI_AFFINITY},
        {"affinity": PINNED},
    )
)
_queued = st.lists(st.tuples(_sizes, st.integers(0, 3), _shapes), min_size=1, max_size=5)


def _pods(running: list[Any], queued: list[Any]) -> tuple[list[Object], list[Object]]:
    labels = [{"app": "web"}, {"app": "db"}]
    bound = [
        a_pod(f"old-{number}", node, labels[number % 2], cpu=cpu, priority=priority)
        for number, (node, cpu, priority) in enumerate(running)
    ]
    pending = [
        a_pod(f"new-{number}", cpu=cpu, priority=priority, **shape)
        for number, (cpu, priority, shape) in enumerate(queued)
    ]
    return bound, pending


@examples(150)
@given(_running, _queued)
def test_a_queue_against_a_plain_loop(running: list[Any], queued: list[Any]) -> None:
    """Every pod is where it would be if each attempt were a verdict on a cluster that is read anew."""
    bound, pending = _pods(running, queued)
    plain = PlainQueue(NODES, bound)
    plain.run(pending)

    index = an_index([*NODES, *bound])
    simulation = ClusterSimulation.of(index)
    simulation.preempts = True
    queue = [QueuedPod(pod["metadata"]["name"], a_request(pod, {}, index)) for pod in pending]
    steps = simulation.schedule_all(queue)
    names = [node["metadata"]["name"] for node in NODES]

    assert plain.places() == {pod.name: pod.node for pod in simulation.cluster.pods_on(names)}
    assert {step.name: step.node for step in steps} == {
        pod["metadata"]["name"]: plain.places().get(pod["metadata"]["name"]) for pod in pending
    }
    gone = {pod["metadata"]["name"] for pod in bound} - plain.places().keys()
    assert gone == {each.pod.name for each in simulation.preempted}


def test_replicas_take_the_room_that_others_leave() -> None:
    """A pod waits for the room of its victims while the next one is tried; the nodes are equally good."""
    bound = [a_pod(f"old-{node}", node, cpu="4") for node in ("n0", "n1")]
    index = an_index([*NODES[:2], *bound])
    request = a_request(a_pod("web", cpu="3", priority=5), {}, index)
    simulation = ClusterSimulation.of(index)
    simulation.preempts = True
    first, second, third = simulation.schedule_all(QueuedPod(f"web-{number}", request) for number in range(3))

    assert ("n0", ("n0", "n1"), ("shop/old-n0",)) == (first.node, first.tied, first.evicted)
    assert ("n1", ("n1",), ("shop/old-n1",)) == (second.node, second.tied, second.evicted)
    assert (None, ()) == (third.node, third.evicted)
    assert {"shop/web-0", "shop/web-1"} == {each.preemptor for each in simulation.preempted}


def test_replicas_that_are_alike_leave_each_other_the_room() -> None:
    """The room that is made for one replica stays its own, though the next one has the same request."""
    index = an_index([*NODES[:1], a_pod("low", "n0", cpu="4", priority=0)])
    simulation = ClusterSimulation.of(index)
    simulation.preempts = True
    request = a_request(a_pod("new-1", cpu="3", priority=1), {}, index)
    first, second = simulation.schedule_all([QueuedPod(name, request) for name in ("new-1", "new-2")])

    assert [("new-1", "n0"), ("new-2", None)] == [(step.name, step.node) for step in (first, second)]

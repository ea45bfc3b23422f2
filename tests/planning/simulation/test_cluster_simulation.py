"""A copy of a cluster in which things happen."""

from __future__ import annotations

from planning.simulation.cluster_simulation import ClusterSimulation, QueuedPod, count_bound
from policies.scheduler.binding import SchedulingAttempt
from policies.scheduler.request import SchedulingRequest
from tests.policies.scheduler.clusters import a_constraint, a_node, a_pod, a_request, an_index, zones

OBJECTS = zones(a=1, b=0)


def _request() -> SchedulingRequest:
    return a_request(a_pod("web", spread=[a_constraint(maxSkew=2)]), {}, an_index(OBJECTS))


def test_what_happens_in_a_copy_stays_there() -> None:
    """Neither the cluster nor a copy of the copy has it."""
    index, request = an_index(OBJECTS), _request()
    simulation = ClusterSimulation.of(index)
    fork = simulation.fork(request)
    simulation.bind(request.pod, "web-1", "b")
    simulation.delete("shop", "a-0")
    simulation.lose("a")

    assert [{"b": 1}] == simulation.count(request)
    assert [{"a": 1, "b": 0}] == fork.count(request) == ClusterSimulation(index).count(request)


def test_victims_are_of_any_namespace() -> None:
    """A copy for one pod has the pods of other namespaces that may be evicted for it."""
    victim = a_pod("victim", "n1", cpu="3")
    victim["metadata"]["namespace"] = "data"
    index = an_index([a_node("n1"), victim])
    request = a_request(a_pod("web", cpu="3", priority=1), {}, index)
    result = ClusterSimulation.of(index, request).evaluate(request)

    assert result.preemption is not None
    assert {"n1": ("data/victim",)} == result.preemption.victims
    assert result.message == result.condition


def test_a_queue_until_it_is_to_stop() -> None:
    """Each pod is reported; those after the stop are not scheduled, one that fits nowhere is no end."""
    request, reported = _request(), list[SchedulingAttempt]()
    simulation = ClusterSimulation.of(an_index(OBJECTS), stop=lambda: len(reported) == 2)
    simulation.on_step = reported.append
    simulation.choose = max
    steps = list(simulation.schedule_all(QueuedPod(f"web-{number}", request) for number in range(5)))

    assert ["web-0", "web-1"] == [step.name for step in steps]
    assert reported == steps


def test_as_many_as_fit() -> None:
    """From 1 and 0 pods with the second zone cordoned, maxSkew 2 leaves room for one."""
    objects = zones(a=1, b=0)
    objects[1]["spec"]["unschedulable"] = True
    steps = ClusterSimulation.of(an_index(objects)).schedule_fitting(_request(), 5)

    assert ["a", None] == [step.node for step in steps]
    assert 1 == count_bound(steps)


def test_changes_of_nodes_and_pods() -> None:
    """A node that is put in its place keeps its pods; pods are deleted by selector."""
    request = _request()
    simulation = ClusterSimulation.of(an_index(OBJECTS), request)
    node = simulation.cluster.nodes.find("a")
    assert node is not None
    simulation.put(node._replace(unschedulable=True))
    simulation.bind(request.pod, "web-1", "b")
    selector = request.constraints[0].selector
    assert selector is not None

    assert [False, True] == simulation.evaluate(request).feasible.tolist()
    assert 2 == simulation.cluster.count_pods("shop", selector)
    simulation.delete_selected("shop", selector)
    assert [{"a": 0, "b": 0}] == simulation.count(request)

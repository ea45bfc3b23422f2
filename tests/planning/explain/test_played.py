"""Objects that are not in the cluster as they are: what becomes of them is played, and one pod explained."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from planning.explain.explain import Explained, PlayedWorkload, explain_object
from planning.explain.text import render
from planning.simulation.events import Event
from planning.simulation.outcome import Cause, ObjectChange
from planning.simulation.scheduling_queue import queue_replicas
from planning.simulation.simulated_queue import SimulationSettings, simulate_queue
from policies.config.context import AdmissionContext
from policies.pods.known_pods import UNREAD_PODS
from tests.builders import a_constraint, a_node, a_pod, a_replica_set, a_workload
from tests.planning.scenarios import a_state, of, played
from tests.policies.scheduler.clusters import an_index

Object = dict[str, Any]

#: As much of a node as only one pod can have.
_MOST_OF_A_NODE = [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]
_ABOVE_A_NODE = [{"name": "c", "resources": {"requests": {"cpu": "64"}}}]


def _running(count: int) -> list[Object]:
    """Return as many nodes, each with an old pod that takes most of it."""
    spec = {"containers": _MOST_OF_A_NODE}
    nodes = [a_node(f"n{number}", "abc"[number % 3]) for number in range(count)]
    return nodes + [a_pod(name=f"web-{at}", spec={**spec, "nodeName": f"n{at}"}) for at in range(count)]


def _deployment(replicas: int, containers: list[Object], **metadata: Any) -> Object:
    obj = a_workload("Deployment", spec={"containers": containers}, **metadata)
    obj["spec"]["replicas"] = replicas
    obj["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    return obj


def _explain(obj: Object, objects: list[Object]) -> Explained:
    return explain_object(obj, a_state(objects))


def _played(obj: Object, objects: list[Object]) -> PlayedWorkload:
    found = _explain(obj, objects).played
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("containers", "cause", "fitting"),
    [
        pytest.param(_MOST_OF_A_NODE, Cause.FITS, 3, id="fits in the place of an old pod"),
        pytest.param(_ABOVE_A_NODE, Cause.DEADLOCK, 0, id="fits nowhere"),
    ],
)
def test_what_is_explained_is_what_is_played(containers: list[Object], cause: Cause, fitting: int) -> None:
    """The verdict, the replicas and the pod are those of the outcome, whoever is asked."""
    objects, obj = _running(3), _deployment(3, containers)
    found = _explain(obj, objects)
    outcome = played(objects, Event(apply=deepcopy(obj)), runs=1)

    assert found.played is not None
    assert cause is outcome.verdict.cause is found.played.verdict.cause
    assert of(outcome, "web").pending == found.played.found.pending
    assert found.replicas is not None
    assert (3, fitting) == (found.replicas.wanted, found.replicas.fitting)
    assert (fitting == 3) is found.succeeds is bool(found.placement.result.feasible_count)
    assert (fitting == 3) is (not found.stuck_message)


def test_which_pod_is_explained() -> None:
    """The first that stays pending in the cluster at the end, with how many were replaced before it."""
    # Two of the new pods find room where old ones were; the node of the third is cordoned meanwhile.
    objects = _running(3)
    objects[2] = a_node("n2", "c", unschedulable=True)
    found = _explain(_deployment(3, _MOST_OF_A_NODE), objects)
    text = render(found, width=300, color=False)

    assert found.played is not None
    moment = found.played.moment
    assert moment is not None
    assert (found.played.found.stuck or ("",))[0] == moment.pod
    step = found.played.outcome.steps[moment.step]
    assert (f"shop/{moment.pod}", "pending") == (step.pod, step.did)
    assert (moment.number, moment.replaced) != (1, 0)
    assert f"new pod, after {moment.replaced} were replaced: {moment.pod} fits none of 3 nodes" in text
    assert text.splitlines()[0].startswith("✗ shop/web")


def test_the_first_new_pod() -> None:
    """Where all is well it is the first one, in the cluster in which it was created."""
    found = _explain(_deployment(3, _MOST_OF_A_NODE), _running(3))

    assert found.played is not None
    assert found.played.moment is not None
    # Of three old pods one was deleted, so that one node has room.
    assert (1, 1) == (found.played.moment.number, found.placement.result.feasible_count)
    assert "The 1st new pod, after 1 was replaced: " in render(found, width=300, color=False)


def test_on_delete() -> None:
    """Where nobody but a person replaces pods, nothing says that the new ones fit."""
    obj = a_workload("StatefulSet", "apps", spec={"containers": _ABOVE_A_NODE})
    obj["spec"] |= {"replicas": 3, "updateStrategy": {"type": "OnDelete"}}
    found = _played(obj, _running(3))

    assert (Cause.WAITS_FOR_DELETION, 0) == (found.verdict.cause, found.found.pending)


def test_a_scale() -> None:
    """Another number of replicas alone rolls nothing out: the pods that come are explained."""
    stored = _deployment(2, _MOST_OF_A_NODE, uid="u1")
    labels = {"app": "web", "pod-template-hash": "7c9"}
    owner = ("apps/v1", "ReplicaSet", "web-7c9")
    objects = [
        *(obj for obj in _running(3) if obj["kind"] == "Node"),
        stored,
        a_replica_set(stored, "7c9"),
        *(a_pod(name=f"web-{at}", labels=labels, owner=owner,
                spec={"containers": _MOST_OF_A_NODE, "nodeName": f"n{at}"}) for at in range(2)),
    ]  # fmt: skip
    edited = deepcopy(stored)
    edited["spec"]["replicas"] = 4
    found = _explain(edited, objects)

    assert found.played is not None
    assert (ObjectChange.SCALED, None, 3, 1) == (
        found.played.found.change, found.played.found.updated, found.played.found.after,
        found.played.found.pending,
    )  # fmt: skip
    assert found.replicas is not None
    assert (4, 3, False) == (found.replicas.wanted, found.replicas.fitting, found.succeeds)


def test_replicas_that_are_asked_for_are_placed_beside() -> None:
    """A number of replicas, or of runs, asks about pods beside those that run."""
    context, obj = (
        AdmissionContext(policies=(), cluster=an_index(_running(3))),
        _deployment(3, _MOST_OF_A_NODE),
    )

    assert 2 == simulate_queue(queue_replicas(obj, context, UNREAD_PODS, count=2)).pending
    assert 3 == simulate_queue(queue_replicas(obj, context, UNREAD_PODS), SimulationSettings(runs=2)).pending


@pytest.mark.parametrize(
    ("objects", "obj"),
    [
        pytest.param(
            _running(3),
            _deployment(3, _MOST_OF_A_NODE, uid="u1"),
            id="an object of a cluster whose revisions are not known",
        ),
        pytest.param(
            [*_running(3), _deployment(3, _MOST_OF_A_NODE)],
            _deployment(3, _MOST_OF_A_NODE),
            id="an object that is there as it is",
        ),
        pytest.param(_running(3), a_pod(name="next"), id="a pod"),
    ],
)
def test_nothing_is_played(objects: list[Object], obj: Object) -> None:
    """Of an object of the cluster, and of a Pod, the next pod is explained."""
    explained = _explain(deepcopy(obj), objects)

    assert explained.played is None
    assert explained.succeeds is bool(explained.placement.result.feasible_count)


def test_an_exported_object() -> None:
    """A manifest that was exported and edited has the stored object's uid, and replaces its pods anyway."""
    stored = _deployment(3, _MOST_OF_A_NODE, uid="u1")
    edited = deepcopy(stored)
    edited["spec"]["template"]["spec"]["containers"][0]["image"] = "next"
    objects = [*_running(3), stored, a_replica_set(stored, "7c9")]

    assert _explain(deepcopy(stored), objects).played is None
    assert ObjectChange.CHANGED is _played(edited, objects).found.change


def test_what_is_created() -> None:
    """Replicas of an object that is not there yet are placed one after another."""
    spec = {"topologySpreadConstraints": [a_constraint()]}
    obj = a_workload("StatefulSet", spec=spec)
    obj["spec"]["replicas"] = 6
    nodes = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c", unschedulable=True)]
    found = _explain(obj, nodes)

    assert found.played is not None
    assert (ObjectChange.ADDED, 2) == (found.played.found.change, found.played.found.after)
    assert found.played.moment is not None
    assert 3 == found.played.moment.number
    # 1 more would let in one pod alone: 1 and 1 beside an empty zone; 3 lets in all 6.
    wider = [edit.new for each in found.played.helpful for edit in each.edits if "maxSkew" in str(edit.path)]
    assert wider in ([], [3])
    assert all(each.after == 6 for each in found.played.helpful)

"""The pods that a new revision replaces where it is applied."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from planning.explain.explain import Explained, explain_object
from planning.explain.text import render
from planning.simulation.rollout.courses import RolloutEnd
from planning.simulation.rollout.rollout_start import RolloutSettings
from planning.simulation.rollout.simulated_rollout import roll_out
from planning.simulation.scheduling_queue import queue_applied, queue_replicas
from planning.simulation.simulated_queue import SimulationSettings, simulate_queue
from policies.config.context import AdmissionContext
from policies.pods.known_pods import UNREAD_PODS
from tests.builders import a_node, a_pod, a_replica_set, a_workload
from tests.planning.clusters import known_of
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
    return explain_object(obj, AdmissionContext(policies=(), cluster=an_index(objects)), known_of(objects))


@pytest.mark.parametrize(
    ("containers", "outcome"),
    [
        pytest.param(_MOST_OF_A_NODE, RolloutEnd.COMPLETE, id="fits in the place of an old pod"),
        pytest.param(_ABOVE_A_NODE, RolloutEnd.DEADLOCK, id="fits nowhere"),
    ],
)
def test_all_commands_agree_on_a_new_revision(containers: list[Object], outcome: RolloutEnd) -> None:
    """A pod that fits nowhere beside the running ones is decided by the rollout that replaces them."""
    objects, obj = _running(3), _deployment(3, containers)
    context = AdmissionContext(policies=(), cluster=an_index(objects))
    explained = _explain(obj, objects)
    settings = RolloutSettings(known=known_of(objects))
    queue = queue_applied(obj, context, settings)
    rolled_out = roll_out(obj, context, settings)
    assert queue is not None
    applied = simulate_queue(queue)

    assert explained.replaced is not None
    assert explained.replaced.rollout is not None
    assert (3, outcome) == (explained.replaced.count, explained.replaced.rollout.outcome)
    assert explained.succeeds is rolled_out.succeeds is applied.succeeds is (outcome is RolloutEnd.COMPLETE)
    assert rolled_out.pending == applied.pending == explained.replaced.pending


def test_on_delete() -> None:
    """Where nobody but a person replaces pods, no rollout says that the new ones fit."""
    obj = a_workload("StatefulSet", "apps", spec={"containers": _ABOVE_A_NODE})
    obj["spec"] |= {"replicas": 3, "updateStrategy": {"type": "OnDelete"}}
    explained = _explain(obj, _running(3))

    assert explained.replaced is not None
    assert (RolloutEnd.WAITS_FOR_DELETION, 0) == (explained.replaced.outcome, explained.replaced.pending)
    assert not explained.succeeds


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
        pytest.param(_running(0), _deployment(3, _MOST_OF_A_NODE), id="nothing runs"),
        pytest.param(
            _running(3),
            _deployment(3, _MOST_OF_A_NODE, uid="u1"),
            id="an object of a cluster whose revisions are not known",
        ),
        pytest.param(_running(3), a_pod(name="next"), id="a pod"),
    ],
)
def test_nothing_is_replaced(objects: list[Object], obj: Object) -> None:
    """Only a workload that is applied, over pods that run, is a rollout."""
    explained = _explain(deepcopy(obj), objects)

    assert explained.replaced is None
    assert explained.succeeds is bool(explained.placement.result.feasible_count)


def test_an_exported_object() -> None:
    """A manifest that was exported and edited has the stored object's uid, and replaces its pods anyway."""
    stored = _deployment(3, _MOST_OF_A_NODE, uid="u1")
    edited = deepcopy(stored)
    edited["spec"]["template"]["spec"]["containers"][0]["image"] = "next"
    objects = [*_running(3), a_replica_set(stored, "7c9")]

    assert _explain(deepcopy(stored), objects).replaced is None
    assert _explain(edited, objects).replaced is not None


@pytest.mark.parametrize(
    ("containers", "fitting", "told"),
    [
        pytest.param(_MOST_OF_A_NODE, 3, "3 of 3 replicas fit", id="completes"),
        pytest.param(_ABOVE_A_NODE, 0, "then it completes", id="does not complete"),
    ],
)
def test_what_is_explained_is_the_rollout(containers: list[Object], fitting: int, told: str) -> None:
    """Replicas are those at its end, and what is proposed is what makes it complete."""
    found = _explain(_deployment(3, containers), _running(3))

    assert found.replicas is not None
    assert (3, fitting) == (found.replicas.wanted, found.replicas.fitting)
    assert (fitting == 3) is bool(found.placement.result.feasible_count)
    assert (fitting == 3) is (found.completing is None) is (not found.stuck_message)
    assert told in render(found, width=200, color=False)


@pytest.mark.parametrize(
    ("kind", "group", "replicas"),
    [
        pytest.param("Rollout", "argoproj.io", 3, id="a kind whose rollout is not simulated"),
        pytest.param("StatefulSet", "apps", 5_000, id="too many replicas"),
    ],
)
def test_no_rollout(kind: str, group: str, replicas: int) -> None:
    """The pod decides where no rollout is simulated, and the old ones are counted all the same."""
    obj = a_workload(kind, group, spec={"containers": _ABOVE_A_NODE})
    obj["spec"]["replicas"] = replicas
    found = _explain(obj, _running(3))

    assert found.replaced is not None
    assert (3, None) == (found.replaced.count, found.replaced.pending)
    assert not found.succeeds

"""A simulation as a person reads it; the golden files have the wording."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from random import Random
from typing import Any

import pytest

from planning.simulation.scheduling_queue import queue_pods, queue_replicas
from planning.simulation.simulated_queue import SimulatedQueue, SimulationSettings, simulate_queue
from planning.what_if import simulate_text
from policies.config.context import AdmissionContext
from policies.manifests.fields import FieldPath
from policies.pods.known_pods import UNREAD_PODS
from policies.scheduler.evaluate import ADAPTIVE
from tests.builders import a_constraint, a_node, a_workload
from tests.planning.explain.explanations import SOFT, a_spread_pod
from tests.policies.scheduler.clusters import an_index

#: Three zones with a node each, of which the last is cordoned.
CORDONED = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c", unschedulable=True)]
#: More nodes and zones than are listed.
MANY = [a_node(f"n{number:02}", f"z{number:02}") for number in range(20)]


def _context(nodes: list[dict[str, Any]]) -> AdmissionContext:
    return AdmissionContext(policies=(), cluster=an_index(nodes))


def _replicas(nodes: list[dict[str, Any]], count: int, **spec: Any) -> SimulatedQueue:
    workload = a_workload("Deployment", spec={"topologySpreadConstraints": [a_constraint()], **spec})
    return simulate_queue(queue_replicas(workload, _context(nodes), UNREAD_PODS, count=count))


def _runs(nodes: list[dict[str, Any]], stop: Callable[[], bool] = lambda: False) -> SimulatedQueue:
    workload = a_workload("Deployment", spec={"topologySpreadConstraints": [a_constraint(), SOFT]})
    queue = queue_replicas(workload, _context(nodes), UNREAD_PODS, count=7)
    return simulate_queue(queue, SimulationSettings(seed=1, runs=20), choose=Random(1).choice, stop=stop)


def _large(percentage: int | None) -> SimulatedQueue:
    nodes = [a_node(f"n{number:03}", "abc"[number % 3]) for number in range(150)]
    queue = queue_replicas(a_workload("StatefulSet"), _context(nodes), UNREAD_PODS, count=2)
    return simulate_queue(queue, SimulationSettings(percentage=percentage))


def _stopped() -> SimulatedQueue:
    asked = count()
    return _runs(MANY, stop=lambda: next(asked) > 10)


def _pods() -> SimulatedQueue:
    first, second = a_spread_pod(a_constraint()), a_spread_pod(SOFT)
    second["metadata"] |= {"name": "soft"}
    queue = [(FieldPath().index(position), pod) for position, pod in enumerate((first, second))]
    return simulate_queue(queue_pods(queue, _context(CORDONED), UNREAD_PODS))


@pytest.mark.parametrize(
    ("name", "simulated"),
    [
        pytest.param("simulate_pending.txt", _replicas(CORDONED, 3), id="some stay pending"),
        pytest.param("simulate_many.txt", _replicas(MANY, 45), id="many domains and nodes"),
        pytest.param("simulate_none.txt", _replicas(CORDONED, 0), id="nothing to schedule"),
        pytest.param("simulate_queue.txt", _pods(), id="pods one by one"),
        pytest.param("simulate_some_nodes.txt", _large(ADAPTIVE), id="the search stops early"),
        pytest.param("simulate_all_nodes.txt", _large(None), id="it does not, though the scheduler's would"),
        pytest.param("simulate_runs.txt", _runs(CORDONED[:2] + MANY[:2]), id="several runs"),
        pytest.param("simulate_stopped.txt", _stopped(), id="stopped in the second run"),
        pytest.param(
            "simulate_unmodeled.txt",
            _replicas(CORDONED, 1, volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "d"}}]),
            id="something is not modeled",
        ),
    ],
)
def test_text(name: str, simulated: SimulatedQueue, golden: Callable[[str, str], str]) -> None:
    """The whole text; read the golden file before agreeing to it."""
    text = simulate_text.render(simulated, width=80, color=False)

    assert golden(name, text) == text

"""Nodes that are added for the pods of a queue."""

from __future__ import annotations

from itertools import count

from planning.autoscaler.sources import deduce
from planning.simulation.scheduling_queue import queue_replicas
from planning.simulation.simulated_queue import PLAIN, PlannedActions, SimulatedQueue, simulate_queue
from policies.config.context import AdmissionContext
from policies.pods.known_pods import UNREAD_PODS
from tests.builders import ZONE, a_constraint, a_node, a_workload
from tests.planning.verdicts import an_index


def simulated(turns: int | None) -> SimulatedQueue:
    """Return six replicas, four of which need new nodes, scheduled until asked so often to stop."""
    web = a_workload("Deployment", spec={"topologySpreadConstraints": [a_constraint(topologyKey=ZONE)]})
    web["spec"]["replicas"] = 6
    container = web["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "3", "memory": "1Gi"}}
    index = an_index(a_node("n1", "a"), a_node("n2", "b"))
    queue = queue_replicas(web, AdmissionContext(policies=(), cluster=index), UNREAD_PODS)
    asked = count()
    return simulate_queue(
        queue,
        PLAIN,
        planned=PlannedActions(autoscaler=deduce(index)),
        stop=lambda: turns is not None and next(asked) >= turns,
    )


def test_interrupted_anywhere() -> None:
    """Whenever it is ended, it is either the whole result or said not to be one; no part is taken for all."""
    whole = simulated(None).simulation
    scaled = whole.autoscaled
    assert scaled is not None
    assert (4, 0) == (len(scaled.nodes), whole.pending)
    early = 0
    for turns in range(200):
        found = simulated(turns)
        got = found.simulation.autoscaled
        if found.complete:
            assert found.simulation.steps == whole.steps
            assert got == scaled
            break
        early += 1
    else:
        raise AssertionError("it was never complete")

    assert early

"""The ends of many simulations, added up."""

from __future__ import annotations

from itertools import count
from random import Random

import pytest

from planning.simulation.scheduling_queue import queue_replicas
from planning.simulation.simulated_queue import SimulatedQueue, SimulationSettings, simulate_queue
from policies.config.context import AdmissionContext
from policies.pods.known_pods import UNREAD_PODS
from tests.builders import HOSTNAME, a_constraint, a_node, a_workload
from tests.policies.scheduler.clusters import an_index

SOFT = a_constraint(topologyKey=HOSTNAME, whenUnsatisfiable="ScheduleAnyway")


def _simulated(runs: int | None, replicas: int = 3, stop_after: int = 1_000_000) -> SimulatedQueue:
    """Return replicas on two nodes in one zone and one in another, which is smaller."""
    nodes = [a_node("n1", "a"), a_node("n2", "a"), a_node("n3", "b")]
    context = AdmissionContext(policies=(), cluster=an_index(nodes))
    workload = a_workload("Deployment", spec={"topologySpreadConstraints": [SOFT]})
    queue, asked = queue_replicas(workload, context, UNREAD_PODS, count=replicas), count()
    settings = SimulationSettings(seed=5, runs=runs)
    choose = Random(5).choice
    return simulate_queue(queue, settings, choose=choose, stop=lambda: next(asked) >= stop_after)


def test_what_varies_and_what_does_not() -> None:
    """One pod goes to any of three nodes, so each has none or one; three pods fill all of them."""
    (one,), (three,) = (_simulated(30, replicas).distribution.domains for replicas in (1, 3))  # type: ignore[union-attr]

    assert ({"n1": 0, "n2": 0, "n3": 0}, {"n1": 1, "n2": 1, "n3": 1}) == (one.least, one.most)
    assert {"n1": 0, "n2": 0, "n3": 0} == one.median
    assert {1: 30} == one.skews
    assert three.least == three.median == three.most == {"n1": 1, "n2": 1, "n3": 1}
    assert {0: 30} == three.skews


def test_the_first_run_is_the_one_alone() -> None:
    """The steps are those of the first run, which are the same without others."""
    assert _simulated(None).simulation == _simulated(4).simulation
    assert _simulated(None).distribution is None


@pytest.mark.parametrize(
    ("stop_after", "runs", "steps", "complete"),
    [
        pytest.param(2, 1, 2, False, id="in the first run: its steps until then"),
        pytest.param(8, 2, 3, False, id="in a later one: it does not count"),
        pytest.param(1_000, 4, 3, True, id="not at all"),
    ],
)
def test_stopping(stop_after: int, runs: int, steps: int, *, complete: bool) -> None:
    """Unfinished steps and runs are left out, and the result is marked as incomplete."""
    simulated = _simulated(4, stop_after=stop_after)
    assert simulated.distribution is not None

    assert (runs, steps, complete) == (
        simulated.distribution.runs,
        len(simulated.simulation.steps),
        simulated.complete,
    )

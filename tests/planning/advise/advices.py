"""Advice for reports to show."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from planning.advise.advise import Advice, advise
from planning.advise.goal import Goal
from policies.model.scaling import ReplicaRange
from policies.model.topology_keys import HOSTNAME
from tests.builders import a_constraint, a_node, a_pod
from tests.planning.goals import (
    ONE_CPU,
    TEMPTING,
    THREE,
    a_goal,
    advice_of,
    workload_of,
)
from tests.planning.scenarios import a_state


@cache
def advices() -> tuple[Advice, ...]:
    """Return advice to write something, to leave it, and what cannot be reached, or was not tried."""
    return tuple(_advices())


def _advices() -> Iterator[Advice]:
    scaled = ReplicaRange(3, 30, "HorizontalPodAutoscaler web\x1b[31m")
    running = [a_pod(name=f"web-{at}", spec={"nodeName": "n1"}) for at in range(2)]
    yield advice_of([*THREE, *running], a_goal(replicas=scaled))
    yield advice_of([*THREE[:2], a_node("x", "x\x1b[2J")], a_goal(enforced=True))
    yield advice_of(THREE[:2], a_goal(one_a_node=True), added={"c": 2})
    others = [a_constraint(topologyKey="zone"), a_constraint(topologyKey=HOSTNAME)]
    yield advice_of(TEMPTING, a_goal(allow_soft=True), others)
    yield advice_of(
        [THREE[0], a_node("n2", "b", cpu="16")], a_goal(3, 4, allow_soft=True), [a_constraint(minDomains=3)]
    )
    yield advice_of(THREE, a_goal(9, 13, limit=1), containers=ONE_CPU)
    yield advice_of(
        [a_node(f"n{at}", "a", cpu="4" if at else "64") for at in range(3)],
        Goal(key=HOSTNAME, limit=2, one_a_node=True, replicas=ReplicaRange(4, 4)),
        containers=ONE_CPU,
    )
    state, asked = a_state(TEMPTING), iter([False] * 60)
    stopped = advise(
        workload_of(None, state.context),
        state,
        a_goal(3, 12, enforced=True),
        stop=lambda: next(asked, True),
    )
    if stopped is not None:
        yield stopped

"""Tests of daemon-set-with-hard-constraint: what such a constraint does, by the engine."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from policies.scheduler.evaluate import evaluate
from tests.policies.rules.placing import HOST, TRIES, ZONE, a_workload, nodes_of
from tests.policies.rules.run_rules import problems
from tests.policies.scheduler.clusters import a_constraint, a_pod, a_request, an_index, fitting

RULE = "daemon-set-with-hard-constraint"


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        pytest.param(a_constraint(ZONE), 6, id="honored: as if it were not there"),
        pytest.param(a_constraint(ZONE, minDomains=3), 6, id="honored, with minDomains: just so"),
        pytest.param(a_constraint(ZONE, nodeAffinityPolicy="Ignore"), 3, id="ignored: two in a, one in b"),
        pytest.param(a_constraint(HOST, nodeAffinityPolicy="Ignore"), 6, id="one pod a host breaks nothing"),
        pytest.param(a_constraint("rack"), 0, id="no node has the key"),
    ],
)
def test_what_the_constraint_does(constraint: dict[str, Any], expected: int) -> None:
    """Only with Ignore, or for want of a label, does it keep pods of a DaemonSet from their nodes."""
    nodes = nodes_of(*"aaaaab")

    assert expected == max(_running(nodes, constraint, random.Random(seed)) for seed in range(TRIES))


@pytest.mark.parametrize(
    "constraint",
    [
        pytest.param(f"topologyKey: {ZONE}, own", id="honored"),
        pytest.param(f"topologyKey: {ZONE}, own, nodeAffinityPolicy: Ignore", id="ignored"),
        pytest.param(f"topologyKey: {HOST}, own, nodeAffinityPolicy: Ignore", id="hosts"),
    ],
)
def test_says_what_it_does(constraint: str, wording: Callable[[str], str]) -> None:
    """The message tells the two cases apart."""
    (problem,) = problems(RULE, a_workload(constraint, replicas=1, kind="DaemonSet"))

    assert wording(problem.message) == problem.message


def test_soft_constraints_are_harmless() -> None:
    """A soft constraint keeps no pod off its node."""
    hard = a_workload(f"topologyKey: {ZONE}, own", replicas=1, kind="DaemonSet")
    manifest = hard.replace("DoNotSchedule", "ScheduleAnyway")

    assert [] == problems(RULE, manifest)


def _running(nodes: list[dict[str, Any]], constraint: dict[str, Any], chance: random.Random) -> int:
    """Create a pod for each node, tied to it as the DaemonSet controller does, until none more fits."""
    index = an_index(nodes)
    names = [node["metadata"]["name"] for node in nodes]
    chance.shuffle(names)
    running: set[str] = set()
    for name in [*names, *names]:
        field = {"key": "metadata.name", "operator": "In", "values": [name]}
        term = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}}
        pending = a_pod(f"agent-{name}", spread=[constraint], affinity=affinity)
        if name not in running and fitting(evaluate(a_request(pending, {}, index), index)):
            assert [] == index.apply(a_pod(f"agent-{name}", name))
            running.add(name)
    return len(running)

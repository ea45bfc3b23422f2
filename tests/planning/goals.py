"""Workloads with goals, for the tests of advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from planning.advise.advise import Advice, advise
from planning.advise.goal import Goal
from planning.advise.node_groups import NodeGroup, node_groups
from policies.config.context import AdmissionContext
from policies.model.scaling import ReplicaRange
from policies.model.workload import Workload
from policies.pods.placement import read_workload
from tests.builders import a_node, a_workload
from tests.planning.clusters import ZONE_KEY
from tests.planning.scenarios import a_state
from tests.policies.scheduler.clusters import an_index

Object = dict[str, Any]

#: Three zones of one node each.
THREE = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c")]
#: The same with a node that everything else prefers.
TEMPTING = [*THREE, a_node("n4", "a", cpu="64")]
#: One whole replica for each CPU.
ONE_CPU = [{"name": "c", "image": "web:1", "resources": {"requests": {"cpu": "1"}}}]


def a_goal(least: int = 3, most: int = 6, **fields: Any) -> Goal:
    """Return the goal to lose at most a third with a zone."""
    known: dict[str, Any] = {"key": ZONE_KEY, "limit": Fraction(1, 3), "replicas": ReplicaRange(least, most)}
    return Goal(**known | fields)


def workload_of(spread: Sequence[Object] | None, context: AdmissionContext, **spec: Any) -> Workload:
    """Return a Deployment with some constraints."""
    constraints = {} if spread is None else {"topologySpreadConstraints": list(spread)}
    return read_workload(a_workload(spec=constraints | spec), context)


def context_of(objects: Sequence[Mapping[str, Any]], **fields: Any) -> AdmissionContext:
    """Return a context with a cluster."""
    return AdmissionContext(policies=(), cluster=an_index(objects), **fields)


def groups_of(context: AdmissionContext, **most: int) -> list[NodeGroup]:
    """Return the nodes that may be added until each zone has so many."""
    assert context.cluster is not None
    return list(node_groups(context.cluster, ZONE_KEY, most, (), 0))


def advice_of(
    objects: Sequence[Mapping[str, Any]],
    goal: Goal,
    spread: Sequence[Object] | None = None,
    *,
    added: Mapping[str, int] | None = None,
    **spec: Any,
) -> Advice:
    """Return advice on a Deployment in a cluster."""
    state = a_state(objects)
    workload = workload_of(spread, state.context, **spec)
    advice = advise(workload, state, goal, groups_of(state.context, **(added or {})))
    assert advice is not None
    return advice

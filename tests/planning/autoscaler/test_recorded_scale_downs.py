"""The model against the scale-down planner of Cluster Autoscaler's own code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from planning.autoscaler.autoscaler import take_now
from planning.autoscaler.node_group import ScaledGroup
from planning.autoscaler.unneeded import find_unneeded
from planning.simulation.autoscaled import WhyKept
from planning.simulation.cluster_simulation import ClusterSimulation
from planning.simulation.pod_facts import PodFacts
from planning.simulation.rescheduling import Rescheduling
from planning.simulation.scale_down import NodePods
from policies.config.context import AdmissionContext
from policies.config.node_groups import ScaleDownSettings
from policies.config.policy_set import PolicySet
from policies.manifests.wire import from_json
from policies.model.deletion_facts import seconds_of
from policies.model.node import Node
from policies.pods.pod_objects import PodObjects
from policies.scheduler.index import ClusterIndex
from tests.for_each import for_each
from tests.recorded import recorded_scale_downs

pytestmark = pytest.mark.slow

#: Why a node stays that the planner is not asked about.
NOT_ASKED = (WhyKept.NOT_IN_GROUP, WhyKept.MIN_SIZE, WhyKept.NOT_TRIED)


def _name(case: dict[str, Any]) -> object:
    return case["name"]


def _answer(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of one loop, in the shape of the recording."""
    index, running = ClusterIndex(), PodObjects(None)
    for obj in (*case["nodes"], *case["budgets"], *case["pods"]):
        assert not index.apply(obj)
        running(obj)
    simulation, facts = ClusterSimulation.of(index), PodFacts(index, (), running)
    again = Rescheduling(simulation, facts, AdmissionContext(cluster=index, policies=PolicySet(())))
    pods = NodePods(simulation, again, now=seconds_of(case["now"]))
    settings = from_json(ScaleDownSettings, case["settings"])
    groups = [_group(group) for group in case["groups"]]
    found = find_unneeded(index, groups, settings, pods.by_node(), pods.budgets())
    taken = take_now(found.unneeded, groups, settings, lambda names: names[0])
    asked = {each.name: each for each in found.kept if each.why not in NOT_ASKED}
    return {
        "candidates": found.candidates,
        # The planner computes none of a node that it keeps before.
        "utilization": {
            name: round(share, 6)
            for name, share in found.utilization.items()
            if name in found.candidates and (name not in asked or asked[name].why is not WhyKept.ANNOTATED)
        },
        "unneeded": [
            {"node": each.name, "moves": dict(each.places)} | ({"risky": True} if each.is_risky else {})
            for each in found.unneeded
        ],
        "kept": {
            name: {"why": each.why.value} | ({"pod": each.pod} if each.pod else {})
            for name, each in asked.items()
        },
        "deleted": {
            "empty": sum(not each.places for each in taken),
            "drained": sum(bool(each.places) for each in taken),
        },
    }


def _group(raw: Mapping[str, Any]) -> ScaledGroup:
    return ScaledGroup(
        name=raw["name"],
        template=Node(raw["name"], {}, (), unschedulable=False, allocatable={}),
        capacity={},
        size=len(raw["nodes"]),
        max_size=raw["maxSize"],
        min_size=raw["minSize"],
        nodes=frozenset(raw["nodes"]),
    )


def test_recordings_are_many() -> None:
    """There are enough of them, with each reason for which the planner keeps a node."""
    answers = [case["answer"] for case in recorded_scale_downs()]
    reasons = Counter(kept["why"] for answer in answers for kept in answer["kept"].values())
    moves = sum(len(node["moves"]) for answer in answers for node in answer["unneeded"])

    assert len(answers) >= 300
    assert moves >= 500
    assert reasons.keys() == {
        WhyKept.ANNOTATED, WhyKept.NO_PLACE, WhyKept.NOT_UNDERUTILIZED, WhyKept.POD_ANNOTATED,
        WhyKept.POD_BUDGET, WhyKept.POD_LOCAL_STORAGE, WhyKept.POD_NOT_REPLICATED, WhyKept.POD_OF_SYSTEM,
        WhyKept.UTILIZATION_UNKNOWN,
    }  # fmt: skip
    assert min(reasons.values()) >= 5


@for_each(recorded_scale_downs(), _name)
def test_one_loop(case: dict[str, Any]) -> None:
    """Candidates, shares, unneeded nodes with where their pods go, and reasons are the same."""
    assert case["answer"] == _answer(case)

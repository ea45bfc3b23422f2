"""Scenarios beside what a real control plane did, and beside each other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planning.simulation.events import AddedNodes, Event
from planning.simulation.outcome import ObjectChange, WorkloadOutcome
from planning.simulation.play import EventError
from planning.simulation.rollout.rollout import simulate_rollout
from planning.simulation.rollout.rollout_start import RolloutSettings
from tests.builders import a_constraint, a_deployment, a_node
from tests.examples import examples
from tests.for_each import for_each
from tests.planning.scenarios import a_state, losing, played, restarting, scaling
from tests.planning.what_ifs import another_pod, its_pods
from tests.recorded import recorded_rollouts

Object = dict[str, Any]
#: What was done in records that have no scenario: pods placed beside others, and deletion costs.
_NO_EVENTS = frozenset({"place", "deletionCostTo"})


def _records() -> list[Object]:
    return [record for record in recorded_rollouts().values() if not _NO_EVENTS & record["action"].keys()]


@pytest.mark.slow
@for_each(_records(), name=lambda record: record["name"])
def test_recorded(record: Object) -> None:
    """As many pods run and wait as there were, and a rollout is the one that is compared in every detail."""
    action, workload, seen = record["action"], record["workload"], record["observed"]
    state, metadata = a_state(record["cluster"]["items"]), workload["metadata"]
    target = (metadata["name"], metadata["namespace"], workload["kind"])
    if "lose" in action or "drain" in action:
        event = losing(action["lose"]) if "lose" in action else Event(drain=action["drain"])
    else:
        event = Event(apply=workload) if "rollout" in action else scaling(*target, to=action["scale"])
    outcome = played(state, event)
    found = [each for each in outcome.workloads if each.ref.name == target[0]]
    if "rollout" in action and found[0].change is ObjectChange.NONE:
        outcome = played(state, restarting(*target))
        found = [each for each in outcome.workloads if each.ref.name == target[0]]
    for entry in found:
        assert (seen["pending"], seen["pods"] - seen["pending"]) == (entry.pending, entry.after)
    if outcome.branches is not None:
        settings = RolloutSettings(known=state.known, scale=action.get("scale"))
        courses = simulate_rollout(workload, state.context, settings).courses

        assert (courses.count, courses.exact, courses.worst_skews) == (
            outcome.branches.tried,
            outcome.branches.exact,
            outcome.branches.worst_skews,
        )
        assert [courses.likely.running] == [each.after for each in found]
    else:
        assert "lose" in action or "drain" in action


_names = st.sampled_from(["n1", "n2", "n3", "n4"])
_events = st.one_of(
    st.builds(losing, st.sampled_from("ab"), unreachable=st.booleans()),
    st.builds(Event, drain=_names),
    st.builds(Event, cordon=_names),
    st.builds(Event, add=st.builds(AddedNodes, like=_names, count=st.integers(1, 2))),
    st.builds(scaling, st.just("web"), to=st.integers(0, 7)),
    st.just(restarting("web")),
)


def _objects(own: list[str], others: list[str], max_skew: int, waiting: int) -> list[Object]:
    nodes = [a_node(name, zone, cpu="3") for name, zone in zip(["n1", "n2", "n3", "n4"], "aabb", strict=True)]
    web = a_deployment(a_constraint(maxSkew=max_skew), cpu="1")
    web["spec"]["replicas"] = len(own)
    pods = its_pods(web, {f"web-{number}": node for number, node in enumerate(own)})
    for pod in pods[1:][:waiting]:
        del pod["spec"]["nodeName"]
    return [*nodes, web, *pods, *(another_pod(f"db-{number}", node) for number, node in enumerate(others))]


def _balance(entry: WorkloadOutcome) -> tuple[int, int]:
    """Return how many pods there are before and at the end, with those that went for good."""
    before = entry.before + entry.pending_before
    return before, entry.after + entry.pending + entry.not_recreated + entry.not_tried


@examples(60)
@given(
    own=st.lists(_names, min_size=1, max_size=6),
    others=st.lists(_names, max_size=4),
    events=st.lists(_events, min_size=1, max_size=3),
    max_skew=st.integers(1, 2),
    waiting=st.integers(0, 2),
)
def test_whatever_happens(
    own: list[str], others: list[str], events: list[Event], max_skew: int, waiting: int
) -> None:
    """Every pod is accounted for, no number is above another that it is part of, and steps say the rest."""
    state = a_state(_objects(own, others, max_skew, waiting))
    try:
        outcome = played(state, *events, runs=1)
    except EventError:
        return  # A node was lost before.
    for entry in outcome.workloads:
        before, after = _balance(entry)

        assert entry.lowest <= min(entry.before, entry.after)
        assert (entry.updated or 0) <= entry.after
        if entry.change is ObjectChange.NONE:
            assert before == after
        else:
            assert entry.wanted is not None
            # A surge that is stuck stays beside the old pods.
            assert entry.wanted <= after <= entry.wanted + 2
        assert entry.verdicts
    there = {node.name for node in outcome.final.nodes.listed()} if outcome.final else set()
    assert outcome.nodes.after == len(there)
    assert sum(entry.after for entry in outcome.workloads) <= (
        outcome.final.pod_count if outcome.final else 0
    )


@examples(30)
@given(
    own=st.lists(_names, min_size=1, max_size=6),
    others=st.lists(_names, max_size=4),
    max_skew=st.integers(1, 2),
    unreachable=st.booleans(),
)
def test_each_domain_is_a_loss_of_its_own(
    own: list[str], others: list[str], max_skew: int, *, unreachable: bool
) -> None:
    """What one of them says is what that loss alone says."""
    state = a_state(_objects(own, others, max_skew, 0))
    for loss in played(state, each="zone", unreachable=unreachable).outcomes:
        alone = played(state, *loss.scenario.events)

        assert (loss.workloads, loss.verdict, loss.nodes) == (alone.workloads, alone.verdict, alone.nodes)

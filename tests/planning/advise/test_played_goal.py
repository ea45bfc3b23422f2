"""Advice is applied to the cluster as it runs: what that says is what is advised."""

from __future__ import annotations

from typing import Any

from planning.advise.advise import advise
from planning.advise.goal_trial import FailureKind
from planning.advise.words import failure_text
from planning.simulation.events import Event
from planning.simulation.outcome import Cause
from policies.manifests.edits import apply_edits
from policies.manifests.wire import dumps
from policies.pods.placement import read_workload
from tests.builders import a_node, a_pod
from tests.planning.clusters import ZONE_KEY
from tests.planning.goals import TEMPTING, THREE, a_goal, advice_of, workload_of
from tests.planning.scenarios import a_state, an_ordered_set, of, played, scaling


def test_a_rollout_that_waits() -> None:
    """Constraints that would place every replica help nobody where the controller waits for a pod."""
    state, edited = an_ordered_set()
    workload = read_workload(edited, state.context)
    advice = advise(workload, state, a_goal(3, 3, limit=2, allow_soft=True))

    assert advice is not None
    failure = advice.trial.failure(advice.goal)
    assert failure is not None
    assert (False, FailureKind.PLAYED) == (advice.is_met, failure.kind)
    assert "OrderedReady" in failure_text(failure, advice.goal)
    assert advice.outcome is not None
    assert Cause.DEADLOCK is of(advice.outcome, "db").verdict.cause


def test_what_is_advised_is_what_is_played() -> None:
    """The advice, applied and each of its domains lost, says what the advice says."""
    state = a_state(TEMPTING)
    workload = workload_of(None, state.context)
    advice = advise(workload, state, a_goal(3, 12))
    assert advice is not None
    assert advice.edits
    assert advice.outcome is not None
    events = Event(apply=apply_edits(workload.obj, advice.edits)), scaling("web", to=3)
    alone = played(state, *events, runs=1)
    then = played(state, *events, each=ZONE_KEY)

    assert dumps(then) == dumps(advice.outcome)
    zone = next(each for each in of(alone, "web").survival if each.topology_key == ZONE_KEY)
    assert of(alone, "web").after - zone.left <= advice.goal.allowed(of(alone, "web").after)


def test_a_large_cluster(monkeypatch: Any) -> None:
    """The losses of domains that hold more pods than are scheduled again are left out."""
    monkeypatch.setattr("planning.advise.played_goal.MOST_LOST", 0)
    pod = a_pod(name="other", labels={"app": "other"}, spec={"nodeName": "n1"})
    advice = advice_of([*THREE, pod], a_goal(enforced=True))

    assert advice.is_met
    assert advice.outcome is not None
    assert (None, ()) == (advice.outcome.scenario.each, advice.outcome.outcomes)


def test_nodes_that_may_come() -> None:
    """Nodes that may be added are there where it is not known what adds them."""
    advice = advice_of([a_node("n1", "a"), a_node("n2", "b")], a_goal(), added={"c": 2})

    assert advice.is_met
    assert advice.outcome is not None
    assert 4 == advice.outcome.nodes.before

"""The suggestions by which a stuck rollout completes, and those by which it does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planning.simulation.rollout.courses import RolloutEnd
from planning.simulation.rollout.rollout import simulate_rollout
from planning.simulation.rollout.rollout_start import RolloutSettings
from planning.simulation.rollout.simulated_rollout import roll_out
from planning.simulation.suggestions.rollout_suggestions import RolloutSuggestions, find_rollout_suggestions
from policies.manifests.edits import apply_edits
from tests.builders import a_constraint, a_node
from tests.planning.recorded_rollouts import RecordedCluster
from tests.planning.rollouts import (
    CORDONED,
    PLAIN_ROLLOUT,
    THREE_ZONES,
    a_context,
    a_deployment,
    a_stateful_set,
    ordinals,
    roll,
    running,
)
from tests.recorded import recorded_rollouts

#: Two of three zones have a pod, and the third takes none.
STUCK = [*CORDONED, *running("old", n1=1, n2=1)]
#: The same with a taint in place of the cordon: a policy of the constraint can leave the zone out.
TAINTED = [
    *CORDONED[:2],
    a_node("n3", "c", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}]),
    *running("old", n1=1, n2=1),
]


def _suggested(obj: dict[str, Any], *cluster: dict[str, Any]) -> tuple[RolloutSuggestions, list[str]]:
    context = a_context(*cluster)
    found = find_rollout_suggestions(roll(obj, context), context, PLAIN_ROLLOUT)
    for suggestion in found.found:
        after = roll(apply_edits(obj, suggestion.edits), context)
        assert RolloutEnd.COMPLETE is after.outcome
    return found, [
        " ".join(f"{edit.path.segments[-1]}={edit.new}" for edit in suggestion.edits)
        for suggestion in found.found
    ]


@pytest.mark.parametrize(
    ("obj", "cluster", "expected"),
    [
        pytest.param(
            a_deployment(2, a_constraint(), surge=1, unavailable=0),
            STUCK,
            ["matchLabelKeys=['pod-template-hash']", "maxUnavailable=1", "maxSkew=2"],
            id="a cordoned zone: count one revision, or let one go, or allow more skew",
        ),
        pytest.param(
            a_deployment(2, a_constraint(), surge=1, unavailable=0),
            TAINTED,
            ["matchLabelKeys=['pod-template-hash']", "maxUnavailable=1", "nodeTaintsPolicy=Honor"],
            id="a tainted zone: or leave it out of the counts",
        ),
        pytest.param(
            a_deployment(2, a_constraint(matchLabelKeys=["pod-template-hash"], minDomains=3), surge=1),
            [*CORDONED[:2], *running("old", n1=1, n2=1)],
            [],
            id="replicas that fit, although domains are fewer than wanted: nothing to suggest",
        ),
        pytest.param(
            a_stateful_set(3, a_constraint()),
            [*CORDONED, *ordinals("n1", "n2", "n3")],
            ["maxSkew=2", "whenUnsatisfiable=ScheduleAnyway", "topologySpreadConstraints=None"],
            id="a StatefulSet has no strategy that would help",
        ),
    ],
)
def test_suggestions(obj: dict[str, Any], cluster: list[dict[str, Any]], expected: list[str]) -> None:
    """Those that give up least come first, and each was verified."""
    found, edits = _suggested(obj, *cluster)

    assert (expected, True) == (edits, found.complete)


def test_what_needs_none() -> None:
    """A rollout that completes, and a scale, have no suggestions."""
    context = a_context(*STUCK)
    complete = roll(a_deployment(3), a_context(*THREE_ZONES))
    scale = roll(a_deployment(2, a_constraint()), context, scale=4)

    assert (RolloutEnd.COMPLETE, RolloutEnd.PENDING) == (complete.outcome, scale.outcome)
    assert RolloutSuggestions() == find_rollout_suggestions(complete, context, PLAIN_ROLLOUT)
    assert RolloutSuggestions() == find_rollout_suggestions(scale, context, PLAIN_ROLLOUT)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        pytest.param("stspending-2", [0], id="the new template fits"),
        pytest.param("sts-rollout-6", [1], id="the new one fits nowhere either"),
    ],
)
def test_a_pod_that_an_ordered_set_waits_for(name: str, changes: list[int]) -> None:
    """No change of the manifest reaches an old pod without a node: it must be deleted, too."""
    record = recorded_rollouts()[name]
    cluster = RecordedCluster.read(record)
    settings = RolloutSettings(known=cluster.known)
    found = roll_out(record["workload"], cluster.context, settings).suggestions.found

    assert found
    assert set(record["observed"]["pendingNames"]) == {pod for each in found for pod in each.deleted}
    assert changes == [len(each.edits) for each in found[:1]]
    for each in found:
        edited = apply_edits(record["workload"], each.edits)
        stuck, done = (
            simulate_rollout(edited, cluster.context, replace(settings, without=frozenset(pods)))
            for pods in ((), each.deleted)
        )
        assert (RolloutEnd.DEADLOCK, RolloutEnd.COMPLETE) == (stuck.outcome, done.outcome)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rolling-3", "third-7"])
def test_pending_pods_of_a_deployment(name: str) -> None:
    """Its controller deletes them itself."""
    record = recorded_rollouts()[name]
    cluster = RecordedCluster.read(record)
    simulated = roll_out(record["workload"], cluster.context, RolloutSettings(known=cluster.known))

    assert simulated.suggestions.tried
    assert all(not each.deleted for each in simulated.suggestions.found)


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        pytest.param(a_constraint(), ["matchLabelKeys=['pod-template-hash']"], id="old pods count"),
        pytest.param(a_constraint(matchLabelKeys=["pod-template-hash"]), [], id="they do not"),
        pytest.param(a_constraint(whenUnsatisfiable="ScheduleAnyway"), [], id="a soft one"),
    ],
)
def test_a_rollout_that_ends_uneven(constraint: dict[str, Any], expected: list[str]) -> None:
    """The change that keeps old pods out of the counts is suggested, and verified to end within maxSkew."""
    obj, cluster = (
        a_deployment(3, constraint, surge=3, unavailable=0),
        (*THREE_ZONES, *running("old", n1=2, n2=1)),
    )
    rollout = roll(obj, a_context(*cluster))
    found, edits = _suggested(obj, *cluster)

    assert (RolloutEnd.COMPLETE, expected) == (rollout.outcome, edits)
    assert bool(rollout.uneven) == bool(expected)
    assert all(skew <= 1 for suggestion in found.found for skew in suggestion.worst_skews)

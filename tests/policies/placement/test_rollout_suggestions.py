"""What would make a stuck rollout complete, and what would not."""

from __future__ import annotations

from typing import Any

import pytest

from policies.manifests.edits import apply_edits
from policies.placement.courses import Outcome
from policies.placement.rollout_suggestions import RolloutSuggestions, find_rollout_suggestions
from tests.builders import a_constraint
from tests.policies.placement.rollouts import (
    CORDONED,
    THREE_ZONES,
    a_context,
    a_deployment,
    a_stateful_set,
    ordinals,
    roll,
    running,
)
from tests.policies.reports.verdicts import a_node

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
    found = find_rollout_suggestions(roll(obj, context), context)
    for suggestion in found.found:
        after = roll(apply_edits(obj, suggestion.edits), context)
        assert Outcome.COMPLETE is after.outcome
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

    assert (Outcome.COMPLETE, Outcome.PENDING) == (complete.outcome, scale.outcome)
    assert RolloutSuggestions() == find_rollout_suggestions(complete, context)
    assert RolloutSuggestions() == find_rollout_suggestions(scale, context)

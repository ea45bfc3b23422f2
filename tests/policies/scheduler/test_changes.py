"""Changes of constraints, and what they give up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policies.scheduler.changes import Change, ChangeKind
from policies.scheduler.request import SchedulingRequest
from tests.builders import a_constraint, a_pod
from tests.policies.scheduler.clusters import a_request, an_index


def _question() -> SchedulingRequest:
    constraints = [a_constraint(minDomains=3), a_constraint(topologyKey="rack")]
    return a_request(a_pod(spec={"topologySpreadConstraints": constraints}), {}, an_index([]))


@pytest.mark.parametrize(
    ("what", "value", "expected"),
    [
        (ChangeKind.NODE_TAINTS_POLICY, "Honor", {"node_taints_policy": "Honor"}),
        (ChangeKind.NODE_AFFINITY_POLICY, "Ignore", {"node_affinity_policy": "Ignore"}),
        (ChangeKind.MIN_DOMAINS, 2, {"min_domains": 2}),
        (ChangeKind.MAX_SKEW, 9, {"max_skew": 9}),
        (ChangeKind.TOPOLOGY_KEY, "zone", {"topology_key": "zone"}),
        (
            ChangeKind.WHEN_UNSATISFIABLE,
            "ScheduleAnyway",
            {"when_unsatisfiable": "ScheduleAnyway", "min_domains": 1},
        ),
    ],
)
def test_apply(what: ChangeKind, value: Any, expected: dict[str, Any]) -> None:
    """One field of one constraint changes, and minDomains goes where it may not stand."""
    question = _question()
    changed = Change(what=what, constraint=0, value=value).apply(question)

    assert replace(question.constraints[0].constraint, **expected) == changed.constraints[0].constraint
    assert question.constraints[1:] == changed.constraints[1:]


def test_apply_takes_a_constraint_away() -> None:
    """The others stay."""
    question = _question()

    assert (
        question.constraints[:1]
        == Change(what=ChangeKind.CONSTRAINT, constraint=1).apply(question).constraints
    )


def test_what_gives_up_less_comes_first() -> None:
    """Honest counts, what weakens nothing, numbers by the least, softer, removed; Ignore is like a number."""
    changes = [
        Change(what=ChangeKind.TOPOLOGY_KEY, constraint=0, value="zone"),
        Change(what=ChangeKind.LABEL_SELECTOR, constraint=0),
        Change(what=ChangeKind.MATCH_LABEL_KEYS, constraint=0, value="pod-template-hash"),
        Change(what=ChangeKind.NODE_TAINTS_POLICY, constraint=1, value="Honor"),
        Change(what=ChangeKind.REQUESTS, given_up=0.5),
        Change(what=ChangeKind.TOLERATIONS, given_up=1),
        Change(what=ChangeKind.MIN_DOMAINS, constraint=0, value=2, given_up=1),
        Change(what=ChangeKind.NODE_AFFINITY_POLICY, constraint=0, value="Ignore"),
        Change(what=ChangeKind.MAX_SKEW, constraint=1, value=2, given_up=1),
        Change(what=ChangeKind.MAX_SKEW, constraint=0, value=5, given_up=4),
        Change(what=ChangeKind.WHEN_UNSATISFIABLE, constraint=0, value="ScheduleAnyway"),
        Change(what=ChangeKind.MAX_SKEW, constraint=0, value=1668, given_up=1667, hollow=True),
        Change(what=ChangeKind.NODE_SELECTOR),
        Change(what=ChangeKind.CONSTRAINT, constraint=0),
        Change(what=ChangeKind.TOLERATIONS, given_up=1, hollow=True),
    ]
    costs = [change.cost for change in changes]

    assert costs == sorted(set(costs))

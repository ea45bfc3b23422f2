"""A constraint as a release of kube-scheduler applies it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policies.model.constraint import Constraint
from policies.model.version import KNOWN_VERSION
from policies.scheduler.release_changes import Behavior
from policies.scheduler.releases import behavior_of
from policies.scheduler.request import ConstraintOrigin, apply_constraint
from tests.policies.scheduler.clusters import a_constraint

NOW = behavior_of(KNOWN_VERSION)
LABELS = {"app": "web", "rev": "2"}
REV_2 = {"key": "rev", "operator": "In", "values": ["2"]}


def applied(behavior: Behavior = NOW, **fields: Any) -> Any:
    constraint = Constraint.parse(a_constraint(**fields))
    return apply_constraint(constraint, LABELS, origin=ConstraintOrigin.POD, behavior=behavior)


@pytest.mark.parametrize(
    ("fields", "expressions", "self_match"),
    [
        pytest.param({"matchLabelKeys": ["rev"]}, [REV_2], 1, id="the pod's own value"),
        pytest.param({"matchLabelKeys": ["lacking"]}, [], 1, id="a key that the pod lacks"),
        pytest.param(
            {"matchLabelKeys": ["rev"], "labelSelector": {"matchExpressions": [REV_2]}},
            [REV_2],
            1,
            id="merged by the API server already",
        ),
        pytest.param({"labelSelector": {"matchLabels": {"app": "api"}}}, [], 0, id="others' pods"),
        pytest.param({"labelSelector": {}}, [], 1, id="empty selector matches the pod itself"),
    ],
)
def test_selectors(fields: dict[str, Any], expressions: list[object], self_match: int) -> None:
    """matchLabelKeys narrows the selector; the pod may or may not match itself."""
    result = applied(**fields)

    assert expressions == result.selector.to_dict().get("matchExpressions", [])
    assert self_match == result.self_match


def test_no_selector() -> None:
    """Without a selector there is nothing to narrow, and the pod does not match."""
    result = applied(labelSelector=None, matchLabelKeys=["rev"])

    assert (None, 0) == (result.selector, result.self_match)


def test_what_a_release_ignores() -> None:
    """Fields that a release does not know count as left out."""
    old = replace(NOW, min_domains=False, inclusion_policies=False, match_label_keys=False)
    fields = {"minDomains": 3, "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"}
    result = applied(old, matchLabelKeys=["rev"], **fields)

    assert applied().constraint == result.constraint
    assert [] == result.selector.to_dict().get("matchExpressions", [])

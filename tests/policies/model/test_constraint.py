"""Constraints as values: the API's defaults, and writing what was read."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.constraint import Constraint, NodeInclusionPolicy, WhenUnsatisfiable
from policies.model.labels import LabelSelector
from tests.builders import a_constraint


def test_absent_fields_mean_what_the_scheduler_takes_them_to_mean() -> None:
    """minDomains is 1, nodeAffinityPolicy Honor and nodeTaintsPolicy Ignore; no selector is None."""
    parsed = Constraint.parse(a_constraint(labelSelector=None))

    assert parsed == Constraint(
        max_skew=1,
        topology_key="topology.kubernetes.io/zone",
        when_unsatisfiable=WhenUnsatisfiable.DO_NOT_SCHEDULE,
        selector=None,
        min_domains=1,
        node_affinity_policy=NodeInclusionPolicy.HONOR,
        node_taints_policy=NodeInclusionPolicy.IGNORE,
        match_label_keys=(),
    )


def test_an_empty_selector_is_not_a_missing_one() -> None:
    """``{}`` matches every pod, null none: the two stay apart."""
    assert LabelSelector() == Constraint.parse(a_constraint(labelSelector={})).selector
    assert Constraint.parse(a_constraint(labelSelector=None)).selector is None


@pytest.mark.parametrize(
    "raw",
    [
        a_constraint(),
        a_constraint(labelSelector={}),
        a_constraint(
            minDomains=3,
            nodeAffinityPolicy="Ignore",
            nodeTaintsPolicy="Honor",
            matchLabelKeys=["rev"],
            maxSkew=7,
        ),
    ],
    ids=["plain", "empty selector", "every field"],
)
def test_written_as_read(raw: dict[str, Any]) -> None:
    """The written fields are those that were read, as long as they say more than the defaults."""
    assert raw == Constraint.parse(raw).to_dict()

"""The global minimum and the skew above it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from policies.model.constraint import Constraint
from policies.scheduler.request import AppliedConstraint, ConstraintOrigin
from policies.scheduler.skew import global_minimum, skew, skew_of
from tests.builders import a_constraint


@pytest.mark.parametrize(
    ("counts", "when", "min_domains", "minimum", "expected"),
    [
        pytest.param([3, 1], "DoNotSchedule", 1, 1, 2, id="[3,1]: 3 - 1"),
        pytest.param([2, 2], "DoNotSchedule", 3, 0, 2, id="[2,2] under minDomains 3: 2 - 0"),
        pytest.param([2, 2, 1], "DoNotSchedule", 3, 1, 1, id="[2,2,1] under minDomains 3: 2 - 1"),
        pytest.param([2, 2], "ScheduleAnyway", 3, 2, 0, id="[2,2], minDomains has no meaning: 2 - 2"),
        pytest.param([], "DoNotSchedule", 3, 0, 0, id="no domains"),
        pytest.param([], "ScheduleAnyway", 1, 0, 0, id="no domains, ScheduleAnyway"),
    ],
)
def test_skew(counts: Sequence[int], when: str, min_domains: int, minimum: int, expected: int) -> None:
    """The fullest domain above the minimum, which is 0 where there are fewer domains than minDomains."""
    constraint = Constraint.parse(a_constraint(whenUnsatisfiable=when, minDomains=min_domains))
    applied = AppliedConstraint(
        constraint=constraint, origin=ConstraintOrigin.POD, selector=constraint.selector, self_match=1
    )
    matching = np.array(counts, np.int64)

    assert minimum == global_minimum(applied, matching)
    assert expected == skew(applied, matching)
    assert expected == skew_of(applied, {str(number): count for number, count in enumerate(counts)})

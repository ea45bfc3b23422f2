"""Tests of how far a rolling update may stray."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.scaling import RollingUpdate, rolling_update
from tests.builders import a_workload
from tests.policies.model.workloads import workload_of


@pytest.mark.parametrize(
    ("strategy", "replicas", "expected"),
    [
        pytest.param(None, 3, RollingUpdate(0, 1), id="the default for 3: none unavailable, one more"),
        pytest.param(None, 4, RollingUpdate(1, 1), id="the default for 4: one and one"),
        pytest.param(
            {"rollingUpdate": {"maxSurge": 0}}, 2, RollingUpdate(1, 0), id="both 0: one unavailable"
        ),
        pytest.param({"rollingUpdate": {"maxUnavailable": "50%"}}, 5, RollingUpdate(2, 2), id="shares of 5"),
        pytest.param(
            {"rollingUpdate": {"maxUnavailable": 2, "maxSurge": 3}}, 9, RollingUpdate(2, 3), id="numbers"
        ),
        pytest.param({"type": "Recreate"}, 3, None, id="Recreate"),
        pytest.param({"rollingUpdate": {"maxUnavailable": "half"}}, 3, None, id="no share"),
        pytest.param({"rollingUpdate": {"maxSurge": True}}, 3, None, id="no number"),
        pytest.param({"rollingUpdate": 1}, 3, None, id="no object"),
        pytest.param("RollingUpdate", 3, None, id="a name for the object"),
    ],
)
def test_rolling_update(strategy: Any, replicas: int, expected: RollingUpdate | None) -> None:
    """Shares are of the replicas, unavailable ones rounded down and surging ones up."""
    workload = workload_of(a_workload(spec=None))
    dict.update(workload.obj["spec"], {"strategy": strategy})

    assert expected == rolling_update(workload, replicas)


def test_other_kinds() -> None:
    """Only a Deployment's strategy is read."""
    assert rolling_update(workload_of(a_workload("StatefulSet")), 3) is None

"""References to workloads."""

from __future__ import annotations

import pytest

from policies.model.workload import Workload
from policies.model.workload_ref import WorkloadRef
from tests.builders import a_pod, a_workload, kind_of


@pytest.mark.parametrize(
    ("kind", "group", "expected"),
    [
        pytest.param("Deployment", "apps", ("shop", "Deployment.apps", "web"), id="with its group"),
        pytest.param("Pod", "", ("shop", "Pod", "web-0"), id="of the core group"),
    ],
)
def test_of(kind: str, group: str, expected: tuple[str, str, str]) -> None:
    """Kinds of one name in two groups are two kinds."""
    obj = a_workload(kind, group) if group else a_pod()
    workload = Workload.read(obj, kind_of(kind, group), "shop")

    assert expected == WorkloadRef.of(workload)

"""The differences of an upgrade for a workload, and the change that is responsible."""

from __future__ import annotations

from typing import Any

import pytest

from planning.simulation.release_diff import DiffKind, WorkloadDiff, changes_between, diff_releases
from policies.config.context import AdmissionContext
from policies.model.cluster_workloads import ClusterWorkload
from policies.model.version import KubernetesVersion
from policies.model.workload import Workload
from policies.scheduler.release_changes import CHANGES
from policies.scheduler.releases import LAST_VERSION, OLDEST_VERSION
from tests.builders import a_constraint, a_node, a_workload, kind_of
from tests.planning.verdicts import on
from tests.policies.scheduler.clusters import an_index

Object = dict[str, Any]

NODES = [a_node("n1", "a"), a_node("n2", "b")]
TAINTED = a_node("n3", "c", taints=[{"key": "team", "value": "x", "effect": "NoSchedule"}])


def _diff(before: str, after: str, constraint: Object, *objects: Object) -> WorkloadDiff | None:
    obj = a_workload("StatefulSet", spec={"topologySpreadConstraints": [constraint]})
    workload = Workload.read(obj, kind_of("StatefulSet", "apps"), "shop")
    context = AdmissionContext(policies=(), cluster=an_index(objects))
    entry = ClusterWorkload(workload, "StatefulSet", "web", 0)
    return diff_releases(entry, context, KubernetesVersion.parse(before), KubernetesVersion.parse(after))


EMPTY = a_constraint(labelSelector={})


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(
            _diff("1.36", "1.38", EMPTY, *NODES, *on("n1", 1)),
            (DiffKind.NODES, ["empty_selector_counts"], False),
            id="{} counts again from 1.38 on",
        ),
        pytest.param(
            _diff("1.26", "1.27", a_constraint(minDomains=3), *NODES, *on("n1", 1), *on("n2", 1)),
            (DiffKind.NODES, ["min_domains"], True),
            id="minDomains counts from 1.27 on: pods fit nowhere",
        ),
        pytest.param(
            _diff("1.24", "1.36", a_constraint(nodeTaintsPolicy="Honor"), *NODES, TAINTED, *on("n1", 1),
                  *on("n2", 1)),
            (DiffKind.NODES, ["inclusion_policies"], False),
            id="Honor counts from 1.26 on: pods fit",
        ),
        pytest.param(
            _diff("1.33", "1.36", a_constraint(), *NODES, TAINTED, *on("n1", 1), *on("n2", 1)),
            (DiffKind.MESSAGE, ["names_taint"], False),
            id="the taint is no longer named",
        ),
        pytest.param(
            _diff("1.36", "1.37", a_constraint(newField=1), *NODES),
            (DiffKind.VALIDITY, [], False),
            id="a field that is not known may be one of the next release",
        ),
        pytest.param(_diff("1.36", "1.37", EMPTY, *NODES, *on("n1", 1)), None, id="no change between"),
        pytest.param(_diff("1.24", "1.99", a_constraint(), *NODES), None, id="nothing that matters here"),
    ],
)  # fmt: skip
def test_differences(found: WorkloadDiff | None, expected: tuple[DiffKind, list[str], bool] | None) -> None:
    """The gravest difference, what is responsible, and whether pods fit nowhere after the upgrade."""
    assert expected == (None if found is None else (found.difference, _fields(found), found.breaks))


def _fields(found: WorkloadDiff) -> list[str]:
    """Return the flags of the changes that are responsible."""
    whats = [change.what for change in found.responsible]
    return [change.field for change in CHANGES if change.what in whats]


def test_all_changes_lie_between_the_ends() -> None:
    """Every entry of the table is responsible for something between the oldest release and the last."""
    assert list(CHANGES) == changes_between(OLDEST_VERSION, LAST_VERSION)
    assert [] == changes_between(LAST_VERSION, OLDEST_VERSION)

"""A comparison of two releases for reports to show."""

from __future__ import annotations

from typing import Any

from planning.simulation.release_diff import diff_releases
from planning.what_if.upgrade import ReleaseDiff
from policies.config.context import AdmissionContext
from policies.model.cluster_workloads import ClusterWorkload
from policies.model.version import KubernetesVersion
from policies.model.workload import Workload
from tests.builders import a_constraint, a_node, a_workload, kind_of
from tests.planning.verdicts import on
from tests.policies.scheduler.clusters import an_index

_BEFORE, _AFTER = KubernetesVersion(1, 26), KubernetesVersion(1, 38)
_TAINTED = a_node("n3", "b", taints=[{"key": "team", "value": "x", "effect": "NoSchedule"}])
_SOFT = {"whenUnsatisfiable": "ScheduleAnyway"}


def a_release_diff() -> ReleaseDiff:
    """Return a comparison in which a workload breaks, one prefers other nodes, and one stays as it is."""
    cluster = an_index([a_node("n1", "a"), a_node("n2", "b"), _TAINTED, *on("n1", 1), *on("n2", 1)])
    context = AdmissionContext(policies=(), cluster=cluster)
    entries = [
        _entry("breaks", a_constraint(minDomains=4)),
        _entry("prefers\x1b[31m", a_constraint(matchLabelKeys=["app"], labelSelector={}, **_SOFT)),
        _entry("unknown", a_constraint(newField=1)),
        _entry("stays", a_constraint(maxSkew=5)),
    ]
    found = [diff_releases(entry, context, _BEFORE, _AFTER) for entry in entries]
    workloads = tuple(each for each in found if each is not None)
    return ReleaseDiff(before=_BEFORE, after=_AFTER, total=len(entries), workloads=workloads)


def _entry(name: str, constraint: dict[str, Any]) -> ClusterWorkload:
    obj = a_workload("StatefulSet", spec={"topologySpreadConstraints": [constraint]}, name=name)
    return ClusterWorkload(Workload.read(obj, kind_of("StatefulSet", "apps"), "shop"), "StatefulSet", name, 0)

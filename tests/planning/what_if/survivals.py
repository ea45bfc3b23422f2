"""Survivals for reports to show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planning.simulation.suggestions.survive_suggestions import find_help
from planning.simulation.survive.deployed_workloads import why_unjudged
from planning.simulation.survive.loss import LossOptions
from planning.simulation.survive.survival_report import SurvivalReport
from planning.simulation.survive.survive import SingleLosses
from policies.config.context import AdmissionContext
from policies.pods.placement import read_workload
from policies.pods.pod_objects import PodObjects
from tests import builders
from tests.builders import a_constraint, a_node, a_pod, a_workload
from tests.planning.clusters import ZONE_KEY
from tests.policies.scheduler.clusters import an_index

Object = dict[str, Any]

#: Three zones with a node of 4 CPUs each.
NODES = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c")]


def a_deployment(replicas: int = 3, cpu: str = "1", **fields: Any) -> Object:
    """Return a Deployment that spreads over zones."""
    return builders.a_deployment(a_constraint(**fields), replicas=replicas, cpu=cpu)


def a_survival(
    *workloads: Object,
    nodes: list[Object] = NODES,
    pods: list[Object] | None = None,
    key: str = ZONE_KEY,
    tried: int | None = None,
    stop: Callable[[], bool] = lambda: False,
    **options: Any,
) -> SurvivalReport:
    """Return the outcome for workloads; of the losses only the first few if ``tried`` says so.

    Further options are those of ``LossOptions``.
    """
    objects, running = [*nodes, *(pods or ())], PodObjects(None)
    context = AdmissionContext(policies=(), cluster=an_index(objects))
    for obj in objects:
        running(obj)
    read = [read_workload(workload, context) for workload in workloads]
    judged = [workload for workload in read if not why_unjudged(workload)]
    survival = SingleLosses(judged, context, LossOptions(key, **options), running, stop=stop)
    losses = tuple(survival.losses())[:tried]
    helps = () if tried is not None else tuple(find_help(survival, losses, context, running, stop=stop))
    return SurvivalReport(
        survival=survival,
        losses=losses,
        helps=helps,
        unjudged=tuple((workload, why) for workload in read if (why := why_unjudged(workload))),
        version=context.kubernetes_version,
        stopped=tried is not None or stop(),
    )


def a_mixed_survival() -> SurvivalReport:
    """Return a Deployment that does not survive, one that does, and what cannot be judged.

    A pod of another workload is displaced with zone a, and a node has no zone.
    """
    requests = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
    claim = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "d"}}]}
    database = a_workload(
        "StatefulSet",
        labels={"app": "db"},
        selector={"matchLabels": {"app": "db"}},
        spec=requests | claim,
        name="db",
    )
    cache = a_pod(
        name="cache", namespace="data", labels={"app": "cache"}, owner=("apps/v1", "ReplicaSet", "cache"),
        spec={"nodeName": "n1", **requests},
    )  # fmt: skip
    nowhere = a_node("n4", "")
    del nowhere["metadata"]["labels"][ZONE_KEY]
    daemon = a_workload("DaemonSet", name="agent")
    return a_survival(a_deployment(minDomains=3), database, daemon, nodes=[*NODES, nowhere], pods=[cache])

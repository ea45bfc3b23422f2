"""Whole clusters of which domains are lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from planning.simulation.survive.cluster_loss import ClusterSurvivalReport
from planning.simulation.survive.cluster_survival import ClusterSurvival
from planning.simulation.survive.damage import Damage, WorkloadDamage
from planning.simulation.survive.loss import LossOptions
from policies.config.context import AdmissionContext
from policies.model.cluster_kinds import BUDGET
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.workload_kinds import WorkloadKinds
from policies.pods.pod_objects import PodObjects
from tests.builders import a_constraint, a_node, a_pod
from tests.planning.clusters import ZONE_KEY
from tests.policies.scheduler import storage_objects as storage
from tests.policies.scheduler.clusters import an_index

Object = dict[str, Any]

#: Three zones with a node of 4 CPUs each.
NODES = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c")]


def pods_of(
    name: str, nodes: Iterable[str], cpu: str = "1", kind: str = "ReplicaSet", **spec: Any
) -> list[Object]:
    """Return the pods of a workload, one on each of some nodes."""
    containers = [{"name": "c", "image": "c:1", "resources": {"requests": {"cpu": cpu}}}]
    return [
        a_pod(
            name=f"{name}-{number}",
            labels={"app": name},
            owner=("apps/v1", kind, name),
            spec={"nodeName": node, "containers": containers, **spec},
        )
        for number, node in enumerate(nodes)
    ]


def pods_with_volumes() -> list[Object]:
    """Return a pod in each of zones a and b with a volume in its zone, and what its volume needs."""
    found = [*(storage.a_csi_node(node) for node in ("n1", "n2", "n3")), storage.a_class()]
    for number, zone in enumerate("ab"):
        claim, volume = f"data-{number}", f"v-{number}"
        found += [storage.a_claim(claim, volume), storage.a_volume(volume, claim, zone)]
        found += pods_of(f"db-{number}", [f"n{number + 1}"], volumes=storage.using(claim))
    return found


def a_budget(name: str, app: str | None = None, **spec: Any) -> Object:
    """Return a PodDisruptionBudget of the pods of a workload."""
    selector = {"matchLabels": {"app": app or name}}
    metadata = {"name": name, "namespace": "shop"}
    spec = {"selector": selector, **spec}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}


def a_report(
    *objects: Object,
    nodes: Iterable[Object] = NODES,
    fail_on: Damage = Damage.PENDING,
    namespace: str = "",
    stop: Callable[[], bool] = lambda: False,
    budgets: bool = False,
    key: str = ZONE_KEY,
    **options: Any,
) -> ClusterSurvivalReport:
    """Return the report on losses of domains; with ``budgets`` PodDisruptionBudgets were listed."""
    everything, running = [*nodes, *objects], PodObjects(None)
    workloads = ClusterWorkloads(WorkloadKinds(()), namespace, every_kind=True)
    index = an_index(everything)
    if budgets:
        index.list_kinds([BUDGET])
    for obj in everything:
        running(obj)
        workloads(obj)
    context = AdmissionContext(policies=(), cluster=index)
    survival = ClusterSurvival(workloads, context, LossOptions(key=key, **options), running, stop=stop)
    losses = [done.loss for done in survival.losses()]
    return survival.report(losses, fail_on=fail_on, stopped=stop())


def damaged(report: ClusterSurvivalReport, domain: str) -> Mapping[str, WorkloadDamage]:
    """Return the damage of a domain's loss to each workload that is hit, the worst first."""
    (loss,) = (loss for loss in report.losses if loss.impact.domain == domain)
    return {each.ref.name: each for each in loss.workloads}


def a_mixed_report() -> ClusterSurvivalReport:
    """Return the losses of a cluster with every damage, and with what is not judged.

    Zone a has most of it; the other zones have no room for the large pods.
    """
    constraint = a_constraint(
        whenUnsatisfiable="ScheduleAnyway", labelSelector={"matchLabels": {"app": "even"}}
    )
    return a_report(
        *pods_of("big", ["n1"], "1200m"),
        *pods_of("half", ["n1", "n2"], "1300m"),
        *pods_of("single", ["n1"], "100m"),
        *pods_of("even", ["n1", "n1", "n2", "n3"], "10m", topologySpreadConstraints=[constraint]),
        *pods_of("full", ["n2", "n3", "n3"], "1900m"),
        *pods_of("agent", ["n1", "n2", "n3"], "10m", kind="DaemonSet"),
        a_pod(name="bare", spec={"nodeName": "n1"}),
        a_pod(name="waits", owner=("apps/v1", "ReplicaSet", "full")),
        a_budget("half", minAvailable=2),
    )

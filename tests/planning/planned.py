"""Sets of manifests for the tests of plans."""

from __future__ import annotations

from typing import Any

from planning.plan.plan import ManifestPlan, ManifestSet, make_plan
from planning.simulation.scenario import ClusterState
from policies.config.context import AdmissionContext
from policies.config.loader import load_policies
from policies.model.cluster_workloads import ClusterWorkloads
from policies.pods.known_pods import UNREAD_PODS, KnownPods
from policies.pods.placement import read_workload
from policies.scheduler.index import ClusterIndex
from tests.builders import a_constraint, a_node, a_pod, a_workload
from tests.planning.verdicts import an_index

#: Three zones with a node each.
NODES = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c")]
#: A pod template that spreads over the zones.
SPREAD = {"topologySpreadConstraints": [a_constraint()]}


def a_deployment(replicas: int | None = None, name: str = "web", **fields: Any) -> dict[str, Any]:
    """Return a Deployment whose pods are labeled and selected by its name."""
    selector = {"matchLabels": {"app": name}}
    workload = a_workload("Deployment", labels={"app": name}, selector=selector, name=name, **fields)
    if replicas is not None:
        workload["spec"]["replicas"] = replicas
    return workload


def running(*nodes: str, app: str = "web", **spec: Any) -> list[dict[str, Any]]:
    """Return a running pod of an application on each of some nodes, which may repeat."""
    return [
        a_pod(name=f"{app}-{number}", labels={"app": app}, spec={"nodeName": node, **spec})
        for number, node in enumerate(nodes)
    ]


def a_set(*objects: dict[str, Any], policy: str = "", along: tuple[dict[str, Any], ...] = ()) -> ManifestSet:
    """Return a set of workloads, perhaps under a SpreadPolicy."""
    policies = load_policies(("policy.yaml",), lambda _name: policy.encode()) if policy else ()
    context = AdmissionContext(policies=policies)
    return ManifestSet(
        workloads=[read_workload(obj, context) for obj in objects], along=along, context=context
    )


def plan(
    before: ManifestSet, after: ManifestSet, *pods: dict[str, Any], nodes: list[dict[str, Any]] | None = None
) -> ManifestPlan:
    """Return the plan on a cluster."""
    return make_plan(before, after, a_state(a_cluster(*pods, nodes=nodes)))


def a_cluster(*pods: dict[str, Any], nodes: list[dict[str, Any]] | None = None) -> ClusterIndex:
    """Return the index of some pods on nodes."""
    return an_index(*(NODES if nodes is None else nodes), *pods)


def a_state(cluster: ClusterIndex, known: KnownPods = UNREAD_PODS) -> ClusterState:
    """Return what is known of a cluster of which no workload is known."""
    context = AdmissionContext(policies=(), cluster=cluster)
    return ClusterState(context=context, known=known, workloads=ClusterWorkloads(context.kinds))

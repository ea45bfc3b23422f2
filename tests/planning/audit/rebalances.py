"""Plans for reports to show."""

from __future__ import annotations

from collections.abc import Iterator

from planning.audit.deletion_costs import DeletionCosts, deletion_costs
from planning.audit.rebalance import RebalancePlan, rebalance
from policies.config.context import AdmissionContext
from policies.pods.known_pods import UNREAD_PODS
from policies.pods.placement import PreparedPod, prepare, read_workload
from tests.builders import HOSTNAME, a_constraint, a_node, a_pod, a_workload
from tests.planning.verdicts import on
from tests.policies.scheduler.clusters import an_index

_NODES = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c")]
_CORDONED = [*_NODES[:2], a_node("n3", "c", unschedulable=True)]


def rebalances() -> Iterator[tuple[PreparedPod, RebalancePlan]]:
    """Yield a plan, one that is stuck, one that a budget forbids, and one for which nothing is to do."""
    for nodes, pods, budgets in (
        (_NODES, [*on("n1", 4), *on("n2", 1)], {"web": 1}),
        (_CORDONED, on("n1", 3), {}),
        (_NODES, on("n1", 3), {"web\x1b[31m": 0}),
        (_NODES, on("n1", 1), {}),
    ):
        context = AdmissionContext(policies=(), cluster=an_index([*nodes, *pods]))
        obj = a_workload("StatefulSet", spec={"topologySpreadConstraints": [a_constraint()]})
        prepared = prepare(read_workload(obj, context), context)
        yield prepared, rebalance(prepared, budgets=budgets)


def scale_downs() -> Iterator[DeletionCosts]:
    """Yield deletion costs, a scale-down that needs none, and one that cannot be even."""
    for pods, replicas in (
        ([*on("n1", 2), *on("n2", 2), *on("n3", 1), a_pod(name="z", spec={"nodeName": "n3"})], 4),
        ([*on("n1", 3), *on("n2", 1)], 3),
        ([*on("n1", 2), *on("n2", 1), *on("n3", 1)], 3),
        (on("n1", 4), 3),
    ):
        context = AdmissionContext(policies=(), cluster=an_index([*_NODES, *pods]))
        spread = [a_constraint(), a_constraint(topologyKey=HOSTNAME, maxSkew=2)]
        obj = a_workload("ReplicaSet", spec={"topologySpreadConstraints": spread})
        yield deletion_costs(read_workload(obj, context), context, replicas, UNREAD_PODS)

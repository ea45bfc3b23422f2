"""An audit for reports to show: a workload of each risk."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from planning.audit.audit import audit
from planning.audit.run import AuditedCluster, AuditRun
from policies.config.context import AdmissionContext
from policies.manifests.wire import encodable
from policies.model.cluster_workloads import ClusterWorkload
from policies.model.version import KNOWN_VERSION
from policies.model.workload import Workload
from tests.builders import a_constraint, a_node, a_pod, a_workload, kind_of
from tests.policies.lint.reports.lint_runs import TEXTS
from tests.policies.scheduler.clusters import an_index

_SOFT = {"whenUnsatisfiable": "ScheduleAnyway"}
_NODES = [
    a_node("n1", "a", pods="10"),
    a_node("n2", "b", pods="10"),
    a_node("n3", "c", pods="10", unschedulable=True),
]


def an_audit_run(top: int | None = None, left: int = 0) -> AuditRun:
    """Return an audit of seven workloads on three nodes."""
    workloads = [
        ("violated", [_of("violated")], ["n1", "n1", "n2"], 0),
        ("stuck", [_of("stuck")], ["n1", "n2"], 1),
        ("full", [_of("full"), _of("full", topologyKey="kubernetes.io/hostname")], ["n1", "n2"], 0),
        ("inert", [a_constraint(labelSelector=None)], ["n1"], 0),
        ("uneven", [_of("uneven", **_SOFT)], ["n1", "n1", "n1"], 0),
        ("refused", [a_constraint(maxSkew=0, topologyKey="")], ["n1"], 0),
        ("fine\x1b[31m", [_of("fine", maxSkew=5)], ["n1", "n2"], 0),
    ]
    pods = [
        a_pod(name=f"{name[:4]}-{number}", labels={"app": name[:4]}, spec={"nodeName": node})
        for name, _, nodes, _ in workloads
        for number, node in enumerate(nodes)
    ]
    alone = [a_pod(name=f"alone-{at}", labels={"app": "alone"}, spec={"nodeName": "n1"}) for at in range(2)]
    context = AdmissionContext(policies=(), cluster=an_index([*_NODES, *pods, *alone]))
    audits = [
        audit(_workload("StatefulSet", "apps", name, spread, pending), context)
        for name, spread, _, pending in workloads
    ]
    audits.append(audit(_workload("CloneSet", "apps.kruise.io", "alone", []), context))
    cluster = AuditedCluster(
        version=KNOWN_VERSION,
        nodes=3,
        pods=len(pods) + len(alone),
        at=datetime(2026, 7, 1, 12, 30, tzinfo=UTC),
        tool_version="1.2.3",
        namespace="shop",
        selector="tier!=|`x`",
        unread=("cluster.json:7: Node n4 is left out: metadata.labels: must be <an> object",),
    )
    return AuditRun.of(audits, cluster, top=top, left=left)


def _of(name: str, **fields: Any) -> dict[str, Any]:
    return a_constraint(labelSelector={"matchLabels": {"app": name[:4]}}, **fields)


def _workload(
    kind: str, group: str, name: str, spread: list[dict[str, Any]], pending: int = 0
) -> ClusterWorkload:
    labels = {"app": name if kind == "CloneSet" else name[:4]}
    obj = a_workload(
        kind,
        group,
        labels=labels,
        selector={"matchLabels": labels},
        spec={"topologySpreadConstraints": spread} if spread else {},
        name=name,
    )
    obj["spec"]["replicas"] = 3
    workload = Workload.read(obj, kind_of(kind, group), "shop")
    return ClusterWorkload(workload, kind, name, pending, obj["apiVersion"], f"uid-of-{name}")


def _hostile(text: str) -> AuditRun:
    """Return a run with a text wherever an object of a cluster, a file name or the command line has one."""
    run = an_audit_run()
    first, *others = run.workloads
    constraint = replace(first.constraints[0].applied.constraint, topology_key=text)
    skew = replace(first.constraints[0], applied=first.constraints[0].applied._replace(constraint=constraint))
    changed = replace(
        first,
        namespace=text,
        kind=text,
        name=text,
        api_version=text,
        uid=text,
        policy=text,
        unmodeled=(text,),
        survival=tuple(replace(each, topology_key=text, fullest=text) for each in first.survival),
        constraints=(replace(skew, fullest=text), *first.constraints[1:]),
    )
    alone = next(found for found in others if any(each.stops for each in found.survival))
    where = tuple(
        replace(each, topology_key=text, fullest=text, after={text: each.running}) for each in alone.survival
    )
    cluster = replace(run.cluster, namespace=text, selector=text, unread=(text,))
    return replace(run, cluster=cluster, workloads=(changed, replace(alone, survival=where, message=text)))


#: Runs of hostile texts; what the objects of a cluster have, UTF-8 can hold.
HOSTILE_RUNS = TEXTS.map(encodable).map(_hostile)

"""An audit as one JSON object, for programs, of the form ``audit.schema.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from policies.manifests.findings import Severity
from policies.manifests.wire import INLINE, Count, Keywords, dumps
from policies.model.version import KubernetesVersion
from policies.placement.audit.workload_audit import Risk, WorkloadAudit
from policies.reports.audit.run import AuditRun
from policies.reports.audit.words import is_bound, notes, why
from policies.reports.lint.json import ToolVersion
from policies.scheduler.releases import judged_as
from policies.scheduler.request import ConstraintOrigin

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/audit/v1"
#: How ``origins`` calls workloads without any constraint.
NO_ORIGIN: Final = "none"


class AuditedProblem(NamedTuple):
    """Something that is wrong with a workload.

    Attributes:
        risk: What.
        severity: How bad it is.
        constraint: The position in ``constraints``; null where it is about no single one.
        message: What was found, with its numbers.
    """

    risk: Risk
    severity: Severity
    constraint: Count | None
    message: str


class AuditedRoom(NamedTuple):
    """How many more replicas fit.

    Attributes:
        pods: How many.
        at_most: Whether that is an upper bound: with several DoNotSchedule constraints, and where pods have
            fields that are not modeled.
        constraint: The position of the constraint that limits them; null where only the room of nodes does.
        domain: The domain that can take no more, so that the others may not; null without one.
    """

    pods: Count
    at_most: bool
    constraint: Count | None
    domain: str | None


class AuditedWorkload(NamedTuple):
    """One workload.

    Attributes:
        found: The workload.
        problems: What is wrong, worst first.
        room: How many more replicas fit; null for an invalid object.
    """

    found: Annotated[WorkloadAudit, INLINE]
    problems: Sequence[AuditedProblem]
    room: AuditedRoom | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditAnswer:
    """How the workloads of a cluster are spread now.

    Later releases may add fields; within v1 none is renamed or goes away.

    Attributes:
        schema: The form's name and version.
        tool: What wrote it.
        generated_at: When.
        kubernetes_version: The release that the scheduler behaves as.
        judged_as: The release that is used for it, with its patch: the newest known one for a newer one.
        namespace: The only namespace that was looked at; empty for all.
        selector: What workloads were selected by, in kubectl's syntax; empty for all.
        nodes: How many nodes the cluster has.
        pods: How many pods are bound.
        total: How many workloads were looked at.
        left: How many objects were not looked at, because the audit was ended or its time was over.
        risks: How many workloads have each risk, of all that were looked at.
        origins: In how many workloads constraints of each origin are in force; ``none``: without any.
        notes: What is not in the answer: workloads that are not shown, not looked at or not modeled, and
            objects that could not be read.
        workloads: The workloads by risk, the worst first.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)] = SCHEMA
    tool: ToolVersion
    generated_at: Annotated[str, Keywords(format="date-time")]
    kubernetes_version: KubernetesVersion
    judged_as: str
    namespace: str
    selector: str
    nodes: Count
    pods: Count
    total: Count
    left: Count
    risks: Annotated[Mapping[str, Count], Keywords(propertyNames={"enum": list(Risk)})]
    origins: Annotated[Mapping[str, Count], Keywords(propertyNames={"enum": [*ConstraintOrigin, NO_ORIGIN]})]
    notes: Sequence[str]
    workloads: Sequence[AuditedWorkload]


def render(run: AuditRun) -> bytes:
    """Return an audit as one line of JSON, without its end."""
    cluster = run.cluster
    answer = AuditAnswer(
        tool=ToolVersion(version=cluster.tool_version),
        generated_at=cluster.time_text,
        kubernetes_version=cluster.version,
        judged_as=judged_as(cluster.version).exact,
        namespace=cluster.namespace,
        selector=cluster.selector,
        nodes=cluster.nodes,
        pods=cluster.pods,
        total=run.total,
        left=run.left,
        risks={str(risk): count for risk, count in sorted(run.problems.items())},
        origins={str(origin or NO_ORIGIN): count for origin, count in run.origins.items()},
        notes=list(notes(run)),
        workloads=list(map(audited_workload, run.workloads)),
    )
    return dumps(answer)


def audited_workload(found: WorkloadAudit) -> AuditedWorkload:
    """Return the report entry of one workload, with its problems in words."""
    room = found.room
    return AuditedWorkload(
        found,
        [
            AuditedProblem(problem.risk, problem.severity, problem.constraint, why(problem, found))
            for problem in found.problems
        ],
        None
        if room is None
        else AuditedRoom(room.pods, is_bound(found), room.constraint, room.domain or None),
    )

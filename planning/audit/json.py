"""An audit as one JSON object, for programs, of the form ``audit.schema.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from planning.audit.run import AuditRun
from planning.audit.words import is_bound, notes, why
from planning.audit.workload_audit import Risk, WorkloadAudit
from policies.lint.reports.json import ToolVersion
from policies.manifests.findings import Severity
from policies.manifests.wire import INLINE, Count, Keywords, dumps
from policies.model.version import KubernetesVersion
from policies.scheduler.releases import judged_as
from policies.scheduler.request import ConstraintOrigin

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/audit/v1"
#: How ``origins`` calls workloads without any constraint.
NO_ORIGIN: Final = "none"


class AuditedProblem(NamedTuple):
    """Something that is wrong with a workload."""

    risk: Risk  #: What.
    severity: Severity  #: How bad it is.
    constraint: Count | None  #: The position in ``constraints``; null where it is about no single one.
    message: str  #: What was found, with its numbers.


class AuditedRoom(NamedTuple):
    """How many more replicas fit."""

    pods: Count  #: How many.
    #: Whether that is an upper bound: with several DoNotSchedule constraints, and where pods have fields that
    #: are not modeled.
    at_most: bool
    #: The position of the constraint that limits them; null where only the room of nodes does.
    constraint: Count | None
    domain: str | None  #: The domain that can take no more, so that the others may not; null without one.


class AuditedWorkload(NamedTuple):
    """One workload."""

    found: Annotated[WorkloadAudit, INLINE]  #: The workload.
    problems: Sequence[AuditedProblem]  #: What is wrong, worst first.
    room: AuditedRoom | None  #: How many more replicas fit; null for an invalid object.


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditAnswer:
    """How the workloads of a cluster are spread now.

    Later releases may add fields; within v1 none is renamed or goes away.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)] = SCHEMA  #: The form's name and version.
    tool: ToolVersion  #: What wrote it.
    generated_at: Annotated[str, Keywords(format="date-time")]  #: When.
    kubernetes_version: KubernetesVersion  #: The release that the scheduler behaves as.
    judged_as: str  #: The release that is used for it, with its patch: the newest known one for a newer one.
    namespace: str  #: The only namespace that was looked at; empty for all.
    selector: str  #: What workloads were selected by, in kubectl's syntax; empty for all.
    nodes: Count  #: How many nodes the cluster has.
    pods: Count  #: How many pods are bound.
    total: Count  #: How many workloads were looked at.
    left: Count  #: How many objects were not looked at, because the audit was ended or its time was over.
    #: How many workloads have each risk, of all that were looked at.
    risks: Annotated[Mapping[str, Count], Keywords(propertyNames={"enum": list(Risk)})]
    #: In how many workloads constraints of each origin are in force; ``none``: without any.
    origins: Annotated[Mapping[str, Count], Keywords(propertyNames={"enum": [*ConstraintOrigin, NO_ORIGIN]})]
    #: What is not in the answer: workloads that are not shown, not looked at or not modeled, and objects that
    #: could not be read.
    notes: Sequence[str]
    workloads: Sequence[AuditedWorkload]  #: The workloads by risk, the worst first.


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

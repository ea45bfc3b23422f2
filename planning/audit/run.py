"""An audit of a cluster as the reports need it: the workloads by risk, and what all of them come down to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from planning.audit.workload_audit import SEVERITIES, Risk, WorkloadAudit
from policies.manifests.findings import Severity
from policies.model.version import KubernetesVersion
from policies.scheduler.request import ConstraintOrigin


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedCluster:
    """The audited cluster: its release and size, when and with which tool."""

    version: KubernetesVersion  #: The release of Kubernetes.
    nodes: int  #: How many nodes there are.
    pods: int  #: How many pods are bound.
    at: datetime  #: When the audit was made, UTC.
    tool_version: str  #: The version of Evenkeel.
    namespace: str = ""  #: The only namespace whose workloads were looked at; empty for all.
    selector: str = ""  #: What selected them by their labels, in kubectl's syntax; empty for all.
    unread: tuple[str, ...] = ()  #: What could not be read, a line each.

    @property
    def time_text(self) -> str:
        """When the audit was made, as Kubernetes writes it."""
        return f"{self.at:%Y-%m-%dT%H:%M:%SZ}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRun:
    """An audit of a cluster."""

    cluster: AuditedCluster  #: What was audited.
    workloads: tuple[WorkloadAudit, ...]  #: Those that are shown, by risk.
    total: int  #: How many were looked at.
    with_problems: int  #: How many of them have a problem.
    problems: Counter[Risk]  #: How many workloads have each risk, of all that were looked at.
    #: In how many workloads constraints of each origin are in force; None for those without any.
    origins: Counter[ConstraintOrigin | None]
    left: int = 0  #: How many objects were not looked at, because the audit was ended.

    @classmethod
    def of(
        cls,
        audits: Iterable[WorkloadAudit],
        cluster: AuditedCluster,
        *,
        top: int | None = None,
        left: int = 0,
    ) -> AuditRun:
        """Return the run of some audits, of which the worst ``top`` are shown; all by default."""
        ranked = sorted(audits, key=lambda found: found.rank)
        return cls(
            cluster=cluster,
            workloads=tuple(ranked[:top]),
            total=len(ranked),
            with_problems=sum(bool(found.problems) for found in ranked),
            problems=Counter(risk for found in ranked for risk in {each.risk for each in found.problems}),
            origins=Counter(
                found.constraints[0].applied.origin if found.constraints else None
                for found in ranked
                if not found.errors
            ),
            left=left,
        )

    def fails(self, least: Severity | None) -> bool:
        """Return whether a workload, shown or not, has a problem as bad as a severity; False for None."""
        return least is not None and any(SEVERITIES[risk].is_as_bad(least) for risk in self.problems)

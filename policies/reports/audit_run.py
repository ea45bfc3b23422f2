"""An audit of a cluster as the reports need it: the workloads by risk, and what all of them come down to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from policies.manifests.findings import Severity
from policies.model.version import KubernetesVersion
from policies.placement.audit import SEVERITIES, Risk, WorkloadAudit
from policies.scheduler.request import ConstraintOrigin


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRun:
    """An audit of a cluster.

    Attributes:
        version: The release of Kubernetes.
        workloads: Those that are shown, by risk.
        total: How many were looked at.
        nodes: How many nodes there are.
        pods: How many pods are bound.
        problems: How many workloads have each risk, of all that were looked at.
        origins: In how many workloads constraints of each origin are in force; None for those without any.
        left: How many objects were not looked at, because the audit was ended.
    """

    version: KubernetesVersion
    workloads: tuple[WorkloadAudit, ...]
    total: int
    nodes: int
    pods: int
    problems: Counter[Risk]
    origins: Counter[ConstraintOrigin | None]
    left: int = 0

    @classmethod
    def of(
        cls,
        audits: Iterable[WorkloadAudit],
        version: KubernetesVersion,
        *,
        nodes: int,
        pods: int,
        top: int | None = None,
        left: int = 0,
    ) -> AuditRun:
        """Return the run of some audits, of which the worst ``top`` are shown; all by default."""
        ranked = sorted(audits, key=lambda found: found.rank)
        return cls(
            version=version,
            workloads=tuple(ranked[:top]),
            total=len(ranked),
            nodes=nodes,
            pods=pods,
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

"""The audit of a workload: how it is spread now, and what is wrong with that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Final

from planning.simulation.survival import Survival
from policies.manifests.fields import FieldError
from policies.manifests.findings import Severity
from policies.manifests.wire import INLINE, INTERNAL, Count, SentAs, sent
from policies.scheduler.defaults import NoConstraints
from policies.scheduler.headroom import Headroom
from policies.scheduler.request import AppliedConstraint


class Risk(StrEnum):
    """A problem of how a workload is spread, worst first."""

    #: The skew of a DoNotSchedule constraint is above maxSkew: something changed after scheduling.
    VIOLATED = "violated"
    #: The same of a constraint that a policy gives to new pods, and that pods which run were not placed by.
    WOULD_VIOLATE = "would-violate"
    #: Pods are pending, and PodTopologySpread refuses nodes for them.
    PENDING = "pending"
    #: The loss of one domain stops it, though its pods could be in others.
    ONE_DOMAIN = "one-domain"
    #: The next replica fits no node, and spread is a reason.
    NO_ROOM = "no-room"
    #: A policy gives default constraints to workloads that are created, and this one has none.
    NOT_INJECTED = "not-injected"
    #: A constraint can never refuse or prefer a node.
    NEVER_BINDS = "never-binds"
    #: A ScheduleAnyway constraint has a larger skew than its maxSkew.
    UNEVEN = "uneven"
    #: The object cannot be evaluated: the API server would refuse it today.
    INVALID = "invalid"


#: How bad each risk is.
SEVERITIES: Final[Mapping[Risk, Severity]] = MappingProxyType(
    {
        Risk.VIOLATED: Severity.ERROR,
        Risk.WOULD_VIOLATE: Severity.WARNING,
        Risk.PENDING: Severity.ERROR,
        Risk.ONE_DOMAIN: Severity.WARNING,
        Risk.NO_ROOM: Severity.WARNING,
        Risk.NOT_INJECTED: Severity.WARNING,
        Risk.NEVER_BINDS: Severity.WARNING,
        Risk.UNEVEN: Severity.NOTE,
        Risk.INVALID: Severity.WARNING,
    }
)
#: The position of each risk, the worst first.
ORDER: Final[Mapping[Risk, int]] = {risk: position for position, risk in enumerate(Risk)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintSkew:
    """How the pods that a constraint counts are spread now."""

    applied: Annotated[AppliedConstraint, INLINE]  #: The constraint.
    domains: Count  #: How many domains eligible nodes have.
    #: Matching pods of the emptiest domain; 0 where there are fewer domains than ``minDomains``.
    minimum: Annotated[Count, SentAs("globalMinimum")]
    most: Count  #: Matching pods of the fullest domain.
    fullest: str  #: That domain; empty without domains.
    counts: Annotated[bool, INTERNAL]  #: Whether its selector can match a pod in this release.

    @property
    @sent
    def skew(self) -> int:
        """How many more pods the fullest domain has than the minimum."""
        return self.most - self.minimum

    @property
    def excess(self) -> float:
        """The skew as a share of the pods of the fullest domain, by which equal risks are sorted."""
        return self.skew / self.most if self.most else 0.0

    @property
    @sent
    def within(self) -> bool:
        """Whether that is at most ``maxSkew``."""
        return self.skew <= self.applied.constraint.max_skew

    @property
    @sent
    def never_binds(self) -> bool:
        """Whether it can neither refuse a node nor prefer one: it counts nothing, or has one domain."""
        # With one domain the skew is that of the pod itself; minDomains keeps the minimum at 0.
        alone = self.domains == 1 and self.applied.constraint.min_domains <= 1
        return not self.counts or self.misses_all or alone or (self.domains == 0 and not self.applied.is_hard)

    @property
    def misses_all(self) -> bool:
        """Whether its selector matches neither the workload's own pods nor any other on eligible nodes."""
        return self.most == 0 and not self.applied.self_match


@dataclass(frozen=True, slots=True)
class SpreadProblem:
    """Something that is wrong with a workload."""

    risk: Risk  #: What.
    constraint: int | None = None  #: The position of the constraint; None where it is about no single one.

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return SEVERITIES[self.risk]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadAudit:
    """One workload."""

    namespace: str  #: Its namespace.
    api_version: str = ""  #: Its apiVersion; empty if unknown.
    kind: str  #: Its kind; of a ReplicaSet, its owner's.
    name: str  #: Its name.
    uid: str = ""  #: Its uid; empty if unknown.
    #: How many replicas it wants; None for kinds without a number.
    wanted: Annotated[Count | None, SentAs("replicas")]
    #: How many of its pods are bound and not being deleted; None where its selector is not known.
    running: Count | None
    pending: Count  #: How many of its pods have no node.
    problems: Annotated[tuple[SpreadProblem, ...], INTERNAL] = ()  #: What is wrong, worst first.
    constraints: tuple[ConstraintSkew, ...] = ()  #: Of each constraint in force.
    #: Why no constraint is in force; None if there is one, or the object is invalid.
    why_none: Annotated[NoConstraints | None, SentAs("whyNoConstraints")] = None
    policy: str | None = None  #: The SpreadPolicy that gives the constraints; None if none does.
    #: The one whose default constraints it would get if it were created now, and has not.
    missed_policy: str | None = None
    #: For each key of its constraints, and for zone and host where nodes have them; its ``after`` is now, and
    #: nothing is before. Empty where its selector is not known, or the object is invalid.
    survival: tuple[Survival, ...] = ()
    #: How many more replicas fit; None for an invalid object.
    room: Annotated[Headroom | None, INTERNAL] = None
    feasible: Annotated[Count, SentAs("feasibleNodes")] = 0  #: How many nodes the next replica fits.
    message: str = ""  #: The scheduler's sentence where that is none; else empty.
    errors: tuple[FieldError, ...] = ()  #: Why it is invalid.
    #: What else a scheduler looks at in its pods, which may refuse more nodes.
    unmodeled: Annotated[tuple[str, ...], SentAs("notModeled")] = ()

    @property
    def rank(self) -> tuple[int, float, str, str, str]:
        """Sorts by risk: the worst problem, then the share of pods that is in excess, then the name."""
        worst = ORDER[self.problems[0].risk] if self.problems else len(ORDER)
        excess = max((skew.excess for skew in self.constraints), default=0.0)
        return worst, -excess, self.namespace, self.kind, self.name

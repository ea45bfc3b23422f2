"""The form of a score in JSON; the OpenAPI document is made from these types.

Of nodes and domains there are thousands, so they are plain dicts, which cost least to make and to write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple, TypeAlias, TypedDict

from planning.explain.score_profile import differences
from policies.manifests.wire import INLINE, Count, Keywords, Positive
from policies.model.next_pod import PodRevision
from policies.model.version import KubernetesVersion
from policies.scheduler.profile import Plugin, Profile
from policies.scheduler.request import AppliedConstraint
from policies.scheduler.result import Code, PhaseStatus, Preemption

#: A score as the scheduler normalizes it.
Normalized: TypeAlias = Annotated[int, Keywords(minimum=0, maximum=100)]


class CountedDomain(TypedDict):
    """A value of the topology key that an eligible node carries."""

    value: str  #: The value.
    matching: Count  #: Pods that count.
    nodes: Count  #: Eligible nodes.


class ScoredConstraint(NamedTuple):
    """A constraint in force."""

    applied: Annotated[AppliedConstraint, INLINE]  #: The constraint.
    global_minimum: Count | None  #: The smallest count over all domains; null for ScheduleAnyway.
    weight: float | None  #: ln(size + 2); null for DoNotSchedule, and where no node was scored.
    domains: Sequence[CountedDomain]  #: Its domains, by value.


class NodeRejection(TypedDict):
    """A plugin's refusal of a node."""

    plugin: Plugin  #: The plugin.
    reason: str  #: Why, in the scheduler's words.
    code: Code  #: Whether evicting pods could help.


class ConstraintCheck(TypedDict):
    """The counts of a DoNotSchedule constraint on a node: skew = matching + selfMatch - globalMinimum."""

    constraint: Count  #: The position in ``constraints`` of the answer.
    domain: str | None  #: The node's domain; null where the node lacks the topology key.
    matching: Count  #: Pods that count in the domain.
    selfMatch: Annotated[int, Keywords(enum=[0, 1])]  #: 1 if the pod itself is selected.
    globalMinimum: Count  #: The smallest count over all domains.
    skew: int | None  #: With the pod; null where the node lacks the topology key.
    maxSkew: Positive  #: What the constraint allows.
    satisfied: bool  #: Whether the constraint lets the pod onto the node.


class PluginScore(TypedDict):
    """The scores of one plugin for a node."""

    raw: int  #: What Score returns; negative where pods keep away.
    normalized: Normalized  #: What NormalizeScore makes of it.
    weighted: int  #: Normalized, times the plugin's weight in the profile.


class ScoredNode(TypedDict):
    """One node."""

    name: str  #: Its name.
    feasible: bool  #: Whether the pod fits.
    rejections: list[NodeRejection]  #: Every plugin that refuses the node, each evaluated alone.
    checks: list[ConstraintCheck]  #: What each DoNotSchedule constraint saw.
    #: Of PodTopologySpread, lower is better; null where not feasible or nothing is scored.
    rawScore: Count | None
    score: Normalized | None  #: The same, normalized; higher is better.
    #: What each plugin that scores gives the node, by its name: a PluginScore; null where not feasible.
    plugins: Annotated[dict[str, PluginScore] | None, Keywords(propertyNames={"enum": list(Plugin)})]
    total: Count | None  #: The sum of the weighted scores; null where not feasible.


class UsedProfile(NamedTuple):
    """The profile of kube-scheduler that a pod was scheduled by."""

    scheduler_name: str  #: The scheduler's name.
    differences: Sequence[str]  #: What it does otherwise than the default profile, in words.

    @classmethod
    def of(cls, profile: Profile) -> UsedProfile:
        """Return a profile with its differences."""
        return cls(profile.scheduler_name, differences(profile))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreAnswer:
    """Where the pod could go; the numbers are exactly kube-scheduler's."""

    kubernetes_version: KubernetesVersion  #: The release that the scheduler behaves as.
    judged_as: str  #: The release that is used for it, with its patch: the newest known one for a newer one.
    dropped: Sequence[str]  #: The fields of the pod and its own constraints that the release drops.
    #: The revision of the workload that the pod was scheduled as; null for what has none.
    revision: PodRevision | None
    pre_filter: PhaseStatus  #: ``Skip``: no DoNotSchedule constraint is in force.
    pre_score: PhaseStatus  #: ``Skip``: no ScheduleAnyway constraint, or no node.
    constraints: Sequence[ScoredConstraint]  #: The constraints in force.
    nodes: Sequence[ScoredNode]  #: All nodes, sorted by name.
    feasible_nodes: Count  #: How many of them the pod fits.
    best: Sequence[str]  #: The feasible nodes with the highest total, by name.
    message: str  #: The scheduler's FitError for a pod that fits nowhere; empty if it fits somewhere.
    condition: str  #: The message of the pod's PodScheduled condition: with what preemption adds; else empty.
    #: On which node room would be made for a pod that fits nowhere, and who is evicted; null for a pod that
    #: fits, and where preemption is not tried.
    preemption: Preemption | None
    profile: UsedProfile  #: The profile of kube-scheduler that the pod was scheduled by.
    not_modeled: Sequence[str]  #: What else the scheduler looks at, in this pod or by its profile.

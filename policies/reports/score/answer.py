"""The form of a score in JSON; the OpenAPI document is made from these types.

Of nodes and domains there are thousands, so they are plain dicts, which cost least to make and to write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple, TypeAlias, TypedDict

from policies.manifests.wire import INLINE, Count, Keywords, Positive
from policies.model.next_pod import PodRevision
from policies.model.version import KubernetesVersion
from policies.reports.score.profile import differences
from policies.scheduler.profile import Plugin, Profile
from policies.scheduler.request import AppliedConstraint
from policies.scheduler.result import Code, PhaseStatus, Preemption

#: A score as the scheduler normalizes it.
Normalized: TypeAlias = Annotated[int, Keywords(minimum=0, maximum=100)]


class CountedDomain(TypedDict):
    """A value of the topology key that an eligible node carries.

    Attributes:
        value: The value.
        matching: Pods that count.
        nodes: Eligible nodes.
    """

    value: str
    matching: Count
    nodes: Count


class ScoredConstraint(NamedTuple):
    """A constraint in force.

    Attributes:
        applied: The constraint.
        global_minimum: The smallest count over all domains; null for ScheduleAnyway.
        weight: ln(size + 2); null for DoNotSchedule, and where no node was scored.
        domains: Its domains, by value.
    """

    applied: Annotated[AppliedConstraint, INLINE]
    global_minimum: Count | None
    weight: float | None
    domains: Sequence[CountedDomain]


class NodeRejection(TypedDict):
    """A plugin's refusal of a node.

    Attributes:
        plugin: The plugin.
        reason: Why, in the scheduler's words.
        code: Whether evicting pods could help.
    """

    plugin: Plugin
    reason: str
    code: Code


class ConstraintCheck(TypedDict):
    """The counts of a DoNotSchedule constraint on a node: skew = matching + selfMatch - globalMinimum.

    Attributes:
        constraint: The position in ``constraints`` of the answer.
        domain: The node's domain; null where the node lacks the topology key.
        matching: Pods that count in the domain.
        selfMatch: 1 if the pod itself is selected.
        globalMinimum: The smallest count over all domains.
        skew: With the pod; null where the node lacks the topology key.
        maxSkew: What the constraint allows.
        satisfied: Whether the constraint lets the pod onto the node.
    """

    constraint: Count
    domain: str | None
    matching: Count
    selfMatch: Annotated[int, Keywords(enum=[0, 1])]
    globalMinimum: Count
    skew: int | None
    maxSkew: Positive
    satisfied: bool


class PluginScore(TypedDict):
    """The scores of one plugin for a node.

    Attributes:
        raw: What Score returns; negative where pods keep away.
        normalized: What NormalizeScore makes of it.
        weighted: Normalized, times the plugin's weight in the profile.
    """

    raw: int
    normalized: Normalized
    weighted: int


class ScoredNode(TypedDict):
    """One node.

    Attributes:
        name: Its name.
        feasible: Whether the pod fits.
        rejections: Every plugin that refuses the node, each evaluated alone.
        checks: What each DoNotSchedule constraint saw.
        rawScore: Of PodTopologySpread, lower is better; null where not feasible or nothing is scored.
        score: The same, normalized; higher is better.
        plugins: What each plugin that scores gives the node, by its name: a PluginScore; null where not
            feasible.
        total: The sum of the weighted scores; null where not feasible.
    """

    name: str
    feasible: bool
    rejections: list[NodeRejection]
    checks: list[ConstraintCheck]
    rawScore: Count | None
    score: Normalized | None
    plugins: Annotated[dict[str, PluginScore] | None, Keywords(propertyNames={"enum": list(Plugin)})]
    total: Count | None


class UsedProfile(NamedTuple):
    """The profile of kube-scheduler that a pod was scheduled by.

    Attributes:
        scheduler_name: The scheduler's name.
        differences: What it does otherwise than the default profile, in words.
    """

    scheduler_name: str
    differences: Sequence[str]

    @classmethod
    def of(cls, profile: Profile) -> UsedProfile:
        """Return a profile with its differences."""
        return cls(profile.scheduler_name, differences(profile))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreAnswer:
    """Where the pod could go; the numbers are exactly kube-scheduler's.

    Attributes:
        kubernetes_version: The release that the scheduler behaves as.
        judged_as: The release that is used for it, with its patch: the newest known one for a newer one.
        dropped: The fields of the pod and its own constraints that the release drops.
        revision: The revision of the workload that the pod was scheduled as; null for what has none.
        pre_filter: ``Skip``: no DoNotSchedule constraint is in force.
        pre_score: ``Skip``: no ScheduleAnyway constraint, or no node.
        constraints: The constraints in force.
        nodes: All nodes, sorted by name.
        feasible_nodes: How many of them the pod fits.
        best: The feasible nodes with the highest total, by name.
        message: The scheduler's FitError for a pod that fits nowhere; empty if it fits somewhere.
        condition: The message of the pod's PodScheduled condition: with what preemption adds; else empty.
        preemption: On which node room would be made for a pod that fits nowhere, and who is evicted; null for
            a pod that fits, and where preemption is not tried.
        profile: The profile of kube-scheduler that the pod was scheduled by.
        not_modeled: What else the scheduler looks at, in this pod or by its profile.
    """

    kubernetes_version: KubernetesVersion
    judged_as: str
    dropped: Sequence[str]
    revision: PodRevision | None
    pre_filter: PhaseStatus
    pre_score: PhaseStatus
    constraints: Sequence[ScoredConstraint]
    nodes: Sequence[ScoredNode]
    feasible_nodes: Count
    best: Sequence[str]
    message: str
    condition: str
    preemption: Preemption | None
    profile: UsedProfile
    not_modeled: Sequence[str]

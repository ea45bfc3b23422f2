"""The form of a score in JSON; the OpenAPI document is made from these types."""

from __future__ import annotations

from typing import Annotated, TypeAlias, TypedDict

from policies.config.type_schema import Count, Keywords
from policies.model.constraint import NodeInclusionPolicy, WhenUnsatisfiable
from policies.model.replica_number import ReplicaOrigin
from policies.scheduler.profile import Plugin
from policies.scheduler.request import ConstraintOrigin
from policies.scheduler.result import Code, PhaseStatus

#: A number of a constraint's field.
Positive: TypeAlias = Annotated[int, Keywords(minimum=1)]
#: A score as the scheduler normalizes it.
Normalized: TypeAlias = Annotated[int, Keywords(minimum=0, maximum=100)]


class ReplicasFrom(TypedDict):
    """What says how many replicas of a workload are meant.

    Attributes:
        origin: The manifest; else the cluster, by the object, its ReplicaSets or the pods that run; else the
            least of an autoscaler; else the default of 1.
        source: The object that says so; empty where pods were counted, and for manifest and default.
    """

    origin: ReplicaOrigin
    source: str


class UsedRevision(TypedDict):
    """The revision in the cluster with the same template, or else a new one.

    Attributes:
        hash: With which its pods are marked; null where it is not in the cluster.
        new: Whether the pod was scheduled as the first of a new one: pods of earlier ones have another hash.
    """

    hash: str | None
    new: bool


class AppliedFields(TypedDict):
    """What a constraint in force asks for.

    Attributes:
        origin: Where it comes from.
        topologyKey: The node label whose values are the domains.
        whenUnsatisfiable: Whether it filters nodes or scores them.
        maxSkew: How many more matching pods a domain may have than the global minimum.
        minDomains: With fewer eligible domains than this the global minimum is 0.
        nodeAffinityPolicy: Whether nodes outside the pod's node affinity are left out.
        nodeTaintsPolicy: Whether nodes with untolerated taints are left out.
        selector: As kubectl prints it, narrowed by matchLabelKeys; null selects nothing.
        selfMatch: Whether the pod itself is selected.
    """

    origin: ConstraintOrigin
    topologyKey: str
    whenUnsatisfiable: WhenUnsatisfiable
    maxSkew: Positive
    minDomains: Positive
    nodeAffinityPolicy: NodeInclusionPolicy
    nodeTaintsPolicy: NodeInclusionPolicy
    selector: str | None
    selfMatch: bool


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


class ScoredConstraint(AppliedFields, TypedDict):
    """A constraint in force.

    Attributes:
        globalMinimum: The smallest count over all domains; null for ScheduleAnyway.
        weight: ln(size + 2); null for DoNotSchedule, and where no node was scored.
        domains: Its domains, by value.
    """

    globalMinimum: Count | None
    weight: float | None
    domains: list[CountedDomain]


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
    """What a DoNotSchedule constraint saw on a node: skew = matching + selfMatch - globalMinimum.

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
    """What one plugin gives a node.

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


class UsedProfile(TypedDict):
    """The profile of kube-scheduler that a pod was scheduled by.

    Attributes:
        schedulerName: The scheduler's name.
        differences: What it does otherwise than the default profile, in words.
    """

    schedulerName: str
    differences: list[str]


class ScoreAnswer(TypedDict):
    """Where the pod could go; the numbers are exactly kube-scheduler's.

    Attributes:
        kubernetesVersion: The release that the scheduler behaves as.
        judgedAs: The release that stands for it, with its patch: the newest known one for a newer one.
        dropped: The fields of the pod and its own constraints that the release drops.
        revision: The revision of the workload that the pod was scheduled as; null for what has none.
        preFilter: ``Skip``: no DoNotSchedule constraint is in force.
        preScore: ``Skip``: no ScheduleAnyway constraint, or no node.
        constraints: The constraints in force.
        nodes: All nodes, sorted by name.
        feasibleNodes: How many of them the pod fits.
        best: The feasible nodes with the highest total, by name.
        message: The scheduler's FitError for a pod that fits nowhere; empty if it fits somewhere.
        condition: The message of the pod's PodScheduled condition: with what preemption adds; else empty.
        profile: The profile of kube-scheduler that the pod was scheduled by.
        notModeled: What else the scheduler looks at, in this pod or by its profile.
    """

    kubernetesVersion: str
    judgedAs: str
    dropped: list[str]
    revision: UsedRevision | None
    preFilter: PhaseStatus
    preScore: PhaseStatus
    constraints: list[ScoredConstraint]
    nodes: list[ScoredNode]
    feasibleNodes: Count
    best: list[str]
    message: str
    condition: str
    profile: UsedProfile
    notModeled: list[str]

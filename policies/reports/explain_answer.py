"""The form of an explanation in JSON; the OpenAPI document is made from these types."""

from __future__ import annotations

from typing import TypedDict

from policies.config.type_schema import Count
from policies.reports.score_answer import AppliedFields, ReplicasFrom, UsedProfile, UsedRevision
from policies.reports.suggestion_answer import SuggestedChange
from policies.scheduler.profile import Plugin
from policies.scheduler.result import Code


class ExplainedObject(TypedDict):
    """The object of the request.

    Attributes:
        kind: Its kind, with its group.
        namespace: Its namespace.
        name: Its name; empty if it has none.
    """

    kind: str
    namespace: str
    name: str


class ReplicaCounts(TypedDict):
    """How many replicas of the workload's revision fit, placed one after another.

    Attributes:
        wanted: Replicas that the workload wants.
        wantedFrom: What says so.
        placed: Pods of the revision that have a node.
        fitting: Those, and as many of the missing ones as fit.
        complete: Whether all missing ones were tried; there is a limit.
    """

    wanted: Count
    wantedFrom: ReplicasFrom | None
    placed: Count
    fitting: Count
    complete: bool


class EqualDomainsCount(TypedDict):
    """Domains with equally many matching pods.

    Attributes:
        matching: How many each has.
        domains: How many domains there are.
        feasibleDomains: Those with a node that takes the pod.
    """

    matching: Count
    domains: Count
    feasibleDomains: Count


class ExplainedDomain(TypedDict):
    """A value of the topology key: skew = matching + selfMatch - globalMinimum.

    Attributes:
        value: The value.
        matching: Pods that count.
        nodes: Eligible nodes.
        counted: Whether there is any; otherwise the minimum leaves the domain out.
        skew: With the pod; null for ScheduleAnyway.
        fits: Whether that is within maxSkew; null for ScheduleAnyway.
        feasibleNodes: Nodes of the domain that take the pod.
    """

    value: str
    matching: Count
    nodes: Count
    counted: bool
    skew: int | None
    fits: bool | None
    feasibleNodes: Count


class ExplainedConstraint(AppliedFields, TypedDict):
    """A constraint in force, and the state of its domains.

    Attributes:
        matchLabelKeys: Keys whose value on the pod narrows the selector.
        countsNothing: Whether its selector can match no pod in this release.
        globalMinimum: The smallest count over all domains; null for ScheduleAnyway.
        weight: ln(size + 2); null for DoNotSchedule, and where no node was scored.
        domainCount: Domains that an eligible node carries.
        nodesWithoutKey: Nodes that lack the topology key.
        nodesLeftOut: Nodes with the key that do not count.
        histogram: All counted domains, those with fewest pods first.
        domains: By value; of many the worst three, then the best.
        allDomains: Whether ``domains`` are all of them.
    """

    matchLabelKeys: list[str]
    countsNothing: bool
    globalMinimum: Count | None
    weight: float | None
    domainCount: Count
    nodesWithoutKey: Count
    nodesLeftOut: Count
    histogram: list[EqualDomainsCount]
    domains: list[ExplainedDomain]
    allDomains: bool


class UntoleratedTaint(TypedDict):
    """A taint.

    Attributes:
        key: Its key.
        value: Its value.
        effect: Its effect.
    """

    key: str
    value: str
    effect: str


class ResourceShortage(TypedDict):
    """A resource that all nodes of a group lack; cpu in thousandths.

    Attributes:
        resource: Its name.
        requested: What the pod requests.
        leastLeft: What is left on the fullest node.
        mostLeft: What is left on the emptiest node.
    """

    resource: str
    requested: Count
    leastLeft: int
    mostLeft: int


class ConstraintViolation(TypedDict):
    """A constraint that no node of a group satisfies.

    Attributes:
        constraint: The position in ``constraints`` of the answer.
        missingKey: Whether they lack the topology key; nothing else is known then.
        domain: Their domain, if they share one.
        domains: How many domains they are in.
        matching: Pods that count in the domain where fewest are.
        leastSkew: The smallest skew with the pod.
        mostSkew: The largest.
    """

    constraint: Count
    missingKey: bool
    domain: str | None
    domains: Count
    matching: Count | None
    leastSkew: int | None
    mostSkew: int | None


class GroupRejection(TypedDict):
    """A plugin's refusal of all nodes of a group, evaluated alone.

    Attributes:
        plugin: The plugin.
        reasons: Why, in the scheduler's words.
        code: Whether evicting pods could help.
        taint: The first taint that is not tolerated.
        shortages: The resources that are missing.
        breaches: The constraints that are not satisfied.
    """

    plugin: Plugin
    reasons: list[str]
    code: Code
    taint: UntoleratedTaint | None
    shortages: list[ResourceShortage]
    breaches: list[ConstraintViolation]


class RejectedGroup(TypedDict):
    """Nodes that are refused for the same reasons.

    Attributes:
        nodes: How many there are.
        examples: The first of their names.
        refusals: What each plugin has against them.
    """

    nodes: Count
    examples: list[str]
    refusals: list[GroupRejection]


class ScoreTier(TypedDict):
    """Feasible nodes of one score.

    Attributes:
        score: Of PodTopologySpread, to 100; null where nothing is scored.
        points: The score times its weight in the default profile, 2.
        nodes: How many there are.
        examples: The first of their names.
    """

    score: Count | None
    points: Count | None
    nodes: Count
    examples: list[str]


class OutvotingPlugin(TypedDict):
    """A plugin that gives the chosen node more.

    Attributes:
        plugin: The plugin.
        points: How many points more.
    """

    plugin: Plugin
    points: Count


class OutvotedAnswer(TypedDict):
    """A node that wins though PodTopologySpread prefers others, and with what those would have won.

    Attributes:
        chosen: The node.
        preferred: The best of the others.
        margin: Points of the total.
        plugins: Those that give the chosen node more.
        weight: The smallest weight of PodTopologySpread.
        maxSkew: A smaller maxSkew; null if none was found.
        maxSkewOf: Of these positions in constraints.
        complete: Whether every smaller maxSkew was tried.
    """

    chosen: str
    preferred: str
    margin: Count
    plugins: list[OutvotingPlugin]
    weight: int
    maxSkew: Count | None
    maxSkewOf: list[int]
    complete: bool


class ExplainAnswer(TypedDict):
    """Where a pod would go and why, or why it fits nowhere and what would help.

    Attributes:
        kubernetesVersion: The release that the scheduler behaves as.
        judgedAs: The release that stands for it, with its patch: the newest known one for a newer one.
        dropped: The fields of the pod and its own constraints that the release drops.
        object: The object of the request.
        revision: The revision of the workload that the pod was scheduled as; null for what has none.
        fits: Whether the pod fits a node.
        nodes: How many nodes there are.
        feasibleNodes: How many of them the pod fits.
        atMost: Whether something in ``notModeled`` may refuse more, so that numbers are bounds.
        runningNodes: Of a DaemonSet: nodes that run one of its pods now, which were left out.
        replicas: How many replicas fit; null for what has none.
        message: The condition of a pod that fits nowhere, as in a score; else empty.
        replicaMessage: The same for the first replica that does not fit; empty if all do.
        policy: The SpreadPolicy that gave the constraints.
        whyNoConstraints: Why no constraint is in force; null if there is one.
        constraints: The constraints in force.
        refusing: The nodes that refuse the pod, the largest group first.
        ranking: Feasible nodes, the best score first.
        lead: Points by which the first tier leads; null without a second one.
        outvoted: With what an outvoted PodTopologySpread would have won; null where it is not.
        changes: Each makes the pod fit, or the first replica that does not; those that are enough for every
            replica come first, then by how little they give up.
        changesComplete: Whether all promising changes, and pairs of them, were tried.
        editing: What becomes of pods that run when the manifest is edited; or empty.
        profile: The profile of kube-scheduler that the pod was scheduled by.
        notModeled: What else the scheduler looks at, in this pod or by its profile.
        text: The same for a person, in lines of at most 80 columns.
    """

    kubernetesVersion: str
    judgedAs: str
    dropped: list[str]
    object: ExplainedObject
    revision: UsedRevision | None
    fits: bool
    nodes: Count
    feasibleNodes: Count
    atMost: bool
    runningNodes: Count | None
    replicas: ReplicaCounts | None
    message: str
    replicaMessage: str
    policy: str | None
    whyNoConstraints: str | None
    constraints: list[ExplainedConstraint]
    refusing: list[RejectedGroup]
    ranking: list[ScoreTier]
    lead: Count | None
    outvoted: OutvotedAnswer | None
    changes: list[SuggestedChange]
    changesComplete: bool
    editing: str
    profile: UsedProfile
    notModeled: list[str]
    text: list[str]

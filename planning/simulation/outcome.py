"""The outcome of a scenario: one typed answer, which is the JSON, for whatever was asked.

Numbers and verdicts are those of the likely way; ``Outcome.branches`` has what other choices lead to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

from planning.simulation.actions import ChangedNodes
from planning.simulation.autoscaled import NewNode
from planning.simulation.events import Event
from planning.simulation.release_diff import WorkloadDiff
from planning.simulation.rollout.rollout import Rollout
from planning.simulation.suggestions.given_up import GivenUp
from planning.simulation.survival import Survival
from policies.manifests.edits import Edit
from policies.manifests.wire import INLINE, INTERNAL, Count, Keywords, sent
from policies.model.version import KubernetesVersion
from policies.model.workload_ref import WorkloadRef
from policies.pods.placement import Placement, PreparedPod
from policies.scheduler.changes import ChangeKind
from policies.scheduler.index import ClusterIndex
from policies.scheduler.request import AppliedConstraint, SchedulingRequest

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/what-if/v1"
#: Names of pods that a verdict shows.
MOST_NAMES: Final = 10


class Cause(StrEnum):
    """The cause of a verdict, the worst first."""

    # False.
    REFUSED = "refused"  #: The API server refuses an object or its pods.
    DOWN = "down"  #: None of its pods runs in the end.
    DEADLOCK = "deadlock"  #: Its rollout never ends: pods that wait keep others from being replaced.
    BLOCKED = "blocked"  #: An eviction is refused for good, so a drain never ends.
    BELOW_BUDGET = "below-budget"  #: Fewer of its pods run in the end than a PodDisruptionBudget asks for.
    PENDING = "pending"  #: Fewer of its pods run in the end than should.
    WAITS_FOR_DELETION = "waits-for-deletion"  #: Old pods stay until someone deletes them (OnDelete).
    INTERRUPTED = "interrupted"  #: All its pods, of two or more, were lost at once.
    # Undecided.
    NOT_READ = "not-read"  #: What could change the verdict was not read.
    NOT_TRIED = "not-tried"  #: A limit was reached before all was tried.
    STOPPED = "stopped"  #: The work was ended before all was tried.
    # True, with a warning.
    NEEDS_NODES = "needs-nodes"  #: It holds only with the nodes that an autoscaler adds.
    ONE_DOMAIN = "one-domain"  #: The loss of one domain that a constraint's key names stops it.
    ABOVE_MAX_SKEW = "above-max-skew"  #: The skew of a DoNotSchedule constraint is above maxSkew in the end.
    NOT_RECREATED = "not-recreated"  #: Pods were lost that nothing creates anew.
    # True, with a note.
    FEWER_LEFT = "fewer-left"  #: The fullest domain takes more of its pods with it than before.
    UNEVEN = "uneven"  #: The skew of a ScheduleAnyway constraint is above maxSkew in the end.
    FITS = "fits"  #: All of its pods run.

    @property
    def holds(self) -> bool | None:
        """What a verdict with this cause says: false, undecided or true."""
        return False if self in _FALSE else None if self in _UNDECIDED else True

    @property
    def warns(self) -> bool:
        """Whether it is true and a warning all the same."""
        return self in _WARNINGS


_ORDER: Final = list(Cause)
_FALSE: Final = frozenset(_ORDER[: _ORDER.index(Cause.INTERRUPTED) + 1])
_UNDECIDED: Final = frozenset({Cause.NOT_READ, Cause.NOT_TRIED, Cause.STOPPED})
_WARNINGS: Final = frozenset({Cause.NEEDS_NODES, Cause.ONE_DOMAIN, Cause.ABOVE_MAX_SKEW, Cause.NOT_RECREATED})
#: The causes that may be too much: others say that nothing is wrong, or that nothing is known.
FAILING: Final = tuple(cause for cause in Cause if cause.holds is not None and cause is not Cause.FITS)
#: The position of each cause, the worst first.
RANK: Final[Mapping[Cause, int]] = {cause: position for position, cause in enumerate(Cause)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One statement about a workload, or about the whole."""

    cause: Cause  #: Its cause.
    sentence: str  #: It as a sentence that can be read aloud, of at most 240 characters.
    pods: tuple[str, ...] = ()  #: The first names of the pods that it is about.
    count: Count = 0  #: How many pods it is about.
    #: Why that is so, as a sentence without its end; empty where the first says it.
    why: str = ""
    message: str = ""  #: The words of the scheduler or the API server; empty without any.
    needs: tuple[str, ...] = ()  #: Of an undecided one: the kinds to read, or the limit to raise.

    @property
    @sent
    def value(self) -> bool | None:
        """Whether it holds; null where that is undecided."""
        return self.cause.holds


class Did(StrEnum):
    """What happens in a step: first to a pod, then to a node."""

    BOUND = "bound"
    PENDING = "pending"
    DELETED = "deleted"
    EVICTED = "evicted"
    NOT_EVICTED = "notEvicted"
    NOT_RECREATED = "notRecreated"
    LOST = "lost"
    CORDONED = "cordoned"
    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"


class Step(NamedTuple):
    """One thing that happens, in order."""

    #: The position of the event that it belongs to; null for what happens before the first.
    event: Count | None
    did: Did  #: What happens.
    pod: str | None = None  #: The pod, as namespace/name; null where it is about a node.
    #: The node; of a pod the one that it is bound to, or deleted or evicted from, null for none.
    node: str | None = None
    new: bool | None = None  #: Whether the pod is of the new revision; null where there is no other.
    #: The scheduler's or the Eviction API's message, or the pod that it makes room for.
    why: str | None = None


class ObjectChange(StrEnum):
    """What the events do to a workload itself."""

    NONE = "none"
    ADDED = "added"
    CHANGED = "changed"
    REPLACED = "replaced"
    REMOVED = "removed"
    SCALED = "scaled"
    RESTARTED = "restarted"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintOutcome:
    """What becomes of the domains of a constraint."""

    applied: Annotated[AppliedConstraint, INLINE]  #: The constraint.
    #: The pods that it counts by domain before the events, at most 100 domains; null where it was not in
    #: force then. A domain without an eligible node is missing.
    before: Mapping[str, Count] | None
    after: Mapping[str, Count] | None  #: The same at the end; null where it is not in force then.
    other_domains: Count = 0  #: How many domains these leave out.
    skew_before: Count | None  #: The skew before; null where it was not in force.
    skew: Count | None  #: The skew at the end; null where it is not in force.
    peak: Count  #: The largest skew at any moment.

    @property
    @sent
    def above(self) -> bool:
        """Whether the skew at the end is above maxSkew."""
        return self.skew is not None and self.skew > self.applied.constraint.max_skew


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetOutcome:
    """A PodDisruptionBudget that selects pods of a workload, which may be of several."""

    name: str  #: Its name.
    required: Count  #: How many must be ready.
    before: Count  #: How many are before the events.
    running: Count  #: How many are at the end.
    allowed: Count  #: How many more may be evicted at the end.
    blocks: tuple[str, ...] = ()  #: The pods whose eviction it refuses for good, in order.


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadOutcome:
    """What becomes of a workload.

    Pods count that have a node which is there and are not being deleted.
    """

    #: The workload; of a kind outside of the built-in groups with its group.
    ref: Annotated[WorkloadRef, INLINE]
    change: ObjectChange = ObjectChange.NONE  #: What the events do to it itself.
    #: How many replicas are meant after the events; of a DaemonSet its eligible nodes. Null for a kind
    #: without a number.
    wanted: Count | None
    before: Count  #: How many pods run before the events.
    lowest: Count  #: The fewest at any moment: right after a loss, or of a rollout or a drain.
    after: Count  #: How many run at the end.
    updated: Count | None = None  #: How many of these are of the new revision; null if no template changes.
    on_new_nodes: Count = 0  #: How many of these run on nodes that an autoscaler adds.
    pending_before: Count = 0  #: How many have no node before the events.
    pending: Count = 0  #: How many have none at the end.
    lost: Count = 0  #: How many lose their node to an event.
    evicted: Count = 0  #: How many are evicted: by a drain, or for pods of higher priority.
    not_recreated: Count = 0  #: How many of those nothing creates anew.
    not_tried: Count = 0  #: How many were not scheduled again, though something replaces them.
    #: The budgets of its pods, in the order in which they block a drain.
    budgets: tuple[BudgetOutcome, ...] = ()
    #: The constraints that are in force for its next pod, or were.
    constraints: tuple[ConstraintOutcome, ...] = ()
    #: For each key of its constraints, and for zone and host where nodes have them.
    survival: tuple[Survival, ...] = ()
    #: The next pod under both releases where they differ; null without a release.
    next: WorkloadDiff | None = None
    verdicts: tuple[Verdict, ...]  #: The verdicts, the worst first; one at least.
    #: How it is rolled out or scaled; None where it is not. For what explains and suggests.
    rollout: Annotated[Rollout | None, INTERNAL] = None
    #: Its next pod once it is changed; None where it is not, or is removed.
    prepared: Annotated[PreparedPod | None, INTERNAL] = field(default=None, compare=False)
    #: The names of the pods that it has or had, where it is changed.
    pods: Annotated[frozenset[str], INTERNAL] = field(default=frozenset(), compare=False)
    #: The first of its pods that has no node at the end, its name and request; None where all have one.
    stuck: Annotated[tuple[str, SchedulingRequest] | None, INTERNAL] = field(default=None, compare=False)
    #: The cluster in which the first pod that it gets was created; None where it gets none.
    at_first_new: Annotated[ClusterIndex | None, INTERNAL] = field(default=None, compare=False)
    #: The ways in which that can go; None for the likely one alone.
    branches: Annotated[Branches | None, INTERNAL] = None

    @property
    def verdict(self) -> Verdict:
        """The worst verdict."""
        return self.verdicts[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesOutcome:
    """What becomes of the nodes."""

    before: Count  #: How many there are before the events.
    after: Count  #: How many at the end.
    lost: tuple[str, ...] = ()  #: Those that are gone, or unreachable.
    drained: tuple[str, ...] = ()  #: Those of which every pod that can go is gone.
    #: Those with another cordon, taints or labels, alike ones together.
    changed: tuple[ChangedNodes, ...] = ()
    added: tuple[NewNode, ...] = ()  #: Those that an autoscaler adds.
    created: tuple[str, ...] = ()  #: Those that events add.
    removed: tuple[str, ...] = ()  #: Those that an autoscaler removes.
    cost_per_hour: float | None = None  #: What the added ones cost more than the removed; null if not known.


@dataclass(frozen=True, slots=True, kw_only=True)
class Branches:
    """The ways that were played: what Kubernetes leaves open was chosen otherwise in each."""

    tried: Count  #: How many.
    exact: bool  #: Whether that were all ways.
    worst: Verdict  #: The verdict of the way that ends worst.
    ends_worse: Count  #: How many ways end with a graver verdict than the likely one.
    worst_skews: tuple[Count, ...] = ()  #: The largest skew at the end of any way, for each constraint.


class ScenarioCluster(NamedTuple):
    """The cluster that a scenario is about, as counts."""

    nodes: Count  #: Its nodes.
    pods: Count  #: The pods with a node.
    pending: Count  #: The pods without one.
    unread: tuple[str, ...]  #: The kinds that were not read, as kubectl names them.


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedScenario:
    """What was asked."""

    events: tuple[Event, ...]  #: The events, in order; of an applied object its kind and names alone.
    each: str | None = None  #: The topology key of which each domain is lost after them; null for none.
    #: Whom the verdict is about; null for all that are changed or hit.
    workloads: tuple[WorkloadRef, ...] | None = None
    autoscaler: str | None = None  #: What adds nodes; null for nothing.
    unreachable: bool = False  #: Whether nodes that ``each`` loses stay in the API, tainted.
    allow_missing: Count = 0  #: How many replicas of each workload may be missing after events on nodes.
    cluster: ScenarioCluster  #: The cluster.


@dataclass(frozen=True, slots=True, kw_only=True)
class HelpfulChange:
    """Something that would help, and what applying it says."""

    text: str  #: What to do, as a sentence without its end.
    events: tuple[Event, ...] = ()  #: Events that come before those that were asked.
    then: tuple[Event, ...] = ()  #: Events that come right after the manifest is applied.
    #: Changes of its manifest: of the one that is applied, or of the one in the cluster before anything else.
    edits: tuple[Edit, ...] = ()
    workload: WorkloadRef | None = None  #: The workload that it helps; null for the cluster.
    cost: str = ""  #: What it gives up, or costs.
    caution: bool = False  #: Whether it should be the last resort.
    given_up: tuple[GivenUp, ...] = ()  #: What it weakens or removes of DoNotSchedule constraints.
    verdict: Verdict  #: The verdict on the workload of the same scenario with it.
    after: Count  #: How many pods of the workload run then.
    #: What it changes, for texts of the same process; of an update strategy and of pods nothing.
    kinds: Annotated[tuple[ChangeKind, ...], INTERNAL] = ()
    #: Where the pod by which that outcome is explained could go; None where nothing is known of it.
    placement: Annotated[Placement | None, INTERNAL] = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a scenario.

    Later releases may add fields; within v1 none is renamed or goes away.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)] = SCHEMA  #: The form's name and version.
    kubernetes_version: KubernetesVersion  #: The release that the scheduler behaves as.
    complete: bool  #: Whether everything was played to its end.
    scenario: AskedScenario  #: What was asked.
    verdict: Verdict  #: The worst of the verdicts that count.
    #: The workloads that are changed, hit or asked for, the worst first.
    workloads: tuple[WorkloadOutcome, ...]
    others: Count  #: How many other workloads there are.
    steps: tuple[Step, ...]  #: What happens, in order.
    nodes: NodesOutcome  #: What becomes of the nodes.
    branches: Branches | None = None  #: The ways that were played; null for the likely one alone.
    #: The outcome of the loss of each domain, the worst first; the workloads above are then the worst.
    outcomes: tuple[Outcome, ...] = ()
    #: What would help; null where that was not looked for.
    suggestions: tuple[HelpfulChange, ...] | None = None
    assumed: tuple[str, ...] = ()  #: What was assumed, a sentence each.
    not_modeled: tuple[str, ...] = ()  #: What else a scheduler looks at, as the API names it.
    not_looked_at: tuple[str, ...] = ()  #: What may happen in a real cluster meanwhile.
    final: Annotated[ClusterIndex | None, INTERNAL] = None  #: The cluster at the end.

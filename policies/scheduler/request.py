"""A scheduling request: a pod, the constraints in force for it, and how its scheduler behaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from policies.manifests.wire import Positive
from policies.model.constraint import Constraint, NodeInclusionPolicy, WhenUnsatisfiable
from policies.model.labels import LabelSelector, Operator, Requirement
from policies.model.pod import Pod
from policies.scheduler.profile import DEFAULT_PROFILE, Plugin, Profile
from policies.scheduler.release_changes import Behavior


class ConstraintOrigin(StrEnum):
    """Where a constraint comes from."""

    POD = "pod"
    POLICY = "policy"
    SCHEDULER_LIST = "scheduler-list"
    SCHEDULER_SYSTEM = "scheduler-system"


@dataclass(frozen=True, slots=True, kw_only=True)
class SentConstraint:
    """A constraint in force, as it is sent."""

    origin: ConstraintOrigin  #: Where it comes from.
    topology_key: str  #: The node label whose values are the domains.
    when_unsatisfiable: WhenUnsatisfiable  #: Whether it filters nodes or scores them.
    max_skew: Positive  #: How many more matching pods a domain may have than the global minimum.
    min_domains: Positive  #: With fewer eligible domains than this the global minimum is 0.
    node_affinity_policy: NodeInclusionPolicy  #: Whether nodes outside the pod's node affinity are left out.
    node_taints_policy: NodeInclusionPolicy  #: Whether nodes with untolerated taints are left out.
    selector: str | None  #: As kubectl prints it, narrowed by matchLabelKeys; null selects nothing.
    self_match: bool  #: Whether the pod itself is selected.


class AppliedConstraint(NamedTuple):
    """A constraint as a release of kube-scheduler applies it to one pod."""

    constraint: Constraint  #: With every field that the release ignores at its default.
    origin: ConstraintOrigin  #: Where it comes from.
    selector: LabelSelector | None  #: Which pods it selects, narrowed by ``matchLabelKeys``; None for none.
    self_match: int  #: 1 if the pod itself is selected, else 0.
    #: Whether the release counts every pod for an empty selector; otherwise it takes it for no selector at
    #: all (kubernetes/kubernetes#141339). True of any other selector.
    counts_empty: bool = True

    def wire_form(self) -> SentConstraint:
        """Return the constraint as it is sent."""
        return SentConstraint(
            origin=self.origin,
            topology_key=self.constraint.topology_key,
            when_unsatisfiable=self.constraint.when_unsatisfiable,
            max_skew=self.constraint.max_skew,
            min_domains=self.constraint.min_domains,
            node_affinity_policy=self.constraint.node_affinity_policy,
            node_taints_policy=self.constraint.node_taints_policy,
            selector=None if self.selector is None else str(self.selector),
            self_match=bool(self.self_match),
        )

    @property
    def is_hard(self) -> bool:
        """Whether it filters (DoNotSchedule) instead of scoring (ScheduleAnyway)."""
        return self.constraint.when_unsatisfiable is WhenUnsatisfiable.DO_NOT_SCHEDULE

    @property
    def is_built_in(self) -> bool:
        """Whether it is one of kube-scheduler's own defaults: soft, and so wide that it protects nothing."""
        return self.origin is ConstraintOrigin.SCHEDULER_SYSTEM

    @property
    def counted(self) -> LabelSelector | None:
        """The selector of the pods that count; None where no pod can match."""
        counts = self.selector is not None and (self.counts_empty or not self.selector.empty)
        return self.selector if counts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulingRequest:
    """The pod to place, and all that its placement depends on but the cluster."""

    pod: Pod  #: The incoming pod.
    #: Those in force, in the order that the scheduler looks at them; without those that have no effect since
    #: the profile does not run PodTopologySpread where they would.
    constraints: tuple[AppliedConstraint, ...]
    behavior: Behavior  #: What its release of kube-scheduler does.
    #: Whether a pod is made for each node, as a DaemonSet's are: every node is evaluated as the only one that
    #: the node affinity of its pod matches.
    pinned: bool = False
    profile: Profile = DEFAULT_PROFILE

    def __post_init__(self) -> None:
        spreads = self.profile.spreads
        acting = tuple(
            applied for applied in self.constraints if spreads(applied.constraint.when_unsatisfiable)
        )
        if len(acting) != len(self.constraints):
            object.__setattr__(self, "constraints", acting)

    @property
    def is_gated(self) -> bool:
        """Whether scheduling gates hold the pod back."""
        runs = Plugin.SCHEDULING_GATES in self.profile.filters
        return self.pod.gated and self.behavior.scheduling_gates and runs

    @property
    def narrowed_to(self) -> frozenset[str] | None:
        """The names of the only nodes that are looked at, as the pod's affinity has them; None for all."""
        if not self.profile.narrows_by_name:
            return None
        return self.pod.affinity.node_names(one_conflict_is_enough=not self.behavior.passes_over_conflicts)

    def pinned_to(self, node: str) -> SchedulingRequest:
        """Return the request of the pod that the controller of a DaemonSet makes for one node."""
        pod = self.pod._replace(affinity=self.pod.affinity.pinned_to(node))
        return replace(self, pod=pod, pinned=False)

    @property
    def unmodeled(self) -> tuple[str, ...]:
        """The parts of the pod and of the profile that a scheduler reads and that are not modeled."""
        return self.pod.unmodeled + self.profile.unmodeled

    @property
    def is_upper_bound(self) -> bool:
        """Whether something that is not modeled may reject more nodes."""
        return bool(self.pod.unmodeled) or self.profile.may_reject_more

    @property
    def requires_all_keys(self) -> bool:
        """Whether a node without one of the soft keys is ignored, as it is except by the system defaults.

        Source: ``initPreScoreState``, ``podtopologyspread/scoring.go``, Kubernetes 1.36.
        """
        return not any(applied.origin is ConstraintOrigin.SCHEDULER_SYSTEM for applied in self.constraints)


def in_release(constraint: Constraint, behavior: Behavior) -> Constraint:
    """Return a constraint with every field that a release drops at its default."""
    return constraint.without(behavior.dropped)


def apply_constraint(
    constraint: Constraint, labels: Mapping[str, str], *, origin: ConstraintOrigin, behavior: Behavior
) -> AppliedConstraint:
    """Return a constraint as a release applies it to a pod with such labels.

    ``matchLabelKeys`` adds the pod's own value of each key that it has; without a selector there is nothing
    to narrow. Source: ``filterTopologySpreadConstraints``, ``podtopologyspread/common.go``, Kubernetes 1.36.
    """
    constraint = in_release(constraint, behavior)
    selector = constraint.selector
    if selector is not None:
        selector = _narrowed(selector, constraint.match_label_keys, labels)
    self_match = selector is not None and selector.matches(labels)
    return AppliedConstraint(
        constraint=constraint,
        origin=origin,
        selector=selector,
        self_match=int(self_match),
        counts_empty=behavior.empty_selector_counts or selector is None or not selector.empty,
    )


def _narrowed(selector: LabelSelector, keys: tuple[str, ...], labels: Mapping[str, str]) -> LabelSelector:
    if not keys:
        return selector
    added = [Requirement(key, Operator.IN, (labels[key],)) for key in keys if key in labels]
    # What the API server has merged already is not added twice.
    added = [requirement for requirement in added if requirement not in selector.match_expressions]
    return selector.narrowed(*added) if added else selector

"""The cost of running rules on an object, counted before it is paid: every client waits for the answer.

A rule takes time in proportion to what it reads of the pod, some once for each constraint, some once for
each node. What would take too long is not begun, and why is reported: an object is never let through because
there was no time to look at it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import cached_property
from itertools import chain
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from policies.manifests.fields import MAX_ERRORS, ErrorList, FieldPath, descend, is_cut, member, text_member
from policies.manifests.words import plural
from policies.model.api_rules import ApiRule
from policies.model.cluster_kinds import STATEFUL_SET
from policies.model.held_amounts import pod_requests
from policies.model.node_affinity import comparisons
from policies.model.step_counter import StepCounter, TooManyStepsError
from policies.model.topology import ClusterTopology
from policies.model.validation import MAX_SIZE, size_of
from policies.model.workload import Workload

#: Steps that a whole review may take, the rules and the forecast together. A step is some 0.1 µs on a slow
#: machine, so all take some 40 ms.
MAX_STEPS: Final = 400_000
#: Steps that reading the pod for the rules may take.
MAX_READ_STEPS: Final = 200_000
#: Entries of a pod template that rules read, and those for each constraint once more, up to which they are
#: asked: a few hundred are usual.
MAX_READ: Final = 10_000
MAX_READ_AGAIN: Final = 50_000
#: Steps that an entry costs, an entry for each constraint once more, and a term of pod affinity.
ENTRY_STEPS, AGAIN_STEPS, TERM_STEPS = 5, 1, 300
#: Steps of reading a claim template, by two rules.
CLAIM_STEPS: Final = 600
#: Steps for each node: of a requirement, a constraint, a hard one more, for the room that it leaves is found
#: out, and of a topology key of pod affinity, for the room under one pod a domain, of the first one more.
REQUIREMENT_STEPS, CONSTRAINT_STEPS, HARD_STEPS, KEY_STEPS, FIRST_STEPS = 3, 10, 10, 12, 20
#: Steps for each node of finding out where the pods could go: for hard constraints, and once more for soft.
ACTION_STEPS: Final = 5
#: Steps of comparing a taint with a toleration.
TAINT_STEPS: Final = 6
#: Searches for the room under keys together that are paid with the nodes, and steps of each further one.
FREE_SEARCHES, SEARCH_STEPS = 2, 100_000
#: Entries of a whole template up to which the next pod is evaluated.
MAX_TEMPLATE: Final = 10_000
#: Steps of the forecast for an entry of the template, and for a term of pod affinity besides the nodes.
TEMPLATE_STEPS, FORECAST_TERM_STEPS = 20, 300
#: Nodes, and pods, that whole arrays are compared with in the time of a step.
_NODES_A_STEP = 13
#: How many nodes cost as much as beginning with one part, and pods as much as a node.
_NODES_A_PART, _PODS_A_NODE = 2_000, 4
#: The members of a pod's spec that rules and the forecast read, but for containers and constraints.
_READ = ("affinity", "nodeSelector", "tolerations", "overhead", "resources")
#: The same of a container.
_READ_OF_CONTAINERS = ("resources", "ports")

_T = TypeVar("_T")


class NoTime(Enum):
    """The value in place of a result that there was no time for."""

    NO_TIME = "too little of the request's timeout is left"


class TimeLimit(Protocol):
    """Does some work if it can be done in time."""

    def __call__(self, work: Callable[[], _T], /) -> _T | NoTime:
        """Return the result of the work, or that there is no time for it."""


def unlimited(work: Callable[[], _T], /) -> _T:
    """Return the result of some work, however long it takes."""
    return work()


class ReviewLimits(NamedTuple):
    """The time for what looks at every node, and the day on which an object is reviewed."""

    #: Keeps advice of rules to the time that is left; None to leave those rules out.
    rules: TimeLimit | None = None
    forecast: TimeLimit | None = None  #: The same for the forecast of the next pod; None for no forecast.
    today: date | None = None  #: The day for the expiry of exemptions; None lets every exemption hold.


#: For what is decided without looking at the nodes.
WITHOUT_NODES: Final = ReviewLimits()


@dataclass(frozen=True)
class ReviewCost:
    """A workload and what it would cost to run rules on it."""

    workload: Workload  #: The workload; what is read lazily of it is for rules that may run.
    inventory: ClusterTopology | None  #: What is known of nodes and domains; None if nothing is.
    before: ReviewCost | None = None  #: What is stored now, for an update: rules may have to look at it, too.

    @cached_property
    def of_all(self) -> str:
        """Why no rule at all can run; empty if some can."""
        errors = self.workload.errors
        if any(error.rule == ApiRule.TOO_LARGE_TO_CHECK for error in errors):
            return f"its constraints have more than {MAX_SIZE} entries"
        if errors and is_cut(errors):
            return f"its constraints have more than {MAX_ERRORS} errors of one kind"
        return self._too_much(self.label_entries, "labels")

    @cached_property
    def of_others(self) -> str:
        """Why only the rules can run that look at constraints and labels alone; empty if others can."""
        if why := self._too_much(self.entries, "pod template"):
            return why
        if self.read_steps <= MAX_READ_STEPS:
            return ""
        terms = f"{plural(self._term_count, 'term')} of pod affinity"
        claims = f" and {plural(self._claim_count, 'claim template')}" if self._claim_count else ""
        return f"it has {terms}{claims}, which take too long to read"

    @cached_property
    def of_nodes(self) -> str:
        """Why rules cannot look at nodes; empty if they can."""
        if self.read_steps + self.node_steps <= MAX_STEPS:
            return ""
        return f"its constraints, affinity and tolerations take too long to compare with {self._nodes} nodes"

    def affords_before(self, *, labels_only: bool, on_nodes: bool) -> bool:
        """Return whether a rule can run on what is stored now as well: both cost no more than one may.

        Args:
            labels_only: Whether the rule looks at constraints and labels alone.
            on_nodes: Whether it looks at nodes.
        """
        if self.before is None:
            return False
        both = (self, self.before)
        read = [cost.label_entries if labels_only else cost.entries for cost in both]
        again = sum(count * (1 + cost.constraint_count) for count, cost in zip(read, both, strict=True))
        if sum(read) > MAX_READ or again > MAX_READ_AGAIN:
            return False
        if labels_only:
            return True
        steps = sum(cost.read_steps for cost in both)
        return steps <= MAX_READ_STEPS and (not on_nodes or self._rule_steps <= MAX_STEPS)

    def forecast_steps(self, *, nodes: int, pods: int) -> StepCounter:
        """Return what counts the steps that the object leaves for what the cluster stores.

        Args:
            nodes: How many the cluster has.
            pods: How many there are in the object's namespace.

        Raises:
            TooManyStepsError: The next pod cannot be evaluated; says why.
        """
        if why := self.of_all or self.of_others:
            raise TooManyStepsError(why)
        template = descend(self.workload.obj, self.workload.kind.template)
        if (size := size_of(template, MAX_TEMPLATE)) > MAX_TEMPLATE:
            raise TooManyStepsError(f"its pod template has more than {MAX_TEMPLATE} entries")
        workload = self.workload
        parts = _requirements(workload) + _requests(workload) + _selecting(workload)
        steps = (
            TEMPLATE_STEPS * size + parts * (nodes + pods // _PODS_A_NODE + _NODES_A_PART) // _NODES_A_STEP
        )
        steps += self._term_count * (FORECAST_TERM_STEPS + nodes // _NODES_A_STEP)
        left = MAX_STEPS - self._rule_steps - steps
        if left < 0:
            text = f"its scheduling requirements take too long to compare with {nodes} nodes"
            raise TooManyStepsError(text)
        return StepCounter(left)

    @cached_property
    def _rule_steps(self) -> int:
        """Steps that rules take at most, those with what is stored now included."""
        steps = 0 if self.of_others else self.read_steps + (0 if self.of_nodes else self.node_steps)
        if self.before is None or self.before.of_all:
            return steps
        return steps + self.before._rule_steps  # noqa: SLF001  # of the same class

    @cached_property
    def read_steps(self) -> int:
        """Steps of reading the pod for the rules; of more than ``MAX_READ`` entries not all are counted."""
        return (
            ENTRY_STEPS * self.entries
            + AGAIN_STEPS * self.entries * self.constraint_count
            + TERM_STEPS * self._term_count
            + CLAIM_STEPS * self._claim_count
        )

    @cached_property
    def _term_count(self) -> int:
        """Terms of pod affinity and anti-affinity, readable or not: reading one is what takes long."""
        return sum(len(entries) for entries in _affinity_lists(self.workload))

    @cached_property
    def _claim_count(self) -> int:
        """Entries of its list of claim templates, if it is a StatefulSet."""
        templates = member(self.workload.obj, "spec").get("volumeClaimTemplates")
        is_read = self.workload.kind.kind == STATEFUL_SET[1]
        return len(templates) if is_read and isinstance(templates, list) else 0

    @cached_property
    def label_entries(self) -> int:
        """Entries of the labels of its pods; of more than ``MAX_READ`` not all are counted."""
        return size_of([self.workload.template.labels], MAX_READ)

    @cached_property
    def entries(self) -> int:
        """Entries of its pod template, and of claims, that rules read; of over ``MAX_READ`` not all count."""
        return size_of(_read_by_rules(self.workload), MAX_READ)

    @property
    def constraint_count(self) -> int:
        """Entries of its list of constraints."""
        constraints = self.workload.template.constraints
        return len(constraints) if isinstance(constraints, list) else 0

    @property
    def _nodes(self) -> int:
        return 0 if self.inventory is None else len(self.inventory.nodes or ())

    @cached_property
    def node_steps(self) -> int:
        """Steps of comparing with nodes and their taints."""
        workload = self.workload
        hard = sum(entry.is_hard for entry in workload.constraints)
        keys = frozenset(_topology_keys(workload))
        asked = REQUIREMENT_STEPS * _requirements(workload) + KEY_STEPS * len(keys)
        asked += FIRST_STEPS if keys else 0
        asked += CONSTRAINT_STEPS * len(workload.constraints) + HARD_STEPS * hard
        asked += ACTION_STEPS * (bool(hard) + (hard < len(workload.constraints)))
        # One search for all constraints, and one more with each key of pod affinity that nodes have.
        of_nodes = () if self.inventory is None or not hard else self.inventory.keys
        searches = max(0, 1 + len(keys.intersection(of_nodes)) - FREE_SEARCHES)
        taints = 0 if self.inventory is None else self.inventory.taint_count
        compared = TAINT_STEPS * taints * (1 + len(workload.tolerations))
        return SEARCH_STEPS * searches + self._nodes * asked + compared

    def _too_much(self, read: int, what: str) -> str:
        count = self.constraint_count
        most = min(MAX_READ, MAX_READ_AGAIN // (1 + count))
        if read <= most:
            return ""
        beside = "" if most == MAX_READ else f", too many to look at for each of {count} constraints"
        return f"its {what} {'have' if what == 'labels' else 'has'} more than {most} entries{beside}"


def _requirements(workload: Workload) -> int:
    """Count what is compared with every node for affinity."""
    return len(workload.affinity.node_selector) + comparisons(workload.affinity.terms or ())


def _requests(workload: Workload) -> int:
    """Count the resources that a pod requests."""
    return len(pod_requests(workload.template.spec, FieldPath(), ErrorList()))


def _selecting(workload: Workload) -> int:
    """Count constraints, and what they require of the labels of pods."""
    selectors = [entry.constraint.selector for entry in workload.constraints]
    return len(selectors) + sum(selector.size for selector in selectors if selector)


def _read_by_rules(workload: Workload) -> list[Any]:
    """Return the values that rules read besides constraints; of at most ``MAX_READ`` + 1 containers."""
    spec = workload.template.spec
    read: list[Any] = [workload.template.labels, *[spec.get(name) for name in _READ]]
    if workload.kind.kind == STATEFUL_SET[1]:
        read.append(member(workload.obj, "spec").get("volumeClaimTemplates"))
    for name in ("containers", "initContainers"):
        containers = spec.get(name)
        for container in containers[: MAX_READ + 1] if isinstance(containers, list) else ():
            is_object = isinstance(container, dict)
            read.append([container.get(part) for part in _READ_OF_CONTAINERS] if is_object else container)
    return read


def _affinity_lists(workload: Workload) -> Iterator[list[Any]]:
    """Yield the lists of terms of pod affinity and anti-affinity, without reading a term."""
    affinity = workload.template.spec.get("affinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        lists = affinity.get(kind) if isinstance(affinity, dict) else None
        for entries in lists.values() if isinstance(lists, dict) else ():
            if isinstance(entries, list):
                yield entries


def _topology_keys(workload: Workload) -> Iterator[str]:
    """Yield the topology keys of these terms, without reading one: what is stored now may never be read."""
    for entry in chain.from_iterable(_affinity_lists(workload)):
        held = member(entry, "podAffinityTerm") if isinstance(entry, dict) else {}
        yield text_member(held or entry, "topologyKey")

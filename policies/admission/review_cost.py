"""What it costs to judge an object, counted before it is paid: everybody waits for the answer.

A rule takes time in proportion to what it reads of the pod, some once for each constraint, some once for
each node. What would take too long is not begun, and why is said: an object is never let through because
nobody had the time to look at it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from policies.config.context import AdmissionContext
from policies.config.subject import Subject
from policies.config.workload_loader import workload_of
from policies.manifests.fields import MAX_ERRORS, ErrorList, FieldError, FieldPath, is_cut
from policies.model.api_rules import ApiRule
from policies.model.declared import Workload
from policies.model.json_size import MAX_SIZE, size_of
from policies.model.node_affinity import NodeOperator
from policies.model.pod_affinity import affinity_terms
from policies.model.resources import pod_requests
from policies.model.topology import ClusterTopology
from policies.model.workload import descend
from policies.scheduler.releases import Behavior

#: Entries of a pod template that rules read, and those for each constraint once more, up to which they are
#: asked: a few hundred are usual, and so many take some 10 ms.
MAX_READ: Final = 10_000
MAX_READ_AGAIN: Final = 50_000
#: Comparisons with nodes and their taints up to which rules look at nodes (50 with each of 5,000):
#: so many take some 20 ms, besides 20 ms that such a cluster costs for any pod.
MAX_COMPARISONS: Final = 250_000
#: Comparisons that a constraint costs, and a hard one more, for the room that it leaves is found out; and
#: those of a topology key of pod affinity.
CONSTRAINT_COMPARISONS, HARD_COMPARISONS, TERM_COMPARISONS = 5, 5, 2
#: Entries of a whole template up to which the next pod is judged: it is compared with those of the cluster.
MAX_TEMPLATE: Final = 10_000
#: Nodes, and pods of its namespace, that a verdict on the next pod may look at, once for each part of what it
#: asks for: so many take some 30 ms.
MAX_LOOKS: Final = 4_000_000
#: Values in the list of a requirement that cost as much as another requirement.
VALUES_A_COMPARISON: Final = 16
#: What a requirement costs, in others, that compares numbers.
NUMBER_COMPARISONS: Final = 16
_BY_NUMBER: Final = (NodeOperator.GREATER_THAN, NodeOperator.LESS_THAN)
#: How many nodes cost as much as beginning with one part, and pods as much as a node.
_NODES_A_PART, _PODS_A_NODE = 2_000, 4
#: The members of a pod's spec that rules and the forecast read, but for containers and constraints.
_READ = ("affinity", "nodeSelector", "tolerations", "overhead", "resources")
#: The same of a container.
_READ_OF_CONTAINERS = ("resources", "ports")

_T = TypeVar("_T")


class NoTime(Enum):
    """What stands for a result that there was no time for."""

    NO_TIME = "too little of the request's timeout is left"


class Within(Protocol):
    """Does some work if it can be done in time."""

    def __call__(self, work: Callable[[], _T], /) -> _T | NoTime:
        """Return what the work returns, or that there is no time for it."""


class NotJudged(NamedTuple):
    """What was not asked of an object.

    Attributes:
        rules: The ids of the rules.
        why: What keeps them from being asked.
    """

    rules: tuple[str, ...]
    why: str

    def __str__(self) -> str:
        return f"{', '.join(self.rules)}: {self.why}"


def by_reason(entries: Iterable[NotJudged]) -> tuple[NotJudged, ...]:
    """Return one entry for each reason."""
    rules: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        rules[entry.why] = (*rules.get(entry.why, ()), *entry.rules)
    return tuple(NotJudged(named, why) for why, named in rules.items())


@dataclass(frozen=True)
class Costs:
    """An object and what it would cost to judge it.

    Attributes:
        subject: The object.
        errors: What is wrong with its constraints.
        inventory: What is known of nodes and domains; None if nothing is.
        behavior: What the release of Kubernetes does.
    """

    subject: Subject
    errors: tuple[FieldError, ...]
    inventory: ClusterTopology | None
    behavior: Behavior

    @cached_property
    def workload(self) -> Workload:
        """The object as rules look at it; for who may ask them."""
        return workload_of(self.subject, errors=self.errors, behavior=self.behavior)

    @cached_property
    def of_all(self) -> str:
        """Why no rule at all can be asked; empty if some can."""
        if any(error.rule == ApiRule.TOO_LARGE_TO_CHECK for error in self.errors):
            return f"its constraints have more than {MAX_SIZE} entries"
        if is_cut(self.errors):
            return f"its constraints have more than {MAX_ERRORS} errors of one kind"
        return self._too_much([self.subject.pod.labels], "labels")

    @cached_property
    def of_others(self) -> str:
        """Why only the rules can be asked that look at constraints and labels alone; empty if others can."""
        return self._too_much(list(_read_by_rules(self.subject)), "pod template")

    @cached_property
    def of_nodes(self) -> str:
        """Why rules cannot look at nodes; empty if they can."""
        nodes = () if self.inventory is None else self.inventory.nodes or ()
        taints = 0 if self.inventory is None else self.inventory.taint_count
        workload = self.workload
        hard = sum(entry.is_hard for entry in workload.constraints)
        keys = {term.topology_key for term in affinity_terms(workload)}
        asked = _requirements(workload) + TERM_COMPARISONS * len(keys)
        asked += CONSTRAINT_COMPARISONS * len(workload.constraints) + HARD_COMPARISONS * hard
        comparisons = len(nodes) * asked + taints * len(workload.tolerations)
        if comparisons <= MAX_COMPARISONS:
            return ""
        return f"its constraints, affinity and tolerations take too long to compare with {len(nodes)} nodes"

    def of_forecast(self, *, nodes: int, pods: int) -> str:
        """Return why the next pod cannot be judged; empty if it can.

        Args:
            nodes: How many the cluster has.
            pods: How many there are in the object's namespace.
        """
        if why := self.of_all or self.of_others:
            return why
        template = descend(self.subject.obj, self.subject.kind.template, ErrorList())
        if size_of(template, MAX_TEMPLATE) > MAX_TEMPLATE:
            return f"its pod template has more than {MAX_TEMPLATE} entries"
        workload = self.workload
        parts = _requirements(workload) + _requests(workload) + _selecting(workload)
        if parts * (nodes + pods // _PODS_A_NODE + _NODES_A_PART) <= MAX_LOOKS:
            return ""
        return f"its scheduling requirements take too long to compare with {nodes} nodes"

    def _too_much(self, read: list[Any], what: str) -> str:
        constraints = self.subject.pod.constraints
        count = len(constraints) if isinstance(constraints, list) else 0
        most = min(MAX_READ, MAX_READ_AGAIN // (1 + count))
        if size_of(read, most) <= most:
            return ""
        beside = "" if most == MAX_READ else f", too many to look at for each of {count} constraints"
        return f"its {what} {'have' if what == 'labels' else 'has'} more than {most} entries{beside}"


def costs_of(
    subject: Subject, context: AdmissionContext, errors: Iterable[FieldError] | None = None
) -> Costs:
    """Return an object with what it costs to judge it.

    Args:
        subject: The object.
        context: What it is judged by.
        errors: What was found in reading it; None to look.
    """
    if errors is None:
        errors = subject.errors(subject.merge_state(subject), strict=context.strict)
    inventory = context.known_cluster.rule_context(context).inventory
    return Costs(subject, tuple(errors), inventory, context.behavior)


def _requirements(workload: Workload) -> int:
    """Count what is compared with every node for affinity."""
    terms = workload.affinity.terms or ()
    requirements = [entry for term in terms for entry in (*term.expressions, *term.fields)]
    values = sum(len(entry.values) // VALUES_A_COMPARISON for entry in requirements)
    # Of each value of a label it is found out which number it is.
    numbers = sum(NUMBER_COMPARISONS for entry in requirements if entry.operator in _BY_NUMBER)
    return len(workload.affinity.node_selector) + len(terms) + len(requirements) + values + numbers


def _requests(workload: Workload) -> int:
    """Count the resources that a pod asks for."""
    return len(pod_requests(workload.spec, FieldPath(), ErrorList()))


def _selecting(workload: Workload) -> int:
    """Count constraints, and what they ask of the labels of pods."""
    selectors = [entry.constraint.selector for entry in workload.constraints]
    expressions = [one for selector in selectors if selector for one in selector.match_expressions]
    values = sum(len(entry.values) // VALUES_A_COMPARISON for entry in expressions)
    pairs = sum(len(selector.match_labels) for selector in selectors if selector)
    return len(selectors) + pairs + len(expressions) + values


def _read_by_rules(subject: Subject) -> Iterator[Any]:
    """Yield what rules read of a pod besides its constraints; not more of containers than is weighed."""
    spec = descend(subject.obj, (*subject.kind.template, "spec"), ErrorList())
    yield subject.pod.labels
    yield from (spec.get(name) for name in _READ)
    for member in ("containers", "initContainers"):
        containers = spec.get(member)
        for container in containers[: MAX_READ + 1] if isinstance(containers, list) else ():
            is_object = isinstance(container, dict)
            yield [container.get(name) for name in _READ_OF_CONTAINERS] if is_object else container

"""Why nodes are rejected: those rejected for the same reasons as one group, with the operands.

And the messages of kube-scheduler for a pod that fits nowhere: its FitError, and the pod's condition. Which
pods preemption would evict is not modeled in these: the condition is that of a pod that may evict none.
Source: ``FitError.Error``, ``pkg/scheduler/framework/types.go``, ``findNodesThatFitPod``,
``pkg/scheduler/schedule_one.go``, and ``Preempt``, ``pkg/scheduler/framework/preemption/preemption.go``,
Kubernetes 1.36.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import numpy as np
from numpy.typing import NDArray

from policies.manifests.wire import INTERNAL, Count, SentAs, sent
from policies.model.node_affinity import NodeSelectorTerm
from policies.model.taints import Taint
from policies.scheduler.node_table import MISSING, PODS
from policies.scheduler.node_view import NodeView
from policies.scheduler.plugins.nodeaffinity import CONFLICT, LEFT_OUT, gone_node, not_found
from policies.scheduler.plugins.nodes import GATED
from policies.scheduler.plugins.volumebinding import reaching
from policies.scheduler.plugins.volumezone import in_zones
from policies.scheduler.profile import DEFAULT_PREEMPTION, DYNAMIC_RESOURCES, Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Code, FilterResult, Rejections, SchedulingResult

#: Nodes of a group that are named: as many as fit a line.
EXAMPLES: Final = 3
#: Names every node of a group: more than any cluster has.
EVERY_NODE: Final = 10**9
#: A cluster without nodes: ``ErrNoNodesAvailable``.
NO_NODES = "no nodes available to schedule pods"
#: The message of DynamicResources' PostFilter where there are no claims.
NO_CLAIMS = "no new claims to deallocate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """A resource that all nodes of a group lack."""

    resource: str  #: Its name; ``pods`` counts them.
    requested: Count  #: What the pod takes: thousandths of cpu, units of anything else.
    #: What is left where least is; below zero on an overcommitted node.
    least: Annotated[int, SentAs("leastLeft")]
    most: Annotated[int, SentAs("mostLeft")]  #: What is left where most is.


@dataclass(frozen=True, slots=True, kw_only=True)
class SkewViolation:
    """A hard constraint that no node of a group satisfies."""

    constraint: Count  #: Its position among those in force.
    #: Whether the nodes lack the topology key; what follows is 0 then.
    lacks_key: Annotated[bool, SentAs("missingKey")]
    domain: str | None = None  #: Their domain, if it is one and the same.
    domains: Count = 0  #: How many domains they are in.
    matching: Annotated[int, INTERNAL] = 0  #: Matching pods in the domain where fewest are.
    least: Annotated[int, INTERNAL] = 0  #: The smallest skew, which that domain would have.
    most: Annotated[int, INTERNAL] = 0  #: The largest.

    @property
    @sent
    def fewest_matching(self) -> Annotated[Count | None, SentAs("matching")]:
        """Matching pods in the domain where fewest are; None without a domain."""
        return None if self.lacks_key else self.matching

    @property
    @sent
    def least_skew(self) -> int | None:
        """The smallest skew with the pod; None without a domain."""
        return None if self.lacks_key else self.least

    @property
    @sent
    def most_skew(self) -> int | None:
        """The largest skew with the pod; None without a domain."""
        return None if self.lacks_key else self.most


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreachedVolume:
    """A volume that a node of a group does not reach."""

    claim: str  #: The claim that it is bound to.
    volume: str  #: Its name.
    reached_from: str  #: Which nodes reach it, as requirements of their labels.


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """Why one plugin rejects a group of nodes."""

    plugin: Plugin  #: The plugin.
    texts: Annotated[tuple[str, ...], SentAs("reasons")]  #: Its reasons, in the scheduler's words.
    code: Code  #: Whether evicting pods could help.
    taint: Taint | None = None  #: The first one that is not tolerated, of TaintToleration.
    shortages: tuple[Shortage, ...] = ()  #: What is lacking, of NodeResourcesFit.
    #: Every constraint that is not satisfied, of PodTopologySpread.
    violations: tuple[SkewViolation, ...] = ()
    #: Every volume that is not reached, of VolumeBinding and VolumeZone.
    volumes: tuple[UnreachedVolume, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedNodes:
    """Nodes that are rejected for the same reasons."""

    count: Annotated[Count, SentAs("nodes")]  #: How many nodes.
    examples: tuple[str, ...]  #: The first of their names.
    rejections: tuple[Rejection, ...]  #: Of every plugin that rejects them, in the order of the profile.


def rejected_nodes(
    result: SchedulingResult, view: NodeView, *, examples: int = EXAMPLES
) -> Iterator[RejectedNodes]:
    """Yield the nodes that are rejected, the largest group first.

    Args:
        result: The result.
        view: The nodes that were evaluated.
        examples: How many nodes of a group are named.
    """
    rejected = np.flatnonzero(~result.feasible)
    hard = [(at, spread) for at, spread in enumerate(result.results) if isinstance(spread, FilterResult)]
    columns = [each.of_node for each in result.rejections]
    columns += [_outcome(spread) for _, spread in hard]
    columns.append(_number_taints(view))
    for group in group_equal([column[rejected] for column in columns]):
        nodes = rejected[group]
        yield RejectedNodes(
            rejections=tuple(_rejections(result, view, hard, nodes)),
            count=len(nodes),
            examples=tuple(result.names[node] for node in nodes[:examples].tolist()),
        )


def group_equal(columns: list[NDArray[Any]]) -> list[NDArray[np.intp]]:
    """Return the positions that are equal in every column, the largest group first.

    Args:
        columns: Integers, all of one shape ``(k,)``.

    >>> [group.tolist() for group in group_equal([np.array([0, 1, 1]), np.array([0, 7, 7])])]
    [[1, 2], [0]]
    """
    numbers = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        ranks = np.unique(column, return_inverse=True)[1]
        # Ranks stay below the number of positions, so that each pair of them has a number of its own.
        numbers = np.unique(numbers * len(numbers) + ranks, return_inverse=True)[1]
    order = np.argsort(numbers, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1) if len(order) else []
    return sorted(groups, key=lambda group: (-len(group), int(group[0])))


def _outcome(result: FilterResult) -> NDArray[np.int64]:
    """Return 0 where a constraint is satisfied, 1 where the skew is too large, 2 without the label."""
    return np.where(result.domains.of_node == MISSING, 2, ~result.satisfied)


def _number_taints(view: NodeView) -> NDArray[np.int64]:
    """Return the same number for nodes whose first untolerated taint is the same, shape ``(n,)``."""
    numbers: dict[Taint | None, int] = {}
    ranks = [numbers.setdefault(taint, len(numbers)) for taint in view.first_untolerated]
    return np.array(ranks, np.int64)[view.taint_numbers]


def _rejections(
    result: SchedulingResult, view: NodeView, hard: list[tuple[int, FilterResult]], nodes: NDArray[np.intp]
) -> Iterator[Rejection]:
    first = int(nodes[0])
    for rejected in result.rejections:
        if not (number := int(rejected.of_node[first])):
            continue
        reason, plugin = rejected.reasons[number - 1], rejected.plugin
        rejection = Rejection(plugin=plugin, texts=reason.texts, code=reason.code)
        match plugin:
            case Plugin.TAINT_TOLERATION:
                taint = view.first_untolerated[int(view.taint_numbers[first])]
                yield replace(rejection, taint=taint)
            case Plugin.NODE_RESOURCES_FIT:
                yield replace(rejection, shortages=tuple(_shortages(result, view, nodes)))
            case Plugin.POD_TOPOLOGY_SPREAD:
                unsatisfied = [(at, spread) for at, spread in hard if _outcome(spread)[first]]
                violations = tuple(_violation(at, spread, nodes) for at, spread in unsatisfied)
                yield replace(rejection, violations=violations)
            case Plugin.VOLUME_BINDING | Plugin.VOLUME_ZONE:
                yield replace(rejection, volumes=tuple(_unreached(view, plugin, nodes)))
            case _:
                yield rejection


def _unreached(view: NodeView, plugin: Plugin, nodes: NDArray[np.intp]) -> Iterator[UnreachedVolume]:
    for claim in view.claims.bound if view.knows_claims else ():
        volume = view.index.storage.volumes.get(claim.volume)
        if volume is None:
            continue
        by_zone = plugin is Plugin.VOLUME_ZONE
        reached = in_zones(view, volume) if by_zone else reaching(view, volume)
        if not reached[nodes].all():
            requirements = zone_text(volume.site.zones) if by_zone else terms_text(volume.site.terms or ())
            yield UnreachedVolume(claim=claim.name, volume=volume.name, reached_from=requirements)


def terms_text(terms: Iterable[NodeSelectorTerm]) -> str:
    """Return terms of node affinity as kubectl writes selectors, the alternatives with ``or`` between them.

    >>> from policies.model.node_affinity import NodeOperator, NodeRequirement
    >>> terms_text([NodeSelectorTerm((NodeRequirement("zone", NodeOperator.IN, ("a", "b")),))])
    'zone in (a,b)'
    """
    return " or ".join(
        ",".join(
            f"{entry.key} {entry.operator.lower()} ({','.join(entry.values)})"
            if entry.values
            else f"{entry.key} {entry.operator.lower()}"
            for entry in (*term.expressions, *term.fields)
        )
        for term in terms
    )


def zone_text(zones: Iterable[tuple[str, frozenset[str]]]) -> str:
    """Return the zones and regions of a volume in the same form."""
    return ",".join(f"{key} in ({','.join(sorted(values))})" for key, values in zones)


def _shortages(result: SchedulingResult, view: NodeView, nodes: NDArray[np.intp]) -> Iterator[Shortage]:
    for resource, requested in ((PODS, 1), *result.request.pod.requests):
        allocatable, used = view.resource(resource)
        left = (allocatable - used)[nodes]
        if (left < requested).all():
            yield Shortage(
                resource=resource, requested=requested, least=int(left.min()), most=int(left.max())
            )


def _violation(at: int, result: FilterResult, nodes: NDArray[np.intp]) -> SkewViolation:
    domains = result.domains
    of_node = domains.of_node[nodes]
    if of_node[0] == MISSING:
        return SkewViolation(constraint=at, lacks_key=True)
    # Alone, np.unique would import masked arrays.
    skew, distinct = result.skew[nodes], list(set(of_node.tolist()))
    return SkewViolation(
        constraint=at,
        lacks_key=False,
        domain=domains.values[int(of_node[0])] if len(distinct) == 1 else None,
        domains=len(distinct),
        matching=int(domains.matching[distinct].min()),
        least=int(skew.min()),
        most=int(skew.max()),
    )


def fit_error(
    request: SchedulingRequest,
    view: NodeView,
    rejections: Iterable[Rejections],
    stopped: Rejections | None = None,
) -> str:
    """Return the FitError of a pod that every node rejects.

    Each node counts under every reason of the first plugin that rejects it; the parts are sorted as strings.

    Args:
        request: The pod.
        view: The nodes.
        rejections: What every plugin rejects, in the order of the profile.
        stopped: What rejects all nodes before any filter runs, if that is so.
    """
    if request.is_gated:
        return GATED.texts[0]
    names = view.names
    if not names:
        return NO_NODES
    gone = gone_node(view, request)
    if gone is not None:
        return not_found(gone)
    named = request.narrowed_to
    early = CONFLICT if named is not None and not named else stopped.reasons[0] if stopped else None
    if early is not None:
        count = "" if request.behavior.says_prefilter_reason_once else f"{len(names)} "
        return f"0/{len(names)} nodes are available: {count}{early}."
    filtered = np.ones(len(names), np.bool_) if named is None else view.named(named)
    counted = count_reasons(rejections, filtered)
    left_out = len(names) - int(np.count_nonzero(filtered))
    if left_out and request.behavior.counts_left_out_nodes:
        counted[str(LEFT_OUT)] += left_out
    parts = sorted(f"{count} {text}" for text, count in counted.items())
    return f"0/{len(names)} nodes are available: {', '.join(parts)}."


def condition_of(request: SchedulingRequest, message: str, preemption: str, *, stopped: bool) -> str:
    """Return the message of the pod's PodScheduled condition: the FitError, and what PostFilter adds.

    Args:
        request: The pod.
        message: The FitError.
        preemption: The message of preemption; empty where it nominates a node.
        stopped: Whether a PreFilter has rejected the pod.
    """
    plugins = request.profile.post_filters
    if not plugins:
        return message
    if stopped and DYNAMIC_RESOURCES in plugins:
        # DynamicResources' PostFilter misses what its PreFilter had no chance to write.
        return f"{message} not found"
    if DEFAULT_PREEMPTION in plugins and not preemption:
        return message
    said = {DYNAMIC_RESOURCES: NO_CLAIMS, DEFAULT_PREEMPTION: f"preemption: {preemption}"}
    return f"{message} {', '.join(said[plugin] for plugin in plugins)}"


def count_reasons(rejections: Iterable[Rejections], filtered: NDArray[np.bool_]) -> Counter[str]:
    """Count the reasons of the first plugin that rejects each of some nodes.

    Args:
        rejections: What every plugin rejects, in the order of the profile.
        filtered: The nodes, shape ``(n,)``.
    """
    counted: Counter[str] = Counter()
    for rejected in rejections:
        numbers = np.bincount(rejected.of_node[filtered], minlength=len(rejected.reasons) + 1)
        for reason, count in zip(rejected.reasons, numbers[1:].tolist(), strict=True):
            for text in reason.texts if count else ():
                counted[text] += count
        filtered = filtered & (rejected.of_node == 0)
    return counted

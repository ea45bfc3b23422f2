"""NodeResourcesFit and NodeResourcesBalancedAllocation: what the pod requests, and what is left of a node.

Source: ``noderesources/{fit,resource_allocation,least_allocated,most_allocated,requested_to_capacity_ratio,
balanced_allocation}.go`` and ``helper/shape_score.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from policies.model.resources import ASSUMED_NAMES, is_compared
from policies.scheduler.node_table import PODS
from policies.scheduler.node_view import NodeView
from policies.scheduler.profile import FitArgs, Plugin, StrategyType
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.resource_view import ResourceView
from policies.scheduler.result import MAX_SCORE, Code, NodeScores, Reason, Rejections, round_half_away

TOO_MANY_PODS: Final = "Too many pods"
#: The resources that are compared first, in this order; the others follow by name.
FIRST_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")


#: The highest score of a point of a shape: ``MaxCustomPriorityScore``.
MOST_POINTS: Final = 10
#: Of this many shares, half their difference is the standard deviation.
PAIR: Final = 2

#: An amount, or a score, for each node; shape ``(n,)``.
Amounts = NDArray[np.int64]


class _Wanted(NamedTuple):
    """A resource that a strategy scores: its name, the one its usage is read from, the amount, the weight."""

    name: str
    used_as: str
    amount: int
    weight: int


def filter_nodes(view: NodeView, request: SchedulingRequest) -> Rejections:
    """Return the nodes with less left of a resource than the pod requests: ``fitsRequest``."""
    compared = view.of_request("compared", request, lambda: compared_requests(request))
    key = ("lacking", *compared.items())
    lacking = view.by_resources(key, lambda nodes: _lacking(nodes, compared))
    if not lacking.any():
        # Most nodes have enough of everything.
        return Rejections(Plugin.NODE_RESOURCES_FIT, (), np.zeros(len(view.slots), np.intp))
    too_small = np.zeros(len(view.slots), np.bool_)
    if request.behavior.oversized_requests_are_unresolvable:
        for name, amount in compared.items():
            too_small |= amount > view.resource(name)[0]
    texts = [TOO_MANY_PODS, *map(insufficient, compared)]
    return fit_rejections(texts, list(lacking), too_small)


def lacking_any(view: NodeView, request: SchedulingRequest) -> NDArray[np.bool_]:
    """Return the nodes that ``filter_nodes`` rejects, shape ``(n,)``, without reasons."""
    lacking: NDArray[np.bool_] = np.logical_or.reduce(_lacking(view, compared_requests(request)))
    return lacking


def score_by_fit(view: NodeView, request: SchedulingRequest, _feasible: NDArray[np.bool_]) -> NodeScores:
    """Average what the strategy gives each resource with the pod, by the resources' weights."""
    fit, wanted = request.profile.fit, _wanted(request)
    key = ("fit", fit.strategy, fit.shape, *wanted)
    scores = view.by_resources(key, lambda nodes: _fit_scores(nodes, fit, wanted))
    return NodeScores(scores, scores)


def insufficient(name: str) -> str:
    """Return the reason of a node with too little of a resource."""
    return f"Insufficient {name}"


def compared_requests(request: SchedulingRequest) -> dict[str, int]:
    """Return the requests that are compared with what nodes have left, in the order of the comparison."""
    behavior, requests = request.behavior, dict(request.pod.requests)
    ignores, asked_zero = request.profile.fit.ignores, request.pod.asked_zero
    compared = {name: requests.get(name, 0) for name in FIRST_RESOURCES} if requests or asked_zero else {}
    if behavior.zero_requests_fit:
        compared = {name: amount for name, amount in compared.items() if amount}
    if not behavior.zero_extended_requests_fit:
        requests |= dict.fromkeys(asked_zero, 0)
    others = (name for name in sorted(requests.keys() - compared.keys()) if not ignores(name))
    return compared | {name: requests[name] for name in others}


def _lacking(view: ResourceView, compared: Mapping[str, int]) -> NDArray[np.bool_]:
    """Return where no pod more fits, and where each resource lacks; shape ``(1 + resources, n)``."""
    lacking = np.empty((1 + len(compared), len(view.slots)), np.bool_)
    for row, (name, amount) in enumerate([(PODS, 1), *compared.items()]):
        allocatable, used = view.resource(name)
        np.greater(amount, allocatable - used, out=lacking[row])
    return lacking


def _fit_scores(view: ResourceView, fit: FitArgs, wanted: Sequence[_Wanted]) -> Amounts:
    score_of, counts_zero = _strategy(fit)
    of_nodes = [_amounts(view, each.name, each.used_as, each.amount) for each in wanted]
    allocatable, used = _stacked(view, of_nodes)
    present = allocatable != 0
    scores = score_of(used + _column([each.amount for each in wanted]), np.where(present, allocatable, 1))
    weighing = _column([each.weight for each in wanted]) * (
        present if counts_zero else present & (scores > 0)
    )
    total, weights = (weighing * scores).sum(axis=0), np.maximum(weighing.sum(axis=0), 1)
    return total // weights if counts_zero else round_half_away(total / weights)


def _wanted(request: SchedulingRequest) -> list[_Wanted]:
    """Return the resources that the strategy scores."""
    wanted = []
    for name, weight in request.profile.fit.resources:
        used_as = ASSUMED_NAMES.get(name, name)
        requests = request.pod.assumed if name in ASSUMED_NAMES else request.pod.requests
        amount = dict(requests).get(used_as, 0) - _uncounted(name, request)
        wanted.append(_Wanted(name, used_as, amount, weight))
    return wanted


def score_by_balance(
    view: NodeView, request: SchedulingRequest, _feasible: NDArray[np.bool_]
) -> NodeScores | None:
    """Return 75 and half of how much more even it is with the pod; None for a pod that requests nothing.

    Before 1.36, how even it is with the pod.
    """
    amounts = _balanced(request)
    if amounts is None:
        return None
    gain = request.behavior.scores_balance_gain
    key = ("balance", gain, *amounts.items())
    scores = view.by_resources(key, lambda nodes: _balance(nodes, amounts, gain=gain))
    return NodeScores(scores, scores)


def _balanced(request: SchedulingRequest) -> dict[str, int] | None:
    """Return the amounts whose balance is scored; None where the plugin skips."""
    requests = dict(request.pod.requests)
    names = request.profile.balanced_resources
    amounts = {name: requests.get(name, 0) - _uncounted(name, request) for name in names}
    return None if request.behavior.skips_empty_balance and not any(amounts.values()) else amounts


def _balance(view: ResourceView, amounts: Mapping[str, int], *, gain: bool) -> Amounts:
    """Return how even it is with the pod; or 75 and half of how much more even."""
    of_nodes = _stacked(view, [_amounts(view, name, name, amount) for name, amount in amounts.items()])
    scores = _evenness(*of_nodes, list(amounts.values()))
    half = MAX_SCORE // 2
    return half + (half + scores - _evenness(*of_nodes, [0] * len(amounts))) // 2 if gain else scores


class ResourceVerdict:
    """Verdicts of both plugins on the nodes for one request, without reasons."""

    def __init__(self, request: SchedulingRequest) -> None:
        profile = request.profile
        self._fit, self._gain = profile.fit, request.behavior.scores_balance_gain
        self._weight = profile.weight(Plugin.NODE_RESOURCES_FIT)
        self._balance_weight = profile.weight(Plugin.NODE_RESOURCES_BALANCED_ALLOCATION)
        filters = Plugin.NODE_RESOURCES_FIT in profile.filters
        self._compared = compared_requests(request) if filters else None
        self._wanted = _wanted(request) if self._weight else []
        self._amounts = _balanced(request) if self._balance_weight else None
        compared = None if self._compared is None else tuple(self._compared.items())
        amounts = None if self._amounts is None else tuple(self._amounts.items())
        weights = self._weight, self._balance_weight
        strategy = self._fit.strategy, self._fit.shape
        self._key = ("resources", compared, *strategy, *self._wanted, amounts, self._gain, *weights)

    def find(self, view: NodeView) -> Amounts:
        """Return 1 where a node is rejected and the weighted sum of its scores, shape ``(2, n)``.

        Both are valid until a pod comes or goes.
        """
        return view.by_resources(self._key, self._compute, lasts=False)

    def _compute(self, nodes: ResourceView) -> Amounts:
        found = np.zeros((2, len(nodes.slots)), np.int64)
        if self._compared is not None:
            found[0] = np.logical_or.reduce(_lacking(nodes, self._compared))
        if self._weight:
            found[1] += _fit_scores(nodes, self._fit, self._wanted) * self._weight
        if self._amounts is not None:
            found[1] += _balance(nodes, self._amounts, gain=self._gain) * self._balance_weight
        return found


def _uncounted(name: str, request: SchedulingRequest) -> int:
    """Return the part of the pod's overhead that is left out where nodes are scored.

    Source: ``calculatePodResourceRequest``, ``noderesources/resource_allocation.go``, Kubernetes 1.26.
    """
    return request.pod.cpu_overhead if name == "cpu" and not request.behavior.scores_cpu_overhead else 0


def _strategy(fit: FitArgs) -> tuple[Callable[[Amounts, Amounts], Amounts], bool]:
    """Return the function that scores requested against allocatable amounts, and whether 0 counts."""
    match fit.strategy:
        case StrategyType.LEAST_ALLOCATED:
            return _least_allocated, True
        case StrategyType.MOST_ALLOCATED:
            return _most_allocated, True
    scores: Amounts = np.array([_score_at(fit.shape, percent) for percent in range(MAX_SCORE + 1)], np.int64)

    def by_ratio(requested: Amounts, allocatable: Amounts) -> Amounts:
        return np.take(scores, _most_allocated(requested, allocatable))

    return by_ratio, False


def _least_allocated(requested: Amounts, allocatable: Amounts) -> Amounts:
    free: Amounts = np.maximum(allocatable - requested, 0)
    return free * MAX_SCORE // allocatable


def _most_allocated(requested: Amounts, allocatable: Amounts) -> Amounts:
    taken: Amounts = np.minimum(requested, allocatable)
    return taken * MAX_SCORE // allocatable


def _score_at(shape: tuple[tuple[int, int], ...], percent: int) -> int:
    """Return the score of a utilization, linear between the points of a shape and constant beyond them.

    >>> [_score_at(((0, 0), (50, 10)), percent) for percent in (0, 10, 25, 100)]
    [0, 20, 50, 100]
    """
    points = [(utilization, MAX_SCORE // MOST_POINTS * score) for utilization, score in shape]
    for (left, low), (right, high) in pairwise([points[0], *points]):
        if percent <= right:
            # Go divides towards zero, also where the line falls.
            rise = abs(high - low) * (percent - left) // max(right - left, 1) if percent > left else 0
            return low + rise if high > low else low - rise
    return points[-1][1]


def _amounts(view: ResourceView, name: str, used_as: str, amount: int) -> tuple[Amounts, Amounts]:
    """Return the allocatable and the used amounts of a resource, shape ``(n,)``; 0 where it is not compared.

    A resource beyond those of ``FIRST_RESOURCES`` is compared only if the pod requests it.
    """
    if name not in FIRST_RESOURCES and not (amount and is_compared(name)):
        nothing = np.zeros(len(view.slots), np.int64)
        return nothing, nothing
    allocatable, used = view.resource(name)
    return allocatable, used if used_as == name else view.resource(used_as)[1]


def _stacked(view: ResourceView, amounts: list[tuple[Amounts, Amounts]]) -> tuple[Amounts, Amounts]:
    """Return the allocatable amounts of resources and the used ones, both of shape ``(resources, n)``."""
    both = np.array(amounts, np.int64).reshape(len(amounts), 2, len(view.slots))
    return both[:, 0], both[:, 1]


def _column(amounts: list[int]) -> Amounts:
    """Return an amount for each resource, shape ``(resources, 1)``."""
    return np.array(amounts, np.int64).reshape(-1, 1)


def _evenness(allocatable: Amounts, used: Amounts, more: list[int]) -> Amounts:
    """Return 100 less the standard deviation of the used shares of resources, in percent.

    Args:
        allocatable: What nodes have of each resource, shape ``(resources, n)``.
        used: What of it is used, of the same shape.
        more: What is used besides.
    """
    present = allocatable != 0
    shares = np.minimum((used + _column(more)) / np.where(present, allocatable, 1), 1.0)
    return ((1 - _deviation(shares, present)) * float(MAX_SCORE)).astype(np.int64)


def _deviation(shares: NDArray[np.float64], present: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the standard deviation of the shares that each node has; 0 of fewer than two."""
    two = PAIR
    if len(shares) == two:
        return np.where(present[0] & present[1], np.abs((shares[0] - shares[1]) / two), 0.0)
    size, none = len(present[0]), np.zeros(len(present[0]))
    pairs = [(np.where(each, share, 0.0), each) for share, each in zip(shares, present, strict=True)]
    count = sum((each.astype(np.int64) for each in present), np.zeros(size, np.int64))
    some = np.maximum(count, 1)
    # In the order of the resources, as the scheduler adds them up.
    mean = sum((share for share, _ in pairs), none) / some
    squares = sum((np.where(each, (share - mean) * (share - mean), 0.0) for share, each in pairs), none)
    highest = reduce(np.maximum, (share for share, _ in pairs), none)
    lowest = reduce(np.minimum, (np.where(each, share, 1.0) for share, each in pairs), none + 1)
    # Of two, the scheduler takes half of what they differ by, which rounds otherwise.
    deviation = np.where(count == two, (highest - lowest) / two, np.sqrt(squares / some))
    return np.where(count < two, 0.0, deviation)


def fit_rejections(
    texts: list[str], insufficient: list[NDArray[np.bool_]], too_small: NDArray[np.bool_]
) -> Rejections:
    """Return a reason for each combination of insufficient resources.

    Args:
        texts: The reason for each resource.
        insufficient: Where there is too little of it, each of shape ``(n,)``.
        too_small: Where even an empty node has too little, shape ``(n,)``.
    """
    of_node = np.zeros(len(too_small), np.intp)
    rejected = np.flatnonzero(np.logical_or.reduce(insufficient))
    if not len(rejected):
        return Rejections(Plugin.NODE_RESOURCES_FIT, (), of_node)
    combination, examples = _combinations([lacks[rejected] for lacks in (*insufficient, too_small)])
    of_node[rejected] = combination + 1
    reasons = []
    for example in rejected[examples].tolist():
        found = tuple(text for text, lacks in zip(texts, insufficient, strict=True) if lacks[example])
        reasons.append(Reason(found, Code.UNRESOLVABLE if too_small[example] else Code.UNSCHEDULABLE))
    return Rejections(Plugin.NODE_RESOURCES_FIT, tuple(reasons), of_node)


def _combinations(conditions: list[NDArray[np.bool_]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Number the combinations of conditions on some nodes, which all have the same shape.

    Returns:
        The number of each node's combination, in that shape, and a node that has each.
    """
    numbers = np.zeros(len(conditions[0]), np.intp)
    examples = np.zeros(0, np.intp)
    for condition in conditions:
        codes = 2 * numbers + condition
        size = int(codes.max(initial=-1)) + 1
        example = np.full(size, -1, np.intp)
        example[codes] = np.arange(len(codes))
        occurring = np.flatnonzero(example >= 0)
        rank = np.zeros(size, np.intp)
        rank[occurring] = np.arange(len(occurring))
        numbers, examples = rank[codes], example[occurring]
    return numbers, examples

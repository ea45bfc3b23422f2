"""How far a pod is from fitting anywhere, in one line: the numbers behind the scheduler's reasons."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_table import MISSING
from policies.scheduler.profile import Plugin
from policies.scheduler.result import Code, FilterResult, SchedulingResult

#: How the reason begins that a node lacks a resource: ``InsufficientResourceError``,
#: ``pkg/scheduler/framework/plugins/noderesources/fit.go``.
INSUFFICIENT = "Insufficient "
#: The units in which bytes are reported, smallest first.
_BINARY_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def may_change(result: SchedulingResult) -> bool:
    """Return whether some node that refuses the pod could take it once pods there have gone."""
    return not bool(_never(result).all())


def rejection_summaries(result: SchedulingResult, index: ClusterIndex) -> Iterator[str]:
    """Yield the numbers of what keeps a pod away, what keeps it away alone first.

    Args:
        result: Of a pod that fits nowhere.
        index: The cluster that was evaluated, not changed since.
    """
    spread = _passing(result, besides=Plugin.POD_TOPOLOGY_SPREAD)
    fit = _passing(result, besides=Plugin.NODE_RESOURCES_FIT)
    everywhere = np.ones(len(result.names), np.bool_)
    yield from _of_constraints(result, spread)
    yield from _of_resources(result, index, fit)
    if not spread.any():
        yield from _of_constraints(result, everywhere)
    if not fit.any():
        yield from _of_resources(result, index, everywhere)


def _never(result: SchedulingResult) -> NDArray[np.bool_]:
    """Return the nodes that some plugin refuses whatever runs there, shape ``(n,)``."""
    never = np.zeros(len(result.names), np.bool_)
    for refusals in result.rejections:
        codes = [reason.code is Code.UNRESOLVABLE for reason in refusals.reasons]
        never |= np.array([False, *codes], np.bool_)[refusals.of_node]
    return never


def _passing(result: SchedulingResult, *, besides: Plugin) -> NDArray[np.bool_]:
    """Return the nodes that no other plugin refuses, shape ``(n,)``."""
    passing = np.ones(len(result.names), np.bool_)
    for refusals in result.rejections:
        if refusals.plugin is not besides:
            passing &= refusals.of_node == 0
    return passing


def _of_constraints(result: SchedulingResult, asked: NDArray[np.bool_]) -> Iterator[str]:
    """Yield a line for each hard constraint that rejects some of the given nodes."""
    for spread in result.results:
        if isinstance(spread, FilterResult) and (refused := asked & ~spread.satisfied).any():
            key = spread.applied.constraint.topology_key
            labeled = refused & np.not_equal(spread.domains.of_node, MISSING)
            if labeled.any():
                yield f"{key}: {_closest(spread, labeled)}"
            else:
                yield f"{key}: {np.count_nonzero(refused)} node(s) lack this label"


def _closest(result: FilterResult, refused: NDArray[np.bool_]) -> str:
    """Return the operands for the refused node that is closest to being allowed."""
    domains, constraint = result.domains, result.applied.constraint
    node = int(np.where(refused, result.skew, np.iinfo(np.int64).max).argmin())
    domain = int(domains.of_node[node])
    found = int(np.count_nonzero(domains.exists))
    if found < constraint.min_domains:
        least = f"minimum 0 ({found} domain(s) < minDomains {constraint.min_domains})"
    else:
        emptiest = int(np.flatnonzero(domains.exists & (domains.matching == result.minimum))[0])
        least = f"minimum {result.minimum} in {domains.values[emptiest]}"
    here = f"{domains.matching[domain]}+{result.applied.self_match} in {domains.values[domain]}"
    return f"{here} - {least} = skew {result.skew[node]} > maxSkew {constraint.max_skew}"


def _of_resources(result: SchedulingResult, index: ClusterIndex, asked: NDArray[np.bool_]) -> Iterator[str]:
    """Yield a line for each resource that some of the given nodes lack."""
    requests = dict(result.request.pod.requests)
    lacking: dict[str, NDArray[np.bool_]] = {}
    for fit in result.rejections:
        for number, reason in enumerate(fit.reasons if fit.plugin is Plugin.NODE_RESOURCES_FIT else (), 1):
            nodes = asked & (fit.of_node == number)
            for text in reason.texts if nodes.any() else ():
                lacking[text] = lacking.get(text, False) | nodes
    for text, nodes in lacking.items():
        if text.startswith(INSUFFICIENT):
            name = text.removeprefix(INSUFFICIENT)
            free = written(name, _most_free(name, index, nodes))
            yield f"{name}: {written(name, requests.get(name, 0))} requested, at most {free} free"


def _most_free(resource: str, index: ClusterIndex, asked: NDArray[np.bool_]) -> int:
    """Return the most that a node has left of a resource; never below 0."""
    slots = index.nodes.order()[asked]
    offered, used = (table.find(resource) for table in (index.nodes.allocatable, index.nodes.used))
    if offered is None:
        return 0
    left = offered[slots] if used is None else offered[slots] - used[slots]
    return max(0, int(left.max(initial=0)))


def written(resource: str, amount: int) -> str:
    """Return an amount as a person would write it.

    Args:
        resource: The resource's name.
        amount: Milli of cpu, else whole units.

    >>> written("cpu", 1500), written("cpu", 64_000), written("memory", 3 * 2**29), written("acme.io/gpu", 8)
    ('1500m', '64', '1.5Gi', '8')
    """
    if resource == "cpu":
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    unit = min(max(amount.bit_length() - 1, 0) // 10, len(_BINARY_UNITS) - 1)
    # Rounded down to hundredths, so that what is free never looks like enough.
    hundredths = amount * 100 >> 10 * unit
    return f"{hundredths / 100:.2f}".rstrip("0").rstrip(".") + _BINARY_UNITS[unit]

"""Expanders: which of several options to scale up is taken (``--expander``).

Source: ``expander/{waste,mostpods,leastnodes,priority,factory}``, Cluster Autoscaler 1.36.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from policies.autoscaler.estimator import ExpansionOption
from policies.config.node_groups import Expander, GroupPriority
from policies.config.node_groups_loader import matches


def best_options(
    expanders: Sequence[Expander], options: Sequence[ExpansionOption], priorities: Sequence[GroupPriority]
) -> tuple[ExpansionOption, ...]:
    """Return the options of which one is taken at random.

    Args:
        expanders: Each narrows down what those before it left.
        options: All options, at least one.
        priorities: For the priority expander.
    """
    left = tuple(options)
    for expander in expanders:
        if len(left) == 1:
            break
        left = _best(expander, left, priorities)
    return left


def _best(
    expander: Expander, options: tuple[ExpansionOption, ...], priorities: Sequence[GroupPriority]
) -> tuple[ExpansionOption, ...]:
    match expander:
        case Expander.RANDOM:
            return options
        case Expander.MOST_PODS:
            most = max(len(option.pods) for option in options)
            return tuple(option for option in options if len(option.pods) == most)
        case Expander.LEAST_NODES:
            least = min(option.nodes for option in options)
            return tuple(option for option in options if option.nodes == least)
        case Expander.PRIORITY:
            return _first_by_priority(options, priorities)
    wasted = [waste(option) for option in options]
    return tuple(option for option, each in zip(options, wasted, strict=True) if each == min(wasted))


def waste(option: ExpansionOption) -> float:
    """Return the shares of cpu and memory of the new nodes that the pods leave, added up."""
    total = 0.0
    for name in ("cpu", "memory"):
        available = option.group.capacity.get(name, 0) * option.nodes
        requested = sum(dict(pod.request.pod.requests).get(name, 0) for pod in option.pods)
        total += (available - requested) / available if available else math.inf
    return total


def _first_by_priority(
    options: tuple[ExpansionOption, ...], priorities: Sequence[GroupPriority]
) -> tuple[ExpansionOption, ...]:
    """Return the options of the highest priority whose patterns match any; all where none does."""
    highest_first = sorted(priorities, key=lambda entry: -entry.priority)
    for _, entries in groupby(highest_first, key=lambda entry: entry.priority):
        patterns = [pattern for entry in entries for pattern in entry.names]
        found = tuple(
            option for option in options if any(matches(pattern, option.group.name) for pattern in patterns)
        )
        if found:
            return found
    return options

"""A simulation in a sentence: what was done, and how it ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from policies.manifests.sanitize import one_line
from policies.manifests.words import plural
from policies.placement.core.actions import (
    Action,
    AddNodes,
    CordonNode,
    DrainNode,
    LabelNode,
    LoseDomain,
    TaintNode,
    UncordonNode,
    UntaintNode,
)
from policies.placement.core.recovery import PodOutcome
from policies.placement.rollout.simulated_rollout import SimulatedRollout
from policies.placement.simulate.simulated_queue import SimulatedQueue
from policies.reports.rollout import text as rollout_text
from policies.reports.simulate import text as simulate_text
from policies.reports.words import nodes_like

#: What becomes of the replicas besides: a number of them is added, they are scaled to one, or rolled out.
Change = tuple[Literal["replicas", "scale", "rollout"], int | None]


def action_text(action: Action) -> str:
    """Return an action in words.

    >>> from policies.manifests.fields import FieldPath
    >>> action_text(AddNodes(at=FieldPath(), like="n1", count=2))
    '2 nodes like n1 are added'
    """
    match action:
        case LoseDomain(key=key, value=value, unreachable=unreachable):
            return f"{one_line(key)}={one_line(value)} is {'unreachable' if unreachable else 'lost'}"
        case DrainNode(node=node):
            return f"{one_line(node)} is drained"
        case CordonNode(node=node):
            return f"{one_line(node)} is cordoned"
        case TaintNode(node=node, taint=taint):
            return f"{one_line(node)} gets the taint {one_line(str(taint))}"
        case UncordonNode(node=node):
            return f"{one_line(node)} is uncordoned"
        case LabelNode(node=node, key=key, value=value):
            return f"{one_line(node)} gets the label {one_line(f'{key}={value}')}"
        case UntaintNode(node=node, taint=taint):
            return f"{one_line(node)} loses the taint {one_line(taint)}"
        case AddNodes(count=count):
            return f"{nodes_like(action)} {'is' if count == 1 else 'are'} added"


def happening_text(actions: Iterable[Action], change: Change) -> str:
    """Return the simulated change, as a sentence without its end.

    >>> happening_text((), ("replicas", 3))
    '3 more replicas are scheduled'
    """
    what, number = change
    parts = list(map(action_text, actions))
    if what == "rollout":
        size = "" if number is None else f" with {plural(number, 'replica')}"
        parts.insert(0, f"it is rolled out{size}")
    elif what == "scale":
        parts.append(f"it is scaled to {number:,}")
    elif number is None:
        parts.append("missing replicas are scheduled")
    elif number or not parts:
        parts.append(f"{number:,} more {'replica is' if number == 1 else 'replicas are'} scheduled")
    return ", then ".join(parts)


def verdict(found: SimulatedQueue | SimulatedRollout) -> str:
    """Return how a simulation ends, in a sentence."""
    if isinstance(found, SimulatedRollout):
        return rollout_text.headline(found).plain
    ends, happened = found.ends, found.what_if
    if ends is None or happened is None:
        return simulate_text.headline(found).plain
    text = f"{ends.running:,} of {plural(ends.running + ends.pending, 'replica')} have a node at the end"
    others = [entry for entry in happened.recovery.displaced if not entry.own]
    if not others:
        return f"{text}; no pod of another workload loses its node"
    stuck = sum(entry.outcome is PodOutcome.PENDING for entry in others)
    left = sum(entry.outcome in {PodOutcome.NOT_TRIED, PodOutcome.NOT_RECREATED} for entry in others)
    more = f", {left:,} are not scheduled again" if left else ""
    lose = "loses its node" if len(others) == 1 else "lose theirs"
    return f"{text}; {plural(len(others), 'pod')} of other workloads {lose}: {stuck:,} stay pending{more}"

"""Actions on the nodes of a cluster in words: as a sentence, and as the object of one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from planning.simulation.events import (
    AddedNodes,
    LabeledNode,
    LostDomain,
    NodeEvent,
    TaintedNode,
    UntaintedNode,
)
from planning.simulation.suggestions.words import taints_text
from planning.text.words import domain_name
from policies.manifests.sanitize import one_line
from policies.manifests.words import IN_SENTENCE, listed, plural

#: What becomes of the replicas besides: a number of them is added, they are scaled to one, or rolled out.
Change = tuple[Literal["replicas", "scale", "rollout"], int | None]


def nodes_like(added: AddedNodes) -> str:
    """Return the nodes that are added, in words.

    >>> nodes_like(AddedNodes(like="n1", count=2, without_taints=["team"]))
    '2 nodes like n1 without the taint team'
    """
    without = f" without {taints_text(added.without_taints)}" if added.without_taints else ""
    labels = listed((f"{label.key}={label.value}" for label in added.labels or ()), IN_SENTENCE)
    with_labels = f" with {labels}" if labels else ""
    return f"{plural(added.count, 'node')} like {one_line(added.like)}{with_labels}{without}"


def action_text(event: NodeEvent) -> str:
    """Return an event as a sentence without its end."""
    return _words(event)[0]


def happening_text(actions: Iterable[NodeEvent], change: Change) -> str:
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


def disruption(actions: Iterable[NodeEvent]) -> str:
    """Return the change to a cluster, as the object of a sentence.

    >>> disruption([NodeEvent(drain="n1"), NodeEvent(cordon="n2")])
    'the drain of n1, then the cordon of n2'
    """
    return ", then ".join(_words(action)[1] for action in actions)


def _words(event: NodeEvent) -> tuple[str, str]:
    """Return what happens, and what it is called."""
    match event:
        case NodeEvent(lose=LostDomain() as lost):
            is_gone, called = ("unreachable", "outage") if lost.unreachable else ("lost", "loss")
            key = one_line(lost.key)
            domain = f"{key}={one_line(lost.value)}"
            return f"{domain} is {is_gone}", f"the {called} of {domain_name(lost.value)} ({key})"
        case NodeEvent(add=AddedNodes() as added):
            nodes = nodes_like(added)
            return f"{nodes} {'is' if added.count == 1 else 'are'} added", f"the addition of {nodes}"
        case NodeEvent(drain=str(name)):
            node = one_line(name)
            return f"{node} is drained", f"the drain of {node}"
        case NodeEvent(cordon=str(name)):
            node = one_line(name)
            return f"{node} is cordoned", f"the cordon of {node}"
        case NodeEvent(uncordon=str(name)):
            node = one_line(name)
            return f"{node} is uncordoned", f"the end of the cordon of {node}"
        case NodeEvent(taint=TaintedNode() as tainted):
            node, given = one_line(tainted.node), f"the taint {one_line(str(tainted.taint))}"
            return f"{node} gets {given}", f"{given} of {node}"
        case NodeEvent(label=LabeledNode() as label):
            node, given = one_line(label.node), f"the label {one_line(f'{label.key}={label.value}')}"
            if label.value is None:
                taken = f"the label {one_line(label.key)}"
                return f"{node} loses {taken}", f"the removal of {taken} of {node}"
            return f"{node} gets {given}", f"{given} of {node}"
        case NodeEvent(untaint=UntaintedNode() as freed):
            node, taken = one_line(freed.node), f"the taint {one_line(freed.taints)}"
            return f"{node} loses {taken}", f"the removal of {taken} of {node}"
    raise ValueError("an event is one of these")

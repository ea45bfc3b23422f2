"""Actions on the nodes of a cluster in words: as a sentence, and as the object of one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from planning.simulation.actions import (
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
from planning.text.words import domain_name, taints_text
from policies.manifests.sanitize import one_line
from policies.manifests.words import IN_SENTENCE, listed, plural

#: What becomes of the replicas besides: a number of them is added, they are scaled to one, or rolled out.
Change = tuple[Literal["replicas", "scale", "rollout"], int | None]


def nodes_like(action: AddNodes) -> str:
    """Return the nodes that are added, in words.

    >>> from policies.manifests.fields import FieldPath
    >>> nodes_like(AddNodes(at=FieldPath(), like="n1", count=2, without_taints=("team",)))
    '2 nodes like n1 without the taint team'
    """
    without = f" without {taints_text(action.without_taints)}" if action.without_taints else ""
    labels = listed((f"{key}={value}" for key, value in action.labels), IN_SENTENCE)
    with_labels = f" with {labels}" if labels else ""
    return f"{plural(action.count, 'node')} like {one_line(action.like)}{with_labels}{without}"


def action_text(action: Action) -> str:
    """Return an action as a sentence without its end."""
    return _words(action)[0]


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


def disruption(actions: Iterable[Action]) -> str:
    """Return the change to a cluster, as the object of a sentence.

    >>> from policies.manifests.fields import FieldPath
    >>> disruption([DrainNode(at=FieldPath(), node="n1"), CordonNode(at=FieldPath(), node="n2")])
    'the drain of n1, then the cordon of n2'
    """
    return ", then ".join(_words(action)[1] for action in actions)


def _words(action: Action) -> tuple[str, str]:
    """Return what happens, and what it is called."""
    match action:
        case LoseDomain(key=key, value=value, unreachable=unreachable):
            is_gone, called = ("unreachable", "outage") if unreachable else ("lost", "loss")
            domain = f"{one_line(key)}={one_line(value)}"
            return f"{domain} is {is_gone}", f"the {called} of {domain_name(value)} ({one_line(key)})"
        case AddNodes(count=count):
            nodes = nodes_like(action)
            return f"{nodes} {'is' if count == 1 else 'are'} added", f"the addition of {nodes}"
    node = one_line(action.node)
    match action:
        case DrainNode():
            return f"{node} is drained", f"the drain of {node}"
        case CordonNode():
            return f"{node} is cordoned", f"the cordon of {node}"
        case UncordonNode():
            return f"{node} is uncordoned", f"the end of the cordon of {node}"
        case TaintNode(taint=taint):
            given = f"the taint {one_line(str(taint))}"
            return f"{node} gets {given}", f"{given} of {node}"
        case LabelNode(key=key, value=value):
            given = f"the label {one_line(f'{key}={value}')}"
            return f"{node} gets {given}", f"{given} of {node}"
        case UntaintNode(taint=taint):
            taken = f"the taint {one_line(taint)}"
            return f"{node} loses {taken}", f"the removal of {taken} of {node}"

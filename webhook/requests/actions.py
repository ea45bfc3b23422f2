"""The actions of a simulate request: what happens to nodes before pods are scheduled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

from planning.simulation.actions import (
    MOST_ADDED,
    Action,
    AddNodes,
    CordonNode,
    DrainNode,
    LabelNode,
    LoseDomain,
    TaintNode,
    UncordonNode,
    UntaintNode,
    topology_key,
)
from policies.manifests.fields import FieldPath
from policies.manifests.wire import OPTIONAL, Keywords, Received, members
from policies.model.taints import Taint, TaintEffect
from webhook.requests.frame import Name

#: Actions of one request: more than anyone tries, and each may look at every pod.
MOST_ACTIONS: Final = 100
#: Taints that new nodes may do without: nodes have a few.
MOST_TAINTS: Final = 100
#: Labels that new nodes may have besides.
MOST_LABELS: Final = 100


@dataclass(frozen=True, kw_only=True)
class LostDomain(Received):
    """A domain whose nodes are gone, with their pods."""

    topology_key: Name  #: A label of nodes, or ``zone``, ``region`` or ``hostname``.
    value: str  #: The domain.
    unreachable: bool | None = None  #: Whether the nodes stay, tainted as unreachable.


@dataclass(frozen=True, kw_only=True)
class TaintedNode(Received):
    """A node that gets a taint; NoExecute evicts the pods that do not tolerate it."""

    node: Name  #: The node.
    key: Name  #: The key of the taint.
    value: str | None = None  #: Its value.
    effect: TaintEffect  #: Its effect.


@dataclass(frozen=True, kw_only=True)
class UntaintedNode(Received):
    """A node that loses its taints of a key."""

    node: Name  #: The node.
    key: Name  #: The key of the taints.
    effect: TaintEffect | None = None  #: Their effect; absent for every one.


@dataclass(frozen=True, kw_only=True)
class NodeLabel(Received):
    """A label of a node."""

    key: Name  #: Its key.
    value: str  #: Its value.


@dataclass(frozen=True, kw_only=True)
class LabeledNode(NodeLabel):
    """A node that gets a label, in place of one of the same key."""

    node: Name  #: The node.


@dataclass(frozen=True, kw_only=True)
class AddedNodes(Received):
    """More nodes like one: its labels, taints and capacity, without pods."""

    like: Name  #: The node.
    count: Annotated[int, Keywords(minimum=1, maximum=MOST_ADDED)] = 1  #: How many.
    #: Keys of taints that the new nodes do not have.
    without_taints: Annotated[list[Name], Keywords(maxItems=MOST_TAINTS)] | None = None
    #: Labels that they have besides, or in place of others, such as another zone.
    labels: Annotated[list[NodeLabel], Keywords(maxItems=MOST_LABELS)] | None = None


@dataclass(frozen=True, kw_only=True)
class ActionBody(Received):
    """Exactly one of these."""

    lose: Annotated[LostDomain | None, OPTIONAL] = None  #: The nodes of a domain are lost.
    drain: Annotated[Name | None, OPTIONAL] = None  #: A node that is cordoned and whose pods are evicted.
    cordon: Annotated[Name | None, OPTIONAL] = None  #: A node that takes no more pods.
    uncordon: Annotated[Name | None, OPTIONAL] = None  #: A node that takes pods again.
    taint: Annotated[TaintedNode | None, OPTIONAL] = None  #: A node is tainted.
    untaint: Annotated[UntaintedNode | None, OPTIONAL] = None  #: A node loses taints.
    label: Annotated[LabeledNode | None, OPTIONAL] = None  #: A node gets a label.
    add: Annotated[AddedNodes | None, OPTIONAL] = None  #: Nodes are added.


_EXACTLY_ONE: Final = f"exactly one of {', '.join(entry.name for entry in members(ActionBody))}"
#: The actions of a request, in order.
Actions: TypeAlias = Annotated[
    list[Annotated[ActionBody, Keywords(minProperties=1, maxProperties=1, title=_EXACTLY_ONE)]],
    Keywords(maxItems=MOST_ACTIONS),
]


def actions_of(bodies: Sequence[ActionBody], path: FieldPath) -> tuple[Action, ...]:
    """Return the actions of a request without errors, in order.

    Args:
        bodies: The actions.
        path: Where they are.
    """
    return tuple(
        action for position, body in enumerate(bodies) for action in _given(body, path.index(position))
    )


def _given(body: ActionBody, at: FieldPath) -> Iterator[Action]:
    """Yield the one action of a body, with where its node or domain is."""
    if (lost := body.lose) is not None:
        yield LoseDomain(
            at=at.child("lose", "value"),
            key=topology_key(lost.topology_key),
            value=lost.value,
            unreachable=bool(lost.unreachable),
        )
    if body.drain is not None:
        yield DrainNode(at=at.child("drain"), node=body.drain)
    if body.cordon is not None:
        yield CordonNode(at=at.child("cordon"), node=body.cordon)
    if body.uncordon is not None:
        yield UncordonNode(at=at.child("uncordon"), node=body.uncordon)
    if (tainted := body.taint) is not None:
        taint = Taint(tainted.key, tainted.value or "", tainted.effect.value)
        yield TaintNode(at=at.child("taint", "node"), node=tainted.node, taint=taint)
    if (freed := body.untaint) is not None:
        where = at.child("untaint", "node")
        yield UntaintNode(at=where, node=freed.node, key=freed.key, effect=freed.effect)
    if (labeled := body.label) is not None:
        where = at.child("label", "node")
        yield LabelNode(at=where, node=labeled.node, key=labeled.key, value=labeled.value)
    if (added := body.add) is not None:
        without = tuple(added.without_taints or ())
        labels = tuple((label.key, label.value) for label in added.labels or ())
        where = at.child("add", "like")
        yield AddNodes(at=where, like=added.like, count=added.count, without_taints=without, labels=labels)

"""The actions of a simulate request: what happens to nodes before pods are scheduled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Final, TypeAlias

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
    topology_key,
)
from planning.simulation.events import MOST_EVENTS, NodeEvent
from policies.manifests.fields import FieldPath
from policies.manifests.wire import Keywords, members
from policies.model.taints import Taint

_EXACTLY_ONE: Final = f"exactly one of {', '.join(entry.name for entry in members(NodeEvent))}"
#: The actions of a request, in order.
Actions: TypeAlias = Annotated[
    list[Annotated[NodeEvent, Keywords(minProperties=1, maxProperties=1, title=_EXACTLY_ONE)]],
    Keywords(maxItems=MOST_EVENTS),
]


def actions_of(bodies: Sequence[NodeEvent], path: FieldPath) -> tuple[Action, ...]:
    """Return the actions of a request without errors, in order.

    Args:
        bodies: The actions.
        path: Where they are.
    """
    return tuple(
        action for position, body in enumerate(bodies) for action in _given(body, path.index(position))
    )


def _given(body: NodeEvent, at: FieldPath) -> Iterator[Action]:
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

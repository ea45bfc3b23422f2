"""The actions of a simulate request: what happens to nodes before pods are scheduled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, NotRequired, TypedDict

from policies.config.type_schema import Keywords
from policies.manifests.fields import (
    ErrorList,
    FieldPath,
    field_names,
    invalid_value,
    required_value,
    unsupported_value,
    wrong_type,
)
from policies.model.taints import Taint, TaintEffect
from policies.placement.actions import (
    MOST_ADDED,
    Action,
    AddNodes,
    CordonNode,
    DrainNode,
    LoseDomain,
    TaintNode,
    topology_key,
)

#: Actions of one request: more than anyone tries, and each may look at every pod.
MOST_ACTIONS: Final = 100
#: The rule that an action breaks which is none, or several.
ACTION_INVALID: Final = "action-invalid"


class LostDomain(TypedDict):
    """A domain whose nodes are gone, with their pods.

    Attributes:
        topologyKey: A label of nodes, or ``zone``, ``region`` or ``hostname``.
        value: The domain.
        unreachable: Whether the nodes stay, tainted as unreachable.
    """

    topologyKey: str
    value: str
    unreachable: NotRequired[bool | None]


class TaintedNode(TypedDict):
    """A node that gets a taint; NoExecute evicts the pods that do not tolerate it.

    Attributes:
        node: The node.
        key: The key of the taint.
        value: Its value.
        effect: Its effect.
    """

    node: str
    key: str
    value: NotRequired[str | None]
    effect: TaintEffect


class AddedNodes(TypedDict):
    """More nodes like one: its labels, taints and capacity, without pods.

    Attributes:
        like: The node.
        count: How many.
    """

    like: str
    count: NotRequired[Annotated[int, Keywords(minimum=1, maximum=MOST_ADDED)]]


class ActionBody(TypedDict):
    """Exactly one of these.

    Attributes:
        lose: The nodes of a domain are lost.
        drain: A node that is cordoned and whose pods are evicted.
        cordon: A node that takes no more pods.
        taint: A node is tainted.
        add: Nodes are added.
    """

    lose: NotRequired[LostDomain]
    drain: NotRequired[str]
    cordon: NotRequired[str]
    taint: NotRequired[TaintedNode]
    add: NotRequired[AddedNodes]


def read_actions(raw: object, path: FieldPath, found: ErrorList) -> tuple[Action, ...]:
    """Return the actions of a request, in order, without those that are broken.

    Args:
        raw: The list as it came.
        path: Where it is.
        found: Takes what is wrong.
    """
    entries = list(found.objects(raw, path))
    if len(entries) > MOST_ACTIONS:
        text = f"must have at most {MOST_ACTIONS} actions"
        found.add(invalid_value(path, len(entries), text, ACTION_INVALID))
        return ()
    read = (_read_action(entry, where, found) for where, entry in entries)
    return tuple(action for action in read if action is not None)


def _read_action(entry: dict[str, Any], path: FieldPath, found: ErrorList) -> Action | None:
    before = found.count
    found.unknown(entry, path, known=_READERS.keys())
    named = [name for name in _READERS if name in entry]
    if found.count == before and len(named) != 1:
        text = f"must have exactly one of {', '.join(_READERS)}"
        found.add(invalid_value(path, entry, text, ACTION_INVALID))
    if found.count > before:
        return None
    (name,) = named
    action = _READERS[name](entry[name], path.child(name), found)
    return None if found.count > before else action


def _lose(raw: object, path: FieldPath, found: ErrorList) -> Action:
    fields = found.mapping(raw, path)
    found.unknown(fields, path, known=field_names("topologyKey", "value", "unreachable"))
    unreachable = fields.get("unreachable")
    if not isinstance(unreachable, bool | None):
        found.add(wrong_type(path.child("unreachable"), "a boolean", unreachable))
    return LoseDomain(
        at=path.child("value"),
        key=topology_key(_text(fields, "topologyKey", path, found)),
        value=found.text(fields.get("value"), path.child("value")),
        unreachable=unreachable is True,
    )


def _drain(raw: object, path: FieldPath, found: ErrorList) -> Action:
    return DrainNode(at=path, node=_name(raw, path, found))


def _cordon(raw: object, path: FieldPath, found: ErrorList) -> Action:
    return CordonNode(at=path, node=_name(raw, path, found))


def _taint(raw: object, path: FieldPath, found: ErrorList) -> Action:
    fields = found.mapping(raw, path)
    found.unknown(fields, path, known=field_names("node", "key", "value", "effect"))
    effect = _text(fields, "effect", path, found)
    if effect and effect not in list(TaintEffect):
        found.add(unsupported_value(path.child("effect"), effect, list(TaintEffect), ACTION_INVALID))
    key, value = _text(fields, "key", path, found), found.text(fields.get("value"), path.child("value"))
    node = _text(fields, "node", path, found)
    return TaintNode(at=path.child("node"), node=node, taint=Taint(key, value, effect))


def _add(raw: object, path: FieldPath, found: ErrorList) -> Action:
    fields, where = found.mapping(raw, path), path.child("count")
    found.unknown(fields, path, known=field_names("count", "like"))
    count = fields.get("count", 1)
    if type(count) is not int:
        found.add(wrong_type(where, "an integer", count))
    elif not 1 <= count <= MOST_ADDED:
        found.add(invalid_value(where, count, f"must be from 1 to {MOST_ADDED}", ACTION_INVALID))
    like = _text(fields, "like", path, found)
    return AddNodes(at=path.child("like"), like=like, count=count if type(count) is int else 0)


#: What reads each action.
_READERS: Final[dict[str, Callable[[object, FieldPath, ErrorList], Action]]] = {
    "lose": _lose,
    "drain": _drain,
    "cordon": _cordon,
    "taint": _taint,
    "add": _add,
}


def _text(fields: dict[str, Any], name: str, path: FieldPath, found: ErrorList) -> str:
    return _name(fields.get(name), path.child(name), found)


def _name(raw: object, path: FieldPath, found: ErrorList) -> str:
    """Return a text that must be there."""
    text = found.text(raw, path)
    if not text and isinstance(raw, str | None):
        found.add(required_value(path, "", ACTION_INVALID))
    return text

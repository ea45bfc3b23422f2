"""Hypothesis strategies for what happens to a cluster: objects come, change and go."""

from __future__ import annotations

from typing import Any, Literal

from hypothesis import strategies as st

from tests.policies.scheduler.strategies import OWNER_KINDS, bound_pods, nodes, owners, services
from tests.policies.scheduler.strategies_scheduling import NODE_NAMES

Object = dict[str, Any]
Event = tuple[Literal["apply", "remove"], Object]
#: apiVersion, kind, namespace ("" for nodes) and name.
Identity = tuple[str, str, str, str]


_verbs: st.SearchStrategy[Literal["apply", "remove"]] = st.sampled_from(("apply", "apply", "apply", "remove"))
_pods = [bound_pods(f"p{number}") for number in range(5)]
_objects = st.one_of(
    *(nodes(name) for name in NODE_NAMES[:4]),
    *_pods,
    *_pods,
    services("s0"),
    services("s1"),
    *(owners(kind) for kind in OWNER_KINDS),
)


def events(max_size: int = 30) -> st.SearchStrategy[list[Event]]:
    """Draw a history: every event adds an object, replaces it with another state, or removes it.

    Names are so few that most events meet an object that is there. A node may go while pods are on it and
    come back; pods may come before their node, and change labels, phase, node and requests; what is removed
    may never have been there. A removal carries any state of the object.
    """
    return st.lists(st.tuples(_verbs, _objects), max_size=max_size)


def identity(obj: Object) -> Identity:
    """Return the key of an object, the same in all its states."""
    metadata = obj["metadata"]
    return obj["apiVersion"], obj["kind"], metadata.get("namespace", ""), metadata["name"]


def surviving(history: list[Event]) -> list[Object]:
    """Return the last state of every object that a history leaves behind."""
    alive: dict[Identity, Object] = {}
    for verb, obj in history:
        alive.pop(identity(obj), None)
        if verb == "apply":
            alive[identity(obj)] = obj
    return list(alive.values())

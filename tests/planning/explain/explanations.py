"""Explanations for reports to show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planning.explain.explain import Explained, explain_object
from tests.builders import HOSTNAME, a_constraint, a_node, a_pod
from tests.planning.scenarios import a_state
from tests.planning.verdicts import on

#: Two zones of two pods each, and an empty one that is tainted.
UNEVEN = [
    a_node("n1", "a"),
    a_node("n2", "b"),
    a_node("n3", "c", taints=[{"key": "team", "value": "x", "effect": "NoSchedule"}]),
    *on("n1", 2),
    *on("n2", 2),
]
#: More nodes than are told one by one, with 0, 1, 2 or 3 pods.
MANY = [
    obj
    for number in range(60)
    for obj in (a_node(f"n{number:02}", "abc"[number % 3]), *on(f"n{number:02}", number % 4))
]
SOFT = a_constraint(topologyKey=HOSTNAME, whenUnsatisfiable="ScheduleAnyway")


def a_spread_pod(*constraints: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """Return a pod with constraints."""
    return a_pod(spec={"topologySpreadConstraints": list(constraints), **spec})


def an_explanation(obj: dict[str, Any], *cluster: Mapping[str, Any], **context: Any) -> Explained:
    """Return where an object's pod would go, and why."""
    return explain_object(obj, a_state(cluster, **context))

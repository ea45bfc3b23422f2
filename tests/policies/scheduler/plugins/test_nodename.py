"""The node that a pod names."""

from __future__ import annotations

from policies.scheduler.profile import Plugin
from tests.policies.scheduler.clusters import a_node, a_pod, ask, fitting, reasons


def test_reason() -> None:
    """A node of another name is rejected in the scheduler's own words."""
    result = ask([a_node("n")], a_pod("next", node="other"))

    assert {
        Plugin.NODE_NAME: ("node(s) didn't match the requested node name", "UnschedulableAndUnresolvable")
    } == reasons(result)


def test_named() -> None:
    """The node that is named is feasible, and no other."""
    assert ["b"] == fitting(ask([a_node("a"), a_node("b")], a_pod("next", node="b")))

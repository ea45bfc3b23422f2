"""Cordoned nodes."""

from __future__ import annotations

from policies.scheduler.profile import Plugin
from tests.policies.scheduler.clusters import a_node, a_pod, ask, fitting, reasons


def test_reason() -> None:
    """A cordoned node is rejected in the scheduler's own words."""
    result = ask([a_node("n", unschedulable=True)], a_pod("next"))

    assert {
        Plugin.NODE_UNSCHEDULABLE: ("node(s) were unschedulable", "UnschedulableAndUnresolvable")
    } == reasons(result)


def test_tolerated() -> None:
    """A pod that tolerates everything goes to cordoned nodes too."""
    pod = a_pod("next", tolerations=[{"operator": "Exists"}])

    assert ["n"] == fitting(ask([a_node("n", unschedulable=True)], pod))

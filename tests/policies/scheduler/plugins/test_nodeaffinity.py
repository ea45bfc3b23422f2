"""The nodes that a pod selects."""

from __future__ import annotations

from policies.scheduler.profile import Plugin
from tests.policies.scheduler.clusters import a_node, a_pod, ask, fitting, reasons


def test_reason() -> None:
    """A node without the label is rejected in the scheduler's own words."""
    result = ask([a_node("n")], a_pod("next", nodeSelector={"disk": "ssd"}))

    assert {
        Plugin.NODE_AFFINITY: (
            "node(s) didn't match Pod's node affinity/selector",
            "UnschedulableAndUnresolvable",
        )
    } == reasons(result)


def test_selected() -> None:
    """A node with the label is feasible."""
    nodes = [a_node("a"), a_node("b", {"disk": "ssd"})]

    assert ["b"] == fitting(ask(nodes, a_pod("next", nodeSelector={"disk": "ssd"})))

"""The sentence in the condition of a pod that fits nowhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policies.model.version import KNOWN_VERSION
from policies.scheduler.releases import behavior_of
from tests.policies.scheduler.clusters import a_constraint, a_node, a_pod, ask, zones

TAINTED = a_node("t", taints=["gpu=yes:NoSchedule"])


def by_name(*terms: list[str]) -> dict[str, Any]:
    """Return a node affinity of a term for each list of names."""
    fields = [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": names}]} for names in terms
    ]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": fields}}}


@pytest.mark.parametrize(
    ("objects", "pod", "expected"),
    [
        pytest.param([], {}, "no nodes available to schedule pods", id="no nodes"),
        pytest.param(
            [TAINTED, a_node("c", unschedulable=True), *zones(a=0)],
            {"cpu": "9"},
            "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), "
            "1 node(s) were unschedulable.",
            id="the first plugin that refuses a node is counted, parts sorted as text",
        ),
        pytest.param(
            [*zones(a=2, b=0), a_pod("big", "b", {"app": "other"}, cpu="1")],
            {"spread": [a_constraint()], "cpu": "3500m"},
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod topology spread "
            "constraints.",
            id="resources before spread",
        ),
        pytest.param(
            [TAINTED, *zones(a=0, b=0)],
            {"affinity": by_name(["t"])},
            "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 node(s) didn't satisfy plugin(s) "
            "[NodeAffinity].",
            id="names in the affinity leave nodes out before any filter",
        ),
        pytest.param(
            zones(a=0),
            {"affinity": by_name([])},
            "0/1 nodes are available: pod affinity terms conflict.",
            id="no name at all",
        ),
        pytest.param(
            zones(a=0),
            {"schedulingGates": [{"name": "x"}]},
            "Scheduling is blocked due to non-empty scheduling gates",
            id="gated",
        ),
        pytest.param(zones(a=0), {}, "", id="fits"),
    ],
)
def test_sentences(objects: list[dict[str, Any]], pod: dict[str, Any], expected: str) -> None:
    """It reads as kube-scheduler 1.36 writes it, up to where preemption begins."""
    assert expected == ask(objects, a_pod("next", **pod)).message


def test_older_sentences() -> None:
    """Older releases name the taint, and do not mention the nodes that names leave out."""
    older = replace(behavior_of(KNOWN_VERSION), names_taint=True, counts_left_out_nodes=False)
    pod = a_pod("next", affinity=by_name(["t"]))

    assert "0/2 nodes are available: 1 node(s) had untolerated taint {gpu: yes}." == (
        ask([TAINTED, *zones(a=0)], pod, older).message
    )

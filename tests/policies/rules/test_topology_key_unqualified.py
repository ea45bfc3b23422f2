"""A constraint over a name that no node has by itself."""

from __future__ import annotations

from typing import Any

import pytest

from policies.manifests.findings import Severity
from policies.model.node import Node
from policies.model.topology import ClusterTopology
from policies.rules.base import Context
from tests.builders import a_constraint, a_workload
from tests.policies.rules.documents import text_of
from tests.policies.rules.run_rules import problems

RULE = "topology-key-unqualified"
ZONE = "topology.kubernetes.io/zone"


def a_node_with(key: str) -> Node:
    return Node("n1", {key: "a"}, (), unschedulable=False, allocatable={})


@pytest.mark.parametrize(
    ("key", "inventory", "expected"),
    [
        pytest.param("zone", None, 1, id="zone"),
        pytest.param("node", None, 1, id="node"),
        pytest.param("topology.kubernetes.io/hostname", None, 1, id="hostname with the prefix of zones"),
        pytest.param("kubernetes.io/zone", None, 1, id="zone with the prefix of host names"),
        pytest.param("topology.kubernetes.io/zones", None, 1, id="a letter too much"),
        pytest.param("topology.kubernetes.io/Zone", None, 1, id="a capital letter"),
        pytest.param("kubernetes.io/hostnames", None, 1, id="hostnames"),
        pytest.param("a b", None, 1, id="a blank in it"),
        pytest.param("topology.kubernetes.io/zone ", None, 1, id="a blank at its end"),
        pytest.param("tоpology.kubernetes.io/zone", None, 1, id="a Cyrillic letter"),  # noqa: RUF001
        pytest.param("topology.kubernetes.io/rack", None, 0, id="a label that administrators set"),
        pytest.param("topology.kubernetes.io/zone", None, 0, id="the zone"),
        pytest.param("rack", None, 0, id="rack is somebody's own label"),
        pytest.param("acme.example/zone", None, 0, id="qualified"),
        pytest.param("zone", ClusterTopology(domains={"zone": ("a", "b")}), 0, id="zone, listed in a policy"),
        pytest.param(
            "zone", ClusterTopology(domains={"rack": ("a", "b")}), 1, id="zone, only racks are listed"
        ),
        pytest.param("zone", ClusterTopology(nodes=()), 1, id="zone, no nodes yet"),
        pytest.param("zone", ClusterTopology(nodes=(a_node_with(ZONE),)), 1, id="zone, no node has it"),
        pytest.param("zone", ClusterTopology(nodes=(a_node_with("zone"),)), 0, id="zone, a node has it"),
    ],
)
def test_keys(key: str, inventory: ClusterTopology | None, expected: int) -> None:
    """Wrong names are reported once, whether or not nodes are known, unless one has the label."""
    text = text_of(a_workload(spec={"topologySpreadConstraints": [a_constraint(topologyKey=key)]}))
    context = Context(inventory=inventory)

    assert expected == len(problems(RULE, text, context))
    assert not (expected and problems("topology-key-on-no-node", text, context))


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
WEIGHTED = {"weight": 1, "podAffinityTerm": TERM}


@pytest.mark.parametrize("inventory", [None, ClusterTopology((a_node_with(ZONE),))], ids=["", "nodes"])
@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {"topologySpreadConstraints": [a_constraint(topologyKey="zone")]},
            Severity.ERROR,
            id="hard constraint",
        ),
        pytest.param(
            {
                "topologySpreadConstraints": [
                    a_constraint(topologyKey="zone", whenUnsatisfiable="ScheduleAnyway")
                ]
            },
            Severity.WARNING,
            id="soft constraint",
        ),
        pytest.param(
            {"affinity": {"podAffinity": {REQUIRED: [TERM]}}}, Severity.ERROR, id="required affinity"
        ),
        pytest.param(
            {"affinity": {"podAffinity": {PREFERRED: [WEIGHTED]}}}, Severity.WARNING, id="preferred"
        ),
        pytest.param(
            {"affinity": {"podAntiAffinity": {REQUIRED: [TERM]}}}, Severity.WARNING, id="anti-affinity"
        ),
        pytest.param(
            {"affinity": {"podAntiAffinity": {PREFERRED: [WEIGHTED]}}},
            Severity.WARNING,
            id="preferred anti-affinity",
        ),
    ],
)
def test_severity(spec: dict[str, Any], expected: Severity, inventory: ClusterTopology | None) -> None:
    """An error is one that keeps every pod pending, whether or not nodes are known; others are warnings."""
    (problem,) = problems(RULE, text_of(a_workload(spec=spec)), Context(inventory=inventory))

    assert expected == problem.severity


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        pytest.param([], [ZONE], id="the name of the message"),
        pytest.param([a_constraint(topologyKey=ZONE)], [], id="which another constraint has"),
        pytest.param(
            [a_constraint(topologyKey=ZONE, whenUnsatisfiable="ScheduleAnyway")],
            [ZONE],
            id="a soft one",
        ),
    ],
)
def test_edits(others: list[Any], expected: list[str]) -> None:
    """The key that was meant is written where the API server accepts the resulting list."""
    spec = {"topologySpreadConstraints": [a_constraint(topologyKey="zone"), *others]}
    (problem,) = problems(RULE, text_of(a_workload(spec=spec)))

    assert expected == [edit.new for edit in problem.edits]


@pytest.mark.parametrize(
    ("carried", "expected"),
    [pytest.param(ZONE, [ZONE], id="a node has it"), pytest.param("rack", [], id="no node has that either")],
)
def test_edits_with_nodes(carried: str, expected: list[str]) -> None:
    """Where nodes are known, what is meant is written if one has it."""
    spec = {"topologySpreadConstraints": [a_constraint(topologyKey="zone")]}
    context = Context(inventory=ClusterTopology((a_node_with(carried),)))
    (problem,) = problems(RULE, text_of(a_workload(spec=spec)), context)

    assert expected == [edit.new for edit in problem.edits]

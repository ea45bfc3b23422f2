"""Tests of constraints-unsatisfiable-together."""

from __future__ import annotations

import pytest

from tests.policies.rules.placing import HOST, ZONE, a_context, a_workload, found, most_placed, nodes_of

RULE = "constraints-unsatisfiable-together"
SECOND = "spec.template.spec.topologySpreadConstraints[1]"


@pytest.mark.parametrize(
    ("zones", "zone", "host", "replicas", "expected"),
    [
        pytest.param("aaab", "", "", 4, 3, id="3 and 1 nodes: two pods in a, one in b"),
        pytest.param("aaab", "", "", 3, None, id="3 and 1 nodes: three fit"),
        pytest.param("aab", "", "", 9, 5, id="2 and 1 nodes: three pods in a, two in b"),
        pytest.param("aab", "", "", 5, None, id="2 and 1 nodes: five fit"),
        pytest.param("aaab", "", "maxSkew: 2", 9, 7, id="3 and 1 nodes, two a host: four and three"),
        pytest.param("aabb", "", "", 40, None, id="equal zones: any number fits"),
        pytest.param("aaabb", "", "", 9, None, id="3 and 2 nodes: nine fit"),
    ],
)
def test_the_number_is_what_really_fits(
    zones: str, zone: str, host: str, replicas: int, expected: int | None
) -> None:
    """As many replicas can run as the message says, in the best order, and no more."""
    nodes = nodes_of(*zones)
    constraints = (f"topologyKey: {ZONE}, own, {zone}", f"topologyKey: {HOST}, own, {host}")
    manifest = a_workload(*constraints, replicas=replicas)
    wanted = [] if expected is None else [(SECOND, expected)]

    assert wanted == found(RULE, manifest, a_context(nodes))
    assert (replicas if expected is None else expected) == most_placed(nodes, manifest, wanted=replicas)


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(
            a_workload(f"topologyKey: {ZONE}, own, minDomains: 3", f"topologyKey: {HOST}, own", replicas=9),
            id="one of them alone leaves too little room",
        ),
        pytest.param(
            a_workload(f"topologyKey: {ZONE}, own", f"topologyKey: {HOST}, labelSelector: {{}}", replicas=9),
            id="one of them counts nothing",
        ),
        pytest.param(
            a_workload(f"topologyKey: {ZONE}, own", f"topologyKey: {HOST}, own", replicas=9)
            + "\n---\n{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: default}}\n",
            id="a node for zone b may be added",
        ),
    ],
)
def test_silent(manifest: str) -> None:
    """Nothing is said where another rule does, or nothing is certain."""
    assert [] == found(RULE, manifest, a_context(nodes_of(*"aaab")))


def test_overlapping_domains_are_not_judged() -> None:
    """Racks and rows that cross each other are left alone."""
    nodes = nodes_of(*"aaab")
    for number, node in enumerate(nodes):
        node["metadata"]["labels"]["row"] = "odd" if number % 2 else "even"
    manifest = a_workload(f"topologyKey: {ZONE}, own", "topologyKey: row, own", replicas=99)

    assert [] == found(RULE, manifest, a_context(nodes))

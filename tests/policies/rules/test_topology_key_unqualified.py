"""A constraint over a name that no node has by itself."""

from __future__ import annotations

import pytest

from policies.model.inventory import Inventory
from policies.rules.base import Context
from tests.builders import a_constraint, a_workload
from tests.policies.rules.asking import problems
from tests.policies.rules.documents import text_of

RULE = "topology-key-unqualified"


@pytest.mark.parametrize(
    ("key", "inventory", "expected"),
    [
        pytest.param("zone", None, 1, id="zone"),
        pytest.param("node", None, 1, id="node"),
        pytest.param("topology.kubernetes.io/hostname", None, 1, id="hostname with the prefix of zones"),
        pytest.param("kubernetes.io/zone", None, 1, id="zone with the prefix of host names"),
        pytest.param("rack", None, 0, id="rack is somebody's own label"),
        pytest.param("acme.example/zone", None, 0, id="qualified"),
        pytest.param("zone", Inventory(domains={"zone": ("a", "b")}), 0, id="zone, listed in a policy"),
        pytest.param("zone", Inventory(domains={"rack": ("a", "b")}), 1, id="zone, only racks are listed"),
        pytest.param("zone", Inventory(nodes=()), 0, id="zone, nodes known: another rule's finding"),
    ],
)
def test_keys(key: str, inventory: Inventory | None, expected: int) -> None:
    """Wrong names are reported where nothing is known of them."""
    text = text_of(a_workload(spec={"topologySpreadConstraints": [a_constraint(topologyKey=key)]}))

    assert expected == len(problems(RULE, text, Context(inventory=inventory)))

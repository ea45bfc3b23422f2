"""A constraint over a node label that Kubernetes has given up."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.node import Node
from policies.model.topology import ClusterTopology
from policies.model.topology_keys import MISNAMED, RENAMED
from policies.model.version import KubernetesVersion
from policies.rules.base import Context
from tests.builders import a_constraint, a_workload
from tests.policies.rules.documents import text_of
from tests.policies.rules.run_rules import problems

RULE = "topology-key-deprecated"
OLD, NEW = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"


def a_node(*keys: str) -> Node:
    return Node("n1", dict.fromkeys(keys, "a"), (), unschedulable=False, allocatable={})


def renames(entries: list[Any], context: Context | None = None) -> list[list[str]]:
    text = text_of(a_workload(spec={"topologySpreadConstraints": entries}))
    return [[edit.new for edit in problem.edits] for problem in problems(RULE, text, context)]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param([a_constraint(topologyKey=OLD)], [[NEW]], id="renamed"),
        pytest.param([a_constraint(topologyKey=NEW)], [], id="new name"),
        pytest.param(
            [a_constraint(topologyKey=OLD), a_constraint()], [[]], id="the new name is there as hard as this"
        ),
        pytest.param(
            [a_constraint(topologyKey=OLD), a_constraint(whenUnsatisfiable="ScheduleAnyway")],
            [[NEW]],
            id="the new name is there, but soft",
        ),
        pytest.param(
            [a_constraint(topologyKey=OLD), a_constraint(maxSkew=0)], [[]], id="the new name is there, broken"
        ),
    ],
)
def test_renames(entries: list[Any], expected: list[list[str]]) -> None:
    """A rename never makes the same constraint stand twice."""
    assert expected == renames(entries)


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        pytest.param((a_node(OLD),), [[]], id="nodes carry only the old one"),
        pytest.param((a_node(OLD, NEW),), [[NEW]], id="nodes carry both"),
    ],
)
def test_nodes_decide(nodes: tuple[Node, ...], expected: list[list[str]]) -> None:
    """Nothing is renamed to a label that no node of a known cluster carries."""
    assert expected == renames([a_constraint(topologyKey=OLD)], Context(inventory=ClusterTopology(nodes)))


def test_releases() -> None:
    """Before 1.17 the old name is the name."""
    assert [] == renames([a_constraint(topologyKey=OLD)], Context(version=KubernetesVersion(1, 16)))


def test_new_names_are_final() -> None:
    """No label is renamed to one that is deprecated or wrong itself."""
    names = set(RENAMED.values()) | set(MISNAMED.values())

    assert set() == names & (RENAMED.keys() | MISNAMED.keys())

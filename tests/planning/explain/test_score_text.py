"""A placement as a person reads it."""

from __future__ import annotations

from typing import Any

import pytest

from planning.explain import score_text as score_table
from policies.pods.placement import Placement
from tests.builders import HOSTNAME, a_constraint, a_node, a_pod, a_replica_set, a_workload
from tests.planning.verdicts import a_placement, on

NODES = [a_node("n1", "a"), a_node("n2", "a", unschedulable=True), a_node("n3", "b"), a_node("n4")]

OWNED = a_replica_set(a_workload(), "5d9")


def _placement(
    *constraints: dict[str, Any], nodes: list[dict[str, Any]] | None = None, **spec: Any
) -> Placement:
    pod = a_pod(spec={"topologySpreadConstraints": list(constraints), **spec})
    return a_placement(pod, *(NODES if nodes is None else nodes), *on("n1", 2))


def _lines(placement: Placement, width: int = 80) -> list[str]:
    return score_table.render(placement, width=width, color=False).splitlines()


def test_what_a_person_reads() -> None:
    """Whether it fits, by which constraints, and each node with its score or why not."""
    lines = _lines(
        _placement(a_constraint(), a_constraint(topologyKey=HOSTNAME, whenUnsatisfiable="ScheduleAnyway"))
    )

    assert lines == [
        "Pod shop/web-0 fits 1 of 4 nodes (Kubernetes 1.36)",
        "",
        "1. topology.kubernetes.io/zone DoNotSchedule maxSkew 1, the pod's own",
        "   counts pods: app=web",
        "   matching pods: b 0, a 2",
        "   global minimum 0: a domain with more than 0 cannot take this pod",
        "2. kubernetes.io/hostname ScheduleAnyway maxSkew 1, the pod's own",
        "   counts pods: app=web",
        "   matching pods: n2 0, n3 0, n4 0, n1 2",
        "",
        "NODE   ZONE     FITS   SCORE   RAW   TOTAL   WHY NOT",
        "────────────────────────────────────────────────────────────────────────────────",
        "n3     b        yes      100     0     597",
        "n1     a        no                           constraint 1: a 2 + 1 - 0 = 3,",
        "                                             above 1",
        "n2     a        no                           node(s) were unschedulable",
        "                                             constraint 1: a 2 + 1 - 0 = 3,",
        "                                             above 1",
        "n4     <none>   no                           constraint 1: no label",
        "                                             topology.kubernetes.io/zone",
        "",
        "constraint N: matching pods + this one - global minimum = skew, above maxSkew",
        "",
        "SCORE is PodTopologySpread's, 0 to 100; the highest TOTAL of all plugins wins",
    ]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_lines_are_no_wider_than_the_terminal(width: int) -> None:
    """Long names fold, nothing runs over."""
    long = [a_node("a" * 120, "b" * 63), *NODES]

    assert width >= max(map(len, _lines(_placement(a_constraint(), nodes=long), width)))


def test_every_node_has_a_line() -> None:
    """However many are alike: it is the table to look up one in."""
    nodes = [a_node(f"m{number}") for number in range(50)]
    rendered = _lines(_placement(nodes=nodes))

    assert 50 == len([line for line in rendered if line.startswith("m")])


def test_nowhere() -> None:
    """The pod's condition is told as the scheduler writes it."""
    lines = _lines(_placement(nodes=[NODES[1]]))

    assert "fits none of 1 node" in lines[0]
    assert "0/1 nodes are available: 1 node(s) were unschedulable." in lines


def test_no_constraint() -> None:
    """Where none is in force, it says why."""
    assert any(line.startswith("No constraint is in force: no Service") for line in _lines(_placement()))


def test_what_is_not_judged() -> None:
    """Other things that a scheduler looks at are named."""
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]

    assert any("persistentVolumeClaims" in line for line in _lines(_placement(volumes=volumes))[-2:])


def test_names_cannot_steer_the_terminal() -> None:
    """A control character in a name of a file is shown, not sent."""
    assert "\x1b" not in "".join(_lines(_placement(nodes=[a_node("n\x1b[2J", "a\x1b[2J")])))


def test_color() -> None:
    """Colors are for terminals that were asked for them."""
    assert "\x1b[" in score_table.render(_placement(), width=80, color=True)


@pytest.mark.parametrize(
    ("obj", "cluster", "end"),
    [
        pytest.param(a_workload(), [], "(Kubernetes 1.36), scheduled as a new revision", id="a new one"),
        pytest.param(
            a_workload(), [a_replica_set(a_workload(), "5d9")], "(Kubernetes 1.36)", id="one that is there"
        ),
        pytest.param(a_workload("Job", "batch"), [], "(Kubernetes 1.36)", id="a Job has none"),
    ],
)
def test_a_new_revision_is_told(obj: dict[str, Any], cluster: list[dict[str, Any]], end: str) -> None:
    """The headline says so where pods that run now are of another revision than the one judged."""
    assert _lines(a_placement(obj, *NODES, *cluster), width=120)[0].endswith(end)

"""ScheduleAnyway constraints: how feasible nodes are scored."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from policies.scheduler.plugins.podtopologyspread.scoring import normalize
from policies.scheduler.result import FilterResult, PhaseStatus, SchedulingResult, ScoreResult
from tests.policies.scheduler.clusters import a_constraint, a_node, a_pod, ask, scores, zones

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"selector": {"app": "web"}},
}


def raw(verdict: SchedulingResult) -> list[int]:
    assert verdict.raw_scores is not None
    found: list[int] = verdict.raw_scores.tolist()
    return found


@pytest.mark.parametrize(
    ("sizes", "fields", "expected_raw", "expected"),
    [
        # ln(2 + 2) = 1.386: 3 pods are 4.16, 1 pod 1.39, 0 pods 0.
        pytest.param({"a": 3, "b": 1}, {}, [4, 1], {"a": 25, "b": 100}, id="sizes [3,1]"),
        pytest.param({"a": 3, "b": 0}, {}, [4, 0], {"a": 0, "b": 100}, id="sizes [3,0]"),
        pytest.param({"a": 0, "b": 0}, {}, [0, 0], {"a": 100, "b": 100}, id="nothing there: all 100"),
        pytest.param({"a": 0, "b": 0}, {"maxSkew": 5}, [4, 4], {"a": 100, "b": 100}, id="maxSkew - 1 adds"),
    ],
)
def test_scores(
    sizes: dict[str, int], fields: dict[str, Any], expected_raw: list[int], expected: dict[str, int]
) -> None:
    """Raw is round(matching * ln(domains + 2) + maxSkew - 1); normalized is 100 * (max + min - raw) / max."""
    pod = a_pod("next", spread=[a_constraint(action="ScheduleAnyway", **fields)])
    verdict = ask(zones(**sizes), pod)

    assert expected_raw == raw(verdict)
    assert expected == scores(verdict)


def test_a_node_without_the_key_is_ignored() -> None:
    """It scores 0 and is no domain, so the weight is that of the two zones."""
    objects = [*zones(a=3, b=1), a_node("bare")]
    verdict = ask(objects, a_pod("next", spread=[a_constraint(action="ScheduleAnyway")]))
    result = verdict.results[0]

    assert {"a": 25, "b": 100, "bare": 0} == scores(verdict)
    assert isinstance(result, ScoreResult)
    assert math.log(4) == result.weight


def test_system_defaults_score_what_a_node_has() -> None:
    """Under the system defaults a node without a zone is scored, and its missing zone is one more domain."""
    objects = [*zones(a=3, b=0), SERVICE]
    objects[0]["metadata"]["labels"][ZONE] = "a"
    verdict = ask(objects, a_pod("next"), args={"defaultingType": "System"})
    hostname, zone = verdict.results

    assert isinstance(hostname, ScoreResult)
    assert isinstance(zone, ScoreResult)
    assert (math.log(4), math.log(4)) == (hostname.weight, zone.weight)
    # a: 3 * ln 4 + 2 on the host, 3 * ln 4 + 4 in the zone; b has the host alone.
    assert [round(6 * math.log(4) + 6), 2] == raw(verdict)


def test_nodes_without_a_zone_are_a_domain() -> None:
    """Under the system defaults they are told, as the empty one, with their pods; otherwise they are none."""
    objects = [*zones(a=1), a_node("b"), a_node("c"), a_pod("p", "c"), SERVICE]
    objects[0]["metadata"]["labels"] = {ZONE: "x"}
    system = ask(objects, a_pod("next"), args={"defaultingType": "System"}).results[1]
    own = ask(objects, a_pod("next", spread=[a_constraint(ZONE, "ScheduleAnyway")])).results[0]

    assert {"x": (1, 1), "": (1, 2)} == told(system)
    assert {"x": (1, 1)} == told(own)


def told(result: FilterResult | ScoreResult) -> dict[str, tuple[int, int]]:
    """Return the matching pods and the nodes of every domain that exists."""
    domains = result.domains
    rows = zip(domains.values, domains.exists, domains.matching.tolist(), domains.nodes.tolist(), strict=True)
    return {value: (matching, nodes) for value, exists, matching, nodes in rows if exists}


def test_a_missing_zone_is_an_empty_one() -> None:
    """Under the system defaults a node of the zone "" counts the pods of nodes without a zone against it."""
    objects = [*zones(a=0, b=2), a_node("c"), SERVICE]
    for node, zone in zip(objects, ("x", ""), strict=False):
        node["metadata"]["labels"][ZONE] = zone
    objects.append(a_pod("p", "c"))
    verdict = ask(objects, a_pod("next"), args={"defaultingType": "System"})

    # Two zones, three hosts. b: 2 on the host, 3 in the zone; c, without a zone of its own: 1 on the host.
    assert [6, round(2 * math.log(5) + 2 + 3 * math.log(4) + 4), round(math.log(5) + 2)] == raw(verdict)


def test_hostname_counts_the_node_itself() -> None:
    """Nodes that share a hostname are two domains; inclusion policies do not matter there."""
    objects = [a_node("a", {HOSTNAME: "same"}), a_node("b", {HOSTNAME: "same"}), a_pod("p", "a")]
    verdict = ask(objects, a_pod("next", spread=[a_constraint(HOSTNAME, "ScheduleAnyway")]))

    assert {"a": 0, "b": 100} == scores(verdict)


def test_nothing_to_score() -> None:
    """Without soft constraints, or without nodes, PreScore is skipped; without feasible nodes no weight."""
    hard = ask(zones(a=1), a_pod("next", spread=[a_constraint()]))
    soft = a_pod("next", spread=[a_constraint(action="ScheduleAnyway")])
    empty, full = ask([], soft), ask([a_node("a", {"zone": "a"}, unschedulable=True)], soft)
    result = full.results[0]

    assert (PhaseStatus.SKIP, None) == (hard.pre_score, hard.raw_scores)
    assert PhaseStatus.SKIP is empty.pre_score
    assert PhaseStatus.SUCCESS is full.pre_score
    assert isinstance(result, ScoreResult)
    assert result.weight is None


def test_normalized_in_integers() -> None:
    """Division cuts off: 100 * (7 + 2 - 5) / 7 is 57."""
    every = np.ones(3, np.bool_)

    assert [28, 57, 100] == normalize(np.array([7, 5, 2]), every).tolist()

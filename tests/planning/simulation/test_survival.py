"""What is left of a workload when the fullest domain goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from planning.simulation.survival import MOST_DOMAINS, Survival, survivals
from policies.model.topology_keys import HOSTNAME, ZONE
from tests.policies.scheduler.clusters import a_constraint, a_node, a_pod, a_request, an_index

Object = dict[str, Any]


def _nodes(**zones: str) -> list[Object]:
    return [a_node(name, {ZONE: zone}) for name, zone in zones.items()]


def _survival(
    nodes: list[Object], after: Mapping[str, int], key: str = ZONE, spread: str = ZONE, **spec: Any
) -> Survival:
    index = an_index(nodes)
    request = a_request(a_pod("web", spread=[a_constraint(spread)], **spec), {}, index)
    (found,) = (each for each in survivals(request, after, after, index, index) if each.topology_key == key)
    return found


THREE = _nodes(a1="a", b1="b", c1="c")


def test_before_and_after() -> None:
    """The example of a zone that is emptied: seven of eleven go with the fullest, four of ten before."""
    index = an_index(THREE)
    request = a_request(a_pod("web", spread=[a_constraint(ZONE)]), {}, index)
    before, after = {"a1": 4, "b1": 4, "c1": 2}, {"a1": 7, "b1": 4}
    by_zone, by_host = survivals(request, before, after, index, index)

    assert (ZONE, HOSTNAME) == (by_zone.topology_key, by_host.topology_key)
    assert ({"a": 4, "b": 4, "c": 2}, {"a": 7, "b": 4, "c": 0}) == (by_zone.before, by_zone.after)
    assert ("a", "a", 6, 4) == (by_zone.fullest_before, by_zone.fullest, by_zone.left_before, by_zone.left)
    assert (3, 0, False) == (by_zone.possible, by_zone.other_domains, by_zone.stops)


def test_a_new_workload() -> None:
    """There is nothing before; a single pod does not stop, whatever is lost."""
    index = an_index(THREE)
    request = a_request(a_pod("web", spread=[a_constraint("rack")]), {}, index)
    rack, zone, _ = survivals(request, None, {"a1": 1}, index, index)

    assert (None, None, None, 0, False) == (
        zone.before,
        zone.fullest_before,
        zone.left_before,
        zone.left,
        zone.stops,
    )
    # No node has the key of its constraint: the pod is in none of its domains.
    assert ("rack", 0, {}, None, 1) == (
        rack.topology_key,
        rack.possible,
        rack.after,
        rack.fullest,
        rack.left,
    )


TAINT = "dedicated=gpu:NoSchedule"


@pytest.mark.parametrize(
    ("second", "spec", "possible", "stops"),
    [
        (a_node("b1", {ZONE: "b"}), {}, 2, True),
        (a_node("b1", {ZONE: "b"}, unschedulable=True), {}, 2, True),
        (a_node("b1", {ZONE: "b"}, taints=["node.kubernetes.io/disk-pressure:NoSchedule"]), {}, 2, True),
        (a_node("b1", {ZONE: "b"}, taints=[TAINT]), {}, 1, False),
        (a_node("b1", {ZONE: "b"}, taints=[TAINT]), {"tolerations": [{"operator": "Exists"}]}, 2, True),
        (a_node("b1", {ZONE: "b"}), {"nodeSelector": {ZONE: "a"}}, 1, False),
        (a_node("b1", {ZONE: "b"}, taints=["node.kubernetes.io/unreachable:NoExecute"]), {}, 1, False),
        (a_node("b1"), {}, 1, False),
    ],
)
def test_what_is_possible(second: Object, spec: Object, possible: int, *, stops: bool) -> None:
    """Affinity and lasting taints count, and nodes that are gone; cordons and conditions that pass do not."""
    found = _survival([*_nodes(a1="a"), second], {"a1": 2}, **spec)

    assert (possible, stops, 0) == (found.possible, found.stops, found.left)


def test_pods_where_no_other_may_go() -> None:
    """What runs on a node that was tainted since stops with it, though there is one other domain alone."""
    nodes = [a_node("a1", {ZONE: "a"}, taints=[TAINT]), *_nodes(b1="b")]
    found = _survival(nodes, {"a1": 2})

    assert (1, {"a": 2, "b": 0}, True) == (found.possible, found.after, found.stops)


def test_pods_outside_of_every_domain() -> None:
    """A pod on a node without the key is lost with no domain."""
    found = _survival([*THREE, a_node("x1")], {"a1": 2, "x1": 1})

    assert ({"a": 2, "b": 0, "c": 0}, 1, False) == (found.after, found.left, found.stops)


@pytest.mark.parametrize(
    ("extra", "possible", "stops"), [(("a",), 1, False), (("b",), 2, True), (None, None, True)]
)
def test_nodes_that_may_come(extra: tuple[str, ...] | None, possible: int | None, *, stops: bool) -> None:
    """A domain that an autoscaler may add to is possible; so is another where that is not known."""
    index = an_index(_nodes(a1="a"))
    request = a_request(a_pod("web"), {}, index)
    zone, _ = survivals(request, {}, {"a1": 2}, index, index, extra_domains=lambda _key: extra)

    assert (possible, stops) == (zone.possible, zone.stops)


def test_more_domains_than_are_shown() -> None:
    """Those with most pods are shown, before or after; the others are counted."""
    nodes = _nodes(**{f"n{number:03}": "a" for number in range(MOST_DOMAINS + 5)})
    index = an_index(nodes)
    request = a_request(a_pod("web"), {}, index)
    _, hosts = survivals(request, {"n104": 3}, {"n103": 2}, index, index)

    assert 5 == hosts.other_domains
    assert MOST_DOMAINS == len(hosts.after) == len(hosts.before or {})
    assert (3, 2) == ((hosts.before or {})["n104"], hosts.after["n103"])
    assert "n098" not in hosts.after
    assert sorted(hosts.after) == list(hosts.after)


def test_a_domain_that_is_lost() -> None:
    """With its nodes it is no longer possible, and what it held stays told before."""
    request = a_request(a_pod("web", spread=[a_constraint(ZONE)]), {}, an_index(THREE))
    index, lost = an_index(THREE), an_index(THREE[1:])
    found = survivals(request, {"a1": 2, "b1": 1}, {"b1": 2, "c1": 1}, index, lost)[0]

    assert (2, {"a": 2, "b": 1, "c": 0}, {"b": 2, "c": 1}) == (found.possible, found.before, found.after)

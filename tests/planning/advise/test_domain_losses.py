"""The pods that losses of domains take, and those that fit elsewhere."""

from __future__ import annotations

import pytest

from planning.advise.domain_losses import domain_losses
from policies.pods.known_pods import UNREAD_PODS
from tests.builders import a_constraint, a_node
from tests.planning.clusters import ZONE_KEY
from tests.planning.goals import ONE_CPU, THREE, Object, context_of, workload_of

HOSTS = [a_node(f"n{at}", f"zone-{at}") for at in range(20)]


@pytest.mark.parametrize(
    ("fields", "cpu", "expected"),
    [
        pytest.param({"nodeTaintsPolicy": "Honor"}, "4", {(2, 2, 2)}, id="elsewhere at once"),
        pytest.param({}, "4", {(2, 2, 0)}, id="unreachable nodes count as a zone with 0 pods"),
        pytest.param({"nodeTaintsPolicy": "Honor", "minDomains": 3}, "4", {(2, 0, 0)}, id="minDomains"),
        pytest.param({"nodeTaintsPolicy": "Honor"}, "2", {(2, 0, 0)}, id="no room"),
    ],
)
def test_losses(fields: Object, cpu: str, expected: set[tuple[int, int, int]]) -> None:
    """Pods lost at once, those that fit once the nodes are removed, and those that fit in an outage."""
    context = context_of([a_node(f"n{at}", zone, cpu=cpu) for at, zone in enumerate("abc")])
    workload = workload_of([a_constraint(maxSkew=1, **fields)], context, containers=ONE_CPU)
    losses = list(domain_losses(workload, 6, ZONE_KEY, context, UNREAD_PODS, stop=lambda: False))

    assert ["a", "b", "c"] == [loss.domain for loss in losses]
    assert expected == {(loss.lost, loss.back, loss.back_in_outage) for loss in losses}


def test_many_domains() -> None:
    """Those of most replicas are tried; one without replicas loses none."""
    few, many = (
        list(
            domain_losses(
                workload_of(None, context), count, ZONE_KEY, context, UNREAD_PODS, stop=lambda: False
            )
        )
        for context, count in ((context_of(THREE), 2), (context_of(HOSTS), 20))
    )

    assert (2, 12) == (len(few), len(many))

"""Tests of what changes give up of DoNotSchedule constraints."""

from __future__ import annotations

import pytest

from planning.simulation.suggestions.given_up import GivenUp, given_up_by
from policies.config.context import AdmissionContext
from policies.model.topology_keys import HOSTNAME
from policies.pods.placement import evaluate_workload, read_workload
from policies.scheduler.changes import Change, ChangeKind
from tests.builders import a_constraint, a_node, a_pod
from tests.planning.clusters import ZONE_KEY
from tests.policies.scheduler.clusters import an_index

_ZONE, _HOST = 0, 1


def _soft(position: int) -> Change:
    return Change(what=ChangeKind.WHEN_UNSATISFIABLE, constraint=position, value="ScheduleAnyway")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param([Change(what=ChangeKind.TOLERATIONS)], [], id="a toleration: nothing"),
        pytest.param(
            [Change(what=ChangeKind.NODE_TAINTS_POLICY, constraint=_ZONE, value="Honor")],
            [],
            id="what is to count: nothing",
        ),
        pytest.param(
            [Change(what=ChangeKind.MAX_SKEW, constraint=_HOST, value=4)],
            [GivenUp(HOSTNAME, "maxSkew", "1", "4")],
            id="maxSkew 1 to 4",
        ),
        pytest.param(
            [_soft(_ZONE)],
            [
                GivenUp(ZONE_KEY, "whenUnsatisfiable", "DoNotSchedule", "ScheduleAnyway"),
                GivenUp(ZONE_KEY, "minDomains", "3", "1"),
            ],
            id="softened: minDomains goes, too",
        ),
        pytest.param(
            [Change(what=ChangeKind.CONSTRAINT, constraint=_ZONE), _soft(_ZONE)],
            [
                GivenUp(ZONE_KEY),
                GivenUp(HOSTNAME, "whenUnsatisfiable", "DoNotSchedule", "ScheduleAnyway"),
            ],
            id="the first removed, then the one that has its place softened",
        ),
    ],
)
def test_given_up(changes: list[Change], expected: list[GivenUp]) -> None:
    """Each weakened field, or all of a constraint that is removed; nothing for other changes."""
    constraints = [a_constraint(minDomains=3), a_constraint(topologyKey=HOSTNAME)]
    pod = a_pod(spec={"topologySpreadConstraints": constraints})
    context = AdmissionContext(policies=(), cluster=an_index([a_node("n1", "a")]))

    assert expected == list(
        given_up_by(changes, evaluate_workload(read_workload(pod, context), context).result.request)
    )

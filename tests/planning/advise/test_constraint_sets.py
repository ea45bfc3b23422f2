"""The sets of constraints that are considered, their order, and the edits to have them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planning.advise.constraint_sets import (
    ConstraintBasis,
    ConstraintSet,
    Others,
    constraint_sets,
    edits_to,
    given_up,
)
from planning.advise.goal import Goal
from policies.manifests.edits import apply_edits
from policies.model.constraint import WhenUnsatisfiable
from policies.model.labels import LabelSelector
from policies.model.topology_keys import HOSTNAME
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from policies.model.workload import Workload
from policies.scheduler.releases import behavior_of
from tests.builders import a_constraint
from tests.planning.clusters import ZONE_KEY
from tests.planning.goals import THREE, Object, a_goal, context_of, workload_of

OWN = LabelSelector((("app", "web"),))


def _workload(*spread: Object) -> Workload:
    return workload_of(list(spread) or None, context_of(THREE))


def _sets(goal: Goal, *spread: Object, version: KubernetesVersion = KNOWN_VERSION) -> list[ConstraintSet]:
    basis = ConstraintBasis(
        selector=OWN, match_label_keys=("pod-template-hash",), behavior=behavior_of(version), domains=3
    )
    return constraint_sets(_workload(*spread), goal, basis)


def _short(each: ConstraintSet) -> tuple[str, ...]:
    return tuple(
        "soft"
        if constraint.when_unsatisfiable is WhenUnsatisfiable.SCHEDULE_ANYWAY
        else f"{constraint.max_skew}/{constraint.min_domains}"
        for constraint in each.wanted
    )


def test_order() -> None:
    """A preference comes first, then less minDomains, then more maxSkew."""
    assert [("soft",), ("2/1",), ("1/1",), ("2/2",), ("1/2",), ("2/3",), ("1/3",)] == [
        _short(each) for each in _sets(a_goal(3, 6))
    ]


def test_two_keys() -> None:
    """One constraint that can leave pods pending comes before two of them."""
    sets = _sets(a_goal(3, 3, one_a_node=True))
    hard = [sum(name != "soft" for name in _short(each)) for each in sets]

    assert (("soft", "soft"), ("1/3", "1/1")) == (_short(sets[0]), _short(sets[-1]))
    assert sorted(hard) == hard
    assert {ZONE_KEY, HOSTNAME} == {each.topology_key for each in sets[0].wanted}


def test_fields_that_a_release_drops() -> None:
    """They are not proposed to it."""
    for each in _sets(a_goal(3, 6), version=KubernetesVersion(1, 24)):
        (constraint,) = each.wanted
        assert not {"minDomains", "nodeTaintsPolicy"} & constraint.to_dict().keys()


@pytest.mark.parametrize(
    ("spread", "expected"),
    [
        pytest.param([], {Others.KEPT}, id="none"),
        pytest.param([a_constraint(topologyKey="zone")], {Others.KEPT}, id="of the same key, misspelled"),
        pytest.param([a_constraint(topologyKey="rack")], set(Others), id="a hard one"),
        pytest.param(
            [a_constraint(topologyKey="rack", whenUnsatisfiable="ScheduleAnyway")],
            {Others.KEPT, Others.REMOVED},
            id="a soft one",
        ),
        pytest.param(
            [a_constraint(labelSelector={"matchLabels": {"app.kubernetes.io/part-of": "shop"}})],
            set(Others),
            id="of several applications",
        ),
    ],
)
def test_others(spread: list[Object], expected: set[Others]) -> None:
    """The manifest's constraints for other keys are kept first."""
    sets = _sets(a_goal(allow_soft=True), *spread)

    assert expected == {each.others for each in sets}
    assert Others.KEPT is sets[0].others


@pytest.mark.parametrize(
    ("spread", "least", "others"),
    [
        pytest.param([a_constraint(maxSkew=2, minDomains=2)], (2, 2), {Others.KEPT}, id="2-2"),
        pytest.param(
            [a_constraint(maxSkew=2), a_constraint(minDomains=3)], (1, 3), {Others.KEPT}, id="2-of-a-key"
        ),
        pytest.param([a_constraint(maxSkew=9)], (9, 1), {Others.KEPT}, id="9-beyond-what-is-tried"),
        pytest.param([a_constraint(topologyKey="rack")], None, {Others.KEPT}, id="another-key"),
    ],
)
def test_guarantees_are_kept(
    spread: list[Object], least: tuple[int, int] | None, others: set[Others]
) -> None:
    """No set is softer than a DoNotSchedule constraint that is there, unless that is asked for."""
    sets, asked = _sets(a_goal(), *spread), _sets(a_goal(allow_soft=True), *spread)
    workload = _workload(*spread)

    assert others == {each.others for each in sets}
    assert not any(list(given_up(each, workload, a_goal())) for each in sets)
    assert any(list(given_up(each, workload, a_goal())) for each in asked)
    if least is not None:
        (first,) = sets[0].wanted
        assert least == (first.max_skew, first.min_domains)


SOFT, HARD = _sets(a_goal())[0], _sets(a_goal())[-1]
ADDED = HARD.wanted[0].to_dict()
RACK = a_constraint(topologyKey="rack", minDomains=2)


@pytest.mark.parametrize(
    ("spread", "chosen", "expected"),
    [
        pytest.param([], HARD, [ADDED], id="a new list"),
        pytest.param([RACK], HARD, [RACK, ADDED], id="one is added"),
        pytest.param([a_constraint(topologyKey="zone"), RACK], HARD, [ADDED, RACK], id="one is corrected"),
        pytest.param(
            [a_constraint(), RACK, a_constraint(whenUnsatisfiable="ScheduleAnyway")],
            SOFT,
            [SOFT.wanted[0].to_dict(), RACK],
            id="the second of a key is removed",
        ),
        pytest.param(
            [RACK],
            replace(HARD, others=Others.SOFTENED),
            [a_constraint(topologyKey="rack", whenUnsatisfiable="ScheduleAnyway"), ADDED],
            id="another is softened",
        ),
        pytest.param([RACK], replace(HARD, others=Others.REMOVED), [ADDED], id="the only one is replaced"),
        pytest.param(
            [RACK, a_constraint(), RACK | {"topologyKey": "row"}],
            replace(HARD, others=Others.REMOVED),
            [ADDED],
            id="others are removed",
        ),
    ],
)
def test_edits(spread: list[Object], chosen: ConstraintSet, expected: list[Object]) -> None:
    """After the edits the workload has these constraints."""
    workload = _workload(*spread)
    edited = apply_edits(workload.obj, edits_to(chosen, workload, a_goal()))

    assert expected == edited["spec"]["template"]["spec"]["topologySpreadConstraints"]


def test_what_each_field_gives_up() -> None:
    """For each field there is a set that is preferred and differs in it."""
    softer = {field: each for _, field, each in replace(HARD, others=Others.REMOVED).softer()}

    assert ["", "whenUnsatisfiable", "maxSkew", "minDomains"] == list(softer)
    assert all(each.cost < replace(HARD, others=Others.REMOVED).cost for each in softer.values())
    assert [("soft",), ("2/3",), ("1/2",)] == [_short(each) for field, each in softer.items() if field]

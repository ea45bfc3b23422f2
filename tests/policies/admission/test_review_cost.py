"""The cost of reviewing an object, and the cost from which on it is not reviewed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policies.admission.decision import SkippedRules, by_reason
from policies.admission.review_cost import MAX_READ, MAX_READ_AGAIN, MAX_TEMPLATE, SEARCH_STEPS, ReviewCost
from policies.model.step_counter import TooManyStepsError
from policies.model.workload import Workload
from tests.builders import a_constraint, a_node, a_workload, kind_of
from tests.planning.clusters import ZONE_KEY
from tests.policies.config.contexts import a_context

TAINTS = [{"key": "team", "effect": "NoSchedule"}] * 2


def of(constraints: list[Any], nodes: int = 10, **spec: Any) -> ReviewCost:
    """Return the costs of a Deployment on so many nodes with two taints each."""
    obj = a_workload(spec={"topologySpreadConstraints": constraints, **spec})
    cluster = [a_node(f"n{n}", "a", taints=TAINTS) for n in range(nodes)]
    workload = Workload.read(obj, kind_of("Deployment", "apps"), "shop")
    return ReviewCost(workload, a_context(cluster=cluster).for_rules().inventory)


def wishes(requirements: int, **fields: Any) -> dict[str, Any]:
    """Return required node affinity."""
    one = {"key": "pool", "operator": "Exists", **fields}
    terms = [{"matchExpressions": [one] * requirements}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


@pytest.mark.parametrize(
    ("costs", "reason"),
    [
        pytest.param(of([a_constraint()]), "", id="a usual workload"),
        pytest.param(
            of([a_constraint(labelSelector={"matchLabels": {str(n): "" for n in range(2500)}})]),
            "its constraints have more than 2000 entries",
            id="2,500 labels in a selector",
        ),
        pytest.param(
            of([a_constraint(**{f"f{n}": 1 for n in range(300)})]),
            "its constraints have more than 256 errors of one kind",
            id="300 unknown fields",
        ),
    ],
)
def test_when_no_rule_is_asked(costs: ReviewCost, reason: str) -> None:
    """Constraints that nobody has read are not judged."""
    assert reason == costs.of_all


@pytest.mark.parametrize(
    ("constraints", "tolerations", "judged"),
    [
        pytest.param(1, MAX_READ // 2 - 30, True, id="1 constraint over 9,940 entries"),
        pytest.param(1, MAX_READ // 2, False, id="1 constraint over 10,000 entries"),
        pytest.param(49, MAX_READ_AGAIN // 50 // 2 - 30, True, id="49 constraints over 940 entries"),
        pytest.param(49, MAX_READ_AGAIN // 50 // 2, False, id="49 constraints over 1,000 entries"),
    ],
)
def test_what_rules_read(constraints: int, tolerations: int, *, judged: bool) -> None:
    """It is limited, and so is what they read again for each constraint."""
    entries = [a_constraint(topologyKey=f"k{n}") for n in range(constraints)]
    costs = of(entries, tolerations=[{"operator": "Exists"}] * tolerations)

    assert judged == (not costs.of_others)
    assert not costs.of_all


@pytest.mark.parametrize(
    ("templates", "judged"),
    [pytest.param(300, True, id="300 claim templates"), pytest.param(350, False, id="350 claim templates")],
)
def test_claim_templates(templates: int, *, judged: bool) -> None:
    """Reading one takes 600 steps, and all reading 200,000."""
    obj = a_workload("StatefulSet", spec={"topologySpreadConstraints": [a_constraint()]})
    obj["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}}] * templates
    costs = ReviewCost(Workload.read(obj, kind_of("StatefulSet", "apps"), "shop"), None)

    assert judged == (not costs.of_others)
    assert judged or "350 claim templates" in costs.of_others


@pytest.mark.parametrize(
    ("spec", "judged"),
    [
        pytest.param({"affinity": wishes(2_000)}, True, id="2,000 requirements"),
        pytest.param({"nodeSelector": {f"k{n}": "v" for n in range(9_000)}}, True, id="9,000 labels"),
        pytest.param({"tolerations": [{"operator": "Exists"}] * 4_900}, True, id="4,900 tolerations"),
    ],
)
def test_few_nodes_allow_all_that_may_be_read(spec: dict[str, Any], *, judged: bool) -> None:
    """On 10 nodes nothing that can be read takes too long to compare."""
    assert judged == (not of([a_constraint()], **spec).of_nodes)


@pytest.mark.parametrize(
    ("requirements", "judged"),
    [pytest.param(600, True, id="600 requirements"), pytest.param(660, False, id="660 requirements")],
)
def test_nodes(requirements: int, *, judged: bool) -> None:
    """Requirements on nodes are counted once for each node: three steps each, and 400,000 are the most."""
    costs = of([a_constraint()], 200, affinity=wishes(requirements))

    assert judged == (not costs.of_nodes)
    assert judged or "with 200 nodes" in costs.of_nodes


WISH_300, WISH_400 = (of([a_constraint()], 200, affinity=wishes(count)) for count in (300, 400))
TOLERATING, TOLERATING_MORE = (
    of([a_constraint()] * 9, tolerations=[{"operator": "Exists"}] * count) for count in (1_200, 1_300)
)


@pytest.mark.parametrize(
    ("costs", "labels_only", "on_nodes", "affordable"),
    [
        pytest.param(TOLERATING, False, False, True, id="2,400 entries each, for 9 constraints"),
        pytest.param(TOLERATING_MORE, False, False, False, id="2,600 entries each, for 9 constraints"),
        pytest.param(TOLERATING_MORE, True, False, True, id="a rule that reads labels alone"),
        pytest.param(WISH_300, False, True, True, id="300 requirements of 200 nodes each"),
        pytest.param(WISH_400, False, True, False, id="400 requirements of 200 nodes each"),
        pytest.param(WISH_400, False, False, True, id="a rule that looks at no nodes"),
    ],
)
def test_an_update(costs: ReviewCost, *, labels_only: bool, on_nodes: bool, affordable: bool) -> None:
    """The new object and the stored one together may cost what one alone may."""
    assert ("", "") == (costs.of_others, costs.of_nodes)
    both = replace(costs, before=costs)

    assert affordable == both.affords_before(labels_only=labels_only, on_nodes=on_nodes)


@pytest.mark.parametrize(
    ("costs", "nodes", "pods", "reason"),
    [
        pytest.param(of([a_constraint()]), 5_000, 150_000, "", id="a usual workload, a large cluster"),
        pytest.param(
            of([a_constraint()], affinity=wishes(700)), 5_000, 0, "with 5000 nodes", id="700 requirements"
        ),
        pytest.param(of([a_constraint()], affinity=wishes(700)), 60, 0, "", id="700 on few nodes"),
        pytest.param(
            of([a_constraint()], affinity=wishes(130)), 5_000, 150_000, "with 5000 nodes", id="130, many pods"
        ),
        pytest.param(
            of([a_constraint()], affinity=wishes(60, operator="Gt", values=["1"])),
            5_000,
            0,
            "with 5000 nodes",
            id="60 numbers",
        ),
        pytest.param(
            of([a_constraint()], containers=[{"env": [{}] * MAX_TEMPLATE}]),
            10,
            0,
            "its pod template has more than 10000 entries",
            id="a large template that no rule reads",
        ),
    ],
)
def test_the_next_pod(costs: ReviewCost, nodes: int, pods: int, reason: str) -> None:
    """A verdict looks at nodes, and at the pods of the namespace."""
    found = why_not(costs, nodes=nodes, pods=pods)

    assert bool(reason) == bool(found)
    assert found.endswith(reason)


def why_not(costs: ReviewCost, *, nodes: int, pods: int) -> str:
    """Return why there is no forecast; empty if there is one."""
    try:
        costs.forecast_steps(nodes=nodes, pods=pods)
    except TooManyStepsError as error:
        return str(error)
    return ""


TERM = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "other"}}}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def repelled(terms: int, nodes: int = 10, **spec: Any) -> ReviewCost:
    """Return the costs of a Deployment with so many equal terms of anti-affinity."""
    affinity = {"podAntiAffinity": {REQUIRED: [TERM] * terms}}
    return of([a_constraint()], nodes, affinity=affinity, **spec)


@pytest.mark.parametrize(
    ("terms", "read", "forecast"),
    [
        pytest.param(30, True, True, id="30 terms"),
        pytest.param(600, True, False, id="600 terms"),
        pytest.param(1_000, False, False, id="1,000 terms"),
    ],
)
def test_terms(terms: int, *, read: bool, forecast: bool) -> None:
    """Terms of pod affinity are counted one by one, also equal ones."""
    costs = repelled(terms)

    assert (read, forecast) == (not costs.of_others, not why_not(costs, nodes=1_000, pods=0))


def test_one_budget_for_all() -> None:
    """Costs that fit alone may not fit together: reading many terms leaves less for comparing with nodes."""
    term, constraints = repelled(1, 4_000), of([a_constraint()] * 4, 4_000)
    together = repelled(600, 4_000)

    assert ["", "", ""] == [term.of_nodes, constraints.of_nodes, repelled(600).of_others]
    assert "with 4000 nodes" in together.of_nodes


def test_one_line_a_reason() -> None:
    """Rules that cannot be asked for the same reason are told together."""
    entries = [
        SkippedRules(("a",), "too large"),
        SkippedRules(("b",), "no time"),
        SkippedRules(("c",), "too large"),
    ]

    assert ["a, c: too large", "b: no time"] == list(map(str, by_reason(entries)))


@pytest.mark.parametrize(
    ("hard", "keys", "searches"),
    [
        pytest.param(1, 1, 0, id="1 key that nodes have"),
        pytest.param(1, 2, 1, id="2 keys"),
        pytest.param(0, 2, 0, id="no hard constraint: nothing to search"),
    ],
)
def test_searches_are_counted(hard: int, keys: int, searches: int) -> None:
    """One for all constraints and one with each key that keeps pods apart; the first ones are usual."""
    names = ["kubernetes.io/hostname", ZONE_KEY][:keys]
    terms = [{"topologyKey": key, "labelSelector": {"matchLabels": {"app": "web"}}} for key in names]
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    soft = {} if hard else {"whenUnsatisfiable": "ScheduleAnyway"}

    assert searches == of([a_constraint(**soft)], nodes=1, affinity=apart).node_steps // SEARCH_STEPS

"""The constraints with which a workload reaches a goal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from random import Random
from typing import Any, cast

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from planning.advise.advise import Advice, advise, why_unadvised
from planning.advise.constraint_sets import Others
from planning.advise.goal import Goal
from planning.advise.goal_simulator import GoalSimulator
from planning.advise.goal_trial import FailureKind
from planning.advise.played_goal import PlayedGoal
from planning.advise.words import verdict
from policies.manifests.edits import Edit, apply_edits
from policies.model.topology_keys import HOSTNAME
from policies.pods.known_pods import UNREAD_PODS
from policies.pods.placement import prepare, read_workload
from policies.scheduler.binding import schedule
from tests.builders import a_constraint, a_node, a_pod
from tests.examples import examples
from tests.planning.clusters import ZONE_KEY
from tests.planning.goals import (
    ONE_CPU,
    TEMPTING,
    THREE,
    Object,
    a_goal,
    advice_of,
    context_of,
    groups_of,
    workload_of,
)
from tests.planning.scenarios import a_state

SOFT, HARD = "ScheduleAnyway", "DoNotSchedule"


def _written(advice: Advice) -> list[tuple[str, str, int, int]]:
    """Return the constraints to write: the key, what they do, maxSkew and minDomains."""
    chosen = () if advice.chosen is None else advice.chosen.wanted
    return [
        (each.topology_key, str(each.when_unsatisfiable), each.max_skew, each.min_domains) for each in chosen
    ]


@pytest.fixture
def advice(request: pytest.FixtureRequest) -> Advice:
    """The advice of a case, made when the case is run."""
    return cast("Advice", request.param())


@pytest.mark.parametrize(
    ("advice", "expected"),
    [
        pytest.param(partial(advice_of, THREE, a_goal()), [], id="the scheduler's defaults are enough"),
        pytest.param(
            partial(advice_of, TEMPTING, a_goal(3, 12)),
            [(ZONE_KEY, SOFT, 1, 1)],
            id="a preference is enough",
        ),
        pytest.param(
            partial(advice_of, THREE, a_goal(enforced=True)),
            [(ZONE_KEY, HARD, 1, 1)],
            id="it is to be enforced",
        ),
        pytest.param(
            partial(advice_of, THREE, a_goal(6, 6, limit=Fraction(2, 3), enforced=True)),
            [(ZONE_KEY, HARD, 4, 1)],
            id="two thirds of 6 are 4: maxSkew 4 lets a zone have no more",
        ),
        pytest.param(
            partial(advice_of, THREE[:2], a_goal(), added={"c": 2}),
            [(ZONE_KEY, HARD, 1, 3)],
            id="an autoscaler adds a zone only for a pod that is pending",
        ),
        pytest.param(
            partial(advice_of, [a_node(f"n{at}", "a", cpu="4" if at else "64") for at in range(4)],
                      a_goal(limit=None, one_a_node=True, most=8), containers=ONE_CPU),
            [(HOSTNAME, SOFT, 1, 1)],
            id="one a node",
        ),
    ],
    indirect=["advice"],
)  # fmt: skip
def test_what_is_written(advice: Advice, expected: list[tuple[str, str, int, int]]) -> None:
    """The softest constraints that reach the goal, and nothing where it is reached as it is."""
    assert (True, expected) == (advice.is_met, _written(advice))


def test_reasons() -> None:
    """Each field says what fails if it were softer."""
    advice = advice_of(THREE[:2], a_goal(), added={"c": 2})

    assert [("whenUnsatisfiable", 3, 2), ("maxSkew", 3, 2), ("minDomains", 3, 2)] == [
        (reason.field, reason.failure.replicas, reason.failure.count) for reason in advice.reasons
    ]


def test_two_zones() -> None:
    """At best half is lost; the softest constraint that reaches that is written all the same."""
    advice = advice_of(
        [THREE[0], a_node("n2", "b", cpu="16"), a_node("n4", "a", cpu="64")],
        a_goal(3, 12),
        containers=ONE_CPU,
    )
    failure = advice.trial.failure(advice.goal)

    assert (False, True, ["a", "b"]) == (advice.is_met, advice.is_limited_by_domains, sorted(advice.domains))
    assert failure is not None
    assert (FailureKind.LOST, 3, 2, 1) == (failure.kind, failure.replicas, failure.count, failure.allowed)
    assert all(placed.count <= -(-placed.replicas // 2) for placed in advice.trial.placed)


def test_no_room() -> None:
    """Where replicas fit nowhere the scheduler's message is the reason, and nothing is written in vain."""
    advice = advice_of([a_node("n1", "a", cpu="2"), *THREE[1:]], a_goal(3, 12), containers=ONE_CPU)
    failure = advice.trial.failure(advice.goal)

    assert failure is not None
    assert (False, False, FailureKind.PENDING, 11) == (
        advice.is_met,
        advice.is_limited_by_domains,
        failure.kind,
        failure.replicas,
    )


@pytest.mark.slow
def test_bad_constraints() -> None:
    """A wrong key and a foreign selector are corrected, one too many is removed, another one softened."""
    spread = [
        a_constraint(topologyKey="zone", labelSelector={"matchLabels": {"app": "other"}}),
        a_constraint(whenUnsatisfiable=SOFT),
        a_constraint(topologyKey=HOSTNAME),
    ]
    advice = advice_of(TEMPTING, a_goal(allow_soft=True), spread)
    edited = apply_edits(advice.workload.obj, advice.edits)
    constraints = edited["spec"]["template"]["spec"]["topologySpreadConstraints"]

    assert advice.is_met
    assert advice.chosen is not None
    assert Others.SOFTENED is advice.chosen.others
    assert [(ZONE_KEY, {"app": "web"}), (HOSTNAME, {"app": "web"})] == [
        (each["topologyKey"], each["labelSelector"]["matchLabels"]) for each in constraints
    ]
    assert SOFT == constraints[1]["whenUnsatisfiable"]


@pytest.mark.slow
def test_running_pods() -> None:
    """They are counted, and no part of the proof: the new template replaces them."""
    pods = [a_pod(name=f"web-{at}", spec={"nodeName": "n1"}) for at in range(3)]
    advice = advice_of([*THREE, *pods], a_goal(enforced=True))

    assert advice.now is not None
    assert (3, "a", 3) == (advice.now.replicas, advice.now.domain, advice.now.count)
    assert 1 == advice.trial.placed[0].count


def test_an_early_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Untried constraints are reported; before anything is known there is no advice."""
    state, goal = a_state(TEMPTING), a_goal(3, 12, enforced=True)
    workload = workload_of(None, state.context)
    assert advise(workload, state, goal, stop=lambda: True) is None

    monkeypatch.setattr("planning.advise.advise.MOST_TRIED", 1)
    advice = advise(workload, state, goal)
    assert advice is not None
    assert (False, False, 1) == (advice.complete, advice.stopped, advice.tried)


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param(a_pod(), True, id="a Pod"),
        pytest.param({"selector": {"matchLabels": {"app": "other"}}}, True, id="a selector of other pods"),
        pytest.param({}, False, id="a Deployment"),
    ],
)
def test_what_is_not_advised_on(obj: Object, *, expected: bool) -> None:
    """Without replicas that can be told from others there is nothing to spread."""
    context = context_of(THREE)
    if "kind" not in obj:
        obj = {**workload_of(None, context).obj, "metadata": {"name": "web", "namespace": "shop"}} | {
            "spec": {**workload_of(None, context).obj["spec"], **obj}
        }

    assert expected == bool(why_unadvised(read_workload(obj, context)))


@st.composite
def _cases(draw: st.DrawFn) -> dict[str, Any]:
    """Return a small cluster, constraints that a workload has, and a goal."""
    nodes = [
        a_node(
            f"n{at}",
            draw(st.sampled_from("abc")),
            cpu=draw(st.sampled_from(["2", "4", "16"])),
            taints=draw(st.sampled_from([[], [], [], [{"key": "team", "effect": "NoSchedule"}]])),
        )
        for at in range(draw(st.integers(2, 5)))
    ]
    others = [
        a_pod(name=f"other-{at}", labels={"app": "other"}, spec={"nodeName": f"n{at}", "containers": ONE_CPU})
        for at in range(draw(st.integers(0, len(nodes))))
    ]
    least = draw(st.integers(1, 4))
    key = draw(st.sampled_from([ZONE_KEY, ZONE_KEY, HOSTNAME]))
    one_a_node = draw(st.booleans())
    limit = draw(st.sampled_from([Fraction(1, 3), Fraction(1, 2), 2, *([None] if one_a_node else [])]))
    spread = [
        a_constraint(topologyKey=draw(st.sampled_from([ZONE_KEY, HOSTNAME])), whenUnsatisfiable=when)
        for when in draw(st.sampled_from([[], [SOFT], [HARD]]))
    ]
    return {
        "objects": [*nodes, *others],
        "spread": spread or None,
        "added": draw(st.sampled_from([{}, {}, {"c": 1}, {"d": 2}])) if key == ZONE_KEY else {},
        "goal": a_goal(
            least,
            least + draw(st.integers(0, 3)),
            key=key,
            limit=limit,
            one_a_node=one_a_node,
            enforced=limit is not None and draw(st.booleans()),
            allow_soft=True,
        ),
    }


@pytest.mark.slow
@examples(40)
@given(_cases(), st.randoms(use_true_random=False))
def test_advice_on_small_clusters(case: dict[str, Any], random: Random) -> None:
    """The goal holds whichever of the best nodes is chosen, and no preferred set reaches it."""
    state, goal = a_state(case["objects"]), case["goal"]
    context = state.context
    workload = workload_of(case["spread"], context, containers=ONE_CPU)
    groups = groups_of(context, **case["added"])
    advice = advise(workload, state, goal, groups)
    assert advice is not None
    assert advice.complete
    event(f"reached {advice.is_met}, written {_written(advice) != []}")
    edited = apply_edits(workload.obj, advice.edits)
    if advice.is_met and advice.trial.exact and not groups:
        _check_placement(edited, context, goal, random)
    if advice.chosen is None:
        return
    simulator = GoalSimulator(workload, context, UNREAD_PODS, advice.reachable, groups)
    played = PlayedGoal(workload, state, goal.range, groups, nodes_from=None, stop=lambda: False)
    cost = advice.chosen.cost if advice.trial.failure(advice.reachable) is None else (3,)
    domains = advice.reachable.domains_needed if groups else 1
    for other_cost, constraints in _all_sets(goal, case["spread"] or [], domains):
        if other_cost < cost:
            path = workload.kind.constraints_path
            edits = [Edit(path, None, constraints)]
            trial = simulator.run(read_workload(apply_edits(workload.obj, edits), context))
            failure = trial.failure(advice.reachable) or played.failure(edits, advice.reachable)
            assert failure is not None, constraints


def _check_placement(obj: Object, context: Any, goal: Goal, random: Random) -> None:
    """Place all replicas, and compare the counts of the domains with the goal after each."""
    prepared = prepare(read_workload(obj, context), context)
    cluster = prepared.cluster.fork("shop")
    counts: Counter[str] = Counter()
    for number in range(1, goal.replicas.most + 1):
        step = schedule(prepared.request, cluster, f"web-{number}", lambda tied: random.choice(list(tied)))
        assert step.node is not None
        node = cluster.nodes.find(step.node)
        assert node is not None
        counts[node.labels[goal.key]] += 1
        if number >= goal.replicas.least:
            assert max(counts.values()) <= goal.allowed(number)


def _all_sets(
    goal: Goal, spread: list[Object], domains: int
) -> Iterator[tuple[tuple[int, int, int, int], list[Object]]]:
    """Yield every set of constraints of the documented space, with what the documented order compares."""
    keys = [goal.key] if goal.limit is not None else []
    keys += [HOSTNAME] if goal.one_a_node and HOSTNAME not in keys else []
    options = [list(_all_constraints(key, goal, domains)) for key in keys]
    others = [each for each in spread if each["topologyKey"] not in keys]
    kinds: list[list[Object]] = [others]
    if others:
        kinds += [[each | {"whenUnsatisfiable": SOFT} for each in others], []]
    for rank, kept in enumerate(kinds):
        for chosen in product(*options):
            hard = [each for each in chosen if each["whenUnsatisfiable"] == HARD]
            least = sum(each.get("minDomains", 1) for each in chosen)
            skew = sum(each["maxSkew"] for each in hard)
            yield (rank, len(hard), least, -skew), [*chosen, *kept]


def _all_constraints(key: str, goal: Goal, most: int) -> Iterator[Object]:
    common = {"topologyKey": key, "matchLabelKeys": ["pod-template-hash"]}
    yield a_constraint(**common, whenUnsatisfiable=SOFT)
    limited = key == goal.key and goal.limit is not None
    skews = range(1, (goal.allowed(goal.replicas.most) if limited else 2) + 1)
    for skew, domains in product(skews, range(1, most + 1 if limited else 2)):
        more = {"minDomains": domains} if domains > 1 else {}
        yield a_constraint(**common, maxSkew=skew, nodeTaintsPolicy="Honor", **more)


def _full(node: str, priority: int) -> Object:
    """Return a pod of another workload that fills a node of four CPUs."""
    container = {"name": "c", "resources": {"requests": {"cpu": "4"}}}
    spec = {"nodeName": node, "priority": priority, "containers": [container]}
    return a_pod(name=f"full-{node}", labels={"app": "full"}, spec=spec)


def test_evictions_are_said() -> None:
    """Where the goal takes a node that is full of pods of lower priority, the advice says whom that hurts."""
    goal = a_goal(2, 2, limit=1)
    nodes = [a_node("n1", "a"), a_node("n2", "b")]
    found = advice_of([*nodes, _full("n2", -1)], goal, containers=ONE_CPU)
    free = advice_of(nodes, goal, containers=ONE_CPU)

    assert (True, 1, "evicts up to 1 pod of other workloads") == (
        found.is_met,
        found.trial.evicts,
        verdict(found).rpartition("and ")[2],
    )
    assert (True, 0) == (free.is_met, free.trial.evicts)
    assert "evict" not in verdict(free)


def test_advice_that_evicts_nobody_is_preferred() -> None:
    """A constraint reaches the goal as it is, at the cost of another workload; a softer one does not."""
    nodes = [a_node("n1", "a"), a_node("n2", "a"), a_node("n3", "b")]
    goal = a_goal(2, 2, limit=2, allow_soft=True)
    found = advice_of([*nodes, _full("n3", -1)], goal, [a_constraint()], containers=ONE_CPU)

    assert found.as_is.failure(goal) is None
    assert (1, 0) == (found.as_is.evicts, found.trial.evicts)
    assert found.chosen is not None
    kept = advice_of([*nodes, _full("n3", 1)], goal, None, containers=ONE_CPU)
    assert kept.chosen is None

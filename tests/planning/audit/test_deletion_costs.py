"""Deletion costs with which a scale-down leaves a workload within maxSkew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from planning.audit.deletion_costs import DeletionCosts, NoCosts, deletion_costs
from planning.simulation.rollout.running_pods import find_running
from planning.simulation.rollout.victims import Replica, find_victims, latest, urgency
from policies.config.context import AdmissionContext
from policies.model.deletion_facts import COSTS, DELETION_COST_ANNOTATION, DeletionFacts
from policies.pods.placement import prepare, read_workload
from policies.scheduler.evaluate import evaluate
from tests.builders import HOSTNAME, a_constraint, a_node, a_pod, a_workload
from tests.examples import examples
from tests.planning.clusters import known_of
from tests.planning.verdicts import on
from tests.policies.scheduler.clusters import an_index

Object = dict[str, Any]
NODES = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c")]


def _a_pod(name: str, node: str, *, ready: bool = True, cost: int | None = None, age: int = 0) -> Object:
    annotations = None if cost is None else {DELETION_COST_ANNOTATION: str(cost)}
    created = f"2026-01-01T00:00:{age:02}Z"
    pod = a_pod(
        name=name,
        annotations=annotations,
        spec={"nodeName": node},
        creationTimestamp=created,
        uid=name,
    )
    condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": created}
    return pod | {"status": {"phase": "Running", "conditions": [condition]}}


def _costs(
    spread: Sequence[Object],
    objects: Sequence[Object],
    replicas: int,
    kind: str = "ReplicaSet",
    **options: Any,
) -> DeletionCosts:
    context = AdmissionContext(policies=(), cluster=an_index(objects))
    obj = a_workload(kind, spec={"topologySpreadConstraints": list(spread)})
    return deletion_costs(read_workload(obj, context), context, replicas, known_of(objects), **options)


def test_the_right_pods() -> None:
    """Those of the full zone get a cost below all others; the controller's own first choice needs none."""
    pods = [_a_pod(f"a-{at}", "n1", age=at) for at in range(3)]
    pods += [_a_pod("b-0", "n2", age=40), _a_pod("c-0", "n3", cost=-7, age=50)]
    found = _costs([a_constraint()], [*NODES, *pods], 3)

    assert (None, ["a-0", "a-1"]) == (found.why_none, [pod.name for pod in found.deleted])
    assert {"a-0": -8, "a-1": -8} == found.costs
    assert ({0: {"a": 3, "b": 1, "c": 1}}, {0: {"a": 1, "b": 1, "c": 1}}) == (found.before, found.after)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(
            _costs([a_constraint()], [*NODES, *on("n1", 2), *on("n2", 1), *on("n3", 1)], 3),
            NoCosts.BALANCED,
            id="the controller takes from the fullest node anyway",
        ),
        pytest.param(
            _costs([a_constraint()], [*NODES, *on("n1", 3)], 2, "StatefulSet"),
            NoCosts.KIND,
            id="a StatefulSet",
        ),
        pytest.param(_costs([], [*NODES, *on("n1", 3)], 2), NoCosts.UNCONSTRAINED, id="no constraint"),
        pytest.param(
            _costs([a_constraint()], [*NODES, *on("n1", 3)], 3), NoCosts.NO_SCALE_DOWN, id="no scale-down"
        ),
        pytest.param(
            _costs([a_constraint()], [*NODES, *on("n1", 4)], 3), NoCosts.IMPOSSIBLE, id="all in one zone"
        ),
        pytest.param(
            _costs(
                [a_constraint()],
                [*NODES, *on("n1", 2), _a_pod("b", "n2", ready=False), _a_pod("c", "n3", ready=False)],
                2,
            ),
            NoCosts.FORCED,
            id="unready pods go first",
        ),
        pytest.param(
            _costs(
                [a_constraint()],
                [*NODES, *(_a_pod(f"a-{at}", "n1") for at in range(2)), _a_pod("b", "n2", cost=COSTS[0]),
                 _a_pod("c", "n3", cost=COSTS[0])],
                3,
            ),
            NoCosts.LOWEST,
            id="none is lower",
        ),
    ],
)  # fmt: skip
def test_nothing_to_annotate(found: DeletionCosts, expected: NoCosts) -> None:
    """Why there is nothing."""
    assert (expected, {}) == (found.why_none, found.costs)


def test_a_rollout_in_progress() -> None:
    """Which ReplicaSet is scaled down is not known then."""
    labels = [{"app": "web", "pod-template-hash": revision} for revision in "xy"]
    pods = [a_pod(name=f"p{at}", labels=each, spec={"nodeName": "n1"}) for at, each in enumerate(labels)]

    assert NoCosts.ROLLOUT is _costs([a_constraint()], [*NODES, *pods], 1, "Deployment").why_none


def test_the_revision_that_runs_counts() -> None:
    """With matchLabelKeys, whatever revision the manifest is."""
    labels = {"app": "web", "pod-template-hash": "x"}
    pods = [
        a_pod(name=f"p{at}", labels=labels, spec={"nodeName": node})
        for at, node in enumerate(("n1", "n1", "n2", "n2", "n3"))
    ]
    spread = a_constraint(matchLabelKeys=["pod-template-hash"])

    assert {0: {"a": 2, "b": 2, "c": 1}} == _costs([spread], [*NODES, *pods], 3, "Deployment").before


def test_soft_constraints() -> None:
    """They count on request."""
    spread, objects = [a_constraint(whenUnsatisfiable="ScheduleAnyway")], [*NODES, *on("n1", 3)]

    assert NoCosts.UNCONSTRAINED is _costs(spread, objects, 1).why_none
    assert NoCosts.UNCONSTRAINED is not _costs(spread, objects, 1, soft=True).why_none


def test_the_end_of_trying(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not all were tried it is not said that none is right."""
    monkeypatch.setattr("planning.audit.deletion_costs.MOST_TRIED", 1)

    assert NoCosts.UNDECIDED is _costs([a_constraint()], [*NODES, *on("n1", 9)], 5).why_none


@st.composite
def _cases(draw: st.DrawFn) -> tuple[list[Object], list[Object], int]:
    nodes = [a_node(f"n{at}", draw(st.sampled_from("abc"))) for at in range(draw(st.integers(2, 4)))]
    pods = [
        _a_pod(
            f"p{at}",
            f"n{draw(st.integers(0, len(nodes) - 1))}",
            ready=draw(st.integers(0, 4)) > 0,
            cost=draw(st.sampled_from([None, None, -3, 5])),
            age=draw(st.integers(0, 3)),
        )
        for at in range(draw(st.integers(2, 7)))
    ]
    spread = [a_constraint(maxSkew=draw(st.integers(1, 2)))]
    if draw(st.booleans()):
        spread.append(a_constraint(topologyKey=HOSTNAME))
    return [*nodes, *pods], spread, draw(st.integers(1, len(pods) - 1))


@examples(150)
@given(_cases())
def test_scale_downs_of_small_clusters(case: tuple[list[Object], list[Object], int]) -> None:
    """With the costs the controller deletes just these pods; without a plan no choice of pods is right."""
    objects, spread, replicas = case
    found = _costs(spread, objects, replicas)
    pods = find_running(found.prepared, known_of(objects)).pods
    count = len(pods) - replicas
    event(str(found.why_none))
    if found.why_none in (None, NoCosts.BALANCED):
        annotated = [_with_cost(pod, found.costs) for pod in pods]
        now = latest([pod.facts for pod in annotated if pod.facts is not None])
        victims = find_victims(annotated, count, annotated, now)

        certain = {pod.name for pod in victims.certain}
        assert found.why_none or not victims.picks
        assert certain <= {pod.name for pod in found.deleted}
        assert count == len(found.deleted)
        for chosen in combinations(victims.tied, victims.picks):
            assert _is_even(objects, spread, certain | {pod.name for pod in chosen})
    else:
        # The pods that go first whatever they cost go in each choice.
        bound = sorted(map(urgency, pods))[count - 1]
        forced = {pod.name for pod in pods if urgency(pod) < bound}
        free = [pod.name for pod in pods if urgency(pod) == bound]

        assert not any(
            _is_even(objects, spread, forced | set(chosen))
            for chosen in combinations(free, count - len(forced))
        )


def _with_cost(pod: Replica, costs: Mapping[str, int]) -> Replica:
    facts = pod.facts
    assert isinstance(facts, DeletionFacts)
    facts = facts._replace(cost=costs.get(pod.name, facts.cost))
    return Replica(pod.name, pod.revision, pod.labels, pod.node, pod.ready, facts)


def _is_even(objects: Sequence[Object], spread: Sequence[Object], deleted: set[str]) -> bool:
    context = AdmissionContext(
        policies=(), cluster=an_index([each for each in objects if each["metadata"]["name"] not in deleted])
    )
    obj = a_workload("ReplicaSet", spec={"topologySpreadConstraints": list(spread)})
    prepared = prepare(read_workload(obj, context), context)
    for result in evaluate(prepared.request, prepared.cluster).results:
        counts = list(result.domains.by_value().values())
        if max(counts) - min(counts) > result.applied.constraint.max_skew:
            return False
    return True

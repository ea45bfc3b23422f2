"""The weight and maxSkew with which PodTopologySpread would have won, against trying everything."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from planning.simulation.suggestions.outvoted import MOST_EVALUATIONS, find_outvoted
from policies.scheduler.evaluate import evaluate
from policies.scheduler.index import ClusterIndex
from policies.scheduler.profile import DEFAULT_PROFILE, Plugin, Profile
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import SchedulingResult
from tests.examples import examples
from tests.policies.scheduler.clusters import a_constraint, a_node, a_pod, a_request, an_index

HOST = "kubernetes.io/hostname"


def with_weight(weight: int) -> Profile:
    scores = tuple(
        (plugin, weight if plugin is Plugin.POD_TOPOLOGY_SPREAD else given)
        for plugin, given in DEFAULT_PROFILE.scores
    )
    return replace(DEFAULT_PROFILE, scores=scores)


def preferred_nodes(result: SchedulingResult) -> set[str]:
    assert result.scores is not None
    scores = {
        name: score
        for name, score, fits in zip(result.names, result.scores.tolist(), result.feasible, strict=True)
        if fits
    }
    return {name for name, score in scores.items() if score == max(scores.values())}


def wins(request: SchedulingRequest, index: ClusterIndex, preferred: set[str]) -> bool:
    result = evaluate(request, index)
    return {result.names[node] for node in result.best} <= preferred


def with_max_skew(request: SchedulingRequest, position: int, max_skew: int) -> SchedulingRequest:
    constraints = list(request.constraints)
    constraint = replace(constraints[position].constraint, max_skew=max_skew)
    constraints[position] = constraints[position]._replace(constraint=constraint)
    return replace(request, constraints=tuple(constraints))


@st.composite
def requests(draw: st.DrawFn) -> tuple[SchedulingRequest, ClusterIndex]:
    """Draw a pod with soft constraints, and nodes with pods of its own, load of others and soft taints."""
    objects: list[dict[str, Any]] = []
    for number in range(draw(st.integers(2, 5))):
        name = f"n{number}"
        taints = ["old=:PreferNoSchedule"] if draw(st.booleans()) else []
        objects.append(a_node(name, {"zone": draw(st.sampled_from("ab"))}, taints=taints))
        objects += [a_pod(f"{name}-{pod}", name) for pod in range(draw(st.integers(0, 4)))]
        objects.append(a_pod(f"{name}-other", name, {}, cpu=f"{draw(st.integers(0, 38))}00m"))
    keys = draw(st.sampled_from(((HOST,), ("zone",), (HOST, "zone"))))
    soft = [a_constraint(key, "ScheduleAnyway", maxSkew=draw(st.integers(1, 12))) for key in keys]
    index = an_index(objects)
    return a_request(a_pod("web", spread=soft), {}, index), index


@examples(300)
@given(requests())
def test_against_trying_everything(drawn: tuple[SchedulingRequest, ClusterIndex]) -> None:
    """The weight is the smallest that wins; a smaller maxSkew wins, and is missing only where 1 does not."""
    request, index = drawn
    result = evaluate(request, index)
    found = find_outvoted(result, index)
    event("outvoted" if found else "not outvoted")
    if found is None:
        return
    preferred = preferred_nodes(result)
    soft = [at for at, applied in enumerate(request.constraints) if not applied.is_hard]

    assert wins(replace(request, profile=with_weight(found.weight)), index, preferred)
    assert not wins(replace(request, profile=with_weight(found.weight - 1)), index, preferred)
    if found.max_skew is not None:
        changed = request
        for position in found.max_skew.constraints:
            changed = with_max_skew(changed, position, found.max_skew.max_skew)
        assert wins(changed, index, preferred)
    else:
        assert not any(wins(with_max_skew(request, at, 1), index, preferred) for at in soft)


def outvoted_by_load(*max_skews: int) -> tuple[SchedulingRequest, ClusterIndex]:
    """Return a pod with soft constraints over hosts and zones, where the emptier node is much busier."""
    nodes = [a_node("n1", {"zone": "a"}), a_node("n2", {"zone": "b"})]
    busy = a_pod("busy", "n2", {"app": "other"}, cpu="2800m")
    index = an_index([*nodes, a_pod("web-0", "n1"), busy])
    keys = (HOST, "zone")[: len(max_skews)]
    soft = [
        a_constraint(key, "ScheduleAnyway", maxSkew=skew) for key, skew in zip(keys, max_skews, strict=True)
    ]
    return a_request(a_pod("web-1", spread=soft), {}, index), index


def test_largest_smaller_max_skew() -> None:
    """By hand: other plugins are 36 points ahead, and the spread is 40 ahead with maxSkew 5, 34 with 6."""
    request, index = outvoted_by_load(9)
    found = find_outvoted(evaluate(request, index), index)

    assert found is not None
    assert found.max_skew is not None
    assert ((0,), 5) == (found.max_skew.constraints, found.max_skew.max_skew)
    assert found.complete


def test_bounded() -> None:
    """However large maxSkew is, the search ends, with a value that wins."""
    request, index = outvoted_by_load(2**31 - 1)
    found = find_outvoted(evaluate(request, index), index)

    assert MOST_EVALUATIONS < 31
    assert found is not None
    assert found.max_skew is not None
    assert wins(with_max_skew(request, 0, found.max_skew.max_skew), index, {"n2"})


def test_not_outvoted() -> None:
    """Where a preferred node wins there is nothing to say, nor where nothing is scored."""
    request, index = outvoted_by_load(1)

    assert find_outvoted(evaluate(request, index), index) is None
    assert find_outvoted(evaluate(replace(request, constraints=()), index), index) is None

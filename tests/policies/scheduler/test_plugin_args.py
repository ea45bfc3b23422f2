"""The arguments of plugins: what they come to, and what kube-scheduler refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from policies.scheduler.profile import DEFAULT_PROFILE, FitArgs, StrategyType
from tests.policies.scheduler.scheduler_configs import errors_of, profile_of, with_args

FIT, BALANCED, PODS = "NodeResourcesFit", "NodeResourcesBalancedAllocation", "InterPodAffinity"


def a_ratio(*points: tuple[int, int]) -> dict[str, Any]:
    shape = [{"utilization": utilization, "score": score} for utilization, score in points]
    return {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": shape}}


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param({}, FitArgs(), id="nothing"),
        pytest.param({"scoringStrategy": None}, FitArgs(), id="null"),
        pytest.param(
            {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 0}]}},
            FitArgs(strategy=StrategyType.MOST_ALLOCATED, resources=(("cpu", 1),)),  # type: ignore[arg-type]
            id="weight 0 means 1",
        ),
        pytest.param(
            {"scoringStrategy": a_ratio((0, 0), (100, 10))},
            FitArgs(strategy=StrategyType.REQUESTED_TO_CAPACITY_RATIO, shape=((0, 0), (100, 10))),
            id="a shape over cpu and memory",
        ),
        pytest.param(
            {"ignoredResources": ["acme.io/gpu"], "ignoredResourceGroups": ["acme.io"]},
            FitArgs(ignored=frozenset({"acme.io/gpu"}), ignored_groups=frozenset({"acme.io"})),
            id="ignored resources",
        ),
    ],
)
def test_fit(args: dict[str, Any], expected: FitArgs) -> None:
    """The strategy, its resources and what Filter ignores."""
    assert expected == profile_of(with_args(FIT, **args)).fit


def test_others() -> None:
    """The resources to balance, and what InterPodAffinity makes of running pods."""
    balanced = profile_of(with_args(BALANCED, resources=[{"name": "cpu"}, {"name": "acme.io/gpu"}]))
    pods = profile_of(with_args(PODS, hardPodAffinityWeight=0, ignorePreferredTermsOfExistingPods=True))

    assert ("cpu", "acme.io/gpu") == balanced.balanced_resources
    assert (0, True) == (pods.hard_pod_affinity_weight, pods.ignores_preferred_terms)
    assert DEFAULT_PROFILE == profile_of(with_args(PODS, hardPodAffinityWeight=None))


@pytest.mark.parametrize(
    "profile",
    [
        pytest.param(with_args(FIT, scoringStrategy={}), id="no type"),
        pytest.param(with_args(FIT, scoringStrategy={"type": "BestAllocated"}), id="an unknown type"),
        pytest.param(with_args(FIT, scoringStrategy={"type": 3}), id="a type of the wrong type"),
        pytest.param(
            with_args(
                FIT,
                scoringStrategy={
                    "type": "LeastAllocated",
                    "resources": [{"name": "cpu", "weight": 101}, {"name": "memory", "weight": -1}],
                },
            ),
            id="weights out of range",
        ),
        pytest.param(
            with_args(FIT, scoringStrategy={**a_ratio((0, 0)), "type": "MostAllocated"}),
            id="a shape too",
        ),
        pytest.param(with_args(FIT, scoringStrategy={"type": "RequestedToCapacityRatio"}), id="no shape"),
        pytest.param(with_args(FIT, scoringStrategy=a_ratio()), id="an empty shape"),
        pytest.param(
            with_args(FIT, scoringStrategy=a_ratio((50, 11), (50, 0), (40, -1), (101, 0))), id="bad points"
        ),
        pytest.param(
            with_args(FIT, ignoredResources=["-"], ignoredResourceGroups=["a.io/b", 3]), id="bad names"
        ),
        pytest.param(with_args(FIT, ignored=[]), id="an unknown field"),
        pytest.param(
            with_args(BALANCED, resources=[{"name": "cpu", "weight": 2}, {"name": "cpu"}]),
            id="weights",
        ),
        pytest.param(with_args(PODS, hardPodAffinityWeight=101), id="too heavy"),
        pytest.param(
            with_args(PODS, hardPodAffinityWeight="1", ignorePreferredTermsOfExistingPods="no"), id="texts"
        ),
    ],
)
def test_errors(profile: dict[str, Any], wording: Callable[[str], str]) -> None:
    """Arguments that kube-scheduler would reject are errors with their field, in Kubernetes' words."""
    found = json.dumps(errors_of(profile))

    assert wording(found) == found

"""A profile in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from planning.explain.score_profile import profile_name, profile_text, unmodeled_text
from policies.scheduler.profile import DEFAULT_PROFILE
from tests.policies.scheduler.scheduler_configs import profile_of, with_args, with_plugins


@pytest.mark.parametrize(
    "profile",
    [
        pytest.param(with_plugins(score={"PodTopologySpread": 5, "-ImageLocality": None}), id="weights"),
        pytest.param(
            with_plugins(filter={"-*": None, "NodeName": None}, score={"-*": None, "Own": 2}),
            id="few",
        ),
        pytest.param(with_plugins(filter={"-NodeAffinity": None}), id="names alone"),
        pytest.param(with_plugins(postFilter={"-DefaultPreemption": None}), id="no preemption"),
        pytest.param(
            with_args(
                "NodeResourcesFit",
                scoringStrategy={
                    "type": "RequestedToCapacityRatio",
                    "resources": [{"name": "acme.io/gpu", "weight": 5}],
                    "requestedToCapacityRatio": {
                        "shape": [{"utilization": 0}, {"utilization": 100, "score": 10}]
                    },
                },
                ignoredResources=["acme.io/fpga"],
                ignoredResourceGroups=["other.io"],
            ),
            id="resources",
        ),
        pytest.param(
            with_args("NodeResourcesBalancedAllocation", resources=[{"name": "cpu"}]), id="balanced resources"
        ),
        pytest.param(
            with_args(
                "NodeAffinity",
                addedAffinity={
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []},
                    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}],
                },
            ),
            id="added affinity",
        ),
        pytest.param(
            with_args("InterPodAffinity", hardPodAffinityWeight=9, ignorePreferredTermsOfExistingPods=True),
            id="affinity of pods",
        ),
    ],
)
def test_wording(profile: dict[str, Any], wording: Callable[[str], str]) -> None:
    """The differences from the default profile, and the plugins that are not modeled, are listed."""
    loaded = profile_of({"schedulerName": "own", **profile})
    text = "\n".join([*profile_text(loaded), *unmodeled_text(loaded)])

    assert wording(text) == text


def test_default_profile() -> None:
    """Of the default profile there is nothing to say."""
    assert [] == [*profile_text(DEFAULT_PROFILE), *unmodeled_text(DEFAULT_PROFILE)]
    assert "the default profile" == profile_name(DEFAULT_PROFILE)

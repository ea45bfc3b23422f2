"""The plugins of a profile, merged with the defaults."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from policies.scheduler.profile import DEFAULT_PROFILE, DEFAULT_SCORES, Plugin
from tests.examples import examples
from tests.policies.scheduler.oracle_configuration import settings_of
from tests.policies.scheduler.scheduler_configs import errors_of, profile_of, with_plugins
from tests.policies.scheduler.strategies_profile import plugin_sets

#: The plugins that every profile needs, whatever else it disables.
REQUIRED: dict[str, Any] = {"queueSort": {"PrioritySort": None}, "bind": {"DefaultBinder": None}}


@pytest.mark.slow
@examples(300)
@given(plugin_sets())
def test_steps_of_go(plugins: dict[str, Any]) -> None:
    """The plugins of each extension point have the order and the weights that Go's steps give them."""
    profile, expected = profile_of({"plugins": plugins}), settings_of({"plugins": plugins})
    # What a missing PreFilter or PreScore leaves out is compared by its effect, with whole profiles.
    filters = [name for name in expected.at["filter"] if name in profile.filters]
    scored = [name for name in expected.at["score"] if name in dict(profile.scores)]

    assert filters == [name for name in profile.filters if name in expected.at["filter"]]
    assert [(name, expected.weights[name]) for name in scored] == [*profile.scores]
    assert expected.at["postFilter"] == [*profile.post_filters]


def test_default_profile() -> None:
    """A profile without settings is the default profile."""
    assert DEFAULT_PROFILE == profile_of({})


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        pytest.param({"score": {"PodTopologySpread": 5}}, 5, id="at score"),
        pytest.param({"score": {"PodTopologySpread": None}}, 1, id="at score without a weight: 1, not 2"),
        pytest.param({"score": {"PodTopologySpread": 0}}, 1, id="0 means 1"),
        pytest.param({"multiPoint": {"PodTopologySpread": 7}}, 7, id="everywhere"),
        pytest.param(
            {"multiPoint": {"PodTopologySpread": 7}, "score": {"PodTopologySpread": 4}},
            4,
            id="both: that at score",
        ),
        pytest.param(
            {"score": {"-PodTopologySpread": None, "PodTopologySpread": 3}}, 3, id="disabled and enabled"
        ),
        pytest.param({"score": {"-*": None, "ImageLocality": 1}}, 0, id="all others disabled"),
        pytest.param({"preScore": {"-PodTopologySpread": None}}, 0, id="without PreScore it cannot score"),
    ],
)
def test_weights(plugins: dict[str, Any], expected: int) -> None:
    """A weight at score goes before one at multiPoint, which goes before the default."""
    assert expected == profile_of(with_plugins(**plugins)).weight(Plugin.POD_TOPOLOGY_SPREAD)


def test_order() -> None:
    """Plugins that a point enables again come first, those that multiPoint disables and enables come last."""
    raw = with_plugins(
        filter={"NodePorts": None}, multiPoint={"-NodeName": None, "NodeName": None, "NodeAffinity": 9}
    )
    filters = [str(name) for name in profile_of(raw).filters]

    assert ["SchedulingGates", "NodePorts", "NodeUnschedulable"] == filters[:3]
    assert ["InterPodAffinity", "NodeName"] == filters[-2:]
    assert filters.index("NodeAffinity") == filters.index("TaintToleration") + 1


def test_older_versions() -> None:
    """v1beta2 gives three plugins the weights that they had before."""
    changed = {Plugin.TAINT_TOLERATION: 1, Plugin.NODE_AFFINITY: 1, Plugin.INTER_POD_AFFINITY: 1}

    assert dict(DEFAULT_SCORES) | changed == dict(profile_of({}, version="v1beta2").scores)
    assert DEFAULT_PROFILE == profile_of({}, version="v1beta3")


@pytest.mark.parametrize(
    "plugins",
    [
        pytest.param(with_plugins(score={"NodeName": 1}), id="no score plugin"),
        pytest.param(
            {"plugins": {"filter": {"enabled": [{"name": "NodePorts"}, {"name": "NodePorts"}]}}}, id="twice"
        ),
        pytest.param(
            {"plugins": {"multiPoint": {"enabled": [{"name": "NodeName"}, {"name": "NodeName"}]}}},
            id="twice everywhere",
        ),
        pytest.param(with_plugins(multiPoint={"-*": None}), id="nothing that every profile needs"),
        pytest.param(with_plugins(queueSort={"Own": None}), id="two that sort the queue"),
        pytest.param(with_plugins(scores={"NodeName": 1}), id="an unknown point"),
        pytest.param(with_plugins(score={"ImageLocality": "1"}), id="a weight in quotes"),
        pytest.param(with_plugins(score={"ImageLocality": 2**31}), id="a weight of 33 bits"),
        pytest.param(
            {"plugins": {"score": {"enabled": [{"name": "ImageLocality", "wait": 1}], "of": 1}}}, id="typos"
        ),
    ],
)
def test_errors(plugins: dict[str, Any], wording: Callable[[str], str]) -> None:
    """Plugin sets that kube-scheduler would reject are errors with their field, in Kubernetes' words."""
    found = json.dumps(errors_of(plugins))

    assert wording(found) == found


def test_enough_plugins() -> None:
    """Everything may be disabled but what sorts the queue and binds pods; own plugins may do both."""
    assert [] == errors_of(with_plugins(multiPoint={"-*": None}, **REQUIRED))
    assert [] == errors_of(with_plugins(multiPoint={"-*": None, "Own": None}))


def test_weight_of_unmodeled_points() -> None:
    """Many plugins cost no more than in proportion, and leave the others alone."""
    names = {f"Own{number}": 1 for number in range(2000)}
    profile = profile_of(with_plugins(score=names))

    assert DEFAULT_PROFILE.scores == profile.scores
    assert 2000 == len(profile.unmodeled)

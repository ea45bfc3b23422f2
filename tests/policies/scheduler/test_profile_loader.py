"""The parts of a profile that are not modeled, and settings of the whole configuration."""

from __future__ import annotations

from typing import Any

import pytest

from policies.scheduler.configuration import build
from policies.scheduler.profile import Plugin
from tests.policies.scheduler.scheduler_configs import (
    a_config,
    errors_of,
    profile_of,
    with_args,
    with_plugins,
)

FAILS = "(kube-scheduler fails on every pod there)"


@pytest.mark.parametrize(
    ("profile", "fields", "unmodeled", "may_reject"),
    [
        pytest.param({}, {}, (), False, id="nothing"),
        pytest.param(
            with_plugins(score={"Own": 3}), {}, ("plugin Own (score, weight 3)",), False, id="a score plugin"
        ),
        pytest.param(with_plugins(filter={"Own": None}), {}, ("plugin Own (filter)",), True, id="a filter"),
        pytest.param(
            with_plugins(multiPoint={"Own": None}),
            {},
            ("plugin Own (every point, weight 1)",),
            True,
            id="a plugin everywhere",
        ),
        pytest.param(
            {}, {"extenders": [{"urlPrefix": "http://x", "prioritizeVerb": "p", "weight": 1}]},
            ("extenders",), False, id="an extender that scores",
        ),
        pytest.param({}, {"extenders": [{"filterVerb": "f"}]}, ("extenders",), True, id="one that filters"),
        pytest.param(
            with_plugins(preFilter={"-NodePorts": None}),
            {},
            (f"NodePorts at filter without preFilter {FAILS}",),
            True,
            id="a Filter without its PreFilter",
        ),
        pytest.param(
            with_plugins(preScore={"-TaintToleration": None}),
            {},
            (f"TaintToleration at score without preScore {FAILS}",),
            True,
            id="a Score without its PreScore",
        ),
    ],
)  # fmt: skip
def test_unmodeled(
    profile: dict[str, Any], fields: dict[str, Any], unmodeled: tuple[str, ...], *, may_reject: bool
) -> None:
    """Plugins and fields that are not modeled are named, and whether they may reject nodes."""
    found = profile_of(profile, **fields)

    assert (unmodeled, may_reject) == (found.unmodeled, found.may_reject_more)


@pytest.mark.parametrize(
    ("own", "shared", "expected"),
    [
        pytest.param(None, None, "", id="neither"),
        pytest.param(None, 30, "percentageOfNodesToScore 30", id="that of all profiles"),
        pytest.param(40, 30, "percentageOfNodesToScore 40", id="the profile's own"),
        pytest.param(100, 30, "", id="all nodes"),
        pytest.param(0, 30, "", id="the default"),
    ],
)
def test_sampling(own: int | None, shared: int | None, expected: str) -> None:
    """How many nodes are looked at is said by the profile, else for all profiles."""
    profile = profile_of({"percentageOfNodesToScore": own}, percentageOfNodesToScore=shared)

    assert expected == profile.sampling


def test_unknown_scheduler() -> None:
    """Of a scheduler that the configuration does not have, it is not known what it does."""
    config = build(a_config({"schedulerName": "batch"}))

    assert not config.plugins_for("batch").unmodeled
    assert config.plugins_for("").unmodeled
    assert config.plugins_for("").may_reject_more


def test_narrowing_by_name() -> None:
    """NodeAffinity's PreFilter works without its Filter, and the other way round."""
    unfiltered = profile_of(with_plugins(filter={"-NodeAffinity": None}))
    unnarrowed = profile_of(with_plugins(preFilter={"-NodeAffinity": None}))
    off = profile_of(with_plugins(multiPoint={"-NodeAffinity": None}))

    assert (True, False) == (unfiltered.narrows_by_name, unfiltered.filters_by_affinity)
    assert (False, True) == (unnarrowed.narrows_by_name, unnarrowed.filters_by_affinity)
    assert [True, True, False] == [
        Plugin.NODE_AFFINITY in profile.filters for profile in (unfiltered, unnarrowed, off)
    ]


@pytest.mark.parametrize(
    ("profile", "fields", "expected"),
    [
        pytest.param({"percentageOfNodesToScore": 101}, {}, ["percentageOfNodesToScore"], id="over 100"),
        pytest.param({}, {"percentageOfNodesToScore": -1}, ["percentageOfNodesToScore"], id="below 0"),
        pytest.param(
            {}, {"extenders": [{"prioritizeVerb": "p"}]}, ["extenders[0].weight"], id="a weightless extender"
        ),
        pytest.param({}, {"profile": []}, ["profile"], id="a typo at the top"),
        pytest.param({"pluginConfigs": []}, {}, ["pluginConfigs"], id="a typo in a profile"),
        pytest.param(
            {"pluginConfig": [{"name": "Own", "arg": {}}]},
            {},
            ["pluginConfig[0].arg"],
            id="a typo there",
        ),
        pytest.param(with_args("Own", anything=1), {}, [], id="arguments of another plugin"),
    ],
)
def test_errors(profile: dict[str, Any], fields: dict[str, Any], expected: list[str]) -> None:
    """Errors outside of plugins and their arguments are those of kube-scheduler."""
    assert expected == [path for path, _ in errors_of(profile, **fields)]


def test_one_queue() -> None:
    """Profiles share a queue, and so what sorts it."""
    other = {
        "schedulerName": "b",
        **with_plugins(queueSort={"Own": None}, multiPoint={"-PrioritySort": None}),
    }
    profiles = [{"schedulerName": "a"}, other]

    assert ["profiles[1].plugins.queueSort"] == [path for path, _ in errors_of({}, profiles=profiles)]

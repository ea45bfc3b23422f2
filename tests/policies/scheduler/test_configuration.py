"""KubeSchedulerConfiguration: which default constraints each profile gives."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.manifests.errors import DocumentError
from policies.manifests.fields import ErrorKind
from policies.scheduler.configuration import (
    DEFAULT_CONFIG,
    SYSTEM_CONSTRAINTS,
    DefaultingType,
    SchedulerConfig,
    build,
    config_errors,
    load_scheduler_config,
)

SOFT = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
HARD = {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}


def a_config(*profiles: Any, version: str = "v1") -> dict[str, Any]:
    return {
        "apiVersion": f"kubescheduler.config.k8s.io/{version}",
        "kind": "KubeSchedulerConfiguration",
        "profiles": list(profiles),
    }


def a_profile(name: str | None = None, plugins: Any = None, **arguments: Any) -> dict[str, Any]:
    profile: dict[str, Any] = {"pluginConfig": [{"name": "PodTopologySpread", "args": arguments}]}
    if name is not None:
        profile["schedulerName"] = name
    if plugins is not None:
        profile["plugins"] = plugins
    return profile


def a_list(*constraints: Any, **profile: Any) -> dict[str, Any]:
    return a_profile(defaultingType="List", defaultConstraints=list(constraints), **profile)


def skews(config: SchedulerConfig, name: str = "default-scheduler") -> list[int]:
    return [constraint.max_skew for constraint in config.constraints_for(name)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(a_config(), [3, 5], id="no profiles: System"),
        pytest.param({**a_config(), "profiles": None}, [3, 5], id="profiles: null"),
        pytest.param(a_config({}), [3, 5], id="a profile without arguments: System"),
        pytest.param(a_config(a_profile()), [3, 5], id="empty arguments: System"),
        pytest.param(a_config(a_profile(defaultingType="")), [3, 5], id="an empty defaultingType: System"),
        pytest.param(a_config(a_list(SOFT, HARD)), [1, 2], id="a list"),
        pytest.param(a_config(a_list()), [], id="an empty list: off"),
        pytest.param(a_config(a_list(SOFT), version="v1beta3"), [1], id="v1beta3"),
        pytest.param(a_config(a_list(SOFT), version="v1beta2"), [1], id="v1beta2"),
        pytest.param(
            a_config(a_profile(defaultConstraints=[SOFT]), version="v1alpha2"),
            [1],
            id="v1alpha2: a list is a List",
        ),
        pytest.param(a_config({}, version="v1alpha2"), [3, 5], id="v1alpha2 without arguments"),
        pytest.param({**a_config(), "profiles": a_list(SOFT)}, [1], id="profiles as one mapping"),
        pytest.param(
            a_config(a_list(SOFT | {"matchLabelKeys": ["pod-template-hash"]})),
            [1],
            id="matchLabelKeys are ignored",
        ),
    ],
)
def test_constraints(value: dict[str, Any], expected: list[int]) -> None:
    """A profile has the built-in constraints or those of its list."""
    assert [] == config_errors(value)
    assert expected == skews(build(value))


DISABLED = {"disabled": [{"name": "PodTopologySpread"}]}
ENABLED = {"enabled": [{"name": "PodTopologySpread"}]}


#: A profile without plugins, but those that every profile needs.
NOTHING = {
    "multiPoint": {"disabled": [{"name": "*"}]},
    "queueSort": {"enabled": [{"name": "PrioritySort"}]},
    "bind": {"enabled": [{"name": "DefaultBinder"}]},
}


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        pytest.param({}, [1, 2], id="nothing disabled"),
        pytest.param({"multiPoint": DISABLED}, [], id="everywhere"),
        pytest.param(NOTHING, [], id="everything everywhere, but what is required"),
        pytest.param(
            {"multiPoint": DISABLED, "filter": ENABLED, "preFilter": ENABLED}, [2], id="but for Filter"
        ),
        pytest.param({"score": DISABLED}, [2], id="at Score: soft ones have no effect"),
        pytest.param({"preScore": {"disabled": [{"name": "*"}]}}, [2], id="at PreScore, with everything"),
        pytest.param({"filter": DISABLED}, [1], id="at Filter: hard ones have no effect"),
        pytest.param({"filter": DISABLED, "score": DISABLED}, [], id="at Filter and Score"),
        pytest.param(
            {"score": DISABLED | ENABLED}, [1, 2], id="disabled and enabled again, with a weight, say"
        ),
        pytest.param({"multiPoint": {"disabled": [{"name": "NodeAffinity"}]}}, [1, 2], id="another plugin"),
    ],
)
def test_disabled_plugin(plugins: dict[str, Any], expected: list[int]) -> None:
    """Constraints whose extension points a profile disables have no effect."""
    value = a_config(a_list(SOFT, HARD, plugins=plugins))

    assert [] == config_errors(value)
    assert expected == skews(build(value))


def test_profiles_by_name() -> None:
    """Each scheduler name has its own; a name that is not there has none."""
    config = build(a_config(a_list(SOFT, name="a"), a_profile(name="b")))

    assert ([1], [3, 5], []) == (skews(config, "a"), skews(config, "b"), skews(config, "c"))
    assert DefaultingType.LIST is config.profiles["a"].defaulting_type


def test_an_empty_scheduler_name_is_the_default() -> None:
    """A pod without schedulerName belongs to the default scheduler."""
    assert SYSTEM_CONSTRAINTS == DEFAULT_CONFIG.constraints_for("")


ARGS = "profiles[0].pluginConfig[0].args"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param([], [("", ErrorKind.INVALID)], id="a list"),
        pytest.param({"kind": "Pod"}, [("kind", ErrorKind.NOT_SUPPORTED)], id="another kind"),
        pytest.param(a_config(version="v1beta1"), [("apiVersion", ErrorKind.NOT_SUPPORTED)], id="v1beta1"),
        pytest.param(
            {"kind": "KubeSchedulerConfiguration"}, [("apiVersion", ErrorKind.NOT_SUPPORTED)], id="no version"
        ),
        pytest.param({**a_config(), "profiles": 3}, [("profiles", ErrorKind.INVALID)], id="profiles: 3"),
        pytest.param(a_config(3), [("profiles[0]", ErrorKind.INVALID)], id="a profile: 3"),
        pytest.param(
            a_config(a_profile("a"), a_profile("a")),
            [("profiles[1].schedulerName", ErrorKind.DUPLICATE)],
            id="twice",
        ),
        pytest.param(
            a_config(a_profile("a"), {}),
            [("profiles[1].schedulerName", ErrorKind.REQUIRED)],
            id="several, one unnamed",
        ),
        pytest.param(
            a_config({"schedulerName": 3}),
            [("profiles[0].schedulerName", ErrorKind.INVALID)],
            id="schedulerName: 3",
        ),
        pytest.param(
            a_config({"pluginConfig": [{"name": "X"}, {"name": "X"}]}),
            [("profiles[0].pluginConfig[1].name", ErrorKind.DUPLICATE)],
            id="a plugin configured twice",
        ),
        pytest.param(
            a_config(a_profile(defaultConstraints=[SOFT])),
            [(f"{ARGS}.defaultingType", ErrorKind.INVALID)],
            id="a list without defaultingType is System with a list",
        ),
        pytest.param(
            a_config(a_list(SOFT | {"maxSkew": 0})),
            [(f"{ARGS}.defaultConstraints[0].maxSkew", ErrorKind.INVALID)],
            id="maxSkew 0",
        ),
        pytest.param(
            a_config(a_profile(defaultConstrains=[])),
            [(f"{ARGS}.defaultConstrains", ErrorKind.INVALID)],
            id="a typo",
        ),
        pytest.param(
            a_config({"plugins": {"score": {"disabled": [3]}}}),
            [("profiles[0].plugins.score.disabled[0]", ErrorKind.INVALID)],
            id="plugins of the wrong type",
        ),
        pytest.param(
            a_config({"pluginConfig": [{"name": "PodTopologySpread", "args": 3}]}),
            [(ARGS, ErrorKind.INVALID)],
            id="args: 3",
        ),
    ],
)
def test_errors(value: object, expected: list[tuple[str, ErrorKind]]) -> None:
    """Configuration that kube-scheduler would reject is an error with its field."""
    assert expected == [(str(error.path), error.kind) for error in config_errors(value)]


def test_all_errors_with_lines() -> None:
    """Errors of all profiles come at once, with file, line and field, by line."""
    text = json.dumps(
        a_config(a_list(SOFT | {"maxSkew": 0}, name="a"), a_list(HARD | {"labelSelector": {}}, name="a")),
        indent=1,
    )
    with pytest.raises(DocumentError) as caught:
        load_scheduler_config(text, "s.json")

    assert [
        "s.json:13: profiles[0].pluginConfig[0].args.defaultConstraints[0].maxSkew",
        "s.json:34: profiles[1].pluginConfig[0].args.defaultConstraints[0].labelSelector",
        "s.json:40: profiles[1].schedulerName",
    ] == [":".join(problem.split(":")[:3]) for problem in caught.value.problems]


@pytest.mark.parametrize("text", ["", "a: 1\n---\nb: 1"])
def test_one_document(text: str) -> None:
    """A file holds one configuration."""
    with pytest.raises(DocumentError, match="must hold one"):
        load_scheduler_config(text, "s.yaml")


def test_loads_yaml() -> None:
    """A file as the documentation shows it."""
    text = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
    pluginConfig:
      - name: PodTopologySpread
        args:
          defaultConstraints:
            - maxSkew: 1
              topologyKey: topology.kubernetes.io/zone
              whenUnsatisfiable: ScheduleAnyway
          defaultingType: List
"""
    assert [1] == skews(load_scheduler_config(text, "s.yaml"))


NAMES = st.sampled_from(
    [
        "schedulerName",
        "pluginConfig",
        "plugins",
        "name",
        "args",
        "defaultingType",
        "defaultConstraints",
        "score",
        "multiPoint",
        "enabled",
        "disabled",
    ]
)
WORDS = st.sampled_from(["PodTopologySpread", "List", "System", "*", "a"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | WORDS | st.just(SOFT),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=20,
)


@given(VALUES, st.sampled_from(["v1", "v1alpha2"]))
def test_any_profiles(profiles: Any, version: str) -> None:
    """Any value as profiles gives errors or a configuration, never an exception."""
    value = {**a_config(version=version), "profiles": profiles}
    if not config_errors(value):
        assert build(value).profiles

"""The advice on a valid document."""

from __future__ import annotations

from typing import Any

import pytest

from policies.config.loader import build
from policies.config.policy_advice import PolicyEnvironment, config_advice, policy_advice
from policies.manifests.findings import Finding
from policies.scheduler import configuration
from policies.scheduler.configuration import SchedulerConfig
from tests.builders import a_policy
from tests.policies.config.documents import HARD, SOFT, loaded

EMPTY_LIST = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"pluginConfig": [{"name": "PodTopologySpread", "args": {"defaultingType": "List"}}]}],
}
CLUSTER = PolicyEnvironment(has_cluster=True)


def advice(around: PolicyEnvironment, **spec: Any) -> list[Finding]:
    value = a_policy(**spec)
    return policy_advice(loaded(value), build(value), around)


def rules(around: PolicyEnvironment, **spec: Any) -> list[str]:
    return [finding.rule for finding in advice(around, **spec)]


@pytest.mark.parametrize(
    ("around", "spec", "expected"),
    [
        pytest.param(CLUSTER, {}, [], id="nothing to say"),
        pytest.param(CLUSTER, {"scope": {"kinds": ["Pod", "Rollout"]}}, [], id="2 known kinds"),
        pytest.param(CLUSTER, {"scope": {"kinds": ["Deploymnt"]}}, ["kind-unknown"], id="a kind misspelled"),
        pytest.param(
            CLUSTER, {"defaults": {"constraints": [SOFT]}}, ["scheduler-defaults-off"], id="any default"
        ),
        pytest.param(
            PolicyEnvironment(),
            {"defaults": {"constraints": [SOFT]}},
            ["scheduler-defaults-off", "pods-need-cluster"],
            id="at pods, no cluster",
        ),
        pytest.param(
            PolicyEnvironment(),
            {"defaults": {"at": "workloads", "constraints": [SOFT]}},
            ["scheduler-defaults-off"],
            id="at workloads, no cluster",
        ),
        pytest.param(
            CLUSTER,
            {"defaults": {"constraints": [SOFT, HARD]}},
            ["scheduler-defaults-off", "hard-default"],
            id="a hard default",
        ),
        pytest.param(
            CLUSTER,
            {"defaults": {"source": "scheduler"}},
            ["scheduler-defaults-off", "scheduler-config-missing"],
            id="from a scheduler that is not known",
        ),
        pytest.param(
            PolicyEnvironment(scheduler=configuration.DEFAULT_CONFIG, has_cluster=True),
            {"defaults": {"source": "scheduler"}},
            ["scheduler-defaults-off", "system-defaults-written-out"],
            id="from a scheduler with System",
        ),
        pytest.param(
            PolicyEnvironment(scheduler=configuration.build(EMPTY_LIST), has_cluster=True),
            {"defaults": {"constraints": [SOFT]}},
            [],
            id="a scheduler without defaults: nothing is switched off",
        ),
        pytest.param(
            PolicyEnvironment(),
            {"scope": {"namespaceSelector": {"matchLabels": {"tier": "prod"}}}},
            ["namespace-labels-unknown"],
            id="labels of namespaces, no cluster",
        ),
        pytest.param(
            PolicyEnvironment(),
            {"scope": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "a"}}}},
            [],
            id="the name label, no cluster",
        ),
        pytest.param(
            CLUSTER,
            {"scope": {"namespaceSelector": {"matchLabels": {"tier": "prod"}}}},
            [],
            id="labels, a cluster",
        ),
        pytest.param(
            CLUSTER,
            {"rules": {"selector-misses-own-pods": {}, "selector-empty": {}}},
            ["rule-unknown"],
            id="a rule misspelled, of 2",
        ),
    ],
)
def test_policy_advice(around: PolicyEnvironment, spec: dict[str, Any], expected: list[str]) -> None:
    """A policy is told what it switches off, needs and does not know."""
    assert expected == rules(around, **spec)


def test_which_defaults_are_switched_off() -> None:
    """The note names the scheduler's constraints, and stands at the defaults."""
    (finding,) = advice(CLUSTER, defaults={"constraints": [SOFT]})

    assert "kubernetes.io/hostname maxSkew 3 ScheduleAnyway" in finding.message
    assert "topology.kubernetes.io/zone maxSkew 5 ScheduleAnyway" in finding.message
    assert ("spec.defaults", 8) == (str(finding.path), finding.location.line)


def test_defaults_of_every_profile() -> None:
    """With several profiles the note is told for each, by scheduler name."""
    named = {
        name: configuration.SchedulerProfile(scheduler_name=name) for name in ("default-scheduler", "batch")
    }
    found = advice(
        PolicyEnvironment(scheduler=SchedulerConfig(named), has_cluster=True),
        defaults={"constraints": [SOFT]},
    )

    assert [False, True] == ["of batch" in finding.message for finding in found]


def config(*profiles: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": list(profiles),
    }


def with_list(*constraints: dict[str, Any], **profile: Any) -> dict[str, Any]:
    arguments = {"defaultingType": "List", "defaultConstraints": list(constraints)}
    return {"pluginConfig": [{"name": "PodTopologySpread", "args": arguments}], **profile}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(config(), [], id="no profiles"),
        pytest.param(config({}), [], id="System"),
        pytest.param(config(with_list(SOFT)), [], id="a soft list"),
        pytest.param(
            config(with_list(SOFT, HARD)),
            [("hard-default", "profiles[0].pluginConfig[0].args.defaultConstraints[1].whenUnsatisfiable")],
            id="a hard one",
        ),
        pytest.param(config(with_list()), [("no-scheduler-defaults", "profiles[0]")], id="an empty list"),
        pytest.param(
            config({"plugins": {"multiPoint": {"disabled": [{"name": "*"}]}}}),
            [("no-scheduler-defaults", "profiles[0]")],
            id="the plugin is disabled",
        ),
        pytest.param(
            {**config(), "profiles": with_list(SOFT)},
            [("scheduler-profiles-mapping", "profiles")],
            id="a mapping",
        ),
    ],
)
def test_config_advice(value: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    """A scheduler's configuration is told what it does to pods."""
    found = config_advice(loaded(value), configuration.build(value))

    assert expected == [(finding.rule, str(finding.path)) for finding in found]

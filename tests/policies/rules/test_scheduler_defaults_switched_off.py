"""A single soft constraint that takes the scheduler's own pair of defaults away."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.version import KubernetesVersion
from policies.rules.base import Context
from policies.scheduler.configuration import UnknownSchedulerError
from tests.builders import a_constraint, a_workload
from tests.policies.rules.documents import text_of
from tests.policies.rules.run_rules import problems
from tests.policies.rules.scheduling import a_scheduler_config

RULE = "scheduler-defaults-switched-off"
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
SOFT = a_constraint(whenUnsatisfiable="ScheduleAnyway")
TERM = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}}


def found(
    entries: list[Any],
    *others: dict[str, Any],
    kind: tuple[str, str] = ("Deployment", "apps"),
    replicas: int = 6,
    version: str = "1.36",
    **spec: Any,
) -> int:
    workload = a_workload(*kind, spec={"topologySpreadConstraints": entries, **spec})
    workload["spec"]["replicas"] = replicas
    context = Context(version=KubernetesVersion.parse(version))
    return len(problems(RULE, text_of(workload, *others), context))


def held_to(*zones: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": list(zones)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def arguments(**fields: Any) -> dict[str, Any]:
    return a_scheduler_config({"pluginConfig": [{"name": "PodTopologySpread", "args": fields}]})


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param([SOFT], 1, id="soft zone alone"),
        pytest.param([SOFT | {"topologyKey": HOSTNAME}], 1, id="soft host alone"),
        pytest.param([SOFT, SOFT | {"topologyKey": HOSTNAME}], 0, id="both"),
        pytest.param([a_constraint()], 0, id="hard zone alone: a stronger wish"),
        pytest.param([SOFT | {"topologyKey": "acme.example/rack"}], 0, id="another topology"),
        pytest.param([SOFT, a_constraint(maxSkew=0)], 0, id="one of two is broken"),
        pytest.param([], 0, id="none, on purpose"),
    ],
)
def test_constraints(entries: list[Any], expected: int) -> None:
    """Only a single soft constraint over one of the two default topologies is reported."""
    assert expected == found(entries)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({"kind": ("StatefulSet", "apps")}, 1, id="StatefulSet"),
        pytest.param({"kind": ("CloneSet", "apps.kruise.io")}, 0, id="no selector is deduced for a CloneSet"),
        pytest.param({"replicas": 1}, 0, id="1 replica"),
        pytest.param({"version": "1.23"}, 0, id="Kubernetes 1.23"),
        pytest.param(
            {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}},
            0,
            id="required anti-affinity over the hosts",
        ),
        pytest.param(
            {
                "affinity": {
                    "podAntiAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"weight": 1, "podAffinityTerm": TERM}
                        ]
                    }
                }
            },
            0,
            id="preferred anti-affinity over the hosts",
        ),
    ],
)
def test_workloads(settings: dict[str, Any], expected: int) -> None:
    """Nothing is lost where the defaults would not apply, or something else does their work."""
    assert expected == found([SOFT], **settings)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"nodeSelector": {ZONE: "a"}}, 0, id="held to zone a"),
        pytest.param({"nodeSelector": {"disk": "ssd"}}, 1, id="held to something else"),
        pytest.param({"affinity": held_to("a")}, 0, id="held to zone a by affinity"),
        pytest.param({"affinity": held_to("a", "b")}, 1, id="held to zones a and b"),
    ],
)
def test_pods_held_to_one_zone(spec: dict[str, Any], expected: int) -> None:
    """Pods of one zone were never spread over zones."""
    assert expected == found([SOFT | {"topologyKey": HOSTNAME}], **spec)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(arguments(defaultingType="System"), 1, id="System"),
        pytest.param(arguments(defaultingType="List"), 0, id="an empty List"),
    ],
)
def test_scheduler_configurations(config: dict[str, Any], expected: int) -> None:
    """A configuration in the repository says what the defaults are."""
    assert expected == found([SOFT], config)


@pytest.mark.parametrize(
    "name", [pytest.param("", id="the first profile"), pytest.param("batch", id="the second")]
)
def test_profiles(name: str) -> None:
    """Each profile of a configuration has defaults of its own."""
    names = ({"schedulerName": "default-scheduler"}, {"schedulerName": "batch"})
    own = arguments(defaultingType="List")["profiles"][0]

    assert 1 == found([SOFT], a_scheduler_config(*names), schedulerName=name)
    assert 0 == found([SOFT], a_scheduler_config(*(own | each for each in names)), schedulerName=name)


@pytest.mark.parametrize(
    "configs",
    [pytest.param([], id="none"), pytest.param([arguments(defaultingType="Lost")], id="broken")],
)
def test_unknown_profiles(configs: list[dict[str, Any]]) -> None:
    """Without the profile nothing is known of the defaults: the rule says so, and no other is silent."""
    with pytest.raises(UnknownSchedulerError, match="batch"):
        found([SOFT], *configs, schedulerName="batch")
    assert 0 == found([a_constraint()], *configs, schedulerName="batch"), "there is nothing to look up"

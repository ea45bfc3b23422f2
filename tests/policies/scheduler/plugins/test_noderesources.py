"""What is left of a node for the requests of a pod."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies.model.version import KNOWN_VERSION, KubernetesVersion
from policies.scheduler.profile import Plugin
from policies.scheduler.releases import behavior_of
from tests.policies.scheduler.clusters import a_node, a_pod, ask, fitting, reasons

GPU = "example.com/gpu"


@pytest.mark.parametrize(
    ("cpu", "taken", "allocatable", "expected"),
    [
        pytest.param("1", "3", {}, {}, id="1 of 1 left"),
        pytest.param("1", "3500m", {}, ("Insufficient cpu", "Unschedulable"), id="1 of 0.5 left"),
        pytest.param("5", "1m", {}, ("Insufficient cpu", "UnschedulableAndUnresolvable"), id="5 of 4 in all"),
        pytest.param("1", "1", {"pods": "1"}, ("Too many pods", "Unschedulable"), id="no room for a pod"),
        pytest.param(
            "4",
            "1",
            {"pods": "1"},
            ("Too many pods, Insufficient cpu", "Unschedulable"),
            id="neither room nor cpu",
        ),
    ],
)
def test_resources(cpu: str, taken: str, allocatable: dict[str, str], expected: object) -> None:
    """What is left must hold the requests; more than the whole node offers is beyond eviction."""
    node = a_node("n")
    node["status"]["allocatable"] |= allocatable
    verdict = ask([node, a_pod("there", "n", cpu=taken)], a_pod("next", cpu=cpu))

    assert expected == reasons(verdict).get(Plugin.NODE_RESOURCES_FIT, {})


def test_extended_resources() -> None:
    """A resource that no node offers is insufficient everywhere."""
    requests = {"resources": {"requests": {GPU: "1"}}}
    verdict = ask([a_node("n")], a_pod("next", containers=[{"name": "c", **requests}]))

    assert (f"Insufficient {GPU}", "UnschedulableAndUnresolvable") == reasons(verdict)[
        Plugin.NODE_RESOURCES_FIT
    ]


def test_older_releases_look_at_zero_requests() -> None:
    """Up to 1.27 a node that is overcommitted in cpu refuses a pod that asks for memory alone."""
    memory_only = [{"name": "c", "resources": {"requests": {"memory": "1Mi"}}}]
    objects, pod = [a_node("n"), a_pod("greedy", "n", cpu="9")], a_pod("next", containers=memory_only)
    older = replace(behavior_of(KNOWN_VERSION), zero_requests_fit=False)

    assert ["n"] == fitting(ask(objects, pod))
    assert "Insufficient cpu" == reasons(ask(objects, pod, older))[Plugin.NODE_RESOURCES_FIT][0]


@pytest.mark.parametrize(
    ("minor", "cpu", "expected"),
    [
        pytest.param(35, "2", 87, id="1.35: shares of 50 % and 25 %, so 100 - 12.5"),
        pytest.param(36, "2", 75, id="1.36: 50 + (50 + 87 - 87) / 2"),
        pytest.param(32, None, 87, id="1.32, no requests: shares of 0 and 25 % as they are"),
        pytest.param(33, None, None, id="1.33, no requests: skipped"),
    ],
)
def test_balance_by_release(minor: int, cpu: str | None, expected: int | None) -> None:
    """What is scored of a node with 4 CPUs and 8 GiB, of which 2 GiB are used."""
    used = a_pod("used", "n1")
    used["spec"]["containers"][0]["resources"] = {"requests": {"memory": "2Gi"}}
    pod = a_pod("web")
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}} if cpu else {}
    result = ask([a_node("n1"), used], pod, behavior_of(KubernetesVersion(1, minor)))
    scores = {each.plugin: int(each.raw[0]) for each in result.plugin_scores}

    assert expected == scores.get(Plugin.NODE_RESOURCES_BALANCED_ALLOCATION)

"""The rest of a node for the requests of a pod."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

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
    """The free resources must hold the requests; requests above the whole node's are beyond eviction."""
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
    ("minor", "requests", "fits"),
    [
        pytest.param(26, {GPU: "0"}, ["n"], id="1.26: zero of what is overcommitted"),
        pytest.param(25, {GPU: "0"}, [], id="1.25: zero of what is overcommitted"),
        pytest.param(25, {"cpu": "1"}, ["n"], id="1.25: nothing of it"),
    ],
)
def test_zero_of_an_extended_resource(minor: int, requests: dict[str, str], fits: list[str]) -> None:
    """Up to 1.25 a node overcommitted in an extended resource refuses a pod that requests 0 of it."""
    greedy = a_pod("greedy", "n", containers=[{"name": "c", "resources": {"requests": {GPU: "2"}}}])
    pod = a_pod("next", containers=[{"name": "c", "resources": {"requests": requests}}])

    assert fits == fitting(ask([a_node("n"), greedy], pod, behavior_of(KubernetesVersion(1, minor))))


def in_spec(**fields: Any) -> dict[str, Any]:
    """Return fields of a spec with a container that requests 1 CPU."""
    return {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}], **fields}


SIDECAR = in_spec(
    initContainers=[{"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "2"}}}]
)
WHOLE = in_spec(resources={"requests": {"cpu": "3"}})
FRACTIONS = in_spec(containers=[{"name": name, "resources": {"requests": {"cpu": "500u"}}} for name in "ab"])
RESIZED = {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}


@pytest.mark.parametrize(
    ("minor", "spec", "status", "used"),
    [
        pytest.param(29, SIDECAR, {}, 3000, id="1.29: a sidecar beside the containers"),
        pytest.param(28, SIDECAR, {}, 2000, id="1.28: a sidecar before the containers"),
        pytest.param(34, WHOLE, {}, 3000, id="1.34: the resources of the pod"),
        pytest.param(33, WHOLE, {}, 1000, id="1.33: those of its containers"),
        pytest.param(33, in_spec(), RESIZED, 3000, id="1.33: what the status says"),
        pytest.param(32, in_spec(), RESIZED, 1000, id="1.32: what the spec says"),
        pytest.param(36, WHOLE, {"resources": {"requests": {"cpu": "4"}}}, 4000, id="1.36: status of a pod"),
        pytest.param(35, WHOLE, {"resources": {"requests": {"cpu": "4"}}}, 3000, id="1.35: its spec"),
        pytest.param(27, FRACTIONS, {}, 1, id="1.27: a sum of halves is rounded"),
        pytest.param(26, FRACTIONS, {}, 2, id="1.26: halves are rounded and summed"),
    ],
)
def test_what_pods_take_by_release(
    minor: int, spec: dict[str, Any], status: dict[str, Any], used: int
) -> None:
    """One picture of a cluster says for every release what running pods take of a node's 10 CPUs."""
    node, pod = a_node("n"), a_pod("there", "n") | {"status": status}
    node["status"]["allocatable"]["cpu"] = "10"
    pod["spec"] |= spec
    left = 10_000 - used
    for cpu, fits in ((left, ["n"]), (left + 1, [])):
        asking = a_pod("next", cpu=f"{cpu}m")

        assert fits == fitting(ask([node, pod], asking, behavior_of(KubernetesVersion(1, minor))))


@pytest.mark.parametrize(
    ("minor", "fields", "expected"),
    [
        pytest.param(32, SIDECAR, 15, id="1.32: running sidecars count"),
        pytest.param(31, SIDECAR, 40, id="1.31: at the start of the pod alone"),
        pytest.param(27, in_spec(overhead={"cpu": "500m"}), 52, id="1.27: the overhead of running pods"),
    ],
)
def test_scores_of_what_is_free(minor: int, fields: dict[str, Any], expected: int) -> None:
    """A node with 4 CPUs and no memory to score, on which one pod runs; the next requests 400m."""
    node, pod = a_node("n"), a_pod("there", "n")
    node["status"]["allocatable"] |= {"cpu": "4", "memory": "0"}
    pod["spec"] |= fields
    result = ask([node, pod], a_pod("next", cpu="400m"), behavior_of(KubernetesVersion(1, minor)))
    scores = {each.plugin: int(each.raw[0]) for each in result.plugin_scores}

    assert expected == scores[Plugin.NODE_RESOURCES_FIT]


@pytest.mark.parametrize(
    ("minor", "expected"), [pytest.param(27, 50, id="1.27"), pytest.param(26, 74, id="1.26: 1 of 1500")]
)
def test_overhead_of_the_next_pod(minor: int, expected: int) -> None:
    """Up to 1.26 scores count its overhead in cores, as if they were thousandths."""
    node, pod = a_node("n"), a_pod("next", cpu="500m", overhead={"cpu": "500m"})
    node["status"]["allocatable"] |= {"cpu": "2", "memory": "0"}
    result = ask([node], pod, behavior_of(KubernetesVersion(1, minor)))
    scores = {each.plugin: int(each.raw[0]) for each in result.plugin_scores}

    assert expected == scores[Plugin.NODE_RESOURCES_FIT]


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
    """The score of a node with 4 CPUs and 8 GiB, of which 2 GiB are used."""
    used = a_pod("used", "n1")
    used["spec"]["containers"][0]["resources"] = {"requests": {"memory": "2Gi"}}
    pod = a_pod("web")
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}} if cpu else {}
    result = ask([a_node("n1"), used], pod, behavior_of(KubernetesVersion(1, minor)))
    scores = {each.plugin: int(each.raw[0]) for each in result.plugin_scores}

    assert expected == scores.get(Plugin.NODE_RESOURCES_BALANCED_ALLOCATION)

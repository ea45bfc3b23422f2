"""The filters around the spread: cordon, name, taints, affinity, resources."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policies.model.version import KNOWN_VERSION
from policies.scheduler.releases import behavior_of
from policies.scheduler.result import Plugin, SchedulingResult
from tests.policies.scheduler.clusters import a_node, a_pod, ask, fitting

TOLERATES_ALL = [{"operator": "Exists"}]
GPU = "example.com/gpu"


def said(verdict: SchedulingResult) -> dict[str, tuple[str, str]]:
    """Return what the plugins that refuse the only node say."""
    return {
        refusals.plugin: (str(reason), str(reason.code))
        for refusals in verdict.refusals
        for reason in refusals.reasons
        if refusals.of_node[0] and refusals.reasons[refusals.of_node[0] - 1] is reason
    }


@pytest.mark.parametrize(
    ("node", "pod", "plugin", "reason"),
    [
        pytest.param(
            {"unschedulable": True},
            {},
            Plugin.NODE_UNSCHEDULABLE,
            "node(s) were unschedulable",
            id="cordoned",
        ),
        pytest.param(
            {},
            {"node": "other"},
            Plugin.NODE_NAME,
            "node(s) didn't match the requested node name",
            id="another node's name",
        ),
        pytest.param(
            {"taints": ["gpu=yes:NoExecute"]},
            {},
            Plugin.TAINT_TOLERATION,
            "node(s) had untolerated taint(s)",
            id="tainted",
        ),
        pytest.param(
            {},
            {"nodeSelector": {"disk": "ssd"}},
            Plugin.NODE_AFFINITY,
            "node(s) didn't match Pod's node affinity/selector",
            id="other label wanted",
        ),
    ],
)
def test_reasons(node: dict[str, Any], pod: dict[str, Any], plugin: Plugin, reason: str) -> None:
    """Each plugin refuses in the scheduler's own words; evicting pods would help none of these."""
    verdict = ask([a_node("n", **node)], a_pod("next", **pod))

    assert {plugin: (reason, "UnschedulableAndUnresolvable")} == said(verdict)


@pytest.mark.parametrize(
    "node",
    [
        pytest.param({"unschedulable": True}, id="cordoned"),
        pytest.param({"taints": ["a=b:NoSchedule", "c=d:NoExecute"]}, id="tainted"),
        pytest.param({"taints": ["a=b:PreferNoSchedule"]}, id="preferably not"),
    ],
)
def test_tolerated(node: dict[str, Any]) -> None:
    """What a pod tolerates keeps it away from nothing."""
    assert ["n"] == fitting(ask([a_node("n", **node)], a_pod("next", tolerations=TOLERATES_ALL)))


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

    assert expected == said(verdict).get(Plugin.NODE_RESOURCES_FIT, {})


def test_extended_resources() -> None:
    """A resource that no node offers is insufficient everywhere."""
    requests = {"resources": {"requests": {GPU: "1"}}}
    verdict = ask([a_node("n")], a_pod("next", containers=[{"name": "c", **requests}]))

    assert (f"Insufficient {GPU}", "UnschedulableAndUnresolvable") == said(verdict)[Plugin.NODE_RESOURCES_FIT]


def test_older_releases_look_at_zero_requests() -> None:
    """Up to 1.27 a node that is overcommitted in cpu refuses a pod that asks for memory alone."""
    memory_only = [{"name": "c", "resources": {"requests": {"memory": "1Mi"}}}]
    objects, pod = [a_node("n"), a_pod("greedy", "n", cpu="9")], a_pod("next", containers=memory_only)
    older = replace(behavior_of(KNOWN_VERSION), zero_requests_fit=False)

    assert ["n"] == fitting(ask(objects, pod))
    assert "Insufficient cpu" == said(ask(objects, pod, older))[Plugin.NODE_RESOURCES_FIT][0]


def test_gates_hold_a_pod_back() -> None:
    """A gated pod goes nowhere, in the releases that know gates."""
    pod = a_pod("next", schedulingGates=[{"name": "example.com/wait"}])
    older = replace(behavior_of(KNOWN_VERSION), scheduling_gates=False)

    assert [] == fitting(ask([a_node("n")], pod))
    assert ["n"] == fitting(ask([a_node("n")], pod, older))

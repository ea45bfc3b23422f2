"""Preemption on random clusters against evictions that are tried one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from policies.model.pod import NOT_STARTED
from policies.scheduler.evaluate import evaluate
from policies.scheduler.index import ClusterIndex
from policies.scheduler.request import SchedulingRequest
from tests.examples import examples
from tests.policies.scheduler.clusters import a_node, a_pod, a_request, an_index, ask, objects_of
from tests.policies.scheduler.strategies_profile import profile_cases

#: The priority of the incoming pod; those of the others are around it.
PRIORITY = 2


@examples(150)
@given(profile_cases(), st.randoms(use_true_random=False))
def test_evictions_tried_one_by_one(case: dict[str, Any], random: Any) -> None:
    """Victims are removed and given back as arrays as if each node were looked at by itself."""
    case["pod"]["spec"]["priority"] = PRIORITY
    for pod in case["pods"]:
        pod["spec"]["priority"] = random.randrange(4)
        # The scheduler takes off terminating pods that it did not count.
        pod["metadata"].pop("deletionTimestamp", None)
    index = an_index(objects_of(case))
    request = a_request(case["pod"], case["args"], index)
    result = evaluate(request, index)
    if result.preemption is None:
        return
    expected = dict(_candidates(request, index, case["pods"]))

    assert bool(expected) == bool(result.preemption.nominated)
    for node, victims in result.preemption.victims.items():
        assert expected[node] == set(victims)


def _candidates(
    request: SchedulingRequest, index: ClusterIndex, pods: list[dict[str, Any]]
) -> Iterator[tuple[str, set[str]]]:
    """Yield each node on which the pod would fit, and the pods that must go there."""
    result = evaluate(request, index)
    for at, node in enumerate(result.names):
        first = next((each for each in result.rejections if each.of_node[at]), None)
        named = request.narrowed_to
        if first is None or (named is not None and node not in named):
            continue
        if str(first.reasons[first.of_node[at] - 1].code) != "Unschedulable":
            continue
        lower = sorted((pod for pod in pods if _is_lower(pod, node, index)), key=_importance)
        fork = index.fork("")
        for pod in lower:
            fork.remove("v1", "Pod", _namespace(pod), pod["metadata"]["name"])
        if not lower or not _fits(request, fork, at):
            continue
        victims = set()
        for pod in lower:
            fork.apply(pod)
            if not _fits(request, fork, at):
                fork.remove("v1", "Pod", _namespace(pod), pod["metadata"]["name"])
                victims.add(f"{_namespace(pod)}/{pod['metadata']['name']}")
        if victims:
            yield node, victims


def _fits(request: SchedulingRequest, index: ClusterIndex, at: int) -> bool:
    return all(not each.of_node[at] for each in evaluate(request, index).rejections)


def _is_lower(pod: dict[str, Any], node: str, index: ClusterIndex) -> bool:
    table = index.pods_of(_namespace(pod))
    held = table is not None and pod["metadata"]["name"] in table.names()
    return held and pod["spec"].get("nodeName") == node and pod["spec"]["priority"] < PRIORITY


def _importance(pod: dict[str, Any]) -> tuple[int, int]:
    return -pod["spec"]["priority"], NOT_STARTED


def _namespace(pod: dict[str, Any]) -> str:
    return pod["metadata"].get("namespace") or "default"


def test_the_one_that_started_last_goes() -> None:
    """Of pods of equal priority those stay that have run longest."""
    pods = [a_pod(name, "n1", cpu="2", priority=1) for name in ("old", "new")]
    for pod, started in zip(pods, ("2026-01-01T00:00:00Z", "2026-06-01T00:00:00Z"), strict=True):
        pod["status"]["startTime"] = started
    found = ask([a_node("n1"), *pods], a_pod("in", cpu="2", priority=5)).preemption

    assert found is not None
    assert (("n1",), {"n1": ("shop/new",)}, "") == (found.nominated, found.victims, found.message)


def test_a_pod_that_never_preempts() -> None:
    """The condition says so, and nobody is evicted."""
    pod = a_pod("in", cpu="2", priority=5, preemptionPolicy="Never")
    result = ask([a_node("n1"), a_pod("old", "n1", cpu="3")], pod)

    assert result.preemption is not None
    assert ((), {}) == (result.preemption.nominated, result.preemption.victims)
    assert result.condition.endswith("preemption: not eligible due to preemptionPolicy=Never.")


def test_a_budget_decides_between_nodes() -> None:
    """Where evictions break no budget, they are preferred."""
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": 0},
    }
    pods = [a_pod("held", "n1", cpu="4"), a_pod("free", "n2", labels={"app": "batch"}, cpu="4")]
    found = ask([a_node("n1"), a_node("n2"), budget, *pods], a_pod("in", cpu="2", priority=1)).preemption

    assert found is not None
    assert {"n2": ("shop/free",)} == found.victims


def test_pods_nominated_to_a_node_keep_their_room() -> None:
    """A pod of lower priority does not take the room that is made for another."""
    waiting = a_pod("waiting", cpu="3", priority=9)
    waiting["status"]["nominatedNodeName"] = "n1"
    result = ask([a_node("n1"), waiting], a_pod("in", cpu="2", priority=1))

    assert 0 == result.feasible_count
    assert "0/1 nodes are available: 1 Insufficient cpu." == result.message

"""Whole profiles against kube-scheduler's own verdicts, and against the loops of the oracle."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from policies.scheduler.binding import schedule
from policies.scheduler.evaluate import evaluate
from policies.scheduler.profile import DEFAULT_PROFILE, Profile
from policies.scheduler.result import SchedulingResult
from tests.examples import examples
from tests.policies.scheduler import oracle_profile
from tests.policies.scheduler.clusters import RECORDED_PLUGINS, a_request, an_index, objects_of
from tests.policies.scheduler.oracle_configuration import settings_of
from tests.policies.scheduler.scheduler_configs import profile_of
from tests.policies.scheduler.strategies_profile import profile_cases, scheduler_profiles
from tests.recorded import recorded_profiles, recorded_sequences

#: A score plugin of the profile that is not modeled and adds 0 to every node.
UNSCORED = "DynamicResources"


@pytest.mark.slow
def test_recorded_verdicts() -> None:
    """On every recorded cluster each plugin refuses and scores each node as kube-scheduler 1.36 did."""
    recorded = list(recorded_profiles())
    different = [case["name"] for case in recorded if as_profile(result_of(case)) != said(case["expected"])]

    assert (1500, []) == (len(recorded), different)


@pytest.mark.slow
def test_recorded_sequences() -> None:
    """Pods that are bound one after another go where kube-scheduler bound them."""
    recorded = list(recorded_sequences())
    different = [case["name"] for case in recorded if steps_of(case) != expected_steps(case)]

    assert (150, []) == (len(recorded), different)


@pytest.mark.slow
def test_oracle_on_recorded_verdicts() -> None:
    """The plain loops say what kube-scheduler said, but for cases in which a PreFilter refuses the pod."""
    cases = [case for case in recorded_profiles() if not _refused_before_filters(case["expected"])]
    different = [
        case["name"] for case in cases if not _agrees(oracle_profile.evaluate(case), case["expected"])
    ]

    assert [] == different


def _refused_before_filters(expected: dict[str, Any]) -> bool:
    nodes = expected["nodes"].values()
    return bool(nodes) and not any(node["feasible"] or "refusals" in node for node in nodes)


def _agrees(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    wanted = said(expected)["nodes"]
    return found["best"] == expected.get("best", []) and all(
        (node["feasible"], node.get("scores"), node.get("total"))
        == (wanted[name]["feasible"], wanted[name].get("scores"), wanted[name].get("total"))
        for name, node in found["nodes"].items()
    )


@examples(100)
@given(profile_cases())
def test_arrays_say_what_loops_say(case: dict[str, Any]) -> None:
    """For any terms, ports and images of the cluster's pods, arrays and plain loops agree."""
    assert agreed(oracle_profile.evaluate(case), result_of(case))


@pytest.mark.slow
@examples(300)
@given(profile_cases(), scheduler_profiles())
def test_other_profiles(case: dict[str, Any], raw: dict[str, Any]) -> None:
    """For any plugins, weights and arguments of a profile, arrays and plain loops agree."""
    profile = profile_of(raw)

    assert agreed(oracle_profile.evaluate(case, settings_of(raw)), result_of(case, profile))


def agreed(expected: dict[str, Any], result: SchedulingResult) -> bool:
    """Return whether a result is that of the loops, with the difference in the output where it is not."""
    found = {
        name: {"feasible": bool(result.feasible[at]), "refusals": refusals_of(result, at)}
        | ({"scores": scores_of(result, at), "total": int(result.total[at])} if result.feasible[at] else {})
        for at, name in enumerate(result.names)
    }

    assert expected["nodes"] == found
    assert expected["best"] == [result.names[at] for at in result.best]
    return True


def result_of(case: dict[str, Any], profile: Profile = DEFAULT_PROFILE) -> SchedulingResult:
    index = an_index(objects_of(case))
    return evaluate(a_request(case["pod"], case["args"], index, profile=profile), index)


def refusals_of(result: SchedulingResult, node: int) -> dict[str, str]:
    """Return by plugin why a node is refused, in the words of the recorded cases."""
    return {
        RECORDED_PLUGINS[each.plugin]: str(each.reasons[each.of_node[node] - 1])
        for each in result.rejections
        if each.of_node[node]
    }


def scores_of(result: SchedulingResult, node: int) -> dict[str, dict[str, int]]:
    return {
        str(each.plugin): {
            "raw": int(each.raw[node]),
            "normalized": int(each.normalized[node]),
            "weighted": int(each.weighted[node]),
        }
        for each in result.plugin_scores
    }


def as_profile(result: SchedulingResult) -> dict[str, Any]:
    """Return a result in the shape of ``said``."""
    nodes: dict[str, dict[str, Any]] = {}
    conflict = result.message.endswith("pod affinity terms conflict.")
    for at, name in enumerate(result.names):
        nodes[name] = {"feasible": bool(result.feasible[at])}
        if result.feasible[at]:
            nodes[name] |= {"scores": scores_of(result, at), "total": int(result.total[at])}
        elif not conflict:
            nodes[name]["refusals"] = [
                {"plugin": str(each.plugin), "code": str(reason.code), "reasons": list(reason.texts)}
                for each in result.rejections
                if each.of_node[at]
                for reason in (each.reasons[each.of_node[at] - 1],)
            ]
    best = [result.names[at] for at in result.best]
    return {"nodes": nodes, "best": best, "message": result.message, "condition": result.condition}


def said(expected: dict[str, Any]) -> dict[str, Any]:
    """Return the record of every node, without the first refusal, which the order of all tells."""
    nodes = {}
    for name, node in expected["nodes"].items():
        kept = {key: value for key, value in node.items() if key != "refusal"}
        if "scores" in kept:
            kept["scores"] = {key: value for key, value in kept["scores"].items() if key != UNSCORED}
        nodes[name] = kept
    texts = {key: expected.get(key, "") for key in ("message", "condition")}
    return {"nodes": nodes, "best": expected.get("best", [])} | texts


def steps_of(case: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the outcome of the pods of a queue, each bound before the next."""
    index, steps = an_index(objects_of(case)), []
    for pod in case["queue"]:
        step = schedule(a_request(pod, case["args"], index), index, pod["metadata"]["name"])
        if step.node is None:
            steps.append({"message": step.message, "condition": step.condition})
            continue
        bound: dict[str, Any] = {"node": step.node, "tied": list(step.tied), "feasible": step.feasible}
        steps.append(bound if step.score is None else bound | {"score": step.score})
    return steps


def expected_steps(case: dict[str, Any]) -> list[dict[str, Any]]:
    told = ("node", "tied", "feasible", "score", "message", "condition")
    return [{key: value for key, value in step.items() if key in told} for step in case["expected"]["steps"]]

"""Where the next pod of an object would go: constraints in force, and what a real scheduler did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from policies.evaluation.context import AdmissionContext
from policies.evaluation.placement import Placement, PlacementError, place
from tests.policies.engine.clusters import an_index
from tests.recorded import recorded_placements

#: Pods that another plugin keeps away; the engine does not model it.
UNMODELED = {"antiaffinity-required-host"}
#: The workload whose pods the API server refuses.
REFUSED = "matchlabelkeys-trap"
#: What kube-scheduler adds to the sentence once it has tried to preempt.
PREEMPTION = " no new claims to deallocate, preemption:"


def replay(scenario: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Placement]]:
    """Yield what the real scheduler did with each pod, and our verdict when the pods before it are placed."""
    index = an_index([*scenario["nodes"], *scenario["pods"], *scenario.get("objects", ())])
    context = AdmissionContext(policies=(), cluster=index)
    for number, real in enumerate(scenario["outcome"]["placements"]):
        obj = scenario["workload"] if "workload" in scenario else scenario["incoming"][number]
        placement = place(obj, context)
        yield real, placement
        if real["node"] is not None:
            metadata = {**placement.pod["metadata"], "name": f"placed-{number}"}
            spec = {**placement.pod["spec"], "nodeName": real["node"]}
            assert [] == index.apply({**placement.pod, "metadata": metadata, "spec": spec})


def feasible_nodes(placement: Placement) -> list[str]:
    verdict = placement.verdict
    return [node for node, fits in zip(verdict.names, verdict.feasible, strict=True) if fits]


@pytest.mark.parametrize("name", sorted(recorded_placements().keys() - UNMODELED - {REFUSED}))
def test_what_a_real_scheduler_did(name: str) -> None:
    """Every pod fits where the real scheduler put it, or is refused in the same words."""
    for real, placement in replay(recorded_placements()[name]):
        if real["node"] is None:
            assert [] == feasible_nodes(placement)
            assert real["message"].partition(PREEMPTION)[0] == placement.verdict.message
        else:
            assert real["node"] in feasible_nodes(placement)
            assert "" == placement.verdict.message


def test_a_pod_that_the_api_server_refuses() -> None:
    """A workload whose pods would never be created is an error that names the field."""
    with pytest.raises(PlacementError) as caught:
        next(replay(recorded_placements()[REFUSED]))

    assert ["spec.template.spec.topologySpreadConstraints[0].matchLabelKeys[0]"] == [
        str(error.path) for error in caught.value.errors
    ]


def test_other_plugins_are_named() -> None:
    """Required anti-affinity is not modeled: all nodes look feasible, and why they may not be is told."""
    *_, (real, placement) = replay(recorded_placements()["antiaffinity-required-host"])

    assert real["node"] is None
    assert ["n1", "n2", "n3"] == feasible_nodes(placement)
    assert ("podAntiAffinity",) == placement.verdict.question.pod.unmodeled


SCORED = [
    name for name, entry in recorded_placements().items() if "scores" in entry["outcome"]["placements"][0]
]


@pytest.mark.parametrize("name", sorted(SCORED))
def test_what_a_real_scheduler_scored(name: str) -> None:
    """Twice our score, the plugin's weight, is what the real scheduler added for each node."""
    real, placement = next(replay(recorded_placements()[name]))
    verdict = placement.verdict
    plugin = {node: scores.get("PodTopologySpread") for node, scores in (real["scores"] or {}).items()}
    ours: dict[str, int | None] = dict.fromkeys(plugin)
    if verdict.scores is not None:
        ours = {node: 2 * score for node, score in zip(verdict.names, verdict.scores.tolist(), strict=True)}

    assert plugin == {node: ours[node] for node in plugin}

"""The differences between manifests, and their effects on the pods that run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from planning.plan.plan_differences import NO_SOURCE, Source, pair_workloads
from planning.simulation.object_differences import Difference, differences, replaces, rolls_out
from policies.config.context import AdmissionContext
from policies.model.workload import Workload
from policies.pods.placement import read_workload
from tests.builders import a_pod, a_workload
from tests.planning.planned import a_deployment

CONTEXT = AdmissionContext(policies=())


def _read(obj: dict[str, Any]) -> Workload:
    return read_workload(obj, CONTEXT)


def _image(obj: dict[str, Any], image: str) -> None:
    obj["spec"]["template"]["spec"]["containers"][0]["image"] = image


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(lambda obj: None, (), id="nothing"),
        pytest.param(lambda obj: _image(obj, "web:2"), (Difference.TEMPLATE,), id="another image"),
        pytest.param(
            lambda obj: obj["spec"]["template"]["spec"].update(restartPolicy="Always"), (), id="a default"
        ),
        pytest.param(lambda obj: obj["spec"].update(replicas=4), (Difference.REPLICAS,), id="replicas"),
        pytest.param(lambda obj: obj["spec"].pop("replicas"), (), id="replicas left to an autoscaler"),
        pytest.param(
            lambda obj: obj["spec"].update(strategy={"rollingUpdate": {"maxSurge": 0}}),
            (Difference.STRATEGY,),
            id="another strategy",
        ),
        pytest.param(
            lambda obj: obj["spec"].update(strategy={"type": "RollingUpdate"}), (), id="the usual strategy"
        ),
        pytest.param(lambda obj: obj["metadata"].update(labels={"a": "b"}), (), id="labels of its own"),
        pytest.param(
            lambda obj: obj["spec"]["selector"]["matchLabels"].update(tier="front"),
            (Difference.SELECTOR,),
            id="another selector",
        ),
    ],
)
def test_differences(change: Callable[[dict[str, Any]], None], expected: tuple[Difference, ...]) -> None:
    """Defaults of the API server are no difference."""
    after = a_deployment(3)
    change(after)

    assert expected == differences(_read(a_deployment(3)), _read(after))


def test_the_strategy_of_stateful_sets() -> None:
    """The order of its pods is a part of it."""
    after = a_workload("StatefulSet")
    after["spec"]["podManagementPolicy"] = "Parallel"

    assert (Difference.STRATEGY,) == differences(_read(a_workload("StatefulSet")), _read(after))


@pytest.mark.parametrize(
    ("obj", "found", "expected"),
    [
        pytest.param(a_deployment(1), Difference.SELECTOR, True, id="the selector of a Deployment"),
        pytest.param(a_deployment(1), Difference.TEMPLATE, False, id="the template of a Deployment"),
        pytest.param(a_pod(), Difference.TEMPLATE, True, id="a pod"),
        pytest.param(a_workload("Job", "batch"), Difference.TEMPLATE, True, id="a Job"),
    ],
)
def test_replaces(*, obj: dict[str, Any], found: Difference, expected: bool) -> None:
    """The fields that the API server does not let change."""
    assert expected is replaces(_read(obj), (found,))


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        pytest.param("Deployment", {}, True, id="a Deployment"),
        pytest.param("ReplicaSet", {}, False, id="a ReplicaSet keeps the pods that it has"),
        pytest.param("StatefulSet", {}, True, id="a StatefulSet"),
        pytest.param("StatefulSet", {"updateStrategy": {"type": "OnDelete"}}, False, id="OnDelete"),
    ],
)
def test_rolls_out(*, kind: str, spec: dict[str, Any], expected: bool) -> None:
    """Whether a new template reaches pods that run."""
    obj = a_workload(kind)
    obj["spec"] |= spec

    assert expected is rolls_out(_read(obj))


def test_pairs() -> None:
    """Workloads are paired by namespace, kind and name; PodTemplates and patches make no pods."""
    old, new = _read(a_deployment(1)), _read(a_deployment(2))
    other = _read(a_workload("PodTemplate", ""))
    before, after = [old, other], [new, _read(a_deployment(1, "api"))]
    pairs = pair_workloads(*([(workload, NO_SOURCE) for workload in built] for built in (before, after)))

    assert [("api", False, True), ("web", True, True)] == [
        (pair.key.name, pair.before is not None, pair.after is not None) for pair in pairs
    ]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param({"a": 1, "b": 1}, {"a": 2, "b": 2}, [(1, 2, "a b", False)], id="two alike: once"),
        pytest.param(
            {"a": 1, "b": 1}, {"a": 1, "b": 2}, [(1, 1, "a", True), (1, 2, "b", True)], id="two that differ"
        ),
        pytest.param(
            {"a": 1, "b": 2}, {"b": 3, "a": 1}, [(2, 3, "b", True), (1, 1, "a", True)], id="by their place"
        ),
        pytest.param(
            {"a": 1}, {"a": 1, "b": 2}, [(1, 1, "a", True), (0, 2, "b", True)], id="a build more is added"
        ),
        pytest.param(
            {"a": 1, "b": 1}, {"a": 1}, [(1, 1, "a", True), (1, 0, "b", True)], id="a build less is removed"
        ),
        pytest.param(
            {"": 1},
            {"a": 2, "b": 2, "c": 3},
            [(1, 2, "a b", True), (1, 3, "c", True)],
            id="with a cluster's one",
        ),
        pytest.param({"old": 1}, {"new": 2}, [(1, 2, "new", False)], id="one of another name: a move"),
    ],
)
def test_builds(
    before: dict[str, int], after: dict[str, int], expected: list[tuple[int, int, str, bool]]
) -> None:
    """Builds of one object that are alike are one pair; others are compared place by place."""

    def built(replicas: dict[str, int]) -> list[tuple[Workload, Source]]:
        return [(_read(a_deployment(count)), Source(place, place)) for place, count in replicas.items()]

    pairs = pair_workloads(built(before), built(after))

    assert expected == [
        (
            *((side and side.replicas) or 0 for side in (pair.before, pair.after)),
            " ".join(pair.builds),
            pair.alternative,
        )
        for pair in pairs
    ]

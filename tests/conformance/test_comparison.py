"""Answers against what a case expects."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.comparison import MOST_DIFFERENCES, compare

NO_TAINT = {"plugin": "TaintToleration", "reason": "no", "code": "Unschedulable"}
FULL = {"plugin": "NodeResourcesFit", "reason": "Insufficient cpu, Too many pods", "code": "Unschedulable"}
NODE = {"name": "n", "feasible": True, "score": 3, "rejections": [], "plugins": {"A": {"raw": 1}}}


def _node(**fields: Any) -> dict[str, Any]:
    return {"nodes": {"n": fields}}


def _answer(**fields: Any) -> dict[str, Any]:
    return {"nodes": [{"name": "n", **fields}]}


def _hard(**fields: Any) -> dict[str, Any]:
    return {"constraints": [{"whenUnsatisfiable": "DoNotSchedule", **fields}]}


@pytest.mark.parametrize(
    ("expected", "answer", "different", "unanswered"),
    [
        pytest.param({"preFilter": "Skip"}, {"preFilter": "Skip"}, [], [], id="same"),
        pytest.param({"preFilter": "Skip"}, {"preFilter": "Success"}, ["preFilter"], [], id="different"),
        pytest.param({"best": ["a", "b"]}, {"node": "b"}, [], [], id="one of the best"),
        pytest.param({"best": ["a", "b"]}, {"node": "c"}, ["best"], [], id="none of the best"),
        pytest.param({"best": ["a"]}, {"node": ""}, ["best"], [], id="no node"),
        pytest.param({"best": []}, {"node": ""}, [], [], id="rightly no node"),
        pytest.param({"best": []}, {"node": "a"}, ["best"], [], id="a node for what does not fit"),
        pytest.param(
            {"preemption": {"nominated": ["a", "b"]}}, {"preemption": {"node": "b"}}, [], [], id="nominated"
        ),
        pytest.param(
            {"preemption": {"nominated": ["a"], "victims": {"a": ["n/2", "n/1"]}}},
            {"preemption": {"node": "", "victims": {"a": ["n/1", "n/2"]}}},
            ["preemption.nominated"],
            [],
            id="not nominated, though the same victims in another order",
        ),
        pytest.param(
            {"steps": [{"node": "a", "tied": ["a", "b"]}]},
            {"steps": [{"node": "b"}]},
            [],
            ["steps.tied"],
            id="a step to one of those that are tied",
        ),
        pytest.param(
            {"steps": [{"node": "a", "tied": ["a", "b"]}]},
            {"steps": [{"node": "b", "tied": ["a", "b"]}]},
            ["steps.node"],
            [],
            id="a model that knows the tie takes the first",
        ),
        pytest.param({"preFilter": "Skip"}, {}, [], ["preFilter"], id="absent"),
        pytest.param({"message": ""}, {"message": None}, [], ["message"], id="null"),
        pytest.param(_node(feasible=True), {}, [], ["nodes.feasible"], id="no nodes"),
        pytest.param(_node(feasible=True), {"nodes": 3}, [], ["nodes.feasible"], id="nodes that are no list"),
        pytest.param(_node(feasible=True), {"nodes": []}, ["nodes.name"], [], id="a node less"),
        pytest.param(
            _node(feasible=True),
            {"nodes": [3, {"name": ["n"]}, {"name": "n", "feasible": True}, {"name": "other"}]},
            [],
            [],
            id="rubbish and other nodes beside it",
        ),
        pytest.param(_node(feasible=True), _answer(feasible=1), ["nodes.feasible"], [], id="1 is not true"),
        pytest.param(_node(score=100), _answer(score=100.0), [], [], id="100.0 is 100"),
        pytest.param(
            _node(score=100), _answer(score="100"), ["nodes.score[PodTopologySpread]"], [], id="a text"
        ),
        pytest.param(
            _node(rejections={"TaintToleration": None}), _answer(rejections=[]), [], [], id="no rejection"
        ),
        pytest.param(
            _node(rejections={"TaintToleration": None}),
            _answer(rejections=[NO_TAINT]),
            ["nodes.rejections[TaintToleration]"],
            [],
            id="a rejection too many",
        ),
        pytest.param(
            _node(rejections={"TaintToleration": {"reason": "no"}}),
            _answer(rejections=[]),
            ["nodes.rejections[TaintToleration]"],
            [],
            id="a rejection less",
        ),
        pytest.param(
            _node(rejections={"TaintToleration": {"reason": "yes", "code": "Unschedulable"}}),
            _answer(rejections=[NO_TAINT]),
            ["nodes.rejections.reason[TaintToleration]"],
            [],
            id="another reason",
        ),
        pytest.param(
            _node(rejections={"TaintToleration": {"reason": "no", "code": "x"}}),
            _answer(rejections=[{"plugin": "TaintToleration"}]),
            [],
            ["nodes.rejections.code[TaintToleration]", "nodes.rejections.reason[TaintToleration]"],
            id="a plugin without its reason",
        ),
        pytest.param(
            _node(rejections={"NodeResourcesFit": {"reason": "Too many pods, Insufficient cpu"}}),
            _answer(rejections=[FULL]),
            [],
            [],
            id="reasons in another order",
        ),
        pytest.param(
            _node(rejections={"NodeName": None}),
            _answer(feasible=True),
            [],
            ["nodes.rejections[NodeName]"],
            id="feasible or not, and no more",
        ),
        pytest.param(
            _node(plugins={"A": {"raw": 1, "weighted": 2}}),
            _answer(plugins={"A": {"raw": 1, "weighted": 3}, "B": {"weighted": 0}, "C": 3}),
            ["nodes.plugins.weighted[A]", "nodes.plugins.weighted[C]"],
            [],
            id="a score that differs, one that adds 0, and one that adds something",
        ),
        pytest.param(
            _node(plugins={"A": {"raw": 1}}), _answer(plugins={}), ["nodes.plugins[A]"], [], id="no score"
        ),
        pytest.param(
            {"hardConstraints": [{"domains": {"a": 1}, "globalMinimum": 1}]},
            _hard(domains=[{"value": "a", "matching": 2}], globalMinimum=0),
            ["constraints.domains", "constraints.globalMinimum"],
            [],
            id="counts",
        ),
        pytest.param(
            {"hardConstraints": [{"domains": {"a": 1}}]}, _hard(), [], ["constraints.domains"], id="no counts"
        ),
        pytest.param(
            {"softConstraints": [{"weight": 1.386294361}]},
            {"constraints": [{"whenUnsatisfiable": "ScheduleAnyway", "weight": 1.3862943611198906}]},
            [],
            [],
            id="a weight, as exactly as it is known",
        ),
        pytest.param(
            {"softConstraints": [{"weight": 1.386294361}]},
            {"constraints": [{"whenUnsatisfiable": "ScheduleAnyway", "weight": True}]},
            ["constraints.weight"],
            [],
            id="a weight that is none",
        ),
        pytest.param({"hardConstraints": [{}]}, _hard() | {"constraints": []}, ["constraints"], [], id="few"),
        pytest.param(
            {"steps": [{"node": "a", "score": 1}]},
            {"steps": [{"node": "b", "score": 1}]},
            ["steps.node"],
            [],
            id="another node",
        ),
        pytest.param(
            {"steps": [{"node": "a"}]}, {"steps": [{"message": "0/1"}]}, ["steps.node"], [], id="rejected"
        ),
        pytest.param(
            {"steps": [{"message": "0/1"}]},
            {"steps": [{"node": "a"}]},
            ["steps.node"],
            ["steps.message"],
            id="placed, where the scheduler rejects it",
        ),
        pytest.param({"steps": [{"node": "a"}]}, {"steps": []}, ["steps"], [], id="a step less"),
        pytest.param(
            {"steps": [{"node": "a"}]}, {"steps": [3]}, [], ["steps.node"], id="a step that is none"
        ),
        pytest.param({"steps": [{"node": "a"}]}, {}, [], ["steps.node"], id="no steps"),
    ],
)
def test_compare(
    expected: dict[str, Any], answer: dict[str, Any], different: list[str], unanswered: list[str]
) -> None:
    """Answers must be the same; a missing one is no difference."""
    found = compare(expected, answer)

    assert different == sorted(map(str, found.different))
    assert unanswered == sorted(map(str, found.unanswered))
    assert bool(different) == bool(found.differences)


def test_differences_are_bounded() -> None:
    """Every field that differs is known, some places of each are."""
    nodes = {f"n{number}": {"feasible": True} for number in range(100)}
    found = compare({"nodes": nodes}, {"nodes": [{"name": name, "feasible": False} for name in nodes]})

    assert MOST_DIFFERENCES == len(found.differences)


def test_with_this_engine() -> None:
    """An answer is compared with that of this engine, too, under names of their own."""
    found = compare({"best": ["a"]}, {"node": "a"}, {"best": ["b"], "condition": ""})

    assert ["best", "engine.best"] == sorted(map(str, found.compared))
    assert ["engine.best"] == [str(entry.field) for entry in found.differences]
    assert {"engine.best"} == set(map(str, found.different))
    assert not found.unanswered

"""The actions of a simulate request: what they say, and what is wrong with them."""

from __future__ import annotations

from typing import Any

import pytest

from planning.simulation.events import (
    MOST_ADDED,
    MOST_EVENTS,
    AddedNodes,
    LabeledNode,
    LostDomain,
    NodeEvent,
    NodeLabel,
    TaintedNode,
    UntaintedNode,
)
from policies.config.form import form_errors, read
from policies.manifests.fields import ErrorList
from policies.model.taints import TaintEffect
from webhook.requests.simulate import SimulateRequest


def test_every_action() -> None:
    """Each is read as the engine takes it."""
    raw = [
        {"lose": {"topologyKey": "zone", "value": "a", "unreachable": True}},
        {"drain": "n1"},
        {"cordon": "n2"},
        {"taint": {"node": "n3", "key": "team", "effect": "NoExecute"}},
        {"add": {"count": 3, "like": "n1"}},
        {"add": {"like": "n1"}},
        {"uncordon": "n2"},
        {"untaint": {"node": "n3", "key": "team"}},
        {"untaint": {"node": "n3", "key": "team", "effect": "NoSchedule"}},
        {"add": {"like": "n1", "withoutTaints": ["team"]}},
        {"label": {"node": "n3", "key": "rack", "value": ""}},
        {"add": {"like": "n1", "labels": [{"key": "rack", "value": "r2"}]}},
    ]
    request = read(SimulateRequest, {"queue": [], "actions": raw}, ErrorList())
    assert request is not None

    assert (
        NodeEvent(lose=LostDomain(topology_key="zone", value="a", unreachable=True)),
        NodeEvent(drain="n1"),
        NodeEvent(cordon="n2"),
        NodeEvent(taint=TaintedNode(node="n3", key="team", effect=TaintEffect.NO_EXECUTE)),
        NodeEvent(add=AddedNodes(like="n1", count=3)),
        NodeEvent(add=AddedNodes(like="n1", count=1)),
        NodeEvent(uncordon="n2"),
        NodeEvent(untaint=UntaintedNode(node="n3", key="team")),
        NodeEvent(untaint=UntaintedNode(node="n3", key="team", effect=TaintEffect.NO_SCHEDULE)),
        NodeEvent(add=AddedNodes(like="n1", count=1, without_taints=["team"])),
        NodeEvent(label=LabeledNode(node="n3", key="rack", value="")),
        NodeEvent(add=AddedNodes(like="n1", count=1, labels=[NodeLabel(key="rack", value="r2")])),
    ) == tuple(request.actions or ())


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param({}, ["actions"], id="no list"),
        pytest.param([3, None], ["actions[0]", "actions[1]"], id="no objects"),
        pytest.param([{}, {"drain": "a", "cordon": "a"}], ["actions[0]", "actions[1]"], id="none, and two"),
        pytest.param([{"drian": "a"}], ["actions[0].drian"], id="an unknown action"),
        pytest.param(
            [{"drain": ""}, {"cordon": 3}], ["actions[0].drain", "actions[1].cordon"], id="no names"
        ),
        pytest.param(
            [{"lose": {"key": "zone"}}],
            ["actions[0].lose.key", "actions[0].lose.topologyKey", "actions[0].lose.value"],
            id="lose: an unknown field, and two are missing",
        ),
        pytest.param(
            [{"lose": {"topologyKey": "zone", "value": 3, "unreachable": "no"}}],
            ["actions[0].lose.unreachable", "actions[0].lose.value"],
            id="lose: types",
        ),
        pytest.param(
            [{"taint": {"effect": "Never"}}],
            ["actions[0].taint.effect", "actions[0].taint.key", "actions[0].taint.node"],
            id="taint: an unknown effect, and what is missing",
        ),
        pytest.param(
            [{"uncordon": 3}, {"untaint": {"node": "n1"}}, {"add": {"like": "a", "withoutTaints": "team"}}],
            ["actions[0].uncordon", "actions[1].untaint.key", "actions[2].add.withoutTaints"],
            id="what is taken back: types, and a key is missing",
        ),
        pytest.param(
            [{"add": {"count": 0}}, {"add": {"count": "3", "like": "a"}}],
            ["actions[0].add.count", "actions[0].add.like", "actions[1].add.count"],
            id="add: no number",
        ),
        pytest.param(
            [{"add": {"count": MOST_ADDED + 1, "like": "a"}}], ["actions[0].add.count"], id="add: too many"
        ),
        pytest.param([{"drain": "n1"}] * (MOST_EVENTS + 1), ["actions"], id="too many actions"),
    ],
)
def test_what_is_wrong(raw: Any, expected: list[str]) -> None:
    """Every mistake is named at its place."""
    errors = form_errors(SimulateRequest, {"actions": raw})

    assert expected == sorted(str(error.path) for error in errors)

"""The actions of a simulate request: what they say, and what is wrong with them."""

from __future__ import annotations

from typing import Any

import pytest

from planning.simulation.actions import (
    AddNodes,
    CordonNode,
    DrainNode,
    LabelNode,
    LoseDomain,
    TaintNode,
    UncordonNode,
    UntaintNode,
)
from planning.simulation.events import MOST_ADDED, MOST_EVENTS
from policies.config.form import form_errors, read
from policies.manifests.fields import ErrorList, FieldPath
from policies.model.taints import Taint, TaintEffect
from webhook.requests.actions import actions_of
from webhook.requests.simulate import SimulateRequest

AT = FieldPath(("actions",))


def test_every_action() -> None:
    """Each is read with the place where its node or domain is written."""
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
    zone, paths = "topology.kubernetes.io/zone", [AT.index(position) for position in range(12)]

    assert (
        LoseDomain(at=paths[0].child("lose", "value"), key=zone, value="a", unreachable=True),
        DrainNode(at=paths[1].child("drain"), node="n1"),
        CordonNode(at=paths[2].child("cordon"), node="n2"),
        TaintNode(at=paths[3].child("taint", "node"), node="n3", taint=Taint("team", "", "NoExecute")),
        AddNodes(at=paths[4].child("add", "like"), like="n1", count=3),
        AddNodes(at=paths[5].child("add", "like"), like="n1", count=1),
        UncordonNode(at=paths[6].child("uncordon"), node="n2"),
        UntaintNode(at=paths[7].child("untaint", "node"), node="n3", key="team"),
        UntaintNode(
            at=paths[8].child("untaint", "node"), node="n3", key="team", effect=TaintEffect.NO_SCHEDULE
        ),
        AddNodes(at=paths[9].child("add", "like"), like="n1", count=1, without_taints=("team",)),
        LabelNode(at=paths[10].child("label", "node"), node="n3", key="rack", value=""),
        AddNodes(at=paths[11].child("add", "like"), like="n1", count=1, labels=(("rack", "r2"),)),
    ) == actions_of(request.actions or [], AT)


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

"""A rollout as a person reads it, and as programs do; the golden files have the wording."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import orjson
import pytest

from planning.simulation.rollout.rollout_start import RolloutSettings
from planning.simulation.rollout.simulated_rollout import SimulatedRollout, roll_out
from planning.text import rollout_text
from planning.what_if import simulate_json
from policies.pods.known_pods import UNREAD_PODS
from tests.builders import a_constraint, a_node, a_pod, a_replica_set
from tests.planning.rollouts import (
    CORDONED,
    PLAIN_ROLLOUT,
    THREE_ZONES,
    a_context,
    a_deployment,
    a_stateful_set,
    ordinals,
    running,
)

#: More zones than are listed, with two nodes each.
MANY = [a_node(f"n{number:02}", f"z{number % 15:02}") for number in range(30)]
#: A node for one pod in each of two zones, of which b is cordoned.
SMALL = {"status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "1"}}}
CHANCE = [a_node("n1", "a") | SMALL, a_node("n2", "b", unschedulable=True), a_node("n3", "a") | SMALL]
TWO = a_deployment(2, a_constraint(), surge=1, unavailable=0)
#: A pod on the node that has room for one, which any pod may have evicted.
LOW = {"nodeName": "n1", "priority": -1}
CLAIM = [{"name": "d", "persistentVolumeClaim": {"claimName": "d"}}]


def _rolled_out(obj: dict[str, Any], *cluster: dict[str, Any]) -> SimulatedRollout:
    return roll_out(obj, a_context(*cluster), PLAIN_ROLLOUT)


def _scaled(obj: dict[str, Any], replicas: int, *cluster: dict[str, Any]) -> SimulatedRollout:
    return roll_out(obj, a_context(*cluster), settings=RolloutSettings(known=UNREAD_PODS, scale=replicas))


def _with_claim(obj: dict[str, Any]) -> dict[str, Any]:
    obj["spec"]["template"]["spec"]["volumes"] = CLAIM
    return obj


#: Names of golden files, and what makes the rollouts.
ROLLOUTS = [
    pytest.param(
        "deadlock", partial(_rolled_out, TWO, *CORDONED, *running("old", n1=1, n2=1)), id="deadlock"
    ),
    pytest.param(
        "chance", partial(_rolled_out, TWO, *CHANCE, *running("old", n1=1, n2=1)), id="deadlock by chance"
    ),
    pytest.param("uneven", partial(_rolled_out, a_deployment(3, a_constraint()), *THREE_ZONES), id="uneven"),
    pytest.param(
        "many", partial(_rolled_out, a_deployment(60, a_constraint()), *MANY), id="many pods and domains"
    ),
    pytest.param(
        "restart",
        partial(_rolled_out, TWO, *THREE_ZONES, a_replica_set(TWO, "r1"), *running("r1", n1=1, n2=2)),
        id="a restart of too many pods",
    ),
    pytest.param(
        "stateful",
        partial(
            _rolled_out,
            a_stateful_set(3, a_constraint(), update={"partition": 1, "maxUnavailable": 2}),
            *CORDONED,
            *ordinals("n1", "n2", "n3"),
        ),
        id="a StatefulSet that waits",
    ),
    pytest.param(
        "on_delete",
        partial(
            _rolled_out,
            a_stateful_set(3)
            | {"spec": a_stateful_set(3)["spec"] | {"updateStrategy": {"type": "OnDelete"}}},
            *THREE_ZONES,
            *ordinals("n1", "n2", "n3"),
        ),
        id="a StatefulSet whose pods nobody deletes",
    ),
    pytest.param(
        "recreate",
        partial(
            _rolled_out,
            _with_claim(a_deployment(3, strategy={"type": "Recreate"}, paused=True)),
            *THREE_ZONES,
        ),
        id="Recreate, without constraints, with a volume claim",
    ),
    pytest.param(
        "scale_down",
        partial(_scaled, a_deployment(6, a_constraint()), 3, *THREE_ZONES, *running("r1", n1=2, n2=2, n3=2)),
        id="scaled down",
    ),
    pytest.param(
        "scale_up", partial(_scaled, a_deployment(2, a_constraint()), 4, *CORDONED), id="scaled up too far"
    ),
    pytest.param(
        "evictions",
        partial(
            _scaled,
            a_deployment(1),
            2,
            a_node("n1", "a") | SMALL,
            a_pod(name="low", labels={"app": "low"}, spec=LOW),
        ),
        id="evictions make room, and what replaces the victim is not known",
    ),
    pytest.param("scale_none", partial(_scaled, a_deployment(1), 1, *THREE_ZONES), id="nothing to scale"),
]


@pytest.fixture
def found(request: pytest.FixtureRequest) -> SimulatedRollout:
    """The rollout of a case, made when the case is run."""
    return cast("SimulatedRollout", request.param())


@pytest.mark.parametrize(("name", "found"), ROLLOUTS, indirect=["found"])
def test_text(name: str, found: SimulatedRollout, golden: Callable[[str, str], str]) -> None:
    """The whole text; read the golden file before agreeing to it."""
    text = rollout_text.render(found, width=80, color=False)

    assert golden(f"rollout_{name}.txt", text) == text
    assert max(len(line) for line in text.splitlines() if "nodes are available" not in line) <= 80


@pytest.mark.parametrize(("name", "found"), [ROLLOUTS[0], ROLLOUTS[1], ROLLOUTS[-2]], indirect=["found"])
def test_json(name: str, found: SimulatedRollout, golden: Callable[[str, str], str]) -> None:
    """The whole document, indented."""
    text = orjson.dumps(orjson.loads(simulate_json.render(found)), option=orjson.OPT_INDENT_2).decode() + "\n"

    assert golden(f"rollout_{name}.json", text) == text


def test_long_trace() -> None:
    """Of a long trace both ends are listed, and how many steps there are."""
    simulated = _scaled(a_deployment(1_600), 0, *[a_node(f"n{number:03}", "a") for number in range(170)])
    likely = orjson.loads(simulate_json.render(simulated))["rollout"]["likely"]

    assert (1_600, 1, 1_600) == (likely["steps"], likely["trace"][0]["step"], likely["trace"][-1]["step"])
    assert simulate_json.MOST_TRACED == len(likely["trace"])

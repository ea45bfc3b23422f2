"""The node affinity that a profile adds."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from policies.manifests.fields import ErrorList, FieldPath
from policies.model.node_affinity import PREFERRED, REQUIRED, NodeAffinity
from policies.scheduler.plugin_args import read_added_affinity

SSD = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}


def read(raw: Any) -> tuple[NodeAffinity, list[tuple[str, str]]]:
    found = ErrorList()
    added = read_added_affinity(raw, FieldPath(), found)
    return added, [(str(error.path), error.problem) for error in found.errors]


def required(*terms: Any) -> dict[str, Any]:
    return {REQUIRED[-1]: {"nodeSelectorTerms": list(terms)}}


def an_expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("raw", "labels", "expected"),
    [
        pytest.param(None, {}, True, id="none"),
        pytest.param({}, {}, True, id="empty"),
        pytest.param(required(SSD), {"disk": "ssd"}, True, id="the label"),
        pytest.param(required(SSD), {"disk": "hdd"}, False, id="another value"),
        pytest.param(required(), {"disk": "ssd"}, False, id="no terms match no node"),
        pytest.param(required({}), {"disk": "ssd"}, False, id="an empty term matches no node"),
        pytest.param(required({}, SSD), {"disk": "ssd"}, True, id="one term is enough"),
    ],
)
def test_matches(raw: Any, labels: dict[str, str], *, expected: bool) -> None:
    """Which nodes the required terms let pass."""
    added, errors = read(raw)

    assert ([], expected) == (errors, added.matches("n1", labels))


def test_preferred() -> None:
    """Preferred terms keep their weights; one without weight is not looked into."""
    unread = {"preference": an_expression("-", "In")}
    added, errors = read({PREFERRED: [{"weight": 5, "preference": SSD}, unread]})

    assert ([], [5, 0]) == (errors, [weight for weight, _ in added.preferred])


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(3, id="a number"),
        pytest.param({"required": {}}, id="an unknown field"),
        pytest.param(required(an_expression("-", "Exists")), id="a bad key"),
        pytest.param(required(an_expression("disk", "In")), id="In nothing"),
        pytest.param(required(an_expression("disk", "In", "-")), id="a bad value"),
        pytest.param(required(an_expression("disk", "Exists", "ssd")), id="Exists with a value"),
        pytest.param(required(an_expression("gen", "Gt", "a", "1")), id="Gt two"),
        pytest.param(required(an_expression("disk", "Is", "ssd")), id="an unknown operator"),
        pytest.param(
            required({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]}),
            id="two names",
        ),
        pytest.param(
            required({"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}), id="a name exists"
        ),
        pytest.param(
            {PREFERRED: [{"weight": 1, "preference": an_expression("disk", "In")}]}, id="in a preference"
        ),
        pytest.param({PREFERRED: [{"weight": "1", "preference": SSD}]}, id="a weight in quotes"),
    ],
)
def test_errors(raw: Any, wording: Callable[[str], str]) -> None:
    """A term that the scheduler cannot make sense of is an error, in Kubernetes' words."""
    _, errors = read(raw)
    found = json.dumps(errors)

    assert errors
    assert wording(found) == found

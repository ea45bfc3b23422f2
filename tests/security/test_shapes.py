"""The cost of a review when any one part of an object grows: little, and hardly more than in proportion.

``python -m benchmarks.shapes`` measures all shapes and sizes; here each list and map, and a choice of
strings, is grown twice. Processor time is compared, generously: what this finds is quadratic, or not bounded.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from policies.config.context import AdmissionContext
from tests.for_each import for_each
from tests.security.reviewing import MAX_BODY_BYTES, Answer, a_context, answer, review_of
from tests.security.shapes import Shape, a_rich_workload, shapes
from webhook.admission.review import Phase

#: Nodes of the cluster.
NODES = 200
#: Two sizes, and how many times as much the larger may cost: 10 times, more for n log n, and for noise.
SMALLER, LARGER, MOST = 1_000, 10_000, 25
#: Seconds that are too few to compare, and those that no review takes.
SHORT_S, LONGEST_S = 0.01, 0.25
#: How lists grow, and what strings are made of, in this choice.
CHOSEN = ("list, varied", "list, empty", "map", "string of 'a'", "string of ' ('", "string of ' '")


@cache
def context() -> AdmissionContext:
    return a_context(NODES)


def chosen() -> list[Shape]:
    return [shape for shape in shapes() if shape.name.endswith(CHOSEN)]


def _seconds(body: bytes) -> float:
    return min(answer(body, Phase.VALIDATE, context()).seconds for _ in range(3))


@for_each(chosen(), name=lambda shape: shape.name)
def test_growth(shape: Shape) -> None:
    """Ten times as much costs some ten times as much, and never holds up all others."""
    body = review_of(shape.make(LARGER))
    if len(body) > MAX_BODY_BYTES or answer(body, Phase.VALIDATE, context()).seconds < SHORT_S:
        return
    seconds = _seconds(body)

    assert seconds < LONGEST_S
    assert seconds < max(SHORT_S, MOST * _seconds(review_of(shape.make(SMALLER))))


def _grown(name: str, size: int) -> dict[str, Any]:
    [shape] = [shape for shape in shapes() if shape.name.endswith(name)]
    return shape.make(size)


CONSTRAINT = "topologySpreadConstraints.0"
WISHES = "nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"


def _review(obj: dict[str, Any], **policy: Any) -> Answer:
    return answer(review_of(obj), Phase.VALIDATE, a_context(20, **policy))


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(_grown(f"{WISHES}: list, empty", 20_000), id="20,000 empty terms"),
        pytest.param(_grown(f"{WISHES}.0.matchExpressions: list, varied", 20_000), id="20,000 requirements"),
        pytest.param(_grown(".tolerations: list, varied", 20_000), id="20,000 tolerations"),
        pytest.param(_grown(".containers: list, empty", 20_000), id="20,000 containers"),
        pytest.param(_grown(f"{CONSTRAINT}.labelSelector.matchLabels: map", 20_000), id="20,000 labels"),
        pytest.param(_grown(".topologySpreadConstraints: list, varied", 20_000), id="20,000 constraints"),
        pytest.param(_grown(f"{CONSTRAINT}: map", 300), id="300 unknown fields"),
    ],
)
def test_no_size_dodges_a_denial(obj: dict[str, Any]) -> None:
    """A rule that a policy enforces is asked, or the object is denied for it."""
    constraints = obj["spec"]["template"]["spec"]["topologySpreadConstraints"]
    constraints[-1] = {key: value for key, value in constraints[-1].items() if key != "labelSelector"}
    constraints[-1].pop("matchLabelKeys", None)
    quiet = {"unknown-field": {"enforcement": "warn"}, "too-large-to-check": {"enforcement": "warn"}}

    assert _review(obj, rules=quiet).is_denied


@pytest.mark.parametrize(
    ("constraints", "replicas"),
    [
        pytest.param(33, 3, id="33 constraints"),
        pytest.param(1, 301, id="301 replicas"),
        pytest.param(1, 2**31 - 1, id="2,147,483,647 replicas"),
    ],
)
def test_what_was_let_through(constraints: int, replicas: int) -> None:
    """Numbers that once kept rules from being asked no longer do."""
    obj = a_rich_workload(hard=False)
    obj["spec"]["replicas"] = replicas
    [one] = obj["spec"]["template"]["spec"]["topologySpreadConstraints"]
    many = [one | {"topologyKey": f"example.com/k{number}"} for number in range(constraints)]
    obj["spec"]["template"]["spec"]["topologySpreadConstraints"] = many
    found = _review(obj, rules={"topology-key-on-no-node": {"enforcement": "deny"}})

    assert found.is_denied
    assert "topology-key-on-no-node" in found.response["status"]["message"]
    assert "not-judged" not in found.response["auditAnnotations"]

"""Spread constraints that a document of another policy engine injects."""

from __future__ import annotations

from typing import Any

import pytest

from policies.manifests.fields import FieldPath
from policies.model.foreign_policies.cel import UNKNOWN
from policies.model.foreign_policies.constraints import ForeignInjection, injected_errors, read_selector
from tests.builders import a_constraint

HERE = FieldPath(("spec", "value"))
TEMPLATE = "{{ request.object.metadata.name }}"


def found(*entries: Any, whole: bool = True) -> list[str]:
    injection = ForeignInjection(path=HERE, constraints=entries, whole=whole)
    return [str(FieldPath(("c",)) + inner) for inner, _ in injected_errors(injection)]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param([a_constraint()], [], id="right"),
        pytest.param([a_constraint(maxSkew=0)], ["c[0].maxSkew"], id="maxSkew 0"),
        pytest.param([a_constraint(maxSkew=TEMPLATE)], [], id="maxSkew made at run time"),
        pytest.param([a_constraint(topologyKey=UNKNOWN)], [], id="key from an expression"),
        pytest.param([a_constraint(labelSelector=TEMPLATE)], [], id="selector made at run time"),
        pytest.param(
            [a_constraint(labelSelector={"matchLabels": {"app": TEMPLATE}})], [], id="value made at run time"
        ),
        pytest.param(
            [a_constraint(labelSelector={"matchLabels": {TEMPLATE: "a b"}})], [], id="key made at run time"
        ),
        pytest.param(
            [a_constraint(maxSkew=0, topologyKey=TEMPLATE)], ["c[0].maxSkew"], id="one of two is literal"
        ),
        pytest.param([{TEMPLATE: 1}], [], id="fields made at run time"),
        pytest.param([TEMPLATE, 1], ["c[1]"], id="an entry made at run time, and a number"),
        pytest.param(
            [a_constraint(), a_constraint()], ["c[0].{topologyKey, whenUnsatisfiable}"], id="the same twice"
        ),
        pytest.param(
            [a_constraint(topologyKey=TEMPLATE), a_constraint(topologyKey=TEMPLATE)],
            [],
            id="the same template twice",
        ),
    ],
)
def test_only_literal_parts_are_judged(entries: list[Any], expected: list[str]) -> None:
    """An error that a value made at run time may have caused is none."""
    assert expected == found(*entries)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"maxSkew": None}, [], id="maxSkew is there already"),
        pytest.param({"maxSkew": 0}, ["c[0].maxSkew"], id="maxSkew 0"),
        pytest.param({"labelSelector": None, "matchLabelKeys": ["app"]}, [], id="a selector may be there"),
        pytest.param({"whenUnsatisfiable": "Never"}, ["c[0].whenUnsatisfiable"], id="unknown action"),
    ],
)
def test_what_is_merged_need_not_be_complete(fields: dict[str, Any], expected: list[str]) -> None:
    """Where constraints are merged into others, only what is written is judged."""
    assert expected == found(a_constraint(**fields), whole=False)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({}, ("spec.value[0].maxSkew", ""), id="list"),
        pytest.param({"single": True}, ("spec.value.maxSkew", ""), id="one entry"),
        pytest.param(
            {"readable": False}, ("spec.value", "topologySpreadConstraints[0].maxSkew: "), id="text"
        ),
    ],
)
def test_place(settings: dict[str, bool], expected: tuple[str, str]) -> None:
    """A field within a text is told by name, at the place of the text."""
    injection = ForeignInjection(path=HERE, constraints=(a_constraint(),), **settings)  # type: ignore[arg-type]
    path, named = injection.place(FieldPath((0, "maxSkew")))

    assert expected == (str(path), named)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param({"matchLabels": {"app": "web"}}, "app=web", id="literal"),
        pytest.param({"matchLabels": {"app": "web-*"}}, "None", id="wildcard"),
        pytest.param({"matchLabels": {"app": TEMPLATE}}, "None", id="made at run time"),
        pytest.param({"matchLabels": {"a b": "c"}}, "None", id="invalid"),
        pytest.param({}, "None", id="empty"),
        pytest.param(None, "None", id="none"),
    ],
)
def test_read_selector(raw: object, expected: str) -> None:
    """Only a selector that is literal throughout says which labels objects have."""
    assert expected == str(read_selector(raw))

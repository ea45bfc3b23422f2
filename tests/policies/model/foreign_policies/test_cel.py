"""Mutating policies in CEL that inject spread constraints."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.foreign_policies.cel import injections
from policies.model.foreign_policies.constraints import ForeignInjection
from tests.builders import a_constraint

APPLIED = """
Object{spec: Object.spec{template: Object.spec.template{
  metadata: Object.spec.template.metadata{labels: %s},
  spec: Object.spec.template.spec{topologySpreadConstraints: %s}}}}
"""
PATCHED = """
has(object.spec.template.spec.topologySpreadConstraints) ? [] : [
  JSONPatch{op: "add", path: "/spec/template/metadata/labels/acme.example~1spread", value: "yes"},
  JSONPatch{op: "add", path: "/spec/template/spec/topologySpreadConstraints", value: %s}]
"""
ENTRY = (
    '{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule", '
    '"labelSelector": {"matchLabels": {"app": "web"}}}'
)


def found(
    *, apply: str | None = None, patch: str | None = None, has_binding: bool = False, **spec: Any
) -> list[ForeignInjection]:
    mutation: dict[str, Any] = {}
    if apply is not None:
        mutation["applyConfiguration"] = {"expression": apply}
    if patch is not None:
        mutation["jsonPatch"] = {"expression": patch}
    match = {"resourceRules": [{"resources": ["deployments"]}]}
    obj = {"spec": {"matchConstraints": match, "mutations": [mutation], **spec}}
    return list(injections(obj, has_binding=has_binding))


@pytest.mark.parametrize(
    ("expressions", "expected"),
    [
        pytest.param({"apply": APPLIED % ("{}", f"[{ENTRY}]")}, [False], id="apply configuration: merged"),
        pytest.param({"apply": APPLIED % ("{}", f"[{ENTRY}] + x")}, [], id="a list from elsewhere"),
        pytest.param({"apply": APPLIED % ("{}", ENTRY)}, [], id="no list"),
        pytest.param({"patch": PATCHED % f"[{ENTRY}]"}, [True], id="patch: whole"),
        pytest.param({"patch": PATCHED % f"dyn([dyn({ENTRY})])"}, [True], id="patch with dyn"),
        pytest.param({"patch": PATCHED % "variables.spread"}, [], id="patch from elsewhere"),
        pytest.param({"patch": "not ( CEL topologySpreadConstraints"}, [], id="no CEL"),
    ],
)
def test_expressions(expressions: dict[str, str], expected: list[bool]) -> None:
    """Constraints that stand in an expression are read as values."""
    entries = found(**expressions)  # type: ignore[arg-type]

    assert expected == [entry.whole for entry in entries]
    assert [] == [entry for entry in entries if entry.constraints != (a_constraint(),)]


@pytest.mark.parametrize(
    ("expressions", "expected"),
    [
        pytest.param({"apply": APPLIED % ('{"a": "b"}', f"[{ENTRY}]")}, {"a": "b"}, id="apply configuration"),
        pytest.param({"apply": APPLIED % ("x", f"[{ENTRY}]")}, None, id="labels from elsewhere"),
        pytest.param({"patch": PATCHED % f"[{ENTRY}]"}, {"acme.example/spread": "yes"}, id="patch"),
    ],
)
def test_labels(expressions: dict[str, str], expected: dict[str, str] | None) -> None:
    """Labels that the same mutation puts on the pods are known where they are literal."""
    (injection,) = found(**expressions)  # type: ignore[arg-type]

    assert expected == injection.labels


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({}, False, id="all"),
        pytest.param({"has_binding": True}, True, id="a binding decides"),
        pytest.param(
            {
                "matchConditions": [
                    {"name": "label", "expression": "!has(object.spec.topologySpreadConstraints)"}
                ]
            },
            False,
            id="those without constraints",
        ),
        pytest.param(
            {"matchConditions": [{"name": "x", "expression": "object.metadata.namespace != 'a'"}]},
            True,
            id="a condition on the namespace",
        ),
    ],
)
def test_match(settings: dict[str, Any], expected: bool) -> None:  # noqa: FBT001
    """The match of a policy is read as far as it says."""
    (injection,) = found(patch=PATCHED % f"[{ENTRY}]", **settings)

    assert {"Deployment"} == injection.kinds
    assert expected == injection.narrowed

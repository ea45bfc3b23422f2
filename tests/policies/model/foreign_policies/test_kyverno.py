"""Kyverno policies that inject spread constraints."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.foreign_policies.constraints import ForeignInjection
from policies.model.foreign_policies.detect import injections
from tests.builders import a_constraint

DEPLOYMENTS = {"any": [{"resources": {"kinds": ["Deployment"]}}]}
ADDED = "+(topologySpreadConstraints)"
MERGE = "spec.rules[0].mutate.patchStrategicMerge"


def found(mutate: dict[str, Any], match: dict[str, Any] | None = None, **rule: Any) -> list[ForeignInjection]:
    rules = [{"name": "spread", "match": match or DEPLOYMENTS, "mutate": mutate, **rule}]
    return list(injections({"spec": {"rules": rules}}))


def a_merge(key: str = ADDED, *entries: Any, labels: Any = None) -> dict[str, Any]:
    template: dict[str, Any] = {"spec": {key: list(entries) or [a_constraint()]}}
    if labels is not None:
        template["metadata"] = {"labels": labels}
    return {"patchStrategicMerge": {"spec": {"template": template}}}


@pytest.mark.parametrize(
    ("mutate", "expected"),
    [
        pytest.param(
            a_merge(),
            [f"{MERGE}.spec.template.spec.{ADDED} whole"],
            id="added where absent",
        ),
        pytest.param(
            a_merge("topologySpreadConstraints"),
            ["spec.rules[0].mutate.patchStrategicMerge.spec.template.spec.topologySpreadConstraints part"],
            id="merged",
        ),
        pytest.param(a_merge("(topologySpreadConstraints)"), [], id="a condition"),
        pytest.param(
            {"foreach": [{"list": "x", **a_merge()}]},
            [f"{MERGE.replace('mutate', 'mutate.foreach[0]')}.spec.template.spec.{ADDED} whole"],
            id="foreach",
        ),
        pytest.param(
            {"patchStrategicMerge": {"spec": {ADDED: [a_constraint()]}}},
            ["spec.rules[0].mutate.patchStrategicMerge.spec.+(topologySpreadConstraints) whole"],
            id="pod",
        ),
        pytest.param(
            {"patchStrategicMerge": {"+(spec)": {ADDED: [a_constraint()]}}},
            ["spec.rules[0].mutate.patchStrategicMerge.+(spec).+(topologySpreadConstraints) whole"],
            id="anchors on the way",
        ),
        pytest.param(
            {"patchStrategicMerge": {"spec": {ADDED: "{{ list }}"}}}, [], id="a list from elsewhere"
        ),
        pytest.param({"patchStrategicMerge": {"spec": "{{ spec }}"}}, [], id="a spec from elsewhere"),
    ],
)
def test_merges(mutate: dict[str, Any], expected: list[str]) -> None:
    """Constraints are found under their anchors, with the path that they have in the policy."""
    assert expected == [f"{entry.path} {'whole' if entry.whole else 'part'}" for entry in found(mutate)]


def test_conditional_entries_are_unknown() -> None:
    """An entry that depends on what it meets is not read."""
    (injection,) = found(a_merge(ADDED, {"(topologyKey)": "zone", "maxSkew": 0}, a_constraint()))

    assert [a_constraint()] == [entry for _, entry in injection.literal()]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param(None, {}, id="none"),
        pytest.param({"spread": "yes"}, {"spread": "yes"}, id="one"),
        pytest.param({"+(spread)": "yes"}, None, id="one that may be there already"),
    ],
)
def test_labels(labels: dict[str, str] | None, expected: dict[str, str] | None) -> None:
    """Labels that the same patch puts on the pods are known, unless they depend on the pod."""
    (injection,) = found(a_merge(labels=labels))

    assert expected == injection.labels


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "- {op: add, path: /spec/template/spec/topologySpreadConstraints/-, value: {maxSkew: 1}}",
            [({"maxSkew": 1},)],
            id="appended",
        ),
        pytest.param(
            "- {op: add, path: /spec/template/spec/topologySpreadConstraints, value: [{maxSkew: 1}]}",
            [({"maxSkew": 1},)],
            id="list",
        ),
        pytest.param("- {op: remove, path: /spec/template/spec/topologySpreadConstraints}", [], id="removed"),
        pytest.param("- {op: add, path: /spec/template/spec/x, value: [1]}", [], id="another field"),
        pytest.param("- path: {{ path }}\n  op: {{ op }}", [], id="no YAML until it is filled in"),
        pytest.param("text", [], id="no list"),
    ],
)
def test_operations(text: str, expected: list[Any]) -> None:
    """RFC 6902 operations in a text are read where they are YAML."""
    assert expected == [entry.constraints for entry in found({"patchesJson6902": text})]


@pytest.mark.parametrize(
    ("match", "kinds", "narrowed"),
    [
        pytest.param({"resources": {"kinds": ["Pod"]}}, {"Pod"}, False, id="old form"),
        pytest.param({"resources": {"kinds": ["apps/v1/Deployment"]}}, {"Deployment"}, False, id="group"),
        pytest.param({"resources": {"kinds": ["*"]}}, set(), False, id="wildcard"),
        pytest.param(
            {"any": [{"resources": {"kinds": ["Pod"], "names": ["web"]}}, {"resources": {"kinds": ["Pod"]}}]},
            {"Pod"},
            False,
            id="any: one of two asks for a name",
        ),
        pytest.param(
            {"all": [{"resources": {"kinds": ["Pod"]}}, {"subjects": [{"kind": "User"}]}]},
            {"Pod"},
            True,
            id="all: one of two asks for people",
        ),
    ],
)
def test_match(match: dict[str, Any], kinds: set[str], narrowed: bool) -> None:  # noqa: FBT001
    """The match of a rule is read in its three forms."""
    (injection,) = found(a_merge(), match)

    assert kinds == injection.kinds
    assert narrowed == injection.narrowed


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        pytest.param("{{ request.object.spec.replicas }}", False, id="replicas"),
        pytest.param("{{ request.object.metadata.labels.app }}", True, id="a label"),
        pytest.param("{{ request.namespace }}", True, id="the namespace"),
    ],
)
def test_preconditions(key: str, expected: bool) -> None:  # noqa: FBT001
    """A condition on labels or names asks for certain objects, one on replicas does not."""
    condition = {"all": [{"key": key, "operator": "NotEquals", "value": 1, "message": "a label"}]}
    (injection,) = found(a_merge(), preconditions=condition)

    assert expected == injection.narrowed


def test_targets() -> None:
    """A rule that mutates existing objects is for its targets, not for what it matches."""
    (injection,) = found({**a_merge(), "targets": [{"apiVersion": "apps/v1", "kind": "StatefulSet"}]})

    assert {"StatefulSet"} == injection.kinds
    assert injection.narrowed

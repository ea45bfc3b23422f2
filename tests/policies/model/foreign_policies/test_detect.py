"""Documents of other policy engines that inject spread constraints: Gatekeeper, and what is none."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.foreign_policies.detect import extract
from tests.builders import a_constraint, a_workload


def an_assign(location: object, value: object, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "mutations.gatekeeper.sh/v1",
        "kind": "Assign",
        "metadata": {"name": "spread"},
        "spec": {
            "applyTo": [{"groups": ["apps"], "versions": ["v1"], "kinds": ["Deployment", "StatefulSet"]}],
            "location": location,
            "parameters": {"assign": {"value": value}},
            **spec,
        },
    }


LIST = "spec.template.spec.topologySpreadConstraints"


@pytest.mark.parametrize(
    ("location", "value", "expected"),
    [
        pytest.param(LIST, [a_constraint()], 1, id="list of a template"),
        pytest.param("spec.topologySpreadConstraints", [a_constraint()], 1, id="list of a pod"),
        pytest.param(f"{LIST}[topologyKey: zone]", a_constraint(), 1, id="one entry"),
        pytest.param(f"{LIST}[topologyKey: zone].maxSkew", 2, 0, id="a field of an entry"),
        pytest.param(f"{LIST}[topologyKey: zone]", [a_constraint()], 0, id="a list as an entry"),
        pytest.param(LIST, a_constraint(), 0, id="an entry as the list"),
        pytest.param("spec.template.spec.tolerations", [{}], 0, id="another field"),
        pytest.param(3, [a_constraint()], 0, id="location of a wrong type"),
    ],
)
def test_locations(location: object, value: object, expected: int) -> None:
    """The list and its entries are injections; a single field of an entry is not."""
    assert expected == len(extract(an_assign(location, value)))


@pytest.mark.parametrize(
    ("match", "kinds", "narrowed"),
    [
        pytest.param({}, {"Deployment", "StatefulSet"}, False, id="all"),
        pytest.param({"kinds": [{"kinds": ["Deployment"]}]}, {"Deployment"}, False, id="one kind"),
        pytest.param({"kinds": [{"kinds": ["*"]}]}, {"Deployment", "StatefulSet"}, False, id="any kind"),
        pytest.param({"namespaces": ["shop"]}, {"Deployment", "StatefulSet"}, True, id="one namespace"),
        pytest.param({"excludedNamespaces": ["kube-system"]}, {"Deployment", "StatefulSet"}, False, id="but"),
    ],
)
def test_match(match: dict[str, Any], kinds: set[str], narrowed: bool) -> None:  # noqa: FBT001
    """The match of an Assign is read as far as it says."""
    (injection,) = extract(an_assign(LIST, [a_constraint()], match=match))

    assert kinds == injection.kinds
    assert narrowed == injection.narrowed


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param({}, id="empty"),
        pytest.param({"apiVersion": 1, "kind": ["Assign"]}, id="wrong types"),
        pytest.param(a_workload(), id="workload"),
        pytest.param(
            {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "spec": []}, id="spec of a list"
        ),
        pytest.param(
            {"apiVersion": "kyverno.io/v1", "kind": "Policy", "spec": {"rules": [None, 3, {"mutate": 1}]}},
            id="rules of wrong types",
        ),
        pytest.param(
            {"apiVersion": "policies.kyverno.io/v1", "kind": "MutatingPolicy", "spec": {"mutations": [3]}},
            id="mutations of wrong types",
        ),
    ],
)
def test_what_injects_nothing(obj: dict[str, Any]) -> None:
    """Any other object is read without an error, and injects nothing."""
    assert [] == extract(obj)

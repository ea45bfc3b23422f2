"""Constraints in custom resources: found wherever they are, and held to what the API server would refuse."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.embedded import MAX_LISTS, embedded_errors, embedded_lists

GOOD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
LIST = [GOOD]


def a_resource(
    spec: object, version: str = "monitoring.coreos.com/v1", kind: str = "Prometheus"
) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "k8s"}, "spec": spec}


def found(spec: object, version: str = "example.com/v1") -> list[str]:
    return [str(path) for path, _ in embedded_lists(a_resource(spec, version))]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"topologySpreadConstraints": LIST}, ["spec.topologySpreadConstraints"], id="spec"),
        pytest.param(
            {"mon": {"topologySpreadConstraints": LIST}, "osd": {"topologySpreadConstraints": [GOOD, GOOD]}},
            ["spec.mon.topologySpreadConstraints", "spec.osd.topologySpreadConstraints"],
            id="two components",
        ),
        pytest.param(
            {"sets": [{}, {"template": {"spec": {"topologySpreadConstraints": LIST}}}]},
            ["spec.sets[1].template.spec.topologySpreadConstraints"],
            id="in a list",
        ),
        pytest.param({"topologySpreadConstraints": []}, [], id="empty"),
        pytest.param({"topologySpreadConstraints": None}, [], id="null"),
        pytest.param({"topologySpreadConstraints": {}}, [], id="no list"),
        pytest.param({"topologySpreadConstraints": ["zone"]}, [], id="no list of objects"),
        pytest.param({"topologySpreadConstraints": [{"zone": 1}]}, [], id="objects of another API"),
        pytest.param({"topologySpreadConstraints": "- maxSkew: 0"}, [], id="a text"),
        pytest.param(
            {"properties": {"topologySpreadConstraints": {"type": "array", "items": {}}}}, [], id="a schema"
        ),
        pytest.param({"values": {"topologySpreadConstraints": LIST}}, [], id="a chart's values"),
        pytest.param({"helm": {"valuesObject": {"topologySpreadConstraints": LIST}}}, [], id="valuesObject"),
        pytest.param({"patches": [{"topologySpreadConstraints": LIST}]}, [], id="a patch"),
    ],
)  # fmt: skip
def test_where_lists_are_found(spec: object, expected: list[str]) -> None:
    """A list of constraints is known by its name and its entries, at any depth."""
    assert expected == found(spec)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("ceph.rook.io/v1", 1),
        ("leaderworkerset.x-k8s.io/v1", 1),
        ("v1", 0),
        ("apps/v1", 0),
        ("apiextensions.k8s.io/v1", 0),
        ("kyverno.io/v1", 0),
        ("policies.kyverno.io/v1", 0),
        ("mutations.gatekeeper.sh/v1", 0),
        ("evenkeel.dev/v1alpha1", 0),
    ],
)
def test_kinds(version: str, expected: int) -> None:
    """Kubernetes' own kinds are known, and policies tell what others should look like."""
    assert expected == len(found({"topologySpreadConstraints": LIST}, version))


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        pytest.param({}, [], id="right"),
        pytest.param({"maxSkew": 0}, ["max-skew-not-positive"], id="maxSkew 0"),
        pytest.param({"maxSkew": "1"}, ["wrong-type"], id="maxSkew a text"),
        pytest.param({"maxSkew": None}, ["max-skew-not-positive"], id="no maxSkew"),
        pytest.param({"topologyKey": ""}, ["topology-key-missing"], id="no topologyKey"),
        pytest.param({"whenUnsatisfiable": "Never"}, ["when-unsatisfiable-unknown"], id="unknown word"),
        pytest.param({"minDomains": 0}, ["min-domains-not-positive"], id="minDomains 0"),
        pytest.param({"nodeTaintsPolicy": "Honour"}, ["node-inclusion-policy-unknown"], id="unknown policy"),
        pytest.param(
            {"labelSelector": {"matchLabels": {"app": "-x-"}}}, ["label-selector-invalid"], id="bad selector"
        ),
        pytest.param(
            {"labelSelector": {"matchLabels": {"app": "x"}}, "matchLabelKeys": ["app"]},
            ["match-label-key-in-selector"],
            id="a key twice",
        ),
        pytest.param({"additionalLabelSelectors": "OnShard"}, [], id="a field of the resource's API"),
        pytest.param({"matchLabelKeys": ["app"]}, [], id="no selector: the controller adds it"),
        pytest.param({"maxSkew": "${SKEW}"}, [], id="a placeholder"),
    ],
)  # fmt: skip
def test_errors(entry: dict[str, Any], expected: list[str]) -> None:
    """A field that the API server would refuse whatever the controller adds is an error, at its place."""
    ((path, entries),) = embedded_lists(
        a_resource({"a": [{"topologySpreadConstraints": [GOOD | {"topologyKey": "x"}, GOOD | entry]}]})
    )
    errors = embedded_errors(path, entries)

    assert expected == [error.rule for error in errors]
    assert all(str(error.path).startswith("spec.a[0].topologySpreadConstraints[1].") for error in errors)


def test_bounds() -> None:
    """Of very many lists some are looked at, and what an alias shares once."""
    many = [{"topologySpreadConstraints": [dict(GOOD)]} for _ in range(MAX_LISTS + 9)]

    assert MAX_LISTS == len(found({"a": many}))
    assert 1 == len(found({"a": [many[0]] * 50}))

"""Tests of the terms of pod affinity: what is wrong with them, and which keep replicas apart."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.pod_affinity import AffinityTerm
from policies.model.workload import Workload
from tests.builders import APP, a_pod
from tests.policies.model.workloads import workload_of


def separations(workload: Workload) -> list[AffinityTerm]:
    """Return the terms that keep a workload's replicas apart."""
    return workload.pod_affinity.separations(workload.namespace, workload.template.labels)


TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": APP}}


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        pytest.param(TERM, ["zone"], id="its own labels"),
        pytest.param(TERM | {"labelSelector": {}}, ["zone"], id="every pod"),
        pytest.param(TERM | {"namespaces": ["shop"]}, ["zone"], id="its own namespace by name"),
        pytest.param(TERM | {"namespaces": ["other"]}, [], id="another namespace"),
        pytest.param(TERM | {"namespaceSelector": {}}, [], id="namespaces by their labels"),
        pytest.param(TERM | {"labelSelector": None}, [], id="no selector: no pod"),
        pytest.param(TERM | {"labelSelector": {"matchLabels": {"app": "api"}}}, [], id="other pods"),
        pytest.param(TERM | {"labelSelector": {"matchLabels": 7}}, [], id="a broken selector"),
        pytest.param(TERM | {"mismatchLabelKeys": ["app"]}, [], id="pods of other values"),
        pytest.param(TERM | {"topologyKey": None}, [], id="no key"),
        pytest.param(7, [], id="no term"),
    ],
)
def test_self_separations(term: Any, expected: list[str]) -> None:
    """A term counts if it certainly selects the workload's own pods."""
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    workload = workload_of(a_pod(spec={"affinity": affinity}))

    assert expected == [found.topology_key for found in separations(workload)]


@pytest.mark.parametrize(
    ("alike", "expected"),
    [
        pytest.param(set(), ["zone", "rack"], id="pods that may differ in the label"),
        pytest.param({"version"}, ["rack", "zone"], id="pods of one value"),
    ],
)
def test_separations_of_one_key(alike: set[str], expected: list[str]) -> None:
    """Only the first term of a key counts, and none whose label keys may tell the pods apart."""
    terms = [
        TERM | {"topologyKey": "rack", "matchLabelKeys": ["version"]},
        TERM,
        TERM | {"topologyKey": "rack"},
        TERM | {"labelSelector": {}},
    ]
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    workload = workload_of(a_pod(spec={"affinity": affinity}))
    found = workload.pod_affinity.separations(workload.namespace, workload.template.labels, alike=alike)

    assert expected == [term.topology_key for term in found]


@pytest.mark.parametrize(
    "affinity", [None, 7, {"podAntiAffinity": None}, {"podAntiAffinity": {"required": 1}}]
)
def test_without_terms(affinity: Any) -> None:
    """Nothing, or something else, keeps no replicas apart."""
    assert [] == separations(workload_of(a_pod(spec={"affinity": affinity})))


WEIGHTED = {"weight": 1, "podAffinityTerm": TERM}
REQUIRED, PREFERRED = (f"{word}DuringSchedulingIgnoredDuringExecution" for word in ("required", "preferred"))


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        pytest.param(TERM, [], id="valid"),
        pytest.param(TERM | {"labelSelector": None}, [], id="no selector is about no pod, and valid"),
        pytest.param(TERM | {"topologyKey": ""}, ["topologyKey"], id="empty key"),
        pytest.param({}, ["topologyKey"], id="nothing in it"),
        pytest.param(None, ["topologyKey"], id="null, which Go reads as nothing in it"),
        pytest.param(7, [""], id="no object"),
        pytest.param(TERM | {"topologyKey": 7}, ["topologyKey"], id="a number as key"),
        pytest.param(TERM | {"topologyKey": "a b"}, ["topologyKey"], id="no label key"),
        pytest.param(TERM | {"topologyKey": "${KEY}"}, [], id="a placeholder"),
        pytest.param(TERM | {"$patch": "delete"}, [], id="a directive of Kustomize"),
        pytest.param(
            TERM | {"labelSelector": {"matchLabels": {"a b": "c"}}},
            ["labelSelector.matchLabels"],
            id="selector",
        ),
        pytest.param(
            TERM | {"namespaceSelector": {"matchExpressions": 7}},
            ["namespaceSelector.matchExpressions"],
            id="selector of namespaces",
        ),
        pytest.param(TERM | {"namespaces": [7]}, ["namespaces[0]"], id="a number as namespace"),
        pytest.param(TERM | {"matchLabelKeys": ["a b"]}, ["matchLabelKeys[0]"], id="match label key"),
        pytest.param(TERM | {"mismatchLabelKeys": "a"}, ["mismatchLabelKeys"], id="no list of keys"),
        pytest.param(
            TERM | {"matchLabelKeys": ["a"], "mismatchLabelKeys": ["a"]},
            ["mismatchLabelKeys[0]"],
            id="a key in both lists",
        ),
        pytest.param(
            {"topologyKey": "zone", "matchLabelKeys": ["a"]}, ["matchLabelKeys"], id="keys without a selector"
        ),
        pytest.param(TERM | {"topologykey": "zone"}, ["topologykey"], id="unknown field"),
        pytest.param(WEIGHTED, [""], id="the form of a preferred term"),
    ],
)
def test_errors_of_required_terms(term: Any, expected: list[str]) -> None:
    """A mistake that the API server refuses is told at its field; an entry without one is a term."""
    assert expected == errors(REQUIRED, term)


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        pytest.param(WEIGHTED, [], id="valid"),
        pytest.param(WEIGHTED | {"weight": 100}, [], id="weight 100"),
        pytest.param(WEIGHTED | {"weight": 0}, ["weight"], id="weight 0"),
        pytest.param(WEIGHTED | {"weight": 101}, ["weight"], id="weight 101"),
        pytest.param(WEIGHTED | {"weight": "1"}, ["weight"], id="weight as text"),
        pytest.param(WEIGHTED | {"weight": True}, ["weight"], id="weight true"),
        pytest.param({"podAffinityTerm": TERM}, ["weight"], id="no weight"),
        pytest.param({"weight": 1}, ["podAffinityTerm.topologyKey"], id="no term"),
        pytest.param(
            {"weight": 1, "podAffinityTerm": []},
            ["podAffinityTerm", "podAffinityTerm.topologyKey"],
            id="a list as term",
        ),
        pytest.param(WEIGHTED | {"wieght": 1}, ["wieght"], id="unknown field"),
        pytest.param(TERM, [""], id="the form of a required term"),
        pytest.param(TERM | {"weight": 1}, [""], id="the form of a required term with a weight"),
    ],
)
def test_errors_of_preferred_terms(term: Any, expected: list[str]) -> None:
    """A preferred term holds a weight from 1 to 100 and a term."""
    assert expected == errors(PREFERRED, term)


def errors(name: str, term: Any) -> list[str]:
    """Return the fields of the errors in an entry, from the entry on."""
    workload = workload_of(a_pod(spec={"affinity": {"podAntiAffinity": {name: [term]}}}))
    way = f"spec.affinity.podAntiAffinity.{name}[0]"
    return [str(error.path).removeprefix(way).removeprefix(".") for error in workload.pod_affinity.errors]

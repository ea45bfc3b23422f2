"""Tests of which replicas keep each other out of a domain."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.pod_affinity import self_separations
from tests.builders import APP, a_pod
from tests.policies.model.workloads import workload_of

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

    assert expected == [found.topology_key for found in self_separations(workload)]


@pytest.mark.parametrize(
    "affinity", [None, 7, {"podAntiAffinity": None}, {"podAntiAffinity": {"required": 1}}]
)
def test_without_terms(affinity: Any) -> None:
    """Nothing, or something else, keeps no replicas apart."""
    assert [] == list(self_separations(workload_of(a_pod(spec={"affinity": affinity}))))

"""Texts that another tool fills in."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.placeholders import has_placeholder


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("{{ .Values.topologyKey }}", True, id="Helm"),
        pytest.param("{% raw %}", True, id="Jinja"),
        pytest.param("${ZONE_KEY:=topology.kubernetes.io/zone}", True, id="Flux"),
        pytest.param("$(ZONE_KEY)", True, id="Kustomize"),
        pytest.param("<%= key %>", True, id="ERB"),
        pytest.param([{"a": 1}, {"b": ["x", "${B}"]}], True, id="deep in a list"),
        pytest.param({"${KEY}": 1}, True, id="a key"),
        pytest.param("topology.kubernetes.io/zone", False, id="a label"),
        pytest.param({"maxSkew": 1, "labelSelector": None}, False, id="no text at all"),
        pytest.param("$5 {off}", False, id="signs that start none"),
    ],
)
def test_has_placeholder(value: Any, *, expected: bool) -> None:
    """One placeholder anywhere leaves a value open."""
    assert expected == has_placeholder(value)

"""Taints and tolerations."""

from __future__ import annotations

from typing import Any

import pytest

from policies.manifests.fields import ErrorList, FieldPath
from policies.model.taints import (
    SCHEDULING_EFFECTS,
    Taint,
    TaintEffect,
    first_untolerated,
    read_taints,
    read_tolerations,
)

GPU = Taint("gpu", "a100", TaintEffect.NO_SCHEDULE)


@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        ({"key": "gpu", "value": "a100"}, True),
        ({"key": "gpu", "operator": "Equal", "value": "a100"}, True),
        ({"key": "gpu", "value": "h100"}, False),
        ({"key": "gpu"}, False),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"key": "disk", "operator": "Exists"}, False),
        ({"operator": "Exists"}, True),
        ({"value": "a100"}, True),
        ({"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "gpu", "operator": "Exists", "effect": None}, True),
        ({"key": "gpu", "operator": "Gt", "value": "1"}, False),
        ({}, False),
    ],
    ids=str,
)
def test_tolerating_a_taint(toleration: dict[str, Any], *, tolerates: bool) -> None:
    """A toleration fits key, effect and value; an empty key or effect fits all, Exists every value."""
    found = ErrorList()
    (read,) = read_tolerations([toleration], FieldPath(), found)

    assert tolerates is read.tolerates(GPU)
    assert [] == found.errors


def test_the_first_untolerated_taint() -> None:
    """Taints are asked in their order, and PreferNoSchedule never keeps a pod away."""
    found = ErrorList()
    raw = [
        {"key": "soft", "effect": "PreferNoSchedule"},
        {"key": "gpu", "value": "a100", "effect": "NoSchedule"},
        {"key": "drain", "effect": "NoExecute"},
        {"key": "other", "effect": "NoExecute"},
    ]
    taints = read_taints(raw, FieldPath(), found)
    tolerations = read_tolerations([{"key": "gpu", "operator": "Exists"}], FieldPath(), found)

    assert Taint("drain", "", "NoExecute") == first_untolerated(taints, tolerations, SCHEDULING_EFFECTS)
    assert GPU == first_untolerated(taints, (), SCHEDULING_EFFECTS)
    assert first_untolerated(taints, tolerations, frozenset({"NoSchedule"})) is None


def test_what_is_no_toleration_is_told() -> None:
    """Every mistake has its path; null is an empty list, and null in a list an empty toleration."""
    found = ErrorList()
    read_tolerations([None, 7, {"key": 1, "operator": "Like"}], FieldPath(("t",)), found)
    read_taints([{"key": "gpu", "value": [], "effect": False}], FieldPath(("n",)), found)
    read_taints("gpu", FieldPath(("m",)), found)

    assert () == read_taints(None, FieldPath(), found)
    assert ["t[1]", "t[2].operator", "t[2].key", "n[0].value", "n[0].effect", "m"] == [
        str(error.path) for error in found.errors
    ]

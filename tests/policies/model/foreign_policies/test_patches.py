"""Patches that inject spread constraints."""

from __future__ import annotations

from typing import Any

import pytest

from policies.manifests.fields import FieldPath
from policies.model.foreign_policies.constraints import ForeignInjection, of_operations

AROUND = ForeignInjection(path=FieldPath(("patch",)), constraints=(), whole=False)


def an_operation(path: object, value: object, op: str = "add") -> dict[str, Any]:
    return {"op": op, "path": path, "value": value}


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        pytest.param("/spec/topologySpreadConstraints", [1], [(1,)], id="pod"),
        pytest.param("/spec/template/spec/topologySpreadConstraints", [1], [(1,)], id="template"),
        pytest.param(
            "/spec/jobTemplate/spec/template/spec/topologySpreadConstraints", [1], [(1,)], id="CronJob"
        ),
        pytest.param("/spec/topologySpreadConstraints/0", {"a": 1}, [({"a": 1},)], id="one entry"),
        pytest.param("/spec/topologySpreadConstraints/0/maxSkew", 1, [], id="a field of an entry"),
        pytest.param("/spec/topologySpreadConstraints", {}, [], id="value of a wrong type"),
        pytest.param(7, [1], [], id="path of a wrong type"),
    ],
)
def test_paths(path: object, value: object, expected: list[Any]) -> None:
    """The list and its entries are found in a pod and in every template."""
    entries = of_operations([None, an_operation(path, value)], AROUND)

    assert expected == [entry.constraints for entry in entries]
    assert [] == [entry for entry in entries if not entry.whole]


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        pytest.param(an_operation("/metadata/labels/a~1b", "c"), {"a/b": "c"}, id="one label, escaped"),
        pytest.param(an_operation("/spec/template/metadata/labels", {"a": "b"}), {"a": "b"}, id="all labels"),
        pytest.param(an_operation("/metadata/labels", "{{ … }}"), None, id="labels made at run time"),
        pytest.param(an_operation("/metadata/annotations/a", "b"), {}, id="annotation"),
    ],
)
def test_labels(operation: dict[str, Any], expected: dict[str, str] | None) -> None:
    """Labels that the same patch adds are known where they are literal."""
    (injection,) = of_operations([operation, an_operation("/spec/topologySpreadConstraints", [1])], AROUND)

    assert expected == injection.labels

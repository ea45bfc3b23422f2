"""Lines of the corpus."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from conformance.case import ConformanceCase, Operation
from policies.manifests.fields import ErrorList

CASE: dict[str, Any] = {
    "id": "a",
    "features": ["KEP-895"],
    "release": "1.36",
    "source": "measured",
    "operation": "score",
    "request": {"pod": {}},
    "expected": {"preFilter": "Skip"},
}


def test_a_case() -> None:
    """Every field is read; a field of a later version of the format is passed over."""
    found = ErrorList()
    case = ConformanceCase.parse(orjson.dumps(CASE | {"later": 1}), found)

    assert [] == found.errors
    assert case is not None
    assert ("a", ["KEP-895"], Operation.SCORE) == (case.id, [*case.features], case.operation)


@pytest.mark.parametrize(
    ("fields", "paths"),
    [
        pytest.param({"id": ""}, ["id"], id="no id"),
        pytest.param({"id": 3, "source": None}, ["id", "source"], id="a number, nothing"),
        pytest.param({"features": []}, ["features"], id="no feature"),
        pytest.param({"features": "KEP-895"}, ["features"], id="features that are no list"),
        pytest.param({"features": ["KEP-895", "KEP-1"]}, ["features[1]"], id="unknown"),
        pytest.param({"features": ["KEP-895", "KEP-1", 3]}, ["features[2]"], id="no feature"),
        pytest.param({"operation": "explain"}, ["operation"], id="an unknown operation"),
        pytest.param({"request": [1], "expected": {}}, ["expected", "request"], id="bodies"),
    ],
)
def test_what_is_wrong(fields: dict[str, Any], paths: list[str]) -> None:
    """Every mistake is reported at its field, at once."""
    found = ErrorList()

    assert ConformanceCase.parse(orjson.dumps(CASE | fields), found) is None
    assert paths == [str(error.path) for error in found.errors]


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"3", b"\xff"])
def test_no_case(line: bytes) -> None:
    """A line that is no JSON object is one error."""
    found = ErrorList()

    assert ConformanceCase.parse(line, found) is None
    assert 1 == found.count

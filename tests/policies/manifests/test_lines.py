"""Which line a field stands on."""

from __future__ import annotations

import pytest

from policies.manifests.lines import LineMap, new_lines


@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        pytest.param([], 1, id="the document"),
        pytest.param(["spec"], 2, id="a key"),
        pytest.param(["spec", 1], 5, id="an item"),
        pytest.param(["spec", 1, "name"], 5, id="a missing key: its item"),
        pytest.param(["spec", 7, "name"], 2, id="a missing item: its list"),
        pytest.param(["spec", -1], 2, id="no negative positions"),
        pytest.param(["spec", "name"], 2, id="a name in a list"),
        pytest.param([0], 1, id="a position in a mapping"),
    ],
)
def test_line_of(segments: list[str | int], expected: int) -> None:
    """A field has its own line, a missing one that of its nearest ancestor."""
    items: list[dict[str, str]] = [{}, {}]
    root = {"spec": items}
    lines = LineMap(root, 1, {id(root): new_lines([2]), id(items): new_lines([3, 5])})

    assert expected == lines.line_of(segments)

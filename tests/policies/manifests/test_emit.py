"""Values written as YAML and JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.manifests.documents import load
from policies.manifests.emit import BlockLayout, JsonLayout, block_lines, flow_text, json_text, scalar_text
from tests.policies.manifests.manifest_texts import VALUES

LAYOUTS = st.builds(BlockLayout, st.integers(1, 4), st.integers(0, 4), st.integers(2, 4))


def _read(text: str) -> Any:
    (document,) = load(f"v: {text}" if not text.startswith("\n") else f"v:{text}", "f")
    return document.value["v"]


@given(st.text())
def test_any_text(text: str) -> None:
    """A text is read back as itself, in each style."""
    if text.isprintable():
        assert [text] * 3 == [_read(scalar_text(text, style)) for style in ("", "'", '"')]


@pytest.mark.parametrize("text", ["1E400", ".inf", ".nan", "y", "0o17", "1_000", "12:30", "2001-01-01"])
def test_texts_that_look_like_something_else(text: str) -> None:
    """A text that would be a number or a word without quotes, even one that JSON has not, gets them."""
    assert text == _read(scalar_text(text))


@given(VALUES, LAYOUTS)
def test_any_value(value: Any, layout: BlockLayout) -> None:
    """A value is read back as itself, in blocks and in brackets."""
    block = "".join(f"\n  {line}" for line in block_lines(value, layout))

    assert json.dumps(value) == json.dumps(_read(flow_text(value)))
    assert json.dumps(value) == json.dumps(_read(block))


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        pytest.param(BlockLayout(), ["a:", "  - b:", "      c: 1", "    d: 2"], id="2, 2, 2"),
        pytest.param(BlockLayout(4, 0, 4), ["a:", "-   b:", "        c: 1", "    d: 2"], id="4, 0, 4"),
    ],
)
def test_layout(layout: BlockLayout, expected: list[str]) -> None:
    """Step, offset of lists and width of a dash are as asked."""
    assert expected == block_lines({"a": [{"b": {"c": 1}, "d": 2}]}, layout)


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        pytest.param(JsonLayout(), '{"a": [1, {}]}', id="on one line"),
        pytest.param(JsonLayout(None, ":", ","), '{"a":[1,{}]}', id="without spaces"),
        pytest.param(JsonLayout("\t"), '{\n>\t"a": [\n>\t\t1,\n>\t\t{}\n>\t]\n>}', id="with tabs"),
    ],
)
def test_json(layout: JsonLayout, expected: str) -> None:
    """Every line but the first begins with the prefix."""
    assert expected == json_text({"a": [1, {}]}, layout, prefix=">")

"""How large a JSON value is."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.validation import CHARACTERS, size_of


@pytest.mark.parametrize(
    ("value", "size"),
    [
        pytest.param(None, 0, id="null: 0"),
        pytest.param([1, "a", True, None], 4, id="scalars: 1 each"),
        pytest.param({"a": {"b": [1]}}, 3, id="levels: each entry"),
        pytest.param("a" * CHARACTERS * 3, 3, id="a text: 3"),
        pytest.param({str(n) * CHARACTERS: 1 for n in range(10)}, 20, id="10 long keys: 10 more"),
        pytest.param({"a" * CHARACTERS * 2: 1}, 1, id="one long key"),
        pytest.param([["a" * CHARACTERS] * 10], 21, id="texts in a list: 21"),
    ],
)
def test_size(value: Any, size: int) -> None:
    """Entries of all levels and long texts count, up to the limit in full."""
    assert size == size_of(value, 100)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param([0] * 1_000_000, id="a list"),
        pytest.param({str(n): 0 for n in range(100_000)}, id="a map"),
        pytest.param("a" * 1_000_000, id="a text"),
        pytest.param([[0] * 60] * 1000, id="lists in a list"),
        pytest.param([[0] * 1_000_000] * 99, id="a long list behind a short one"),
    ],
)
def test_nothing_is_looked_at_beyond_the_limit(value: Any) -> None:
    """A value that is too large is told as such, whatever it holds."""
    assert size_of(value, 100) > 100


def test_a_deep_value_needs_no_stack() -> None:
    """Levels are no deeper for us than entries are many."""
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]

    assert 100_000 == size_of(value, 100_000)

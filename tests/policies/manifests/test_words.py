"""Lists and numbers in texts for people."""

from __future__ import annotations

import pytest

from policies.manifests.words import IN_PHRASE, ON_LINE, listed, more, plural


@pytest.mark.parametrize(
    ("names", "most", "expected"),
    [
        pytest.param([], ON_LINE, "", id="none"),
        pytest.param("abcd", ON_LINE, "a, b, c, d", id="4 of 4"),
        pytest.param("abcde", ON_LINE, "a, b, c, d and 1 more", id="5 of 4: 1 is only counted"),
        pytest.param("abcde", IN_PHRASE, "a, b, c and 2 more", id="5 of 3: 2 are only counted"),
        pytest.param("ab", 1, "a and 1 more", id="2 of 1"),
        pytest.param(map(str, range(1235)), 1, "0 and 1,234 more", id="1,235 of 1: thousands are separated"),
        pytest.param(["a\x1b[31m\nb"], ON_LINE, "a\\x1b[31m\\nb", id="a name that does not print is escaped"),
    ],
)
def test_lists_are_short(names: list[str], most: int, expected: str) -> None:
    """The first names are written, the others counted."""
    assert expected == listed(names, most)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param(["a is 1"], "a is 1", id="1"),
        pytest.param(["a is 1", "b is 2"], "a is 1; b is 2", id="2"),
        pytest.param(["a is 1", "b is 2", "c is 3"], "a is 1; b is 2; and 1 more", id="3, one only counted"),
    ],
)
def test_clauses_have_semicolons(texts: list[str], expected: str) -> None:
    """Entries with commas of their own are separated by semicolons, also from the number of others."""
    assert expected == listed(texts, 2, between="; ")


def test_numbers_agree_with_their_nouns() -> None:
    """Only one is singular, and thousands are separated."""
    assert ["0 pods", "1 pod", "5,000 pods"] == [plural(count, "pod") for count in (0, 1, 5000)]
    assert ["and 1 more", "and 1 more pod", "and 2 more pods"] == [more(1), more(1, "pod"), more(2, "pod")]

"""How many pods must change their domain at least."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from planning.audit.least_moves import least_moves


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.integers(1, 3), st.integers(1, 5))
def test_least_moves(counts: list[int], max_skew: int, min_domains: int) -> None:
    """It is what trying every distribution of the pods says."""

    def within(found: tuple[int, ...]) -> bool:
        minimum = min(found) if len(found) >= min_domains else 0
        return max(found) - minimum <= max_skew

    every = product(range(sum(counts) + 1), repeat=len(counts))
    good = (each for each in every if sum(each) == sum(counts) and within(each))
    moves = (sum(max(0, was - now) for was, now in zip(counts, each, strict=True)) for each in good)

    assert min(moves, default=None) == least_moves(counts, max_skew, min_domains)

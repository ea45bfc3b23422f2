"""The cost of a document in a long run does not grow with the number of documents of its namespace."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from benchmarks.crowd import SHAPES, Shape, report

#: Documents of a small run, and of one that is larger by this factor. Arbitrary; every capped list is full.
DOCUMENTS, FACTOR = 60, 4
#: How many times as many calls the larger run may take: the factor, and a little for what is sorted.
MOST = 1.3 * FACTOR


@pytest.mark.parametrize(
    "folders", [pytest.param(False, id="1 file"), pytest.param(True, id="a folder each")]
)
@pytest.mark.parametrize("shape", [pytest.param(shape, id=name) for name, shape in SHAPES.items()])
def test_calls_grow_with_the_documents(shape: Shape, folders: bool) -> None:  # noqa: FBT001
    """Four times the documents take about four times the calls."""
    report(shape, DOCUMENTS, folders=folders)
    small, large = (_calls(shape, documents, folders) for documents in (DOCUMENTS, FACTOR * DOCUMENTS))

    assert large <= MOST * small


def _calls(shape: Shape, documents: int, folders: bool) -> int:  # noqa: FBT001
    """Return how many functions a run calls."""
    calls = 0

    def count(_frame: object, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        report(shape, documents, folders=folders)
    finally:
        sys.setprofile(before)
    return calls

"""YAML documents as values that know their lines: what is special to YAML."""

from __future__ import annotations

import pytest

from policies.manifests import yaml_stream
from policies.manifests.errors import DocumentError


def test_documents_come_one_by_one() -> None:
    """Documents before a broken one are read: the stream is not read ahead."""
    documents = yaml_stream.read("a: 1\n---\nb: 1\n---\nc: [", "f")

    assert {"a": 1} == next(documents).root
    assert {"b": 1} == next(documents).root
    with pytest.raises(DocumentError, match="f:5"):
        next(documents)


def test_anchors_end_with_their_document() -> None:
    """An alias cannot name an anchor of the document before."""
    documents = yaml_stream.read("a: &x 1\n---\nb: *x", "f")
    next(documents)

    with pytest.raises(DocumentError, match="does not stand before it"):
        next(documents)


def test_an_anchor_can_be_set_again() -> None:
    """The last anchor of a name counts."""
    (document,) = yaml_stream.read("- &x 1\n- &x 2\n- *x", "f")

    assert [1, 2, 2] == document.root


def test_aliases_up_to_the_limit() -> None:
    """Many aliases of something small are fine."""
    lines = ["- &x {a: 1}", *["- *x"] * 1000]
    (document,) = yaml_stream.read("\n".join(lines), "f")

    assert [{"a": 1}] * 1001 == document.root
    assert 1001 == document.line_of([1000])


def test_problems_are_bounded() -> None:
    """A file full of problems tells the first hundred."""
    with pytest.raises(DocumentError) as caught:
        list(yaml_stream.read("~: 1\n" * 500, "f"))

    assert 100 == len(caught.value.problems)

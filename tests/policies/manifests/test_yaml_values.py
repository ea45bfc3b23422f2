"""YAML documents as values: what is special to YAML."""

from __future__ import annotations

import pytest

from policies.manifests import yaml_values
from policies.manifests.errors import DocumentError


def test_documents_come_one_by_one() -> None:
    """Documents before a broken one are read: the stream is not read ahead."""
    documents = yaml_values.read("a: 1\n---\nb: 1\n---\nc: [", "f")

    assert {"a": 1} == next(documents).value
    assert {"b": 1} == next(documents).value
    with pytest.raises(DocumentError, match="f:5"):
        next(documents)


def test_anchors_end_with_their_document() -> None:
    """An alias cannot name an anchor of the document before."""
    documents = yaml_values.read("a: &x 1\n---\nb: *x", "f")
    next(documents)

    with pytest.raises(DocumentError, match="is not defined before it"):
        next(documents)


def test_an_anchor_can_be_set_again() -> None:
    """The last anchor of a name counts."""
    (document,) = yaml_values.read("- &x 1\n- &x 2\n- *x", "f")

    assert [1, 2, 2] == document.value


def test_aliases_up_to_the_limit() -> None:
    """Many aliases of something small are fine."""
    lines = ["- &x {a: 1}", *["- *x"] * 1000]
    (document,) = yaml_values.read("\n".join(lines), "f")

    assert [{"a": 1}] * 1001 == document.value


def test_problems_are_bounded() -> None:
    """A file full of problems tells the first hundred."""
    with pytest.raises(DocumentError) as caught:
        list(yaml_values.read("~: 1\n" * 500, "f"))

    assert 100 == len(caught.value.problems)


def test_a_value_that_json_lacks_is_reported_wherever_it_is_written() -> None:
    """Plain scalars are resolved once for a stream; an impossible one is a problem of each of its lines."""
    with pytest.raises(DocumentError) as caught:
        list(yaml_values.read("a: .nan\nb: 1\nc: .nan", "f"))

    assert ["f:1", "f:3"] == [problem.rpartition(': ".nan"')[0] for problem in caught.value.problems]

"""Keys that a mapping has twice: one finding for a key, at the value that counts."""

from __future__ import annotations

import pytest

from policies.manifests.documents import load, objects
from policies.rules import duplicate_key
from policies.rules.base import Context

POD = "apiVersion: v1\nkind: Pod\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("metadata: {name: a}\n", [], id="none"),
        pytest.param("a: 1\na: 2\n", ["a: the value on line 3 is ignored"], id="twice"),
        pytest.param("a: 1\na: 2\na: 3\n", ["a: the values on lines 3, 4 are ignored"], id="3 times"),
        pytest.param(
            "a: 1\n" * 9, ["a: the values on lines 3, 4, 5, 6, 7 and 3 more are ignored"], id="9 times"
        ),
        pytest.param(
            "b: {c: 1, c: 2}\na: 1\na: 2\n",
            ["b.c: the value on line 3 is ignored", "a: the value on line 4 is ignored"],
            id="2 keys",
        ),
    ],
)
def test_findings(text: str, expected: list[str]) -> None:
    """The path and the lines of the values that are dropped."""
    ((entry,),) = (list(objects(document)) for document in load(POD + text, "f.yaml"))
    found = list(duplicate_key.check(entry, Context()))

    assert expected == [f"{problem.path}: {problem.message.partition('used, ')[2]}" for problem in found]

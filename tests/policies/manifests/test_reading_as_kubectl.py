"""YAML is read as kubectl reads it: measured on the library that kubectl and helm read it with."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from policies.manifests.documents import load, load_strictly
from policies.manifests.errors import DocumentError
from policies.manifests.fields import FieldPath
from tests.for_each import for_each

_MEASURED = Path(__file__).parents[1].parent / "data" / "yaml-as-kubectl.jsonl.gz"
CASES = [json.loads(line) for line in gzip.decompress(_MEASURED.read_bytes()).splitlines()]


@for_each(CASES)
def test_values(case: dict[str, Any]) -> None:
    """The first document of a text has the value that sigs.k8s.io/yaml gives it."""
    text, expected = case["text"], case["value"]
    documents = load(text, "f.yaml")

    assert _plain(expected) == _plain(documents[0].value if documents else {})


def _plain(value: Any) -> str:
    """Return a value as text, since Python takes 1, 1.0 and true for the same."""
    return json.dumps(_with_floats(value), sort_keys=True)


def _with_floats(value: Any) -> Any:
    """Return a value with large integers as floats, which they are in Go."""
    if isinstance(value, dict):
        return {key: _with_floats(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_floats(inner) for inner in value]
    return float(value) if type(value) is int and abs(value) > 2**53 else value


TWICE = """\
kind: Deployment
metadata: {name: web, name: shop}
spec:
  template:
    spec:
      a: 1
      b: 2
      a: 3
      a:
        c: 4
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            TWICE,
            [("metadata.name", 2, 2), ("spec.template.spec.a", 8, 6), ("spec.template.spec.a", 9, 8)],
            id="YAML: 3",
        ),
        pytest.param('{"a": {"b": 1,\n"c": 2,\n"b": 3}}', [("a.b", 3, 1)], id="JSON: 1"),
        pytest.param("1: a\n'1': b", [("1", 2, 1)], id="1 and '1'"),
        pytest.param("a: {b: 1}\na: {b: 2, b: 3}", [("a", 2, 1), ("a.b", 2, 2)], id="in a value that counts"),
        pytest.param("a: {b: 1, b: 2}\na: 3", [("a", 2, 1)], id="none in a value that does not"),
        pytest.param("p: &x {a: 1}\nq: {a: 2, <<: *x}", [], id="no key twice: a merge"),
        pytest.param("p: &x {a: 1}\nq: {<<: *x, b: 1, b: 2}", [("q.b", 2, 2)], id="behind a merge"),
        pytest.param("p: &x {a: 1, a: 2}\nq: *x\nr: {<<: *x}", [("p.a", 1, 1)], id="an alias: told once"),
    ],
)
def test_keys_that_stand_twice(text: str, expected: list[tuple[str, int, int]]) -> None:
    """The document knows which keys stand twice and where; the last value has its own line."""
    (document,) = load(text, "f.yaml")

    assert sorted(expected) == sorted((str(key.path), key.line, key.earlier) for key in document.repeated)
    assert all(document.line_of(key.path) >= key.line for key in document.repeated)


@pytest.mark.slow
def test_many_keys_that_stand_twice() -> None:
    """A mapping of 50,000 keys, each twice, is read; a hundred are remembered."""
    (document,) = load("".join(f"k{number // 2}: {number}\n" for number in range(100_000)), "f.yaml")

    assert (50_000, 100) == (len(document.value), len(document.repeated))
    assert 100_000 == document.line_of(FieldPath(("k49999",)))


def test_many_colons_in_brackets() -> None:
    """Texts that libyaml alone would refuse may stand in a file as often as one likes, each on its line."""
    (document,) = load("a:\n" + "- [x::, 'y':z, {b: c::}]\n" * 5_000, "f.yaml")

    assert ["x::", {"y": "z"}, {"b": "c::"}] == document.value["a"][-1]
    assert 5_001 == document.line_of(FieldPath(("a", 4_999)))


def test_every_private_character_in_the_text() -> None:
    """Where no character is left for a stand-in, the text is refused in plain words."""
    private = "".join(map(chr, range(0xE000, 0xF900)))
    with pytest.raises(DocumentError) as caught:
        load(f"a: '{private}'\nb: [x::]\n", "f.yaml")

    assert caught.value.problems[0].startswith("f.yaml:2: ")


def test_byte_order_marks_of_joined_files() -> None:
    """Files that each start with a byte order mark and were put one behind the other are read."""
    assert [{"a": 1}, {"b": 2}] == [document.value for document in load("\ufeffa: 1\n---\n\ufeffb: 2\n", "f")]


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        pytest.param("a: 1\nb: {c: 1}\n", [], id="none"),
        pytest.param("a: 1\n---\nb: {c: 1,\n c: 2}\na: 3\na: 4\n", ["f:4: b.c", "f:6: a"], id="2 keys"),
        pytest.param('{"a": 1,\n"a": 2}', ["f:2: a"], id="JSON"),
    ],
)
def test_documents_of_our_own(text: str, problems: list[str]) -> None:
    """In settings a key that stands twice is an error with its line and path, all of them at once."""
    found: tuple[str, ...] = ()
    try:
        load_strictly(text, "f")
    except DocumentError as error:
        found = error.problems

    assert problems == [problem.rpartition(": duplicate key")[0] for problem in found]

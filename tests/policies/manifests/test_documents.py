"""From text to documents that remember the line of every field."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from policies.manifests.documents import Document, load, objects
from policies.manifests.errors import DocumentError
from policies.manifests.fields import FieldPath
from tests.policies.manifests.manifest_texts import paths_of, yaml_texts


def values(source: str | bytes) -> list[Any]:
    return [document.value for document in load(source, "f.yaml")]


def problems(source: str | bytes, file: str = "f.yaml") -> list[str]:
    with pytest.raises(DocumentError) as caught:
        load(source, file)
    return list(caught.value.problems)


def line(document: Document, *segments: str | int) -> int:
    return document.line_of(FieldPath(segments))


MANIFEST = """\
# a comment
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      topologySpreadConstraints:
      - maxSkew: 1

        topologyKey: zone
      - {maxSkew: 2,
         topologyKey: host}
"""


@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        pytest.param((), 2, id="the document: its first key"),
        pytest.param(("spec",), 4, id="spec"),
        pytest.param(("spec", "template", "spec", "topologySpreadConstraints", 0), 8, id="the first item"),
        pytest.param(
            ("spec", "template", "spec", "topologySpreadConstraints", 0, "topologyKey"), 10, id="its key"
        ),
        pytest.param(
            ("spec", "template", "spec", "topologySpreadConstraints", 1, "topologyKey"), 12, id="in braces"
        ),
        pytest.param(
            ("spec", "template", "spec", "topologySpreadConstraints", 1, "minDomains"),
            11,
            id="missing: the item",
        ),
        pytest.param(("status", "replicas"), 2, id="missing: the document"),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_line_of_yaml(segments: tuple[str | int, ...], expected: int, ending: str) -> None:
    """Every field of a YAML document knows its line, whatever ends the lines."""
    (document,) = load(MANIFEST.replace("\n", ending), "f.yaml")

    assert expected == line(document, *segments)


@given(st.lists(yaml_texts(), min_size=1, max_size=3))
def test_lines_are_those_of_the_nodes(written: list[tuple[dict[str, Any], str]]) -> None:
    """The lines that the reader kept are those that a second look at the text finds."""
    documents = load("".join(f"---\n{text}\n" for _, text in written), "f.yaml", lines_before=7)

    assert [value for value, _ in written] == [document.value for document in documents]
    for document in documents:
        paths = [FieldPath(), *paths_of(document.value), FieldPath(("missing",))]
        expected = [document.nodes.line_of(path.segments) for path in paths]
        assert expected == [document.line_of(path) for path in paths]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: &x\n  b: 1\nc: *x\nd:\n  e: 1\n", id="an alias"),
        pytest.param("a: &x\n  b: 1\nc:\n  <<: *x\n  d: 1\n", id="a merge"),
        pytest.param("a: 1\nb: 2\na:\n  c: 1\nd:\n  e: 1\n", id="a duplicate key"),
        pytest.param("a:\n" + "- b: 1\n" * 2000 + "c:\n  d: 1\n", id="a long one"),
    ],
)
def test_lines_of_values_in_another_order(text: str) -> None:
    """Where values are not in the order of the text, or are many, their lines are right all the same."""
    (document,) = load(text, "f.yaml")
    paths = paths_of(document.value)

    assert [document.nodes.line_of(path.segments) for path in paths] == list(map(document.line_of, paths))


def test_line_of_json() -> None:
    """Fields of JSON know their lines too, also behind escapes and values that look like syntax."""
    text = '{"a": "}\\"{[",\n "b":\n  [1,\n   {"c\\u0064": null, "e": [[],\n  {}]}]\n}\n{"f": 1}'
    first, second = load(text, "f.json")

    found = [
        line(first, *path)
        for path in [(), ("a",), ("b",), ("b", 0), ("b", 1), ("b", 1, "cd"), ("b", 1, "e", 1)]
    ]

    assert [1, 1, 2, 3, 4, 4, 5] == found
    assert 7 == line(second, "f")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("", [], id="empty"),
        pytest.param("# only a comment\n", [], id="only a comment"),
        pytest.param("---\n---\n# x\n---\n", [], id="three documents without content"),
        pytest.param(
            "a: 1\n---\nb: 2\n...\n---\nc: 3\n", [{"a": 1}, {"b": 2}, {"c": 3}], id="three documents"
        ),
        pytest.param("\ufeffa: 1", [{"a": 1}], id="BOM in text"),
        pytest.param(b"\xef\xbb\xbfa: 1", [{"a": 1}], id="UTF-8 with BOM"),
        pytest.param("a: ü".encode("utf-16"), [{"a": "ü"}], id="UTF-16 with BOM"),
        pytest.param("a: ü".encode("utf-16-be"), [{"a": "ü"}], id="UTF-16 without BOM"),
        pytest.param('{"a": "ü"}'.encode("utf-16-le"), [{"a": "ü"}], id="JSON in UTF-16"),
        pytest.param("a: 1\tb", [{"a": "1\tb"}], id="a tab inside text"),
        pytest.param("a:\t1", [{"a": 1}], id="a tab before a value"),
        pytest.param("{a: b}", [{"a": "b"}], id="braces that are YAML"),
        pytest.param('{"a": 1.0, "b": 1.5}', [{"a": 1, "b": 1.5}], id="JSON: 1.0 is an integer"),
        pytest.param('{"a":1} {"b":2}\n[]', [{"a": 1}, {"b": 2}, []], id="a stream of JSON"),
        pytest.param('{"on": "on"}', [{"on": "on"}], id="JSON has no other words"),
        pytest.param("8080: web\non: x", [{"8080": "web", "true": "x"}], id="keys as kubectl spells them"),
        pytest.param("a: &x {p: 1}\nb: *x", [{"a": {"p": 1}, "b": {"p": 1}}], id="an alias"),
        pytest.param("a: &x on\nb: *x", [{"a": True, "b": True}], id="an alias of a scalar"),
        pytest.param("&k a: 1\nb: {*k : 2}", [{"a": 1, "b": {"a": 2}}], id="an alias as a key"),
        pytest.param(
            "a: &x {p: 1, q: 1}\nb: {<<: *x, q: 2}",
            [{"a": {"p": 1, "q": 1}, "b": {"q": 2, "p": 1}}],
            id="a merge",
        ),
        pytest.param(
            "a: {<<: [{p: 1}, {p: 2, q: 2}], r: 3}",
            [{"a": {"r": 3, "p": 1, "q": 2}}],
            id="the first merge wins",
        ),
        pytest.param('"<<": 1', [{"<<": 1}], id="a quoted << is a key"),
        pytest.param("plain text", ["plain text"], id="a scalar document"),
    ],
)
def test_values(source: str | bytes, expected: list[Any]) -> None:
    """Documents have the values that kubectl would send."""
    assert expected == values(source)


def test_index_counts_empty_documents() -> None:
    """A document's index is its place in the stream."""
    assert [1, 3] == [document.index for document in load("---\n---\na: 1\n---\n---\nb: 2", "f")]


def test_all_problems_at_once() -> None:
    """Problems of values are told all at once, each with its line."""
    found = problems("a: .nan\n? [x]\n: 1\n~: 1\nc: !!binary aGk\n")

    assert ["f.yaml:1", "f.yaml:2", "f.yaml:4", "f.yaml:5"] == [
        ":".join(problem.split(":")[:2]) for problem in found
    ]


@pytest.mark.parametrize(
    ("source", "place", "words"),
    [
        pytest.param("a: b: c", "f.yaml:1", "column 5", id="a second colon"),
        pytest.param("a:\n\t- b", "f.yaml:2", "a tab", id="a tab as indentation"),
        pytest.param("a: 1\nb: 'x\nc: 2", "f.yaml:2", "closing quote", id="an open quote"),
        pytest.param("a: [1, 2", "f.yaml:1", '"]"', id="an open bracket"),
        pytest.param("a: {{ .Values.x }}", "f.yaml:1", "render it first", id="a template as a value"),
        pytest.param("a: 1\n{{- if .x }}\n", "f.yaml:2", "render it first", id="a template between lines"),
        pytest.param("a: %x", "f.yaml:1", '"%"', id="a reserved character"),
        pytest.param("a: *x", "f.yaml:1", "*x", id="an alias of nothing"),
        pytest.param("a: &x [*x]", "f.yaml:1", "inside the value", id="an alias of itself"),
        pytest.param("a: {<<: [1]}", "f.yaml:1", '"<<"', id="a merge of a number"),
        pytest.param("<<:\n- <<: {}\n- 1", "f.yaml:1", '"<<"', id="a merge of a merge and a number"),
        pytest.param("a: 1\nb: \x01", "f.yaml:2", "U+0001", id="a control character"),
        pytest.param(b"a: 1\nb: \xff", "f.yaml:2", "0xff", id="not UTF-8"),
        pytest.param("%YAML 3.0\n---\na: 1", "f.yaml:1", "incompatible", id="YAML 3"),
        pytest.param('{"a": NaN}', "f.yaml:1", "NaN", id="JSON: NaN"),
        pytest.param('{"a": 1e999}', "f.yaml:1", "too large", id="JSON: 1e999"),
        pytest.param('{"a": ' + "9" * 5000 + "}", "f.yaml:1", "too large", id="JSON: 5,000 digits"),
        pytest.param('{"a": "\\ud800"}', "f.yaml:1", "surrogate", id="JSON: half a pair"),
        pytest.param('{"a": 1,\n "b" 2}', "f.yaml:2", "is not JSON", id="JSON: a missing colon"),
    ],
)
def test_unreadable(source: str | bytes, place: str, words: str) -> None:
    """A text that cannot be read gives one line with its place and plain words."""
    (problem,) = problems(source)

    assert problem.startswith(f"{place}: ")
    assert words in problem


@pytest.mark.parametrize("file", ["f.json", "f.yaml"])
def test_broken_json_is_told_as_json(file: str) -> None:
    """A file that looks like JSON, or is called so, gets the JSON error and not YAML's."""
    assert "is not JSON" in problems('{"a": 1,}x', file)[0]


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("[" * 201 + "]" * 201, id="201 lists in JSON"),
        pytest.param("[" * 1_000_000, id="a million brackets"),
        pytest.param('{"a":' * 1_000_000, id="a million braces"),
        pytest.param("x: " + "[" * 100_000, id="100,000 brackets in YAML"),
        pytest.param("- " * 100_000 + "x", id="100,000 dashes"),
        pytest.param("? " * 100_000 + "x", id="100,000 question marks"),
        pytest.param(
            "a: &a " + "[" * 150 + "]" * 150 + "\nb: " + "[" * 100 + "*a" + "]" * 100, id="by an alias"
        ),
    ],
)
def test_too_deep(source: str) -> None:
    """Nesting without end is a clear error, not the end of the process."""
    (problem,) = problems(source)

    assert "more than 200 levels deep" in problem


def test_deep_enough() -> None:
    """200 levels are read."""
    assert [json.loads("[" * 200 + "]" * 200)] == values("--- " + "[" * 200 + "]" * 200)


def test_alias_bomb() -> None:
    """Aliases of aliases end with an error long before they fill the memory."""
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]

    (problem,) = problems("\n".join(lines))

    assert "the aliases expand to more than 100,000 values" in problem


def test_alias_lines() -> None:
    """Fields behind an alias or a merge have the line where they are written."""
    (document,) = load("a: &x\n  p: 1\nb: *x\nc:\n  <<: *x\n  q: 2", "f")

    assert [3, 2, 2, 6] == [line(document, *path) for path in [("b",), ("b", "p"), ("c", "p"), ("c", "q")]]


def test_objects_of_lists() -> None:
    """Lists are taken apart, however nested; each object keeps its path and its lines."""
    (document,) = load(
        "kind: List\nitems:\n- kind: Pod\n- kind: PodList\n  apiVersion: v1\n"
        "  items:\n  - metadata:\n      name: b\n- 3\n",
        "f.yaml",
    )

    first, second = objects(document)

    assert ("items[0]", {"kind": "Pod"}) == (str(first.path), first.value)
    assert ("items[1].items[0]", "Pod", "v1") == (
        str(second.path),
        second.value["kind"],
        second.value["apiVersion"],
    )
    assert "f.yaml:8" == str(second.location(FieldPath(("metadata", "name"))))


@pytest.mark.parametrize("text", ["3", "[]", "null", "text"])
def test_objects_of_what_is_none(text: str) -> None:
    """A document that is no mapping holds no object."""
    assert [] == [entry for document in load(text, "f") for entry in objects(document)]


def test_without_libyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML built without libyaml reads the same."""
    expected = values(MANIFEST)
    monkeypatch.delattr(yaml, "CSafeLoader")

    assert expected == values(MANIFEST)


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False, width=16).filter(
        lambda number: not number.is_integer()
    )
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(JSON_VALUES) | st.dictionaries(st.text(), JSON_VALUES))
def test_json_round_trip(value: Any) -> None:
    """The values of JSON are those that are read, and each field knows a line within the text."""
    text = json.dumps(value, indent=1)
    (document,) = load(text, "f.json")

    assert value == document.value
    assert all(
        text.split("\n")[line(document, *path) - 1].strip().startswith(json.dumps(path[-1]))
        for path in keys(value)
    )


@given(JSON_VALUES.filter(lambda value: value is not None))
def test_yaml_round_trip(value: Any) -> None:
    """Values that PyYAML writes with every scalar quoted are read as they were."""
    text = yaml.safe_dump(value, default_style='"', explicit_start=True)

    assert json.dumps(value, sort_keys=True) == json.dumps(values(text)[0], sort_keys=True)


@given(st.text() | st.binary() | st.text(alphabet="[]{}:,&*!|>'\"%@`#?- \n\tab1."))
def test_any_text(source: str | bytes) -> None:
    """Whatever a file contains, reading it gives documents or a DocumentError with a place on every line."""
    found: tuple[str, ...] = ()
    try:
        for document in load(source, "f"):
            line(document, "a", 0)
    except DocumentError as error:
        found = error.problems

    assert all(problem.startswith("f:") for problem in found)


def keys(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the paths of all keys of mappings."""
    if isinstance(value, dict):
        own = [(*path, key) for key in value]
        return own + [found for key, inner in value.items() for found in keys(inner, (*path, key))]
    if isinstance(value, list):
        return [found for place, inner in enumerate(value) for found in keys(inner, (*path, place))]
    return []

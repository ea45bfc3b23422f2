"""Where values stand: their lines, and where they start and end in a text."""

from __future__ import annotations

import pytest

from policies.manifests import json_values, yaml_values
from policies.manifests.node_builder import json_nodes, yaml_nodes
from policies.manifests.nodes import NodeKind, TextNode


def yaml_roots(text: str) -> list[TextNode]:
    return [yaml_nodes(text, part.start, part.end, part.line) for part in yaml_values.read(text, "f")]


def json_roots(text: str) -> list[TextNode]:
    return [json_nodes(text, part.start, part.line) for part in json_values.read(text, "f")]


def texts(text: str, roots: list[TextNode]) -> list[str]:
    """Return the text at each scalar's place, keys left out."""
    containers = {NodeKind.MAPPING, NodeKind.SEQUENCE}
    found = [node for root in roots for node in root.walk() if node.kind not in containers]
    return sorted(text[node.start : node.end] for node in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: web  # why\n", ["web"], id="plain, without the comment"),
        pytest.param("a: 'x' \nb: \"y\"\n", ['"y"', "'x'"], id="quotes belong to it"),
        pytest.param("a:\nb: ~\n", ["", "~"], id="nothing"),
        pytest.param("a: {b: c , d: [e]}\n", ["c", "e"], id="in brackets"),
        pytest.param("a: |\n  x\n\n\nb: 1\n", ["1", "|\n  x"], id="block text, without blank lines behind"),
        pytest.param("a: |+\n  x\n\nb: 1\n", ["1", "|+\n  x\n"], id="block text that keeps them"),
        pytest.param("a: &x 1\nb: *x\n", ["&x 1", "*x"], id="anchor and alias"),
        pytest.param("é: ü\r\n🙂: b\r\n", ["b", "ü"], id="places count characters"),
        pytest.param("a: b\n---\n---\nc: d\n", ["", "b", "d"], id="documents, empty ones too"),
    ],
)
def test_yaml(text: str, expected: list[str]) -> None:
    """A value's place is its text, with quotes, anchor and tag, and without what follows."""
    assert expected == texts(text, yaml_roots(text))


def test_json() -> None:
    """JSON may hold what YAML does not take: tabs, escapes of half characters, keys of any length."""
    long = "k" * 2000
    text = f'{{\n\t"a\\/": "\\ud83d\\ude42",\t"{long}": [1, -2e3, {{}}]}} "b"'

    assert ['"\\ud83d\\ude42"', '"b"', "-2e3", "1"] == texts(text, json_roots(text))
    assert ["a/", long] == [entry.name for entry in json_roots(text)[0].entries]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: {b: 1}\n\n# end\n", "a: {b: 1}", id="a bracket is the end"),
        pytest.param("a:\n  - b\n\n  # c\n", "a:\n  - b", id="comments are not"),
    ],
)
def test_end_of_blocks(text: str, expected: str) -> None:
    """A block ends where its last value ends."""
    (root,) = yaml_roots(text)

    assert expected == text[root.start : root.end]


def test_keys() -> None:
    """Keys are called as JSON calls them; a merge key has no name."""
    (root,) = yaml_roots("on: 1\n8080: 2\n'y': 3\n<<: {}\n")

    assert ["true", "8080", "y", None] == [entry.name for entry in root.entries]
    assert root.find("8080") is root.entries[1]
    assert root.find("<<") is None


@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        pytest.param((), 1, id="the document"),
        pytest.param(("spec",), 2, id="a key"),
        pytest.param(("spec", 1), 5, id="an item"),
        pytest.param(("spec", 1, "name"), 5, id="a missing key: its item"),
        pytest.param(("spec", 7, "name"), 2, id="a missing item: its list"),
        pytest.param(("spec", -1), 2, id="no negative positions"),
        pytest.param(("spec", "name"), 2, id="a name in a list"),
        pytest.param((0,), 1, id="a position in a mapping"),
    ],
)
def test_lines(segments: tuple[str | int, ...], expected: int) -> None:
    """A field has its own line, a missing one that of its nearest ancestor."""
    (in_yaml,) = yaml_roots("kind: x\nspec:\n- a: 1\n\n- b: 1\n")
    (in_json,) = json_roots('{"kind": "x",\n"spec": [\n{"a": 1},\n\n{"b": 1}]}')

    assert (expected, expected) == (in_yaml.line_of(segments), in_json.line_of(segments))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("<<: {a: 1}\na: 2\n", 2, id="a key behind the merge"),
        pytest.param("a: 2\n<<:\n  a: 1\n", 3, id="a merge behind the key"),
        pytest.param("<<:\n- {b: 1}\n- {a: 1}\n- {a: 2}\n", 3, id="the first of a list"),
        pytest.param("x: &x\n  a: 1\ny: &y\n  <<: *x\n<<: [*y, *x]\n", 2, id="a merge of a merge"),
        pytest.param("a: 1\na: 2\n", 2, id="the last of keys that repeat"),
        pytest.param("x: &x 1\n8: 1\n&k a : *x\n", 3, id="an anchored key"),
        pytest.param("<<: 1\n", 1, id="nothing"),
    ],
)
def test_lines_of_merged_keys(text: str, expected: int) -> None:
    """A key that a merge brings stands where it is written; of several the one that counts."""
    assert expected == yaml_nodes(text).line_of(("a",))


def test_repeated_keys() -> None:
    """Keys that stand twice are found at any depth, but not in a value that another took the place of."""
    (root,) = yaml_roots("a: {x: 1, x: 2}\na:\n- {b: 1,\n   b: 2,\n   'b': 3}\n")
    paths = [(repeat.way, repeat.earlier.line, repeat.last.line) for repeat in root.repeated()]

    assert [(("a",), 1, 2), (("a", 0, "b"), 3, 4), (("a", 0, "b"), 4, 5)] == paths


def test_merges_of_merges_are_looked_through_once() -> None:
    """Mappings that merge one another twice each cost no more than their text."""
    lines = ["a0: &a0 {x: 1}", *(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 60))]

    assert 60 == yaml_nodes("\n".join(lines)).line_of(("a59", "y"))

"""Where values start and end in a text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from policies.manifests.nodes import NodeKind, TextNode, json_nodes, yaml_nodes


def _texts(text: str, nodes: Callable[[str], list[TextNode]]) -> list[str]:
    """Return what stands at each scalar's place, keys left out."""
    found = [node for root in nodes(text) for node in root.walk() if node.kind is not NodeKind.MAPPING]
    return sorted(text[node.start : node.end] for node in found if node.kind is not NodeKind.SEQUENCE)


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
    assert expected == _texts(text, yaml_nodes)


def test_json() -> None:
    """JSON may hold what YAML does not take: tabs, escapes of half characters, keys of any length."""
    long = "k" * 2000
    text = f'{{\n\t"a\\/": "\\ud83d\\ude42",\t"{long}": [1, -2e3, {{}}]}} "b"'

    assert ['"\\ud83d\\ude42"', '"b"', "-2e3", "1"] == _texts(text, json_nodes)
    assert ["a/", long] == [entry.name for entry in json_nodes(text)[0].entries]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: {b: 1}\n\n# end\n", "a: {b: 1}", id="a bracket is the end"),
        pytest.param("a:\n  - b\n\n  # c\n", "a:\n  - b", id="comments are not"),
    ],
)
def test_end_of_blocks(text: str, expected: str) -> None:
    """A block ends where its last value ends."""
    (root,) = yaml_nodes(text)

    assert expected == text[root.start : root.end]


def test_keys() -> None:
    """Keys are called as JSON calls them; a merge key has no name."""
    (root,) = yaml_nodes("on: 1\n8080: 2\n'y': 3\n<<: {}\n")

    assert ["true", "8080", "y", None] == [entry.name for entry in root.entries]
    assert root.find("8080") is root.entries[1]
    assert root.find("<<") is None

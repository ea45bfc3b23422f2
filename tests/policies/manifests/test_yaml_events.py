"""Events of YAML, also where libyaml refuses what kubectl takes, and its errors in plain words."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from policies.manifests.yaml_events import events, sentence


def scalars(text: str) -> list[tuple[str, int, int]]:
    """Return each scalar with its line and where it starts in the text."""
    found: list[Any] = [event for event in events(text) if isinstance(event, yaml.ScalarEvent)]
    return [(event.value, event.start_mark.line, event.start_mark.index) for event in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("[a, b]", [("a", 0, 1), ("b", 0, 4)], id="nothing odd"),
        pytest.param("[a::, b:]", [("a::", 0, 1), ("b:", 0, 6)], id="2 texts"),
        pytest.param("{a: x::}", [("a", 0, 1), ("x::", 0, 4)], id="a value"),
        pytest.param("[\n 'a:', \"b:\",\n c:]", [("a:", 1, 3), ("b:", 1, 9), ("c:", 2, 16)], id="quotes"),
        pytest.param("{'a':[b:],\"c\":[d]}", [("a", 0, 1), ("b:", 0, 6), ("c", 0, 10), ("d", 0, 15)], id="4"),
        pytest.param("[x:]\n---\n[y:]", [("x:", 0, 1), ("y:", 2, 10)], id="2 documents"),
        pytest.param("[&k a, {*k:[b:]}]", [("a", 0, 1), ("b:", 0, 12)], id="behind an alias"),
        pytest.param("- |\n  [a:]\n- [b:] # [c:]", [("[a:]\n", 0, 2), ("b:", 2, 14)], id="a block"),
        pytest.param("[\ue000:]", [("\ue000:", 0, 1)], id="the first stand-in is taken"),
    ],
)  # fmt: skip
def test_colons(text: str, expected: list[tuple[str, int, int]]) -> None:
    """Colons before a bracket or comma are text, and every place is that of the text as it is."""
    assert expected == scalars(text)


@pytest.mark.parametrize("text", ["[a", "[a:, b", "{a:?}", "a: b: c", "[::]"])
def test_no_yaml(text: str) -> None:
    """A text that is no YAML to kubectl either is an error."""
    with pytest.raises(yaml.YAMLError):
        list(events(text))


@pytest.mark.parametrize("loader", [yaml.CSafeLoader, yaml.SafeLoader], ids=["libyaml", "pure Python"])
@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        pytest.param(
            "a:\n  'b", 2, "the closing quote of this text is missing", id="told where the text starts"
        ),
        pytest.param("a: 1\nfoo\nb: 2", 2, 'a line without ":"', id="told where the key starts"),
        pytest.param("a: 1\n b: 2", 2, 'a second ":"', id="told where the indentation changes"),
        pytest.param("a: 1\nb: {{ x: {{ y", 2, "helm template", id="a template"),
        pytest.param("a: `b`", 1, 'no value can start with "`"', id="a reserved character"),
        pytest.param("a: \x00", 1, "U+0000", id="NUL"),
        pytest.param("a: 1\u2028b: \x07", 1, "U+0007", id="BEL after a line separator"),
    ],
)
def test_sentence(loader: type, text: str, line: int, words: str) -> None:
    """Both of PyYAML's parsers get the same words, at the line to mend."""
    with pytest.raises(yaml.YAMLError) as caught:
        list(yaml.parse(text, loader))

    found_line, found = sentence(caught.value, text)
    assert line == found_line
    assert words in found

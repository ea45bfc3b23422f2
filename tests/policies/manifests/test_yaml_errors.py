"""What libyaml found wrong, in plain words."""

from __future__ import annotations

import pytest
import yaml

from policies.manifests.yaml_errors import sentence


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

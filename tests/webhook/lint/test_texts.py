"""Reading files by name, and naming what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from policies.manifests.errors import DocumentError
from webhook.lint.texts import read_text, shown_file, unreadable


def test_read(tmp_path: Path) -> None:
    """A file's bytes come as they are."""
    (tmp_path / "a").write_bytes(b"\xff")

    assert b"\xff" == read_text(str(tmp_path / "a"), named=True).content


@pytest.mark.parametrize("name", ["nowhere", ".", "a\0b"])
def test_what_cannot_be_opened(name: str) -> None:
    """It is a line that starts with the name."""
    with pytest.raises(DocumentError) as caught:
        read_text(name, named=True)

    assert str(caught.value).startswith(f"{shown_file(name)}: ")


@pytest.mark.parametrize(
    ("problem", "line", "message"),
    [
        pytest.param("a:b.yaml:3: is odd: x", 3, "is odd: x", id="with a line"),
        pytest.param("a:b.yaml: No such file", 0, "No such file", id="without"),
    ],
)
def test_unreadable(problem: str, line: int, message: str) -> None:
    """A problem's line is told apart from its file and its text."""
    finding = unreadable("a:b.yaml", problem)

    assert (line, message) == (finding.location.line, finding.message)

"""Reports go where they are told to."""

from __future__ import annotations

from pathlib import Path

import pytest

from policies.manifests.errors import UsageError
from webhook.lint.reports import Output, parse_outputs, write_file


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param([], [Output("text")], id="nothing: text"),
        pytest.param(["json"], [Output("json")], id="1"),
        pytest.param(["text", "junit=a=b.xml"], [Output("text"), Output("junit", "a=b.xml")], id="2"),
    ],
)
def test_outputs(texts: list[str], expected: list[Output]) -> None:
    """A format alone is printed, one with a file is written."""
    assert expected == list(parse_outputs(texts))


@pytest.mark.parametrize("texts", [["xml"], ["json="], ["json", "text"], ["json=a", "sarif=a"], [""]])
def test_bad_outputs(texts: list[str]) -> None:
    """Unknown formats and two reports in one place are refused."""
    with pytest.raises(UsageError, match=r"^--format: "):
        parse_outputs(texts)


def test_write_file(tmp_path: Path) -> None:
    """A file is replaced as a whole; nothing else is left behind."""
    file = tmp_path / "report.json"
    file.write_text("old")
    write_file(str(file), "new \udcff")

    assert b"new \\udcff" == file.read_bytes()
    assert [file] == list(tmp_path.iterdir())


def test_write_file_without_a_folder(tmp_path: Path) -> None:
    """It is an error that names the file."""
    file = str(tmp_path / "nowhere" / "a")
    with pytest.raises(FileNotFoundError) as caught:
        write_file(file, "x")

    assert file == caught.value.filename

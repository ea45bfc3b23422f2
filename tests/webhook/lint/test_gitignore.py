"""Files that Git ignores are left out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from policies.manifests.skipped import SkipReason
from webhook.lint import gitignore
from webhook.lint.gitignore import (
    MAX_PATTERN,
    MAX_PATTERNS,
    Refused,
    ignored_in,
)
from webhook.lint.inputs import Tools, gather_texts


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with patterns at its root and in a folder."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "deploy" / "web").mkdir(parents=True)
    (tmp_path / "dist").mkdir()
    (tmp_path / ".gitignore").write_text("*.tmp.yaml\n/secret.yaml\ndist/\n")
    (tmp_path / "deploy" / ".gitignore").write_text("!keep.tmp.yaml\n*.json\n")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("a.yaml", False, id="no pattern"),
        pytest.param("a.tmp.yaml", True, id="the root's pattern"),
        pytest.param("secret.yaml", True, id="an anchored pattern"),
        pytest.param("deploy/secret.yaml", False, id="an anchored pattern, further down"),
        pytest.param("deploy/keep.tmp.yaml", False, id="taken back by the inner folder"),
        pytest.param("deploy/web/a.tmp.yaml", True, id="the root's, 2 levels down"),
        pytest.param("deploy/web/a.json", True, id="the inner folder's, 1 level down"),
        pytest.param("a.json", False, id="the inner folder's, outside it"),
    ],
)
def test_nested_patterns(repository: Path, path: str, expected: object) -> None:
    """The innermost folder with a pattern that fits decides."""
    ignored = ignored_in((repository / path).parent)

    assert expected == ignored.holds(repository / path)


def test_a_folder_that_is_ignored_and_named(repository: Path) -> None:
    """Who names an ignored folder means it."""
    assert not ignored_in(repository / "dist").holds(repository / "dist" / "a.tmp.yaml")


def test_without_a_repository(tmp_path: Path) -> None:
    """Above a folder that is in no repository, nothing counts."""
    (tmp_path / ".gitignore").write_text("*\n")
    (tmp_path / "inner").mkdir()

    assert not ignored_in(tmp_path / "inner").holds(tmp_path / "inner" / "a.yaml")


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        pytest.param("*a*a*a*a*a*a*a*a*a*b", "a" * 250, id="10 stars"),
        pytest.param("*[a-c]*[a-c]*[a-c]*[a-c]*[a-c]*[]b]*b", "a" * 250, id="7 stars, classes between"),
        pytest.param("x/*?*?*?*?*?*?*?*?*b", "x/" + "a" * 250, id="stars and question marks"),
        pytest.param("**/a/**/a/**/a/**/a/**/a/**/a/**/b", "a/" * 2000, id="7 times any folders"),
    ],
)
def test_an_odd_pattern_takes_no_time(tmp_path: Path, pattern: str, path: str) -> None:
    """With backtracking each of them would take longer than anybody lives."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text(f"{pattern}\n", encoding="utf-8")

    assert not ignored_in(tmp_path).holds(tmp_path / path)


@pytest.mark.parametrize(
    ("content", "ignored"),
    [
        pytest.param(b"!\n\\\nb.yaml\\\n[c-a].yaml\na.yaml\n", "a.yaml", id="4 lines that are no patterns"),
        pytest.param(b"\xef\xbb\xbfa.yaml\n", "a.yaml", id="a byte order mark"),
        pytest.param(b"a.yaml\r\n", "a.yaml", id="a carriage return"),
        pytest.param(b"x\x0cb.yaml\na.yaml\n", "a.yaml", id="a form feed ends no line"),
        pytest.param(b"\xff\na.yaml\n", "a.yaml", id="no UTF-8"),
        pytest.param(b"[[:digit:][:upper:]].yaml\n", "7.yaml", id="2 classes"),
        pytest.param(b"[![:lower:]].yaml\n", "7.yaml", id="no such class"),
        pytest.param(b"[[:punct:]].yaml\n", "#.yaml", id="the class of punctuation"),
        pytest.param(b"[[]a.yaml\n", "[a.yaml", id="a bracket in brackets"),
    ],
)
def test_odd_lines(tmp_path: Path, content: bytes, ignored: str) -> None:
    """They mean what they mean to Git, which passes over what is no pattern."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_bytes(content)
    spec = ignored_in(tmp_path)

    assert [ignored] == [name for name in (ignored, "b.yaml") if spec.holds(tmp_path / name)]


def test_what_is_no_file(tmp_path: Path) -> None:
    """Git follows no link to its patterns, and nobody waits for a pipe."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "patterns").write_text("a.yaml\n")
    (tmp_path / ".gitignore").symlink_to("patterns")
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / ".gitignore")

    assert not ignored_in(tmp_path).holds(tmp_path / "a.yaml")
    assert not ignored_in(tmp_path / "pipe").holds(tmp_path / "pipe" / "a.yaml")


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        pytest.param("*a*b\n" * MAX_PATTERNS, True, id="2,000 patterns"),
        pytest.param("#\n\n" * MAX_PATTERNS + "*a*b\n", True, id="2,000 remarks"),
        pytest.param("*a*b\n" * (MAX_PATTERNS + 1), False, id="2,001 patterns"),
        pytest.param("a" * (MAX_PATTERN + 1), False, id="a pattern of 4,097 bytes"),
        pytest.param("*a*b\n" + "# " * 2**19, False, id="1 MiB"),
        pytest.param("*a*b" + "*a" * 2000, True, id="2,000 stars"),
    ],
)
def test_limits(tmp_path: Path, text: str, *, is_read: bool) -> None:
    """A file with more has no effect, and is told."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text(text)
    (tmp_path / "xaxb.yaml").touch()
    refused = Refused()
    ignored_in(tmp_path, refused)
    skipped = gather_texts([str(tmp_path)], tools=Tools()).skipped

    assert ([] if is_read else [tmp_path / ".gitignore"]) == list(refused.files)
    assert is_read != (SkipReason.LIMIT_EXCEEDED in {entry.reason for entry in skipped})


def test_patterns_of_all_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those in force together are limited, and those that one run prepares."""
    monkeypatch.setattr(gitignore, "MAX_PATTERNS", 3)
    for name, count in (("", 2), ("a", 2), ("b", 1), ("c", 1)):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / ".gitignore").write_text("x\n" * count)
    refused = Refused(left=3)
    outer = ignored_in(tmp_path, refused)
    for name in ("a", "b", "c"):
        outer.below(tmp_path / name)

    assert [tmp_path / name / ".gitignore" for name in ("a", "c")] == list(refused.files)

"""Unified diffs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from policies.reports.patch import unified_diff


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(b"a: 1\nb: 2\n", b"a: 1\nb: 3\n", id="a line"),
        pytest.param(b"a: 1\r\nb: 2\r\n", b"a: 1\r\nc: 1\r\nb: 2\r\n", id="CRLF"),
        pytest.param(b"a: 1", b"a: 1\nb: 2", id="no line break at the end"),
        pytest.param(b"a: 1\x0cb\nc: 2\n", b"a: 1\x0cb\nc: 3\n", id="a form feed is no line break"),
        pytest.param(b"a: 1\n---\nb: 2\n---\nc: 3\n", b"x\na: 1\n---\nb: 2\n---\nc: 4\n", id="documents"),
        pytest.param(b"a: 1\n---\nb: 2\n", b"a: 2\n", id="fewer documents"),
        pytest.param(b"", b"a: 1\n", id="from nothing"),
        pytest.param("é: ü\n".encode(), "é: ß\n".encode(), id="not only ASCII"),
    ],
)
def test_git_applies_it(tmp_path: Path, old: bytes, new: bytes) -> None:
    """git makes the new content of the old one."""
    file = tmp_path / "web.yaml"
    file.write_bytes(old)
    subprocess.run(["git", "apply", "-"], input=unified_diff("web.yaml", old, new), cwd=tmp_path, check=True)

    assert new == file.read_bytes()


def test_nothing() -> None:
    """Equal contents have no diff."""
    assert b"" == unified_diff("a", b"x\n", b"x\n")


def test_absolute_names() -> None:
    """An absolute name stands as it is."""
    assert unified_diff("/x/a", b"", b"y\n").startswith(b"--- /x/a\n+++ /x/a\n")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32", "latin-1"])
def test_any_encoding(encoding: str) -> None:
    """A file is what its bytes are: none but UTF-8 could be read as that."""
    old, new = (f"a: {value}\n\u00e4: 3\n".encode(encoding) for value in (1, 2))

    assert b"" == unified_diff("web.yaml", old, old)
    assert old.split(b"\n")[0] in unified_diff("web.yaml", old, new)

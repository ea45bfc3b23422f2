"""Files that may be anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from webhook.lint import files
from webhook.lint.files import read_file


@pytest.mark.parametrize("size", [0, 1, 2**16, 2**16 + 1, 10**6])
def test_files_of_any_size(tmp_path: Path, size: int) -> None:
    """They are read to their end."""
    (tmp_path / "a").write_bytes(b"a" * size)

    assert b"a" * size == read_file(tmp_path / "a")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        pytest.param("nowhere", "No such file or directory", id="nothing"),
        pytest.param(".", "Is a directory", id="a folder"),
        pytest.param("pipe", "not a regular file", id="a pipe that nobody writes"),
        pytest.param("zero", "not a regular file", id="a link to a device"),
        pytest.param("large", "larger than 1 MiB", id="a file of 1 byte too many"),
    ],
)
def test_what_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, problem: str) -> None:
    """It is an error that says why, and nobody waits."""
    monkeypatch.setattr(files, "MAX_FILE", 2**20)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "large").write_bytes(b"a" * (2**20 + 1))
    with pytest.raises(OSError) as caught:  # noqa: PT011  # its text is compared
        read_file(tmp_path / name)

    assert problem == caught.value.strerror


def test_what_a_user_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be a device or a pipe, and must end."""
    monkeypatch.setattr(files, "MAX_FILE", 2**20)

    assert b"" == read_file("/dev/null", regular=False)
    with pytest.raises(OSError, match="larger than 1 MiB"):
        read_file("/dev/zero", regular=False)


def test_links(tmp_path: Path) -> None:
    """They are followed unless that is not wanted."""
    (tmp_path / "a").write_text("a")
    (tmp_path / "link").symlink_to("a")

    assert b"a" == read_file(tmp_path / "link")
    with pytest.raises(OSError, match="symbolic link"):
        read_file(tmp_path / "link", follow=False)

"""Files that may be anything: read within limits and the repository, and written back whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from policies.manifests.errors import DocumentError
from policies.manifests.file_name import shown_file
from webhook.lint import files
from webhook.lint.files import (
    is_within,
    read_file,
    read_text,
    repository_root,
    shown_path,
    unreadable,
    write_back,
)


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


def test_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The nearest folder with .git, else the working folder."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert tmp_path == repository_root("a/b")

    (tmp_path / "a" / ".git").mkdir()
    assert tmp_path / "a" == repository_root("a/b/web.yaml")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("a/b/c", True, id="below"),
        pytest.param("a", True, id="the root"),
        pytest.param("a/../d", False, id="beside"),
        pytest.param("a/link", False, id="a link that leads out"),
    ],
)
def test_within(tmp_path: Path, path: str, *, expected: bool) -> None:
    """Links are followed before it is judged where a path leads."""
    (tmp_path / "a" / ".git").mkdir(parents=True)
    (tmp_path / "a" / "link").symlink_to(tmp_path)

    assert expected == is_within(tmp_path / path, tmp_path / "a" / "web.yaml")


def test_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As people would type it."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")

    assert ("c", "../c", str(tmp_path / "c")) == tuple(
        shown_path(tmp_path / name) for name in ("a/b/c", "a/c", "c")
    )


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


def test_mode_and_links_stay(tmp_path: Path) -> None:
    """A link still points to the file, which keeps its mode; nothing else is left in the folder."""
    file, link = tmp_path / "real.yaml", tmp_path / "link.yaml"
    file.write_bytes(b"old")
    file.chmod(0o640)
    link.symlink_to(file.name)
    write_back(str(link), old=b"old", new=b"new")

    assert link.is_symlink()
    assert b"new" == file.read_bytes()
    assert 0o640 == file.stat().st_mode & 0o7777
    assert {file, link} == set(tmp_path.iterdir())


def test_changed_in_between(tmp_path: Path) -> None:
    """A file that another program has written meanwhile is not overwritten."""
    file = tmp_path / "web.yaml"
    file.write_bytes(b"theirs")
    with pytest.raises(DocumentError, match="has changed"):
        write_back(str(file), old=b"old", new=b"new")

    assert b"theirs" == file.read_bytes()


def test_a_second_name(tmp_path: Path) -> None:
    """Two names of one file, each with the same repair, do not look like somebody else's change."""
    file, link = tmp_path / "real.yaml", tmp_path / "link.yaml"
    file.write_bytes(b"old")
    link.symlink_to(file.name)
    for name in (file, link):
        write_back(str(name), old=b"old", new=b"new")

    assert b"new" == file.read_bytes()
    assert link.is_symlink()


def test_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the last step fails, the file is as it was and the temporary one is gone."""
    file = tmp_path / "web.yaml"
    file.write_bytes(b"old")

    def fail(*_args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        write_back(str(file), old=b"old", new=b"new")

    assert [b"old"] == [path.read_bytes() for path in tmp_path.iterdir()]

"""Files are written back whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from policies.manifests.errors import DocumentError
from webhook.lint.write_back import write_back


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
    """What somebody else has written meanwhile is not lost."""
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

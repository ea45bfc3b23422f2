"""The folder of a server, and those that killed ones left."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from webhook.private_folder import SERVER, private_folder


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def _names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def test_it_is_private_and_ends(temporary: Path) -> None:
    """Nobody else can read it, and nothing stays."""
    with private_folder(SERVER) as folder:
        (folder / "tls.key").write_text("key")

        assert 0o700 == folder.stat().st_mode & 0o777
    assert set() == _names(temporary)


def test_what_is_held_stays(temporary: Path) -> None:
    """Servers beside each other keep their folders, and what is no server's is left alone."""
    (temporary / "evenkeel-other").mkdir()
    (temporary / "elsewhere").mkdir()
    (temporary / "evenkeel-serve-link").symlink_to(temporary / "elsewhere")
    (temporary / "evenkeel-serve-file").touch()
    others = _names(temporary)
    with private_folder(SERVER) as first, private_folder(SERVER) as second:
        assert others | {first.name, second.name} == _names(temporary)


def test_what_a_killed_server_left_is_removed(temporary: Path) -> None:
    """Its key does not outlive the start of the next one."""
    child = os.fork()
    if not child:
        with private_folder(SERVER) as folder:
            (folder / "tls.key").write_text("key")
            os._exit(0)
    os.waitpid(child, 0)
    (left,) = _names(temporary)
    with private_folder(SERVER) as folder:
        assert {folder.name} == _names(temporary)
        assert left != folder.name

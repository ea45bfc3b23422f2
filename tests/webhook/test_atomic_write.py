"""Files that are written as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from webhook.atomic_write import atomic_write


def test_it_takes_its_name_at_the_end(tmp_path: Path) -> None:
    """Until the block ends the old content stands there, and afterwards nothing else is in the folder."""
    file = tmp_path / "a.json"
    file.write_bytes(b"old")
    with atomic_write(str(file)) as stream:
        stream.write(b"new")
        stream.flush()
        meanwhile = file.read_bytes()
    mask = os.umask(0)
    os.umask(mask)

    assert (b"old", b"new") == (meanwhile, file.read_bytes())
    assert [file] == list(tmp_path.iterdir())
    assert 0o666 & ~mask == file.stat().st_mode & 0o777


def test_an_error_leaves_the_old_file(tmp_path: Path) -> None:
    """A block that fails changes nothing, and leaves nothing behind."""
    file = tmp_path / "a.json"
    file.write_bytes(b"old")

    def fail() -> None:
        with atomic_write(str(file)) as stream:
            stream.write(b"new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert b"old" == file.read_bytes()
    assert [file] == list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_named_by_the_file(tmp_path: Path) -> None:
    """Nobody has asked for the temporary file."""
    name = str(tmp_path / "none" / "a.json")
    with pytest.raises(OSError, match="No such file") as caught, atomic_write(name):
        pass

    assert name == caught.value.filename


def test_a_device_is_written_to() -> None:
    """A device stays a device."""
    with atomic_write(os.devnull) as stream:
        stream.write(b"x")

    assert Path(os.devnull).is_char_device()

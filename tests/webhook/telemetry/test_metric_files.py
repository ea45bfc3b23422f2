"""Metrics where the file system has no room."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.mmap_dict import MmapedDict

from webhook.telemetry.metric_files import MetricFile


def _file(path: Path) -> Iterator[MetricFile]:
    made = MetricFile(str(path))
    yield made
    made.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the values are."""
    return tmp_path / "counter_1.db"


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often room may still be taken, as the only entry."""
    left = [10]
    take = os.posix_fallocate

    def take_or_refuse(descriptor: int, offset: int, length: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        take(descriptor, offset, length)

    monkeypatch.setattr(os, "posix_fallocate", take_or_refuse)
    return left


def _values(path: Path) -> dict[str, float]:
    """Return the values that another process reads."""
    found = MmapedDict.read_all_values_from_file(path)  # type: ignore[no-untyped-call]
    return {key.strip(): value for key, value, *_ in found}


def _count(file: MetricFile, keys: int) -> dict[str, float]:
    for number in range(keys):
        file.write_value(f"key {number:04}", float(number), 0.0)
    return {f"key {number:04}": float(number) for number in range(keys)}


@pytest.mark.parametrize("keys", [pytest.param(3, id="3 values"), pytest.param(4000, id="4,000: 160 kB")])
def test_room_is_taken_before_it_is_used(path: Path, keys: int) -> None:
    """No page of the file is one that a full file system could refuse; others read all of it."""
    for file in _file(path):
        expected = _count(file, keys)

        assert expected == _values(path)
        assert path.stat().st_size <= path.stat().st_blocks * 512


@pytest.mark.parametrize(
    ("times", "seen"),
    [
        pytest.param(0, None, id="0 times: no file"),
        pytest.param(1, 2047, id="once: what had room"),
        pytest.param(2, 4095, id="twice: what had room"),
    ],
)
def test_without_room_memory_takes_the_place(
    path: Path, room: list[int], caplog: pytest.LogCaptureFixture, times: int, seen: int | None
) -> None:
    """Values go on, though nobody else sees them, and the log says so once."""
    room[0] = times
    for file in _file(path):
        expected = _count(file, 5000)

        assert expected == {key: file.read_value(key)[0] for key in expected}
    assert seen == (len(_values(path)) if path.exists() else None)
    assert ["metrics_kept_in_memory"] == [record.getMessage() for record in caplog.records][:1]


def test_no_reader_sees_a_file_without_room(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scrape while a worker starts would take an empty file for a broken one."""
    seen = []
    take = os.posix_fallocate

    def look_and_take(descriptor: int, offset: int, length: int) -> None:
        seen.append(list(path.parent.glob("*.db")))
        take(descriptor, offset, length)

    monkeypatch.setattr(os, "posix_fallocate", look_and_take)
    for _ in _file(path):
        assert [[]] == seen
        assert [path] == list(path.parent.iterdir())


@pytest.mark.parametrize("keys", [3, 4000])
def test_a_file_is_what_prometheus_client_writes(tmp_path: Path, keys: int) -> None:
    """Byte for byte, so that its collector reads it; and what one of them wrote, the other goes on with."""
    theirs = MmapedDict(str(tmp_path / "theirs.db"))  # type: ignore[no-untyped-call]
    for file in _file(tmp_path / "ours.db"):
        for number in range(keys):
            key, value = f"{'k' * (number % 9)} {number}", float(number)
            theirs.write_value(key, value, 7.0)  # type: ignore[no-untyped-call]
            file.write_value(key, value, 7.0)
    theirs.close()  # type: ignore[no-untyped-call]

    assert (tmp_path / "theirs.db").read_bytes() == (tmp_path / "ours.db").read_bytes()
    for file in _file(tmp_path / "theirs.db"):
        assert [(float(number), 7.0) for number in range(keys)] == [
            file.read_value(f"{'k' * (number % 9)} {number}") for number in range(keys)
        ]
    assert (tmp_path / "theirs.db").read_bytes() == (tmp_path / "ours.db").read_bytes()

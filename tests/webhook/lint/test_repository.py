"""Where a repository starts and ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from webhook.lint.repository import is_within, repository_root, shown_path


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

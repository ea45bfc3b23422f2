"""The built files of the page are those of its sources."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from docs.generator import built_page


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of the page's sources and built files."""
    ignored = shutil.ignore_patterns("node_modules")
    return Path(shutil.copytree(built_page.UI, tmp_path / "ui", ignore=ignored))


def test_what_is_checked_in_is_built_from_its_sources() -> None:
    """Users have no Node, so the built files are committed; `make ui` writes them."""
    assert built_page.is_current(built_page.UI)


@pytest.mark.parametrize("name", [*built_page.FILES, "src/main.tsx", "src/style/base.css"])
def test_a_changed_source_is_noticed(folder: Path, name: str) -> None:
    """Without Node, by the digest that the last build wrote."""
    path = folder / "page" / name
    path.write_bytes(path.read_bytes() + b"\n")

    assert not built_page.is_current(folder)


def test_an_added_source_is_noticed(folder: Path) -> None:
    """It may be imported by one that has not changed."""
    (folder / "page" / "src" / "added.ts").write_text("")

    assert not built_page.is_current(folder)


def test_a_missing_build_is_noticed(folder: Path) -> None:
    """As in a fresh clone whose built files were deleted."""
    shutil.rmtree(folder / "built")

    assert not built_page.is_current(folder)

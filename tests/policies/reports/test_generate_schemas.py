"""Writing the generated schemas."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from policies.config.schema import SCHEMA_FILE, schema_texts
from policies.reports import generate_schemas
from policies.reports.generate_schemas import report_schemas


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the generator think it stands in another folder."""
    monkeypatch.setattr(generate_schemas, "__file__", str(tmp_path / "reports" / "generate.py"))
    return tmp_path


def test_check_of_the_checked_in_file(capsys: pytest.CaptureFixture[str]) -> None:
    """The checked-in schema passes its check silently."""
    assert 0 == generate_schemas.main(["--check"])
    assert ("", "") == capsys.readouterr()


def test_writes_and_then_passes(folder: Path) -> None:
    """What is written passes the check."""
    codes = [
        generate_schemas.main(["--check"]),
        generate_schemas.main([]),
        generate_schemas.main(["--check"]),
    ]

    assert [1, 0, 0] == codes
    assert schema_texts() == {path.name: path.read_text() for path in (folder / "config").iterdir()}
    assert report_schemas() == {
        path.name: json.loads(path.read_text()) for path in (folder / "reports").iterdir()
    }


def test_stale_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A stale file is one clear line and exit code 1."""
    generate_schemas.main([])
    (folder / "config" / SCHEMA_FILE).write_text("{}")

    assert 1 == generate_schemas.main(["--check"])
    assert (
        f"{folder / 'config' / SCHEMA_FILE}: stale; run `make generate` and commit the result\n"
        == capsys.readouterr().err
    )


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """Other arguments are bad usage."""
    assert 2 == generate_schemas.main(["--chek"])
    assert capsys.readouterr().err.startswith("usage: ")

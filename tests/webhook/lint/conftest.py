"""A repository with a chart, and the real helm."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.deploy.manifests import tool
from tests.webhook.lint.charts import CHART, REQUIRED, write


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a Git repository with a chart, on a machine with helm."""
    monkeypatch.setenv("PATH", f"{Path(tool('helm')).parent}{os.pathsep}{os.environ['PATH']}")
    write(
        tmp_path / "here", {"shop/Chart.yaml": CHART.format(name="shop"), "shop/templates/a.yaml": REQUIRED}
    )
    (tmp_path / "here" / ".git").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"

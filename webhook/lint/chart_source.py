"""The chart that an object of a GitOps tool installs: a folder of the repository, or one to be downloaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from webhook.lint.charts import Release
from webhook.lint.discovery import CHART
from webhook.lint.repository import is_file, is_within, shown_path


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartSource:
    """A chart and how it is installed, as an object says.

    Attributes:
        folder: The chart's folder; empty where it would have to be downloaded.
        release: How it is installed.
        needs: What would have to be downloaded.
        unread: What belongs to its values and is not read.
    """

    folder: str = ""
    release: Release = field(default_factory=Release)
    needs: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def chart_folder(root: Path, path: str) -> str:
    """Return the folder of a chart in a repository, as people would type it; empty where there is none."""
    folder = root / path.lstrip("/")
    return shown_path(folder) if is_within(folder, root) and is_file(folder / CHART) else ""


def values_file(root: Path, folder: Path, name: str) -> str:
    """Return a file with values of a repository: from its root if it starts with a slash, else from a folder.

    What leads out of the repository is left as an address, which is never opened.
    """
    path = root / name.lstrip("/") if name.startswith("/") else folder / name
    return shown_path(path) if "://" not in name and is_within(path, root) else f"file://{name}"


def mapping_of(obj: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return a mapping in an object, an empty one where there is none."""
    node: Any = obj
    for name in names:
        node = node.get(name) if isinstance(node, dict) else None
    return node if isinstance(node, dict) else {}


def text_of(obj: Mapping[str, Any], *names: str) -> str:
    """Return a text in an object, an empty one where there is none."""
    *outer, last = names
    value = mapping_of(obj, *outer).get(last)
    return value if isinstance(value, str) else ""


def entries_of(value: object) -> list[dict[str, Any]]:
    """Return the mappings of a list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def texts_of(value: object) -> list[str]:
    """Return the texts of a list."""
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []

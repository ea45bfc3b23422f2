"""The charts and the values of an Application of Argo CD."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from webhook.lint.chart_source import (
    ChartSource,
    chart_folder,
    entries_of,
    mapping_of,
    text_of,
    texts_of,
    values_file,
)
from webhook.lint.charts import Release
from webhook.lint.files import read_file
from webhook.lint.repository import GIT, is_file

#: Where Git keeps the addresses of a repository.
_ADDRESS: Final = re.compile(r"^[ \t]*url[ \t]*=[ \t]*(\S+)", re.MULTILINE)
#: How a file with values of another source of the Application starts.
_REFERENCE: Final = re.compile(r"\$[\w-]+/")


def charts_of(obj: dict[str, Any], root: Path) -> Iterator[ChartSource]:
    """Yield the charts that an Application installs.

    Args:
        obj: The Application.
        root: The root of its repository.
    """
    spec = mapping_of(obj, "spec")
    sources = entries_of(spec.get("sources")) or entries_of([spec.get("source")])
    for source in sources:
        path, helm = text_of(source, "path"), mapping_of(source, "helm")
        folder = chart_folder(root, path) if path and _is_ours(source, root) else ""
        if folder:
            chart = _local(helm, folder, root)
            release = replace(
                chart.release,
                name=text_of(helm, "releaseName") or text_of(obj, "metadata", "name"),
                namespace=text_of(helm, "namespace") or text_of(spec, "destination", "namespace"),
            )
            yield replace(chart, release=release)
        elif text_of(source, "chart") or helm:
            name = text_of(source, "chart") or path
            words = (name, text_of(source, "targetRevision"), "from", text_of(source, "repoURL"))
            yield ChartSource(needs=(" ".join(filter(None, words)),))


def _local(helm: dict[str, Any], folder: str, root: Path) -> ChartSource:
    """Return a chart of the same repository, with the values that an Application gives it."""
    files = [
        values_file(root, root, file[match.end() :])
        if (match := _REFERENCE.match(file))
        else values_file(root, Path(folder).absolute(), file)
        for file in texts_of(helm.get("valueFiles"))
    ]
    if helm.get("ignoreMissingValueFiles") is True:
        files = [file for file in files if is_file(Path(file))]
    values = helm.get("valuesObject")
    inline = (
        json.dumps(values).encode()
        if isinstance(values, dict)
        else text_of(helm, "values").encode(errors="replace")
    )
    from_files = entries_of(helm.get("fileParameters"))
    return ChartSource(
        folder=folder,
        release=Release(values=tuple(files), inline=inline, settings=tuple(_settings(helm))),
        unread=tuple(f"fileParameter {entry.get('name')}" for entry in from_files),
    )


def _settings(helm: dict[str, Any]) -> Iterator[str]:
    for entry in entries_of(helm.get("parameters")):
        option = "--set-string" if entry.get("forceString") is True else "--set"
        # A comma would end the value.
        value = str(entry.get("value", "")).replace(",", r"\,")
        yield f"{option}={entry.get('name')}={value}"


def _is_ours(source: dict[str, Any], root: Path) -> bool:
    """Tell whether a source is the repository itself, as far as its name tells."""
    addresses = _addresses(root)
    return not addresses or _name(text_of(source, "repoURL")) in {*map(_name, addresses), root.name}


@lru_cache(maxsize=8)
def _addresses(root: Path) -> tuple[str, ...]:
    """Return the addresses that a repository was cloned from; none where it is not known."""
    try:
        return tuple(_ADDRESS.findall(read_file(root / GIT / "config").decode(errors="replace")))
    except OSError:
        return ()


def _name(address: str) -> str:
    return re.split("[/:]", address.rstrip("/"))[-1].removesuffix(".git")

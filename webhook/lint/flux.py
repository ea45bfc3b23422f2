"""The chart and the values of a HelmRelease of Flux."""

from __future__ import annotations

import json
from collections.abc import Mapping
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

#: Flux's sources by kind and name.
Sources = Mapping[tuple[str, str], dict[str, Any]]
#: Sources that hold the files of a repository: a chart there is given by its path.
_OF_FILES: Final = frozenset({"GitRepository", "Bucket"})


def chart_of(obj: dict[str, Any], sources: Sources, root: Path) -> ChartSource:
    """Return what a HelmRelease installs.

    Args:
        obj: The HelmRelease.
        sources: The sources that were read.
        root: The root of its repository.
    """
    spec = mapping_of(obj, "spec", "chart", "spec")
    reference = mapping_of(spec, "sourceRef") or mapping_of(obj, "spec", "chartRef")
    folder = ""
    if text_of(reference, "kind") in _OF_FILES:
        folder = chart_folder(root, text_of(spec, "chart"))
    if not folder:
        return ChartSource(needs=(_needed(spec, reference, sources),))
    name, target = text_of(obj, "metadata", "name"), text_of(obj, "spec", "targetNamespace")
    values = mapping_of(obj, "spec").get("values")
    from_objects = entries_of(mapping_of(obj, "spec").get("valuesFrom"))
    return ChartSource(
        folder=folder,
        release=Release(
            name=text_of(obj, "spec", "releaseName") or "-".join(filter(None, (target, name))),
            namespace=target or text_of(obj, "metadata", "namespace"),
            values=tuple(values_file(root, root, file) for file in texts_of(spec.get("valuesFiles"))),
            inline=json.dumps(values).encode() if isinstance(values, dict) else b"",
        ),
        unread=tuple(f"{entry.get('kind')} {entry.get('name')}" for entry in from_objects),
    )


def _needed(spec: dict[str, Any], reference: dict[str, Any], sources: Sources) -> str:
    """Return a chart as its source is asked for it: its name, its version, and the source's address."""
    source = sources.get((str(reference.get("kind")), str(reference.get("name"))), {})
    chart, where = text_of(spec, "chart"), text_of(source, "spec", "url")
    if where and not chart:
        # The address of an OCIRepository is that of its one chart.
        where, _, chart = where.rpartition("/")
    version = text_of(spec, "version") or text_of(source, "spec", "ref", "tag")
    where = where or f"{reference.get('kind')} {reference.get('name')}"
    return " ".join(filter(None, (chart or "the chart", version, "from", where)))

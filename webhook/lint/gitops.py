"""Charts as a repository deploys them: by Flux's HelmReleases and Argo CD's Applications.

Both name a chart and its values. One whose chart lies in the same repository is rendered with these; the
chart of any other would have to be downloaded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from policies.manifests.documents import ManifestObject, load, objects
from policies.manifests.errors import DocumentError
from policies.manifests.fields import FieldPath, object_items
from policies.manifests.findings import Location
from policies.manifests.skipped import Skipped, SkipReason, SourceKind
from webhook.lint.charts import (
    ChartSource,
    chart_folder,
    mapping_of,
    text_of,
    texts_of,
    values_file,
)
from webhook.lint.files import GIT, Text, is_file, read_file, repository_root
from webhook.lint.parse import pieces
from webhook.lint.tool_limits import Release

#: Flux's sources by kind and name.
Sources = Mapping[tuple[str, str], dict[str, Any]]
#: Sources that hold the files of a repository: a chart there is given by its path.
_OF_FILES: Final = frozenset({"GitRepository", "Bucket"})


def chart_of(obj: dict[str, Any], sources: Sources, root: Path) -> ChartSource:
    """Return the chart that a HelmRelease installs.

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
    from_objects = object_items(mapping_of(obj, "spec").get("valuesFrom"))
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
    """Return a chart as it is requested of its source: its name, its version, and the source's address."""
    source = sources.get((str(reference.get("kind")), str(reference.get("name"))), {})
    chart, where = text_of(spec, "chart"), text_of(source, "spec", "url")
    if where and not chart:
        # The address of an OCIRepository is that of its one chart.
        where, _, chart = where.rpartition("/")
    version = text_of(spec, "version") or text_of(source, "spec", "ref", "tag")
    where = where or f"{reference.get('kind')} {reference.get('name')}"
    return " ".join(filter(None, (chart or "the chart", version, "from", where)))


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
    sources = object_items(spec.get("sources")) or object_items([spec.get("source")])
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
    from_files = object_items(helm.get("fileParameters"))
    return ChartSource(
        folder=folder,
        release=Release(values=tuple(files), inline=inline, settings=tuple(_settings(helm))),
        unread=tuple(f"fileParameter {entry.get('name')}" for entry in from_files),
    )


def _settings(helm: dict[str, Any]) -> Iterator[str]:
    for entry in object_items(helm.get("parameters")):
        option = "--set-string" if entry.get("forceString") is True else "--set"
        # A comma would end the value.
        value = str(entry.get("value", "")).replace(",", r"\,")
        yield f"{option}={entry.get('name')}={value}"


def _is_ours(source: dict[str, Any], root: Path) -> bool:
    """Return whether a source is the repository itself, as far as its name shows."""
    addresses = _addresses(root)
    return not addresses or _name(text_of(source, "repoURL")) in {*map(_name, addresses), root.name}


@lru_cache(maxsize=8)
def _addresses(root: Path) -> tuple[str, ...]:
    """Return the addresses that a repository was cloned from; none where it is not known."""
    if (root / GIT).is_symlink():
        return ()
    try:
        # Another repository's is not read.
        content = read_file(root / GIT / "config", follow=False)
        return tuple(_ADDRESS.findall(content.decode(errors="replace")))
    except OSError:
        return ()


def _name(address: str) -> str:
    return re.split("[/:]", address.rstrip("/"))[-1].removesuffix(".git")


#: The groups of the objects, as their ``apiVersion`` starts.
FLUX, FLUX_SOURCE, ARGO_CD = "helm.toolkit.fluxcd.io/", "source.toolkit.fluxcd.io/", "argoproj.io/"
_GROUPS: Final = "|".join(map(re.escape, (FLUX, FLUX_SOURCE, ARGO_CD)))
_MARK: Final = re.compile(rf"""apiVersion["']?\s*:\s*["']?({_GROUPS})""".encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """An object that installs a chart."""

    location: Location  #: Where it is.
    kind: SourceKind  #: What it is.
    title: str  #: Its kind and name.
    chart: ChartSource  #: The chart.

    def skipped(self, reason: SkipReason, message: str, needs: tuple[str, ...] = ()) -> Skipped:
        """Return it as something that was skipped."""
        return Skipped(
            location=self.location,
            kind=self.kind,
            reason=reason,
            message=message,
            needs=needs,
            title=self.title,
        )


def find_deployed(texts: Iterable[Text]) -> Iterator[Deployed]:
    """Yield every object of texts that installs a chart; what cannot be read is reported elsewhere."""
    found = [(manifest, text) for text in texts for manifest in _objects(text)]
    sources = {
        (str(entry.value["kind"]), text_of(entry.value, "metadata", "name")): entry.value
        for entry, _ in found
        if text_of(entry.value, "apiVersion").startswith(FLUX_SOURCE)
    }
    for manifest, text in found:
        group, kind = text_of(manifest.value, "apiVersion"), manifest.value["kind"]
        root = repository_root(Path(text.path or text.file).parent)
        charts: Iterable[ChartSource] = ()
        # One without a chart is a patch of another.
        if group.startswith(FLUX) and kind == SourceKind.HELM_RELEASE and _names_chart(manifest.value):
            charts = (chart_of(manifest.value, sources, root),)
        elif group.startswith(ARGO_CD) and kind == SourceKind.APPLICATION:
            charts = charts_of(manifest.value, root)
        line = 0 if text.rendered else manifest.location(FieldPath()).line
        title = f"{kind} {text_of(manifest.value, 'metadata', 'name')}"
        for chart in charts:
            yield Deployed(
                location=Location(text.file, line), kind=SourceKind(kind), title=title, chart=chart
            )


def _names_chart(release: dict[str, Any]) -> bool:
    return bool(mapping_of(release, "spec", "chart") or mapping_of(release, "spec", "chartRef"))


def _objects(text: Text) -> Iterator[ManifestObject]:
    """Yield the objects of the documents that may be meant; the others need not be parsed for this."""
    if not _MARK.search(text.content):
        return
    for part in pieces(text, size=1):
        if not _MARK.search(part.content):
            continue
        try:
            documents = load(part.content, text.file, lines_before=part.first_line)
        except DocumentError:
            continue
        for document in documents:
            yield from (entry for entry in objects(document) if isinstance(entry.value.get("kind"), str))

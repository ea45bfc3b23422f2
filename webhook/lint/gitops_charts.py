"""Charts as a repository deploys them: by Flux's HelmReleases and Argo CD's Applications.

Both name a chart and its values. One whose chart lies in the same repository is rendered with these; the
chart of any other would have to be downloaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from policies.manifests.documents import ManifestObject, load, objects
from policies.manifests.errors import DocumentError
from policies.manifests.fields import FieldPath
from policies.manifests.findings import Location
from policies.manifests.skipped import Skipped, SkipReason, SourceKind
from webhook.lint import argo_cd, flux
from webhook.lint.chart_source import ChartSource, text_of
from webhook.lint.parse import pieces
from webhook.lint.repository import repository_root
from webhook.lint.texts import Text

#: The groups of the objects, as their ``apiVersion`` starts.
FLUX, FLUX_SOURCE, ARGO_CD = "helm.toolkit.fluxcd.io/", "source.toolkit.fluxcd.io/", "argoproj.io/"
_GROUPS: Final = "|".join(map(re.escape, (FLUX, FLUX_SOURCE, ARGO_CD)))
_MARK: Final = re.compile(rf"""apiVersion["']?\s*:\s*["']?({_GROUPS})""".encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """An object that installs a chart.

    Attributes:
        location: Where it stands.
        kind: What it is.
        title: Its kind and name.
        chart: The chart.
    """

    location: Location
    kind: SourceKind
    title: str
    chart: ChartSource

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
    """Yield every object of texts that installs a chart; what cannot be read is told elsewhere."""
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
        if group.startswith(FLUX) and kind == SourceKind.HELM_RELEASE:
            charts = (flux.chart_of(manifest.value, sources, root),)
        elif group.startswith(ARGO_CD) and kind == SourceKind.APPLICATION:
            charts = argo_cd.charts_of(manifest.value, root)
        line = 0 if text.rendered else manifest.location(FieldPath()).line
        title = f"{kind} {text_of(manifest.value, 'metadata', 'name')}"
        for chart in charts:
            yield Deployed(
                location=Location(text.file, line), kind=SourceKind(kind), title=title, chart=chart
            )


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

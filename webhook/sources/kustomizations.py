"""Build kustomizations with the ``kustomize`` or ``kubectl`` of the machine; know which files they use."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policies.errors import DocumentError
from policies.manifests import Document, load
from webhook.sources.texts import Text, shown_file
from webhook.sources.tools import run_tool
from webhook.sources.walking import KUSTOMIZATIONS

#: Fields that list other kustomizations and whole manifests.
_RESOURCES = ("resources", "bases", "components")
#: Fields that list files with parts of manifests, or with what is no manifest of the cluster.
_PARTS = (
    "patches", "patchesStrategicMerge", "patchesJson6902", "transformers", "generators", "validators",
    "configurations", "replacements", "crds",
)  # fmt: skip
#: Fields that make objects of files, and their fields that list these, each perhaps after ``KEY=``.
_GENERATORS = ("configMapGenerator", "secretGenerator")
_GENERATED_FROM = ("files", "envs")
#: What kustomize would fetch with Git if there is no file of that name: ``example.com/team/repo``.
_HOST = re.compile(r"[\w-]+(\.[\w-]+)+(:\d+)?[/:]")


@dataclass(frozen=True, slots=True)
class Kustomization:
    """A kustomization file.

    Attributes:
        file: The file.
        resources: The files and folders that it lists, with their absolute paths.
        parts: The files of patches and the like, with their absolute paths.
        remote: What it lists that would have to be downloaded.
        is_component: Whether it is only of use in another one.
        document: What it says; None for one that cannot be read.
    """

    file: str
    resources: frozenset[Path] = frozenset()
    parts: frozenset[Path] = frozenset()
    remote: tuple[str, ...] = ()
    is_component: bool = False
    document: Document | None = None

    @property
    def folder(self) -> Path:
        """Its folder's absolute path."""
        return absolute(Path(self.file).parent)

    def build(self, program: list[str]) -> Text:
        """Return what it builds, as a text that is named after its file.

        Raises:
            ToolError: The program cannot build it.
        """
        # A folder may be named like an option.
        content = run_tool([*program, "--", str(Path(self.file).parent)])
        return Text(shown_file(self.file), content, rendered=True)


def read_kustomization(file: str) -> Kustomization:
    """Read which files a kustomization uses; one that cannot be read uses none."""
    try:
        documents = load(Path(file).read_bytes(), file)
    except (OSError, DocumentError):
        return Kustomization(file)
    value = documents[0].value if documents else None
    if not isinstance(value, dict):
        return Kustomization(file)
    folder = Path(file).parent
    listed = [entry for name in _RESOURCES for entry in _paths(value.get(name))]
    parts = [entry for name in _PARTS for entry in _paths(value.get(name))]
    mentioned = (*listed, *parts, *_sources(value))
    remote = dict.fromkeys(entry for entry in mentioned if _is_remote(entry, folder))
    # Kustomize would have helm download these.
    inflated = (entry for path in _paths(value.get("generators")) for entry in _inflated(folder / path))
    charts = [
        " ".join(_words(entry)) or "a chart" for entry in (*_entries(value.get("helmCharts")), *inflated)
    ]
    return Kustomization(
        file,
        frozenset(absolute(folder / entry) for entry in listed if entry not in remote),
        frozenset(absolute(folder / entry) for entry in parts if entry not in remote),
        tuple(dict.fromkeys((*remote, *charts))),
        value.get("kind") == "Component",
        documents[0],
    )


def roots(kustomizations: Iterable[Kustomization]) -> Iterator[Kustomization]:
    """Yield those that no other one is made from: building these builds all."""
    every = list(kustomizations)
    used = {path for each in every for path in each.resources}
    return (each for each in every if each.folder not in used and not each.is_component)


def reached(root: Kustomization, by_folder: dict[Path, Kustomization]) -> list[Kustomization]:
    """Return a kustomization and those that it is made from, wherever they are.

    Args:
        root: The kustomization.
        by_folder: Those that have been read.
    """
    found: dict[Path, Kustomization] = {}
    waiting = [root]
    while waiting:
        each = waiting.pop()
        if each.folder not in found:
            found[each.folder] = each
            used = (by_folder.get(path) or kustomization_in(path) for path in sorted(each.resources))
            waiting += (kustomization for kustomization in used if kustomization is not None)
    return list(found.values())


def kustomization_in(folder: Path) -> Kustomization | None:
    """Return the kustomization of a folder, None where there is none."""
    files = (folder / name for name in sorted(KUSTOMIZATIONS))
    return next((read_kustomization(str(file)) for file in files if file.is_file()), None)


def _entries(value: object) -> Iterator[dict[str, Any]]:
    yield from (entry for entry in (value if isinstance(value, list) else ()) if isinstance(entry, dict))


def _inflated(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the charts that a generator has helm render."""
    try:
        documents = load(file.read_bytes(), str(file)) if file.is_file() else []
    except (OSError, DocumentError):
        return
    values = (document.value for document in documents if isinstance(document.value, dict))
    yield from (value for value in values if value.get("kind") == "HelmChartInflationGenerator")


def _words(chart: dict[str, Any]) -> Iterator[str]:
    """Yield what a chart of a kustomization is told by: its name, version, and where it comes from."""
    yield from (str(chart[name]) for name in ("name", "version") if chart.get(name))
    if chart.get("repo"):
        yield f"from {chart['repo']}"


def _paths(entries: Any) -> Iterator[str]:
    """Yield the paths of a list: of texts, or of objects with a ``path``."""
    for entry in entries if isinstance(entries, list) else ():
        path = entry.get("path") if isinstance(entry, dict) else entry
        # A patch may stand in the list itself.
        if isinstance(path, str) and path and "\n" not in path:
            yield path


def _sources(value: dict[str, Any]) -> Iterator[str]:
    """Yield the paths of the files that a kustomization makes objects of, and of its OpenAPI document."""
    yield from _paths([value.get("openapi")])
    for name in _GENERATORS:
        entries = value.get(name)
        for entry in entries if isinstance(entries, list) else ():
            for field in _GENERATED_FROM if isinstance(entry, dict) else ():
                yield from (path.rpartition("=")[2] for path in _paths(entry.get(field)))


def _is_remote(entry: str, folder: Path) -> bool:
    if "://" in entry or "?" in entry or entry.startswith("git@"):
        return True
    is_like_one = "//" in entry or ".git" in entry or _HOST.match(entry)
    return bool(is_like_one) and not (folder / entry).exists()


def absolute(path: str | Path) -> Path:
    """Return a path from the root, without ``..`` in it; links are not followed."""
    return Path(os.path.normpath(Path(path).absolute()))

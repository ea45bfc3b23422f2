"""Build kustomizations with the ``kustomize`` or ``kubectl`` of the machine; know which files they use."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policies.errors import DocumentError
from policies.manifests import load
from webhook.sources.texts import Text, shown_file
from webhook.sources.tools import run_tool

#: Fields that list other kustomizations and whole manifests.
_RESOURCES = ("resources", "bases", "components")
#: Fields that list files with parts of manifests, or with what is no manifest of the cluster.
_PARTS = (
    "patches", "patchesStrategicMerge", "patchesJson6902", "transformers", "generators", "validators",
    "configurations", "replacements",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kustomization:
    """A kustomization file.

    Attributes:
        file: The file.
        resources: The files and folders that it lists, with their absolute paths.
        parts: The files of patches and the like, with their absolute paths.
        is_remote: Whether it lists something to be downloaded.
        is_component: Whether it is only of use in another one.
    """

    file: str
    resources: frozenset[Path] = frozenset()
    parts: frozenset[Path] = frozenset()
    is_remote: bool = False
    is_component: bool = False

    @property
    def folder(self) -> Path:
        """Its folder's absolute path."""
        return absolute(Path(self.file).parent)

    def build(self, program: list[str]) -> Text:
        """Return what it builds, as a text that is named after its file.

        Raises:
            ToolError: The program cannot build it.
        """
        content = run_tool([*program, str(Path(self.file).parent)])
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
    return Kustomization(
        file,
        frozenset(absolute(folder / entry) for entry in listed if not _is_remote(entry)),
        frozenset(absolute(folder / entry) for name in _PARTS for entry in _paths(value.get(name))),
        any(map(_is_remote, listed)) or bool(value.get("helmCharts")),
        value.get("kind") == "Component",
    )


def roots(kustomizations: Iterable[Kustomization]) -> Iterator[Kustomization]:
    """Yield those that no other one is made from: building these builds all."""
    every = list(kustomizations)
    used = {path for each in every for path in each.resources}
    return (each for each in every if each.folder not in used and not each.is_component)


def reached(root: Kustomization, by_folder: dict[Path, Kustomization]) -> list[Kustomization]:
    """Return a kustomization and those that it is made from."""
    found: dict[Path, Kustomization] = {}
    waiting = [root]
    while waiting:
        each = waiting.pop()
        if each.folder not in found:
            found[each.folder] = each
            waiting += (by_folder[path] for path in sorted(each.resources) if path in by_folder)
    return list(found.values())


def _paths(entries: Any) -> Iterator[str]:
    """Yield the paths of a list: of texts, or of objects with a ``path``."""
    for entry in entries if isinstance(entries, list) else ():
        path = entry.get("path") if isinstance(entry, dict) else entry
        # A patch may stand in the list itself.
        if isinstance(path, str) and path and "\n" not in path:
            yield path


def _is_remote(entry: str) -> bool:
    return "://" in entry or "?" in entry or entry.startswith(("git@", "github.com/"))


def absolute(path: str | Path) -> Path:
    """Return a path from the root, without ``..`` in it; links are not followed."""
    return Path(os.path.normpath(Path(path).absolute()))

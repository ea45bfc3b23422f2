"""Build kustomizations with the ``kustomize`` or ``kubectl`` of the machine; know which files they use."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from policies.manifests.documents import Document, load
from policies.manifests.errors import DocumentError
from policies.manifests.fields import FieldError, shown
from policies.manifests.file_name import shown_file
from policies.manifests.skipped import SkipReason
from webhook.lint.discovery import KUSTOMIZATIONS
from webhook.lint.external_tools import run_tool
from webhook.lint.files import Text, absolute, is_below, is_file, is_special, is_within, read_text, shown_path
from webhook.lint.kustomization_fields import Listed, listed_by, plugin_names, text_errors
from webhook.lint.tool_limits import ToolError

#: What kustomize would download whatever there is.
_SCHEME: Final = re.compile(r"(https?|ssh|file|gh|git|[\w-]+@[^/]+):|git::", re.IGNORECASE)
#: What it would fetch with Git even if there is a folder of that name.
_ADDRESS: Final = re.compile(r"[:@?]|//|^(www\.)?github\.com", re.IGNORECASE)
#: What it would download if there is nothing of that name: ``example.com/team/repo``, ``team.git/deploy``.
_HOST: Final = re.compile(r"[\w-]+(\.[\w-]+)+(:\d+)?[/:]|.*\.git(/|$)")
#: What may be in a text that is YAML of an object, and so is not taken for the name of a file.
_LIKE_OBJECT: Final = re.compile(r"[{}\[\]:]")
#: The fields of a kustomization that say nothing of what it builds; kustomize builds none without others.
_TYPE: Final = frozenset({"apiVersion", "kind"})
#: Problems that are reported of one kustomization; more than anyone fixes at once.
_MAX_REPORTED: Final = 10


@dataclass(frozen=True, slots=True)
class BuildRefusal:
    """Why a kustomization must not be built."""

    reason: SkipReason
    problem: str


@dataclass(frozen=True, slots=True)
class Kustomization:
    """A kustomization file."""

    file: str  #: The file.
    #: The files and folders that it lists, with their absolute paths.
    resources: frozenset[Path] = frozenset()
    parts: frozenset[Path] = frozenset()  #: The files of patches and the like, with their absolute paths.
    remote: tuple[str, ...] = ()  #: What it lists that would have to be downloaded.
    is_component: bool = False  #: Whether it is only of use in another one.
    document: Document | None = None  #: What it says; None for one that cannot be read.
    refusals: tuple[BuildRefusal, ...] = ()  #: Why else it must not be built.

    @property
    def folder(self) -> Path:
        """Its folder's absolute path."""
        return absolute(Path(self.file).parent)

    def build(self, program: list[str]) -> Text:
        """Return the build of the kustomization, as a text that is named after its file.

        Only what ``check`` lets pass may be built.

        Raises:
            ToolError: The program cannot build it.
        """
        # A folder may be named like an option.
        content = run_tool([*program, "--", str(Path(self.file).parent)])
        return Text(shown_file(self.file), content, rendered=True)


def read_kustomization(file: str) -> Kustomization:
    """Read which files a kustomization uses; one that cannot be read uses none, and must not be built."""
    try:
        content = read_text(file, named=False).content
        documents = load(content, shown_file(file))
    except DocumentError as error:
        return Kustomization(file, refusals=(BuildRefusal(SkipReason.UNSUPPORTED, str(error)),))
    if not any(map(_has_content, documents)):
        return Kustomization(
            file, refusals=(BuildRefusal(SkipReason.EMPTY, f"{shown_file(file)}: is empty"),)
        )
    if len(documents) != 1:
        problem = f"{shown_file(file)}: must hold one document, got {len(documents)}"
        return Kustomization(file, refusals=(BuildRefusal(SkipReason.UNSUPPORTED, problem),))
    listed = listed_by(documents[0])
    listed.errors += text_errors(content)
    return _Reader(Path(file), listed, documents[0]).read()


def _has_content(document: Document) -> bool:
    value = document.value
    return not isinstance(value, dict) or any(value[name] is not None for name in value.keys() - _TYPE)


def check(made_from: Iterable[Kustomization]) -> None:
    """Make sure that kustomizations may be built: they open what was read, and nothing else.

    Raises:
        ToolError: They may not.
    """
    every = list(made_from)
    remote = tuple(dict.fromkeys(entry for each in every for entry in each.remote))
    if remote:
        raise ToolError("it would have to download", SkipReason.DOWNLOAD_NEEDED, remote)
    refusals = [refusal for each in every for refusal in each.refusals]
    if refusals:
        text = "; ".join(dict.fromkeys(refusal.problem for refusal in refusals[:_MAX_REPORTED]))
        raise ToolError(text, refusals[0].reason)


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
            listed = sorted(each.resources)
            used = (by_folder.get(path) or kustomization_in(path, beside=each.folder) for path in listed)
            waiting += (kustomization for kustomization in used if kustomization is not None)
    return list(found.values())


def kustomization_in(folder: Path, *, beside: Path) -> Kustomization | None:
    """Return the kustomization of a folder, None where there is none.

    Args:
        folder: The folder.
        beside: A folder of the repository that it must be in; else it is not opened.
    """
    for file in (folder / name for name in sorted(KUSTOMIZATIONS)):
        if is_file(file) and not is_within(file, beside):
            problem = f"{shown_file(shown_path(file))}: outside of the repository"
            return Kustomization(str(file), refusals=(BuildRefusal(SkipReason.OUTSIDE_REPOSITORY, problem),))
        if is_special(file):
            problem = f"{shown_file(shown_path(file))}: not a regular file"
            return Kustomization(str(file), refusals=(BuildRefusal(SkipReason.NOT_A_FILE, problem),))
        if is_file(file):
            return read_kustomization(str(file))
    return None


@dataclass(frozen=True, slots=True)
class _Reader:
    """Makes of what a kustomization lists what is there."""

    file: Path
    listed: Listed
    document: Document

    def read(self) -> Kustomization:
        """Return the kustomization."""
        opened, charts, refusals = self._plugins()
        parts = [*self.listed.parts, *self.listed.sources, *opened]
        remote = dict.fromkeys(entry for entry in self.listed.resources if self._is_remote_resource(entry))
        remote |= dict.fromkeys(entry for entry in parts if self._is_remote(entry))
        resources = [entry for entry in self.listed.resources if entry not in remote]
        refusals += map(self._refusal, self.listed.errors)
        refusals += (refusal for entry in resources for refusal in self._refusals(entry))
        refusals += self._special(*resources, *parts, *KUSTOMIZATIONS)
        refusals += self._outside(entry for entry in (*resources, *parts) if entry not in remote)
        is_read = isinstance(self.document.value, dict)
        return Kustomization(
            str(self.file),
            frozenset(absolute(self._path(entry)) for entry in resources),
            frozenset(absolute(self._path(entry)) for entry in self.listed.parts if entry not in remote),
            tuple(dict.fromkeys((*remote, *self.listed.charts, *charts))),
            is_read and self.document.value.get("kind") == "Component",
            self.document if is_read else None,
            tuple(refusals),
        )

    def _plugins(self) -> tuple[list[str], list[str], list[BuildRefusal]]:
        """Return the files that plugin objects open, their charts, and refusals of other objects."""
        opened: list[str] = []
        charts: list[str] = []
        refusals: list[BuildRefusal] = []
        texts = [Text(self._shown, text.encode()) for text in self.listed.inline]
        for entry in self.listed.plugins:
            try:
                texts += self._plugin(entry)
            except DocumentError as error:
                refusals.append(BuildRefusal(SkipReason.UNSUPPORTED, str(error)))
        for text in texts:
            try:
                names = plugin_names(text.content, text.file)
            except DocumentError as error:
                refusals.append(BuildRefusal(SkipReason.UNSUPPORTED, str(error)))
            else:
                opened += names[0]
                charts += names[1]
        return opened, charts, refusals

    def _plugin(self, entry: str) -> Iterator[Text]:
        """Yield a file with objects that steer kustomize, if it need not be downloaded."""
        if _LIKE_OBJECT.search(entry):
            # It might be taken for an object itself; no name that people give a file is.
            raise DocumentError([f"{self._shown}: {shown(entry)} is not the name of a file"])
        # What is outside of the repository is refused with all that is.
        if self._is_inside(entry) and not self._is_remote(entry):
            yield read_text(str(self._path(entry)), named=False)

    def _refusals(self, entry: str) -> Iterator[BuildRefusal]:
        """Yield why a resource must not be used: kustomize would go another way from it."""
        path = self._path(entry)
        if path.is_dir() and path.resolve() != _normal(self.file.parent.resolve() / entry):
            # What it lists counts from where the link leads, and was not read from there.
            yield self._unsupported(f"{shown_file(entry)} is reached by a link")

    def _special(self, *entries: str) -> Iterator[BuildRefusal]:
        """Yield why kustomize must not open what is neither a file nor a folder: it would wait."""
        for entry in dict.fromkeys(entries):
            if any(is_special(self._path(name)) for name in (entry, entry.rpartition("=")[2])):
                problem = f"{self._shown}: {shown(entry)} is not a regular file"
                yield BuildRefusal(SkipReason.NOT_A_FILE, problem)

    def _outside(self, entries: Iterable[str]) -> Iterator[BuildRefusal]:
        """Yield why kustomize must not open what is not of the repository: nothing else would keep it."""
        for entry in dict.fromkeys(entries):
            if not self._is_inside(entry):
                problem = f"{self._shown}: {shown(entry)} is outside of the repository"
                yield BuildRefusal(SkipReason.OUTSIDE_REPOSITORY, problem)

    def _is_inside(self, entry: str) -> bool:
        """Return whether a name leads into the repository, or else into the kustomization's own folder."""
        folder = self.file.parent
        # Kustomize follows links to the folder, and then counts from there without a look at links.
        places = [_normal(folder.resolve() / name) for name in _names(entry)]
        return all(is_below(place, folder) or is_within(place, folder) for place in places)

    def _is_remote_resource(self, entry: str) -> bool:
        """Return whether kustomize might fetch a resource: it tries to if the file is no manifest, too."""
        return bool(_ADDRESS.search(entry)) or self._is_remote(entry)

    def _is_remote(self, entry: str) -> bool:
        names = _names(entry)
        if "://" in entry or any(map(_SCHEME.match, names)):
            return True
        return any(map(_HOST.match, names)) and not any(_exists(self._path(name)) for name in names)

    def _path(self, entry: str) -> Path:
        return self.file.parent / entry

    @property
    def _shown(self) -> str:
        return shown_file(str(self.file))

    def _refusal(self, error: FieldError) -> BuildRefusal:
        return BuildRefusal(SkipReason.UNSUPPORTED, self.document.problems([error])[0])

    def _unsupported(self, problem: str) -> BuildRefusal:
        return BuildRefusal(SkipReason.UNSUPPORTED, f"{self._shown}: {problem}")


def _names(entry: str) -> set[str]:
    """Return the possible meanings of an entry: a file may be behind the name that it gets."""
    return {entry, entry.rpartition("=")[2]}


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _normal(path: Path) -> Path:
    return Path(os.path.normpath(path))

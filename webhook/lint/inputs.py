"""From the paths of a command to the texts that it reads: charts rendered, kustomizations built."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from policies.config.lint_config import Rendering
from policies.manifests.errors import DocumentError
from policies.manifests.file_name import shown_file
from policies.manifests.findings import Finding, Location
from policies.manifests.skipped import Skipped, SkipReason, SourceKind
from webhook.lint.chart_rendering import render_charts
from webhook.lint.discovery import Found, find
from webhook.lint.files import Text, absolute, read_text, shown_path, unreadable
from webhook.lint.parse import is_template
from webhook.lint.tool_limits import Charts, ToolError

if TYPE_CHECKING:
    from webhook.lint import field_origins, kustomizations

#: What becomes of a kustomization that is skipped.
_UNBUILT = "not built, so its files are read without patches"
#: Flux builds so, and Argo CD may: a kustomization may list files that are not below its own folder.
#: That none is outside of the repository is made sure of before.
_UNRESTRICTED: Final = "--load-restrictor=LoadRestrictionsNone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """The programs that may be run."""

    charts: Charts = field(default_factory=Charts)  #: How charts are rendered.
    kustomize: Rendering = Rendering.AUTO  #: For kustomizations, ``kustomize`` or else ``kubectl kustomize``.


@dataclass(slots=True)
class Texts:
    """The texts to read."""

    texts: list[Text] = field(default_factory=list)  #: By their files' names.
    skipped: list[Skipped] = field(default_factory=list)  #: What was left out and why.
    problems: list[Finding] = field(default_factory=list)  #: What cannot be read.
    #: The files that were given and cannot be opened; they are among the problems, too.
    missing: list[str] = field(default_factory=list)
    #: What kustomizations were built from; None if there are none.
    sources: field_origins.FieldOrigins | None = None


def gather_texts(
    paths: Iterable[str], *, tools: Tools, exclude: tuple[Path, tuple[str, ...]] | None = None
) -> Texts:
    """Read everything that paths stand for.

    Args:
        paths: Files, folders or ``-``.
        tools: Which programs may be run.
        exclude: Patterns as in ``.gitignore`` for what is left out, and the folder they count from.
    """
    found = find(paths, exclude=exclude)
    gathered = Texts()
    covered = _build_all(found, tools.kustomize, gathered) if found.kustomizations else set()
    for file in found.files:
        named = file in found.named
        if not named and covered and absolute(file) in covered:
            continue
        try:
            gathered.texts.append(read_text(file, named=named))
        except DocumentError as error:
            gathered.problems += (unreadable(shown_file(file), problem) for problem in error.problems)
            if named or absolute(file) in found.given:
                gathered.missing.append(file)
    texts, skipped = render_charts(found, gathered.texts, tools.charts)
    # The Chart.yaml of one that is skipped, if a template too, would be skipped once more as a file.
    charts = {entry.location.file for entry in skipped if entry.kind is SourceKind.CHART}
    gathered.texts = [
        text for text in gathered.texts if text.file not in charts or not is_template(text.content)
    ]
    gathered.texts += texts
    gathered.skipped += skipped
    gathered.skipped += _unread(found)
    gathered.texts.sort(key=lambda text: text.file)
    return gathered


def _unread(found: Found) -> Iterator[Skipped]:
    """Yield the paths that were found and are not opened."""
    for path, is_excluded in found.empty.items():
        why = "no YAML or JSON file in it"
        if is_excluded:
            why += " that exclude of evenkeel.yaml leaves"
        yield replace(_skipped(path, SkipReason.NO_OBJECTS, why), kind=SourceKind.FOLDER, named=True)
    for path in found.outside:
        yield _skipped(path, SkipReason.OUTSIDE_REPOSITORY, "link that leads out of the repository")
    for path in found.special:
        yield _skipped(path, SkipReason.NOT_A_FILE, "not a regular file")
    for path, why in found.ignore_refused.items():
        yield _skipped(path, SkipReason.LIMIT_EXCEEDED, f"{why}: what Git ignores there is read")

    for root, error in found.untold.items():
        why = f"what .gitignore names is left out, though Git may track it: {error}"
        yield replace(_skipped(shown_path(Path(root)), error.reason, why), kind=SourceKind.FOLDER)
    for path, number in found.ignored.items():
        why = f"{number:,} {'file or folder' if number == 1 else 'files and folders'} in it that Git ignores"
        yield replace(_skipped(path, SkipReason.GIT_IGNORED, why), kind=SourceKind.FOLDER)


def _skipped(path: str, reason: SkipReason, why: str) -> Skipped:
    return Skipped(location=Location(shown_file(path)), kind=SourceKind.FILE, reason=reason, message=why)


def _build_all(found: Found, rendering: Rendering, gathered: Texts) -> set[Path]:
    """Build every kustomization that no other one uses; return the files that need no look of their own."""
    from webhook.lint import field_origins, kustomizations

    known = [kustomizations.read_kustomization(file) for file in found.kustomizations]
    by_folder = {each.folder: each for each in known}
    gathered.sources = sources = field_origins.FieldOrigins(by_folder)
    program = _kustomize(rendering)
    # A patch is a part of a manifest: alone it would lack what the manifest has.
    covered = {path for each in known for path in each.parts}
    for root in kustomizations.roots(known):
        made_from = kustomizations.reached(root, by_folder)
        try:
            text = _build(root, made_from, program, rendering)
        except ToolError as error:
            gathered.skipped.append(_unbuilt(root, error, named=root.folder in found.given))
            continue
        gathered.texts.append(replace(text, built=partial(sources.built, root)))
        sources.count(made_from)
        covered |= {path for each in made_from for path in each.resources}
    return covered


def _unbuilt(root: kustomizations.Kustomization, error: ToolError, *, named: bool) -> Skipped:
    return Skipped(
        location=Location(shown_file(root.file)),
        kind=SourceKind.KUSTOMIZATION,
        reason=error.reason,
        message=f"{_UNBUILT}: {error}",
        needs=error.needs,
        named=named,
    )


def _build(
    root: kustomizations.Kustomization,
    made_from: list[kustomizations.Kustomization],
    program: list[str] | None,
    rendering: Rendering,
) -> Text:
    if program is None:
        if rendering is Rendering.OFF:
            raise ToolError("--kustomize=off", SkipReason.SWITCHED_OFF)
        raise ToolError("neither kustomize nor kubectl is on the PATH", SkipReason.TOOL_MISSING)
    from webhook.lint import kustomizations

    kustomizations.check(made_from)
    return root.build(program)


def _kustomize(rendering: Rendering) -> list[str] | None:
    if rendering is Rendering.OFF:
        return None
    if kustomize := shutil.which("kustomize"):
        return [kustomize, "build", _UNRESTRICTED]
    if kubectl := shutil.which("kubectl"):
        return [kubectl, "kustomize", _UNRESTRICTED]
    return None

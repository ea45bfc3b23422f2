"""From the paths of a command to the texts that it reads: charts rendered, kustomizations built."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from policies.documents.lint_config import Rendering
from policies.errors import DocumentError
from policies.findings import Finding
from webhook.sources.charts import is_library, render_chart
from webhook.sources.kustomizations import Kustomization, absolute, reached, read_kustomization, roots
from webhook.sources.origins import Sources
from webhook.sources.texts import Text, read_text, shown_file, unreadable
from webhook.sources.tools import ToolError
from webhook.sources.walking import find


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What may be run.

    Attributes:
        helm: For charts.
        kustomize: For kustomizations, ``kustomize`` or else ``kubectl kustomize``.
    """

    helm: Rendering = Rendering.AUTO
    kustomize: Rendering = Rendering.AUTO


@dataclass(slots=True)
class Texts:
    """What there is to read.

    Attributes:
        texts: By their files' names.
        notes: What was left out and why, a line each.
        problems: What cannot be read.
        sources: What kustomizations were built from.
    """

    texts: list[Text] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[Finding] = field(default_factory=list)
    sources: Sources = field(default_factory=Sources)


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
    covered = _build_all(found.kustomizations, tools.kustomize, gathered)
    _render_all(found.charts, tools.helm, gathered)
    for file in found.files:
        named = file in found.named
        if not named and covered and absolute(file) in covered:
            continue
        try:
            gathered.texts.append(read_text(file, named=named))
        except DocumentError as error:
            gathered.problems += (unreadable(shown_file(file), problem) for problem in error.problems)
    gathered.notes += (f"{shown_file(path)}: holds no YAML or JSON file" for path in found.empty)
    gathered.texts.sort(key=lambda text: text.file)
    return gathered


def _render_all(charts: list[str], rendering: Rendering, gathered: Texts) -> None:
    helm = shutil.which("helm") if charts and rendering is Rendering.AUTO else None
    for folder in charts:
        if is_library(folder):
            continue
        if helm is None:
            why = "--helm=off" if rendering is Rendering.OFF else "helm is not on the PATH"
            gathered.notes.append(f"{shown_file(folder)}: the chart's templates are skipped: {why}")
            continue
        try:
            gathered.texts += render_chart(folder, helm)
        except ToolError as error:
            gathered.notes.append(f"{shown_file(folder)}: the chart's templates are skipped: {error}")


def _build_all(files: list[str], rendering: Rendering, gathered: Texts) -> set[Path]:
    """Build every kustomization that no other one uses; return the files that need no look of their own."""
    known = [read_kustomization(file) for file in files]
    by_folder = {each.folder: each for each in known}
    gathered.sources = Sources(by_folder)
    program = _kustomize(rendering) if files else None
    # A patch is a part of a manifest: alone it would lack what the manifest has.
    covered = {path for each in known for path in each.parts}
    for root in roots(known):
        made_from = reached(root, by_folder)
        try:
            text = _build(root, made_from, program, rendering)
        except ToolError as error:
            note = f"{shown_file(root.file)}: not built, so its files are looked at without patches: {error}"
            gathered.notes.append(note)
            continue
        gathered.texts.append(replace(text, built=partial(gathered.sources.built, root)))
        gathered.sources.count(made_from)
        covered |= {path for each in made_from for path in each.resources}
    return covered


def _build(
    root: Kustomization, made_from: list[Kustomization], program: list[str] | None, rendering: Rendering
) -> Text:
    if program is None:
        off = rendering is Rendering.OFF
        raise ToolError("--kustomize=off" if off else "neither kustomize nor kubectl is on the PATH")
    if any(each.is_remote for each in made_from):
        raise ToolError("it would have to download something")
    return root.build(program)


def _kustomize(rendering: Rendering) -> list[str] | None:
    if rendering is Rendering.OFF:
        return None
    if kustomize := shutil.which("kustomize"):
        return [kustomize, "build"]
    if kubectl := shutil.which("kubectl"):
        return [kubectl, "kustomize"]
    return None

"""Charts for tests, and what they render to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from policies.manifests.skipped import Skipped, SkipReason, SourceKind
from webhook.lint.inputs import Texts, Tools, gather_texts
from webhook.lint.tool_limits import Charts

CHART = "apiVersion: v2\nname: {name}\nversion: 1.0.0\n"
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: {{ .Release.Name }}, labels: {tag: {{ .Values.tag | quote }}}}
"""
REQUIRED = POD.replace(".Values.tag", 'required "a tag" .Values.tag')
FLUX = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: shop, namespace: apps}
spec:
  targetNamespace: prod
  chart: {spec: {chart: ./shop, sourceRef: {kind: GitRepository, name: us}}}
  values: {tag: "1"}
"""
ARGO = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop}
spec:
  destination: {namespace: prod}
  source: {repoURL: 'https://example.com/team/here.git', path: shop, helm: HELM}
"""


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def gather(*paths: str, **charts: Any) -> Texts:
    return gather_texts(paths, tools=Tools(charts=Charts(**charts)))


def pods(texts: Texts) -> list[str]:
    """Return the lines of pods, from what was rendered."""
    lines = [line for text in texts.texts if text.rendered for line in text.content.decode().splitlines()]
    return [line.removeprefix("metadata: ") for line in lines if line.startswith("metadata")]


def told(texts: Texts) -> list[tuple[SourceKind, SkipReason, tuple[str, ...]]]:
    return [(entry.kind, entry.reason, entry.needs) for entry in texts.skipped]


def one(texts: Texts) -> Skipped:
    (skipped,) = texts.skipped
    return skipped


def check_installed(repository: Path, text: str, expected: str) -> None:
    """Make sure that an object has the chart of the repository rendered as one pod."""
    write(repository, {"deploy/app.yaml": text, "v.yaml": "tag: file\n"})
    for paths in ([".", "deploy"], ["deploy"]):
        texts = gather(*paths)

        assert ([expected], []) == (pods(texts), texts.skipped)
        assert {"prod", "apps"} >= {each.namespace for each in texts.texts if each.rendered}


def check_elsewhere(repository: Path, text: str, needs: str | None) -> None:
    """Make sure that an object is skipped, at its line, for what would have to be downloaded."""
    write(repository.parent, {"out/Chart.yaml": CHART.format(name="out")})
    remote = '[remote "origin"]\n\turl = git@example.com:team/here\n'
    write(repository, {"app.yaml": text, ".git/config": remote})
    skipped = gather("app.yaml").skipped

    assert ([needs] if needs else []) == [need for entry in skipped for need in entry.needs]
    assert all(entry.location.line == 1 for entry in skipped)

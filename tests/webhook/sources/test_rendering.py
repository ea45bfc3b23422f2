"""Charts as they are used, rendered by the real helm."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from policies.model.version import KubernetesVersion
from policies.skipped import Skipped, SkipReason, SourceKind
from tests.deploy.manifests import tool
from webhook.sources.charts import Release
from webhook.sources.gathering import Texts, Tools, gather_texts
from webhook.sources.rendering import Charts

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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a Git repository with a chart, on a machine with helm."""
    monkeypatch.setenv("PATH", f"{Path(tool('helm')).parent}{os.pathsep}{os.environ['PATH']}")
    write(
        tmp_path / "here", {"shop/Chart.yaml": CHART.format(name="shop"), "shop/templates/a.yaml": REQUIRED}
    )
    (tmp_path / "here" / ".git").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


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


@pytest.mark.parametrize(
    ("path", "named"),
    [
        pytest.param("shop", True, id="the chart"),
        pytest.param("./shop/", True, id="the chart, written differently"),
        pytest.param("shop/Chart.yaml", True, id="the chart's file"),
        pytest.param(".", False, id="a folder with charts"),
    ],
)
def test_a_chart_that_needs_a_value(folder: Path, path: str, *, named: bool) -> None:
    """It is skipped with helm's error, and known to be named if it is."""
    skipped = one(gather(path))

    assert (SkipReason.TOOL_FAILED, named) == (skipped.reason, skipped.named)
    assert skipped.location.file.endswith("shop/Chart.yaml")
    assert skipped.message.endswith("a tag")


def test_values_of_the_command_line(folder: Path) -> None:
    """They are for charts that are named, and for no other."""
    write(folder, {"v.yaml": "tag: file\n", "a,b.yaml": "tag: comma\n"})
    release = Release(values=("v.yaml", "a,b.yaml"))

    assert ['{name: release, labels: {tag: "comma"}}'] == pods(gather("shop", given=release))
    assert 1 == len(gather(".", given=release).skipped)
    assert ['{name: release, labels: {tag: "x"}}'] == pods(
        gather("shop", given=Release(values=("v.yaml",), settings=("--set=tag=x",)))
    )


def test_releases(folder: Path) -> None:
    """A chart is rendered once for each; one that cannot be is skipped by its name, and named."""
    releases = (
        Release(name="prod", namespace="a", settings=('--set-json=tag="1"',)),
        Release(name="test", values=("nowhere.yaml",)),
    )
    texts = gather(".", releases={folder / "shop": releases})

    assert ['{name: prod, labels: {tag: "1"}}'] == pods(texts)
    assert ["a"] == [text.namespace for text in texts.texts if text.rendered]
    assert one(texts).named
    assert one(texts).message.startswith("release test: helm template fails: open ")


def test_values_are_never_downloaded(folder: Path) -> None:
    """An address among the values is told as what would have to be downloaded."""
    skipped = one(gather("shop", given=Release(values=("https://example.com/values.yaml",))))

    assert (SkipReason.DOWNLOAD_NEEDED, ("https://example.com/values.yaml",)) == (
        skipped.reason,
        skipped.needs,
    )


@pytest.mark.parametrize(("version", "skipped"), [("1.32", 1), ("1.33", 0), ("1.36", 0)])
def test_the_release_of_kubernetes(folder: Path, version: str, skipped: int) -> None:
    """Charts are told the release that rules judge by."""
    write(folder, {"shop/Chart.yaml": CHART.format(name="shop") + 'kubeVersion: ">=1.33.0"\n'})
    release = Release(settings=("--set=tag=1",))

    assert skipped == len(gather("shop", version=KubernetesVersion.parse(version), given=release).skipped)


def test_vendored_dependencies(folder: Path) -> None:
    """What lies in charts/ is there, as a folder of any name or as an archive."""
    text = "dependencies: [{name: a, version: 1.x, repository: 'oci://x/y'}, {name: b, version: 2}]\n"
    write(folder, {"shop/Chart.yaml": CHART.format(name="shop") + text})
    release = Release(settings=("--set=tag=1",))
    assert ("a 1.x from oci://x/y", "b 2") == one(gather("shop", given=release)).needs

    write(folder, {"shop/charts/other/Chart.yaml": CHART.format(name="a"), "shop/charts/b-2.0.0.tgz": ""})
    (skipped,) = gather("shop", given=release).skipped
    assert SkipReason.TOOL_FAILED == skipped.reason  # The archive is none, as helm says.


def test_dependencies_of_the_repository(folder: Path) -> None:
    """They are linked into a copy, theirs too; findings name their own files, and nothing is written."""
    write(
        folder,
        {
            "shop/Chart.yaml": CHART.format(name="shop")
            + "dependencies: [{name: lib, version: 1.x.x, repository: 'file://../lib'}]\n",
            "lib/Chart.yaml": CHART.format(name="lib")
            + "dependencies: [{name: deep, version: 1.x.x, repository: 'file://../deep'}]\n",
            "lib/templates/l.yaml": POD.replace(".Release.Name", 'include "deep.name" .'),
            "deep/Chart.yaml": CHART.format(name="deep") + "type: library\n",
            "deep/templates/_d.tpl": '{{ define "deep.name" }}deep{{ end }}',
        },
    )
    before = sorted(folder.rglob("*"))
    texts = gather("shop", given=Release(settings=("--set=tag=1", "--set=lib.tag=2")))

    assert [] == texts.skipped
    assert ["lib/templates/l.yaml", "shop/templates/a.yaml"] == [
        each.file for each in texts.texts if each.rendered
    ]
    assert before == sorted(folder.rglob("*"))


@pytest.mark.parametrize(
    ("repository", "expected"),
    [
        pytest.param("file://../../elsewhere", "outside of the repository", id="outside"),
        pytest.param("file://../nowhere", "no Chart.yaml", id="not there"),
        pytest.param("file://.", "depends on itself", id="itself"),
    ],
)
def test_dependencies_that_cannot_be_had(folder: Path, repository: str, expected: str) -> None:
    """A file:// dependency leads to a chart of the repository, or the chart is skipped."""
    write(folder.parent, {"elsewhere/Chart.yaml": CHART.format(name="lib")})
    text = f"dependencies: [{{name: lib, version: 1.x.x, repository: '{repository}'}}]\n"
    write(folder, {"shop/Chart.yaml": CHART.format(name="shop") + text})

    assert expected in one(gather("shop")).message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(FLUX, '{name: prod-shop, labels: {tag: "1"}}', id="Flux: values"),
        pytest.param(
            FLUX.replace("targetNamespace: prod", "releaseName: web"),
            '{name: web, labels: {tag: "1"}}',
            id="Flux: a release name",
        ),
        pytest.param(
            FLUX.replace('values: {tag: "1"}', "").replace("./shop,", "./shop, valuesFiles: [v.yaml],"),
            '{name: prod-shop, labels: {tag: "file"}}',
            id="Flux: files with values",
        ),
        pytest.param(
            ARGO.replace("HELM", "{values: 'tag: a'}"), '{name: shop, labels: {tag: "a"}}', id="Argo: a"
        ),
        pytest.param(
            ARGO.replace("HELM", "{valuesObject: {tag: o}, releaseName: r}"),
            '{name: r, labels: {tag: "o"}}',
            id="Argo: an object and a release name",
        ),
        pytest.param(
            ARGO.replace("HELM", "{valueFiles: [../v.yaml], parameters: [{name: tag, value: 'p,q'}]}"),
            '{name: shop, labels: {tag: "p,q"}}',
            id="Argo: a parameter over a file",
        ),
        pytest.param(
            ARGO.replace("HELM", "{valueFiles: [/v.yaml, none.yaml], ignoreMissingValueFiles: true}"),
            '{name: shop, labels: {tag: "file"}}',
            id="Argo: files from the root, of which 1 is missing",
        ),
    ],
)
def test_a_chart_of_the_repository_is_rendered_as_it_is_installed(
    folder: Path, text: str, expected: str
) -> None:
    """With the values, names and namespace of the object, and not with the chart's own values besides."""
    write(folder, {"deploy/app.yaml": text, "v.yaml": "tag: file\n"})
    for paths in ([".", "deploy"], ["deploy"]):
        texts = gather(*paths)

        assert ([expected], []) == (pods(texts), texts.skipped)
        assert {"prod"} >= {text.namespace for text in texts.texts if text.rendered} - {"apps"}


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        pytest.param(
            FLUX.replace("chart: ./shop,", "chart: shop, version: 1.x,").replace("GitR", "HelmR"),
            "shop 1.x from HelmRepository us",
            id="Flux: a repository of charts",
        ),
        pytest.param(
            FLUX.replace("chart: {spec: {chart: ./shop, sourceRef: {kind: GitRepository, name: us}}}",
                         "chartRef: {kind: OCIRepository, name: us}")
            + "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: us}\n"
            "spec: {url: 'oci://ghcr.io/team/charts/web', ref: {tag: 1.2.3}}\n",
            "web 1.2.3 from oci://ghcr.io/team/charts",
            id="Flux: a source whose address is known",
        ),
        pytest.param(FLUX.replace("./shop", "./gone"), "./gone from GitRepository us", id="Flux: no folder"),
        pytest.param(FLUX.replace("./shop", "../out"), "../out from GitRepository us", id="Flux: outside"),
        pytest.param(
            ARGO.replace("path: shop, helm: HELM", "chart: web, targetRevision: 1.2.3"),
            "web 1.2.3 from https://example.com/team/here.git",
            id="Argo: a chart",
        ),
        pytest.param(
            ARGO.replace("team/here", "team/there").replace("HELM", "{}"), None, id="Argo: files of elsewhere"
        ),
        pytest.param(
            ARGO.replace("team/here", "team/there").replace("HELM", "{values: a}"),
            "shop from https://example.com/team/there.git",
            id="Argo: a chart in another repository",
        ),
    ],
)  # fmt: skip
def test_a_chart_of_elsewhere_is_told(folder: Path, text: str, needs: str | None) -> None:
    """The object is skipped, and what would have to be downloaded is named."""
    write(folder.parent, {"out/Chart.yaml": CHART.format(name="out")})
    write(folder, {"app.yaml": text, ".git/config": '[remote "origin"]\n\turl = git@example.com:team/here\n'})
    texts = gather("app.yaml")

    assert ([needs] if needs else []) == [need for entry in texts.skipped for need in entry.needs]
    assert all(entry.location.line == 1 for entry in texts.skipped)


def test_values_that_are_not_in_the_repository(folder: Path) -> None:
    """Values of the cluster are missing, and said to be; files outside of the repository are not opened."""
    from_cluster = "  valuesFrom: [{kind: Secret, name: shop}]\n"
    write(
        folder,
        {"a.yaml": FLUX + from_cluster, "b.yaml": ARGO.replace("HELM", "{valueFiles: [../../x.yaml]}")},
    )

    assert [
        (SourceKind.HELM_RELEASE, SkipReason.VALUES_MISSING, ()),
        (SourceKind.APPLICATION, SkipReason.DOWNLOAD_NEEDED, ("file://../../x.yaml",)),
    ] == told(gather("a.yaml", "b.yaml"))

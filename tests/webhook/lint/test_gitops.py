"""Charts as Flux and Argo CD deploy them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.webhook.lint.charts import ARGO, FLUX, check_elsewhere, check_installed, gather, pods, write


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(FLUX, '{name: prod-shop, labels: {tag: "1"}}', id="values"),
        pytest.param(
            FLUX.replace("targetNamespace: prod", "releaseName: web"),
            '{name: web, labels: {tag: "1"}}',
            id="a release name",
        ),
        pytest.param(
            FLUX.replace('values: {tag: "1"}', "").replace("./shop,", "./shop, valuesFiles: [v.yaml],"),
            '{name: prod-shop, labels: {tag: "file"}}',
            id="files with values",
        ),
    ],
)
def test_a_chart_of_the_repository_by_flux(repository: Path, text: str, expected: str) -> None:
    """It is rendered with the values, names and namespace of the object, and not with its own besides."""
    check_installed(repository, text, expected)


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        pytest.param(
            FLUX.replace("chart: ./shop,", "chart: shop, version: 1.x,").replace("GitR", "HelmR"),
            "shop 1.x from HelmRepository us",
            id="a repository of charts",
        ),
        pytest.param(
            FLUX.replace(
                "chart: {spec: {chart: ./shop, sourceRef: {kind: GitRepository, name: us}}}",
                "chartRef: {kind: OCIRepository, name: us}",
            )
            + "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: us}\n"
            "spec: {url: 'oci://ghcr.io/team/charts/web', ref: {tag: 1.2.3}}\n",
            "web 1.2.3 from oci://ghcr.io/team/charts",
            id="a source whose address is known",
        ),
        pytest.param(FLUX.replace("./shop", "./gone"), "./gone from GitRepository us", id="no folder"),
        pytest.param(FLUX.replace("./shop", "../out"), "../out from GitRepository us", id="outside"),
    ],
)
def test_a_chart_of_elsewhere_by_flux(repository: Path, text: str, needs: str | None) -> None:
    """The object is skipped, and what would have to be downloaded is named."""
    check_elsewhere(repository, text, needs)


def test_lines(repository: Path) -> None:
    """Every document of a stream has its own line; what is broken beside it is told elsewhere."""
    release = FLUX.replace("GitR", "HelmR")
    write(repository, {"a.yaml": f"---\na: 1\n---\n{release}---\nb: [\n---\n{release}"})
    (first, second) = gather("a.yaml").skipped

    assert (4, 4 + 9 + 1) == (first.location.line, second.location.line)


def test_a_chart_in_several_installations(repository: Path) -> None:
    """It is rendered for each, once if they are the same."""
    other = FLUX.replace("targetNamespace: prod", "targetNamespace: test")
    write(repository, {"a.yaml": f"{FLUX}---\n{other}", "b/a.yaml": FLUX})

    pods_expected = ['{name: prod-shop, labels: {tag: "1"}}', '{name: test-shop, labels: {tag: "1"}}']
    assert pods_expected == sorted(pods(gather(".")))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(ARGO.replace("HELM", "{values: 'tag: a'}"), '{name: shop, labels: {tag: "a"}}', id="a"),
        pytest.param(
            ARGO.replace("HELM", "{valuesObject: {tag: o}, releaseName: r}"),
            '{name: r, labels: {tag: "o"}}',
            id="an object and a release name",
        ),
        pytest.param(
            ARGO.replace("HELM", "{valueFiles: [../v.yaml], parameters: [{name: tag, value: 'p,q'}]}"),
            '{name: shop, labels: {tag: "p,q"}}',
            id="a parameter over a file",
        ),
        pytest.param(
            ARGO.replace("HELM", "{valueFiles: [/v.yaml, none.yaml], ignoreMissingValueFiles: true}"),
            '{name: shop, labels: {tag: "file"}}',
            id="files from the root, of which 1 is missing",
        ),
    ],
)
def test_a_chart_of_the_repository_by_argo_cd(repository: Path, text: str, expected: str) -> None:
    """It is rendered with the values, names and namespace of the object, and not with its own besides."""
    check_installed(repository, text, expected)


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        pytest.param(
            ARGO.replace("path: shop, helm: HELM", "chart: web, targetRevision: 1.2.3"),
            "web 1.2.3 from https://example.com/team/here.git",
            id="a chart",
        ),
        pytest.param(
            ARGO.replace("team/here", "team/there").replace("HELM", "{}"), None, id="files of elsewhere"
        ),
        pytest.param(
            ARGO.replace("team/here", "team/there").replace("HELM", "{values: a}"),
            "shop from https://example.com/team/there.git",
            id="a chart in another repository",
        ),
    ],
)
def test_a_chart_of_elsewhere_by_argo_cd(repository: Path, text: str, needs: str | None) -> None:
    """The object is skipped, and what would have to be downloaded is named."""
    check_elsewhere(repository, text, needs)


def test_a_release_without_a_chart(repository: Path) -> None:
    """It is a patch of one that has it: nothing is installed, so no chart is skipped."""
    head = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"
    text = f"{head}metadata: {{name: a}}\nspec: {{interval: 1h}}\n"
    write(repository, {"patch.yaml": text})

    assert [] == gather("patch.yaml").skipped

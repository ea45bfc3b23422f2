"""HelmReleases of Flux."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.webhook.lint.charts import FLUX, check_elsewhere, check_installed, gather, pods, write


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
def test_a_chart_of_the_repository(repository: Path, text: str, expected: str) -> None:
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
def test_a_chart_of_elsewhere(repository: Path, text: str, needs: str | None) -> None:
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

"""Applications of Argo CD."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.webhook.lint.charts import ARGO, check_elsewhere, check_installed


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
def test_a_chart_of_the_repository(repository: Path, text: str, expected: str) -> None:
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
def test_a_chart_of_elsewhere(repository: Path, text: str, needs: str | None) -> None:
    """The object is skipped, and what would have to be downloaded is named."""
    check_elsewhere(repository, text, needs)

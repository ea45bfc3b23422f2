"""Charts as they are used, rendered by the real helm."""

from __future__ import annotations

from pathlib import Path

import pytest

from policies.manifests.skipped import SkipReason, SourceKind
from policies.model.version import KubernetesVersion
from tests.webhook.lint.charts import ARGO, CHART, FLUX, gather, one, pods, told, write
from webhook.lint.tool_limits import Release


@pytest.mark.parametrize(
    ("path", "named"),
    [
        pytest.param("shop", True, id="the chart"),
        pytest.param("./shop/", True, id="the chart, written differently"),
        pytest.param("shop/Chart.yaml", True, id="the chart's file"),
        pytest.param(".", False, id="a folder with charts"),
    ],
)
def test_a_chart_that_needs_a_value(repository: Path, path: str, *, named: bool) -> None:
    """It is skipped with helm's error, and known to be named if it is."""
    skipped = one(gather(path))

    assert (SkipReason.TOOL_FAILED, named) == (skipped.reason, skipped.named)
    assert skipped.location.file.endswith("shop/Chart.yaml")
    assert skipped.message.endswith("a tag")


def test_values_of_the_command_line(repository: Path) -> None:
    """They are for charts that are named, and for no other."""
    write(repository, {"v.yaml": "tag: file\n", "a,b.yaml": "tag: comma\n"})
    release = Release(values=("v.yaml", "a,b.yaml"))

    assert ['{name: release, labels: {tag: "comma"}}'] == pods(gather("shop", given=release))
    assert 1 == len(gather(".", given=release).skipped)
    assert ['{name: release, labels: {tag: "x"}}'] == pods(
        gather("shop", given=Release(values=("v.yaml",), settings=("--set=tag=x",)))
    )


def test_releases(repository: Path) -> None:
    """A chart is rendered once for each; one that cannot be is skipped by its name, and named."""
    releases = (
        Release(name="prod", namespace="a", settings=('--set-json=tag="1"',)),
        Release(name="test", values=("nowhere.yaml",)),
    )
    texts = gather(".", releases={repository / "shop": releases})

    assert ['{name: prod, labels: {tag: "1"}}'] == pods(texts)
    assert ["a"] == [text.namespace for text in texts.texts if text.rendered]
    assert one(texts).named
    assert one(texts).message.startswith("release test: helm template fails: open ")


def test_values_are_never_downloaded(repository: Path) -> None:
    """An address among the values is told as what would have to be downloaded."""
    skipped = one(gather("shop", given=Release(values=("https://example.com/values.yaml",))))

    assert (SkipReason.VALUES_MISSING, ("https://example.com/values.yaml",)) == (
        skipped.reason,
        skipped.needs,
    )


@pytest.mark.parametrize(("version", "skipped"), [("1.32", 1), ("1.33", 0), ("1.36", 0)])
def test_the_release_of_kubernetes(repository: Path, version: str, skipped: int) -> None:
    """Charts are told the release that rules judge by."""
    write(repository, {"shop/Chart.yaml": CHART.format(name="shop") + 'kubeVersion: ">=1.33.0"\n'})
    release = Release(settings=("--set=tag=1",))

    assert skipped == len(gather("shop", version=KubernetesVersion.parse(version), given=release).skipped)


def test_values_that_are_not_in_the_repository(repository: Path) -> None:
    """Values of the cluster are missing, and said to be; files outside of the repository are not opened."""
    from_cluster = "  valuesFrom: [{kind: Secret, name: shop}]\n"
    write(
        repository,
        {"a.yaml": FLUX + from_cluster, "b.yaml": ARGO.replace("HELM", "{valueFiles: [../../x.yaml]}")},
    )

    assert [
        (SourceKind.HELM_RELEASE, SkipReason.VALUES_MISSING, ()),
        (SourceKind.APPLICATION, SkipReason.VALUES_MISSING, ("file://../../x.yaml",)),
    ] == told(gather("a.yaml", "b.yaml"))


def test_charts_that_install_charts(repository: Path) -> None:
    """An Application that a chart renders to counts like one in a file, at the chart's template."""
    templates = {
        "shop.yaml": ARGO.replace("HELM", "{values: 'tag: \"1\"'}"),
        "web.yaml": ARGO.replace("path: shop, helm: HELM", "chart: web, targetRevision: 1.2.3"),
    }
    write(repository, {f"apps/templates/{name}": text for name, text in templates.items()})
    write(repository, {"apps/Chart.yaml": CHART.format(name="apps")})
    texts = gather(".")

    assert '{name: shop, labels: {tag: "1"}}' in pods(texts)
    assert ("apps/templates/web.yaml", SkipReason.DOWNLOAD_NEEDED) == (
        one(texts).location.file,
        one(texts).reason,
    )


def test_charts_that_install_themselves(repository: Path) -> None:
    """However they go on, there is an end."""
    app = ARGO.replace("{name: shop}", "{name: {{ .Release.Name }}x}").replace(", helm: HELM", "")
    write(repository, {"shop/templates/a.yaml": app})

    assert 1 <= len([text for text in gather(".").texts if text.rendered])


#: Objects with a hole for anything.
HOSTILE = [
    FLUX.replace("./shop", "X"),
    FLUX.replace("{kind: GitRepository, name: us}", "X"),
    FLUX.replace("GitRepository", "X"),
    FLUX.replace('{tag: "1"}', "{tag: X}"),
    FLUX.replace("targetNamespace: prod", "releaseName: X"),
    FLUX.replace("targetNamespace: prod", "valuesFrom: X"),
    FLUX.replace("./shop,", "./shop, valuesFiles: [X],"),
    FLUX.replace("{name: shop, namespace: apps}", "X"),
    ARGO.replace("path: shop", "path: X").replace("HELM", "{}"),
    ARGO.replace("{repoURL", "X # {repoURL"),
    ARGO.replace("'https://example.com/team/here.git'", "X").replace("HELM", "{values: a}"),
    ARGO.replace("HELM", "X"),
    ARGO.replace("HELM", "{values: X, valueFiles: [X], parameters: [{name: X, value: X}]}"),
    ARGO.replace("HELM", "{valuesObject: X, releaseName: X, fileParameters: [X]}"),
]


@pytest.mark.parametrize(
    "value",
    [
        "1", "[]", "[1]", "{a: 1}", "null", '"\\0"', '"\\ud800"', "../../..", "/etc", f'"{"a" * 5000}"',
        "loop", "99999999999999999999", "-f/etc/passwd", "'a,b'", '"a\\nb"', "https://example.com/x",
    ],
    ids=lambda value: value[:20],
)  # fmt: skip
def test_hostile_objects(repository: Path, value: str) -> None:
    """For any value in an object, it is rendered or reported, and so are the others."""
    (repository / "loop").symlink_to("loop")
    documents = [*(template.replace("X", value) for template in HOSTILE), FLUX]
    write(repository, {"a.yaml": "---\n".join(documents)})

    assert '{name: prod-shop, labels: {tag: "1"}}' in pods(gather("a.yaml"))

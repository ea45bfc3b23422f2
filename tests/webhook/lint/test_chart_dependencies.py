"""Dependencies of charts, with the real helm."""

from __future__ import annotations

from pathlib import Path

import pytest

from policies.manifests.skipped import FailOnSkipped, SkipReason
from tests.webhook.lint.charts import CHART, POD, gather, one, pods, write
from webhook.lint.tool_limits import Release


def test_vendored_dependencies(repository: Path) -> None:
    """A dependency in charts/ is found, as a folder of any name or as an archive."""
    text = "dependencies: [{name: a, version: 1.x, repository: 'oci://x/y'}, {name: b, version: 2}]\n"
    write(repository, {"shop/Chart.yaml": CHART.format(name="shop") + text})
    release = Release(settings=("--set=tag=1",))
    assert ("a 1.x from oci://x/y", "b 2") == one(gather("shop", given=release)).needs

    write(repository, {"shop/charts/other/Chart.yaml": CHART.format(name="a"), "shop/charts/b-2.0.0.tgz": ""})
    (skipped,) = gather("shop", given=release).skipped
    assert SkipReason.UNSUPPORTED == skipped.reason  # The archive is none.


def test_dependencies_of_the_repository(repository: Path) -> None:
    """They are linked into a copy, theirs too; findings name their own files, and nothing is written."""
    write(
        repository,
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
    before = sorted(repository.rglob("*"))
    texts = gather("shop", given=Release(settings=("--set=tag=1", "--set=lib.tag=2")))

    assert [] == texts.skipped
    assert ["lib/templates/l.yaml", "shop/templates/a.yaml"] == [
        each.file for each in texts.texts if each.rendered
    ]
    assert before == sorted(repository.rglob("*"))


def test_a_dependency_twice(repository: Path) -> None:
    """A chart may be there once and be used by two names; a folder of its name in charts/ may be empty."""
    entry = "name: lib, version: 1.x.x, repository: 'file://../lib'"
    text = f"dependencies: [{{{entry}}}, {{{entry}, alias: other}}]\n"
    write(
        repository,
        {
            "shop/Chart.yaml": CHART.format(name="shop") + text,
            "shop/charts/lib/.keep": "",
            "lib/Chart.yaml": CHART.format(name="lib"),
            "lib/templates/l.yaml": POD,
        },
    )
    release = Release(settings=("--set=tag=1", "--set=lib.tag=2", "--set=other.tag=3"))
    texts = gather("shop", given=release)

    assert ([], 3) == (texts.skipped, len([each for each in texts.texts if each.rendered]))


def test_dependencies_that_multiply(repository: Path) -> None:
    """Charts that each use the next one twice are given up, not copied a million times."""
    write(repository, {f"{name}20/Chart.yaml": CHART.format(name=f"{name}20") for name in "ab"})
    for number in range(20):
        entries = ", ".join(
            f"{{name: '{name}{number + 1}', version: 1.x.x, repository: 'file://../{name}{number + 1}'}}"
            for name in "ab"
        )
        for name in "ab":
            text = CHART.format(name=f"{name}{number}") + f"dependencies: [{entries}]\n"
            write(repository, {f"{name}{number}/Chart.yaml": text})

    assert "more than 100 dependencies" in one(gather("a0")).message


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        pytest.param("file://../../elsewhere", "outside of the repository", id="outside"),
        pytest.param("file://../nowhere", "no Chart.yaml", id="not there"),
        pytest.param("file://.", "depends on itself", id="itself"),
    ],
)
def test_dependencies_that_cannot_be_had(repository: Path, address: str, expected: str) -> None:
    """A file:// dependency leads to a chart of the repository, or the chart is skipped."""
    write(repository.parent, {"elsewhere/Chart.yaml": CHART.format(name="lib")})
    text = f"dependencies: [{{name: lib, version: 1.x.x, repository: '{address}'}}]\n"
    write(repository, {"shop/Chart.yaml": CHART.format(name="shop") + text})

    assert expected in one(gather("shop")).message


def _shop(repository: Path, dependency: str, *, values: str = "tag: 1\n") -> None:
    """Give the chart a dependency that is nowhere said to be in the repository, and values of its own."""
    text = CHART.format(name="shop") + f'dependencies: [{{{dependency}}}]\nappVersion: "1.10"\n'
    write(repository, {"shop/Chart.yaml": text, "shop/values.yaml": values})


LIB = "name: lib, repository: 'oci://x/y', version: "


@pytest.mark.parametrize(
    ("versions", "is_found"),
    [
        pytest.param("'1.0.0'", True, id="the version"),
        pytest.param("1.x.x", True, id="a wildcard"),
        pytest.param("^1.0.0-0", True, id="a caret"),
        pytest.param("'>= 0.5, < 2'", True, id="2 bounds"),
        pytest.param("~0.9 || ~1.0", True, id="2 ranges"),
        pytest.param("'*'", True, id="any"),
        pytest.param("''", True, id="none"),
        pytest.param("2.x.x", False, id="another"),
        pytest.param("'>1'", False, id="above"),
        pytest.param("no version", False, id="no range"),
    ],
)
def test_dependencies_that_the_repository_has(repository: Path, versions: str, *, is_found: bool) -> None:
    """For any address, a chart of the name and with a version that fits is used."""
    _shop(repository, LIB + versions)
    write(
        repository,
        {
            "a/lib/Chart.yaml": CHART.format(name="lib"),
            "a/lib/templates/l.yaml": POD.replace("Values.tag", "Chart.Version"),
        },
    )
    texts = gather("shop")

    if is_found:
        assert [] == texts.skipped
        assert "a/lib/templates/l.yaml" in [each.file for each in texts.texts if each.rendered]
    else:
        assert SkipReason.DOWNLOAD_NEEDED == one(texts).reason


@pytest.mark.parametrize(
    ("switch", "values", "is_needed"),
    [
        pytest.param("condition: lib.enabled", "tag: 1\nlib: {enabled: false}\n", False, id="off"),
        pytest.param("condition: lib.enabled", "tag: 1\nlib: {enabled: true}\n", True, id="on"),
        pytest.param("condition: lib.enabled", "tag: 1\n", True, id="not said"),
        pytest.param("condition: 'lib.use,other.use'", "tag: 1\nother: {use: false}\n", False, id="2 paths"),
        pytest.param("tags: [extra]", "tag: 1\ntags: {extra: false}\n", False, id="a tag"),
        pytest.param(
            "alias: other, condition: other.use", "tag: 1\nother: {use: false}\n", False, id="an alias"
        ),
        pytest.param("condition: ''", "tag: 1\n", True, id="no condition"),
    ],
)
def test_dependencies_that_are_off(repository: Path, switch: str, values: str, *, is_needed: bool) -> None:
    """A missing dependency is reported only if helm would use it, by the chart's own values."""
    _shop(repository, f"{LIB} 1.x.x, {switch}", values=values)
    texts = gather("shop")

    if is_needed:
        assert (("lib 1.x.x from oci://x/y",), SkipReason.DOWNLOAD_NEEDED) == (
            one(texts).needs,
            one(texts).reason,
        )
    else:
        assert [] == texts.skipped
        assert ["shop/templates/a.yaml"] == [each.file for each in texts.texts if each.rendered]


def test_dependencies_that_values_switch(repository: Path) -> None:
    """The values of a release count."""
    _shop(repository, f"{LIB} 1.x.x, condition: lib.enabled", values="tag: 1\nlib: {enabled: true}\n")

    assert 1 == len(gather("shop").skipped)
    assert [] == gather("shop", given=Release(settings=("--set=lib.enabled=false",))).skipped


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        pytest.param('{{ include "lib.name" . }}', SkipReason.DOWNLOAD_NEEDED, id="a template"),
        pytest.param("{{ .Values.lib.service.port }}", SkipReason.DOWNLOAD_NEEDED, id="a value"),
        pytest.param('{{ fail "no tag" }}', SkipReason.TOOL_FAILED, id="an error of the chart"),
    ],
)
def test_what_is_not_there_is_used(repository: Path, template: str, reason: SkipReason) -> None:
    """Charts may use templates and values of a dependency that is off: that is why they fail."""
    _shop(repository, f"{LIB} 1.x.x, condition: lib.enabled", values="lib: {enabled: false}\n")
    write(repository, {"shop/templates/a.yaml": template})

    assert reason == one(gather("shop")).reason


def test_the_nearest_chart(repository: Path) -> None:
    """Of several charts that fit, the one beside the chart is meant, and never the chart itself."""
    _shop(repository, LIB + "1.x.x")
    write(
        repository,
        {f"{name}/Chart.yaml": CHART.format(name="lib") for name in ("a/deep/lib", "shop/sub/lib")},
    )
    write(repository, {f"{name}/templates/l.yaml": "a: 1" for name in ("a/deep/lib", "shop/sub/lib")})

    assert {"shop/sub/lib/templates/l.yaml", "shop/templates/a.yaml"} == {
        each.file for each in gather("shop").texts if each.rendered
    }


@pytest.mark.parametrize(
    ("files", "used"),
    [
        pytest.param({"ci/a-values.yaml": "x", "ci/b-values.yaml": "tag"}, "ci/b-values.yaml", id="tests"),
        pytest.param({"examples/values.yaml": "tag"}, "examples/values.yaml", id="an example"),
        pytest.param({"examples/ha/values-ha.yaml": "tag"}, "examples/ha/values-ha.yaml", id="examples"),
        pytest.param(
            {"examples/values.yaml": "tag", "ci/z-values.yaml": "tag"}, "ci/z-values.yaml", id="tests first"
        ),
    ],
)
def test_values_of_a_charts_tests(repository: Path, files: dict[str, str], used: str) -> None:
    """A chart that needs values is rendered with the first of its own that do, and it is told which."""
    write(repository, {f"shop/{file}": f"{key}: b" for file, key in files.items()})
    for texts in (gather("shop"), gather(".")):
        told = one(texts)

        assert ['{name: release, labels: {tag: "b"}}'] == pods(texts)
        assert (SkipReason.TEST_VALUES, f"only rendered with shop/{used}") == (
            told.reason,
            told.message.partition(",")[0],
        )
        assert not told.fails(FailOnSkipped.ANY)
    assert 1 == len(gather("shop", given=Release(name="a")).skipped)

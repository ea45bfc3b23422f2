"""What charts are made of, with the real helm."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from policies.manifests.skipped import SkipReason
from tests.webhook.lint.charts import CHART, POD, gather, one, write
from webhook.lint.charts import Release


def test_vendored_dependencies(repository: Path) -> None:
    """What lies in charts/ is there, as a folder of any name or as an archive."""
    text = "dependencies: [{name: a, version: 1.x, repository: 'oci://x/y'}, {name: b, version: 2}]\n"
    write(repository, {"shop/Chart.yaml": CHART.format(name="shop") + text})
    release = Release(settings=("--set=tag=1",))
    assert ("a 1.x from oci://x/y", "b 2") == one(gather("shop", given=release)).needs

    write(repository, {"shop/charts/other/Chart.yaml": CHART.format(name="a"), "shop/charts/b-2.0.0.tgz": ""})
    (skipped,) = gather("shop", given=release).skipped
    assert SkipReason.UNSUPPORTED == skipped.reason  # The archive is none.


def test_an_archive_as_helm_writes_it(repository: Path) -> None:
    """Helm writes an extra field into its head."""
    lib = {"lib/Chart.yaml": CHART.format(name="lib"), "lib/templates/a.yaml": POD}
    write(repository, {**lib, "lib/values.schema.json": "{}"})
    text = "dependencies: [{name: lib, version: 1.x.x, repository: 'oci://x/y'}]\n"
    write(repository, {"shop/Chart.yaml": CHART.format(name="shop") + text})
    helm = shutil.which("helm")
    assert helm
    subprocess.run([helm, "package", "lib", "-d", "shop/charts"], check=True, stdout=subprocess.DEVNULL)
    assert (repository / "shop/charts/lib-1.0.0.tgz").read_bytes()[3] & 4  # FEXTRA of RFC 1952
    texts = gather("shop", given=Release(settings=("--set=tag=1", "--set=lib.tag=2")))

    assert [] == texts.skipped
    assert {"shop/charts/lib/templates/a.yaml", "shop/templates/a.yaml"} == {
        each.file for each in texts.texts if each.rendered
    }


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

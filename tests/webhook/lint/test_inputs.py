"""From paths to texts, with the tools that the machine has."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from policies.config.lint_config import Rendering
from policies.manifests.skipped import SkipReason
from webhook.lint.inputs import Texts, Tools, gather_texts
from webhook.lint.tool_limits import Charts

FILES = {
    "base/kustomization.yaml": "resources: [web.yaml]\n",
    "base/web.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n",
    "over/kustomization.yaml": "resources: [../base]\npatches: [{path: patch.yaml}]\n",
    "over/patch.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {a: b}}\n",
    "chart/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
    "chart/templates/web.yaml": "{{ .Values.a }}\n",
    "library/Chart.yaml": "apiVersion: v2\nname: lib\ntype: library\nversion: 1.0.0\n",
}
#: A helm that does what these tests need.
HELM = """#!/bin/sh
test "$1 $2 $3 $4" = "template --kube-version=1.36.0 -- release" || exit 9
for name in web b; do printf -- '---\\n# Source: shop/templates/%s.yaml\\nkind: A\\n' $name; done
"""
KUSTOMIZE = """\
#!/bin/sh
test "$1 $2 $3" = "build --load-restrictor=LoadRestrictionsNone --" || exit 9
echo "kind: Built"; echo "# $4"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a repository, on a machine without any tool."""
    work = tmp_path / "work"
    for name, text in FILES.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    (tmp_path / "bin").mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return work


def install(folder: Path, name: str, script: str) -> None:
    program = folder.parent / "bin" / name
    program.write_text(script.replace("#!/bin/sh", f"#!{shutil.which('sh', path='/bin:/usr/bin')}"))
    program.chmod(0o755)


def files(texts: Texts) -> list[str]:
    return [text.file for text in texts.texts]


def test_without_tools(folder: Path) -> None:
    """Manifests are read as they stand, patches and templates are not, and each is told."""
    texts = gather_texts(["."], tools=Tools())

    assert ["base/web.yaml", "chart/Chart.yaml", "library/Chart.yaml"] == files(texts)
    assert [SkipReason.TOOL_MISSING] * 2 == [entry.reason for entry in texts.skipped]


def test_tools_switched_off(folder: Path) -> None:
    """A tool that is there is not run against the user's will."""
    install(folder, "helm", HELM)
    install(folder, "kustomize", KUSTOMIZE)
    texts = gather_texts(["."], tools=Tools(charts=Charts(helm=Rendering.OFF), kustomize=Rendering.OFF))

    assert ["base/web.yaml", "chart/Chart.yaml", "library/Chart.yaml"] == files(texts)


def test_a_chart_is_rendered(folder: Path) -> None:
    """A text for each template, under the template's own name."""
    install(folder, "helm", HELM)
    texts = gather_texts(["chart"], tools=Tools())

    assert ["chart/Chart.yaml", "chart/templates/b.yaml", "chart/templates/web.yaml"] == files(texts)
    assert [False, True, True] == [text.rendered for text in texts.texts]
    assert [] == texts.skipped


def test_a_kustomization_is_built(folder: Path) -> None:
    """The outermost one is built; what it is made from is not read again."""
    install(folder, "kustomize", KUSTOMIZE)
    texts = gather_texts(["base", "over"], tools=Tools())

    assert ["over/kustomization.yaml"] == files(texts)
    assert b"kind: Built\n# over\n" == texts.texts[0].content


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param("#!/bin/sh\necho first >&2; echo second >&2; exit 1\n", "first", id="it fails"),
        pytest.param("#!/bin/sh\nexit 1\n", "does not say why", id="it fails without a word"),
        pytest.param("#!/nowhere\n", "cannot be run", id="it cannot be run"),
    ],
)
def test_a_tool_that_fails(folder: Path, script: str, expected: str) -> None:
    """The note says why, and the manifests are read as they stand."""
    install(folder, "kustomize", script)
    install(folder, "helm", script)
    texts = gather_texts(["."], tools=Tools())

    assert ["base/web.yaml", "chart/Chart.yaml", "library/Chart.yaml"] == files(texts)
    assert [True, True] == [expected in entry.message for entry in texts.skipped]


def test_a_templated_chart_is_skipped_once(folder: Path) -> None:
    """Its Chart.yaml is no file of its own besides."""
    install(folder, "helm", "#!/bin/sh\nexit 1\n")
    (folder / "chart" / "Chart.yaml").write_text("apiVersion: v2\nname: {{ .Values.name }}\nversion: 1.0.0\n")
    texts = gather_texts(["chart"], tools=Tools())

    assert [] == files(texts)
    assert ["chart/Chart.yaml"] == [entry.location.file for entry in texts.skipped]


@pytest.mark.parametrize(
    "text",
    [
        "resources: [https://example.com/a.yaml]",
        "resources: [git@example.com:team/repo]",
        "resources: [github.com/team/repo]",
        "resources: [example.com/team/repo]",
        "resources: [team.git//deploy]",
        "patches: [{path: 'https://example.com/a.yaml'}]",
        "configMapGenerator: [{name: a, files: ['a=https://example.com/a.yaml']}]",
        "openapi: {path: 'https://example.com/a.json'}",
        "helmCharts: [{name: a, repo: 'https://example.com'}]",
        "generators: [chart.txt]",
    ],
)
@pytest.mark.parametrize("paths", [["over", "base"], ["over"]], ids=["both given", "the base is elsewhere"])
def test_nothing_is_downloaded(folder: Path, paths: list[str], text: str) -> None:
    """A kustomization that is made from something remote is not built, wherever that is listed."""
    install(folder, "kustomize", KUSTOMIZE)
    (folder / "base" / "kustomization.yaml").write_text(f"{text}\n")
    generator = (
        "apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: b}\nname: a\nrepo: x\n"
    )
    (folder / "base" / "chart.txt").write_text(generator)
    texts = gather_texts(paths, tools=Tools())

    assert (["base/web.yaml"] if "base" in paths else []) == files(texts)
    assert SkipReason.DOWNLOAD_NEEDED == texts.skipped[0].reason
    assert texts.skipped[0].needs


@pytest.mark.parametrize("field", ["generators: [chart.txt]", "helmCharts: [{name: a, version: 1.2.0}]"])
def test_a_chart_that_is_there(folder: Path, field: str) -> None:
    """Nothing is downloaded for it, and it is not rendered all the same: only --enable-helm allows that."""
    install(folder, "kustomize", KUSTOMIZE)
    generator = "kind: HelmChartInflationGenerator\nmetadata: {name: b}\nname: a\nversion: 1.2.0\n"
    (folder / "base" / "chart.txt").write_text(f"apiVersion: builtin\n{generator}")
    (folder / "base" / "kustomization.yaml").write_text(f"{field}\n")
    (skipped,) = gather_texts(["base"], tools=Tools()).skipped

    assert SkipReason.UNSUPPORTED == skipped.reason
    assert "a 1.2.0: kustomize renders charts of chartHome with --enable-helm alone" in skipped.message
    assert "download" not in str(skipped)


def test_names_that_look_remote(folder: Path) -> None:
    """Existing files need not be downloaded, and neither need addresses that a manifest only mentions."""
    install(folder, "kustomize", KUSTOMIZE)
    (folder / "base" / "v1.2").mkdir()
    (folder / "base" / "v1.2" / "web.yaml").write_text("kind: Pod\n")
    text = (
        "resources: [v1.2/web.yaml]\nconfigMapGenerator: [{name: a, literals: ['URL=https://example.com']}]\n"
    )
    (folder / "base" / "kustomization.yaml").write_text(text)

    assert ["base/kustomization.yaml"] == files(gather_texts(["base"], tools=Tools()))[:1]


def test_a_note_without_the_log_of_the_program(folder: Path) -> None:
    """The log prefix of kubectl's errors is left out: it is never twice the same."""
    install(
        folder,
        "kubectl",
        """#!/bin/sh
echo 'E1120 18:28:51.183882   28775 run.go:72] "command failed" err="no such file"' >&2; exit 1
""",
    )
    (skipped,) = gather_texts(["base"], tools=Tools()).skipped

    assert skipped.message.endswith("kubectl kustomize fails: no such file")


def test_a_file_that_is_not_there(folder: Path) -> None:
    """It is a problem; the others are read."""
    texts = gather_texts(["nowhere.yaml", "base"], tools=Tools())

    assert ["base/web.yaml"] == files(texts)
    assert ["nowhere.yaml: No such file or directory"] == list(map(str, texts.problems))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="no byte"),
        pytest.param("# later\n---\n", id="a comment"),
        pytest.param("kind: Kustomization\napiVersion: kustomize.config.k8s.io/v1beta1\n", id="its type"),
        pytest.param("kind: Kustomization\nresources:\n# - web.yaml\n", id="no value"),
    ],
)
def test_an_empty_kustomization(folder: Path, text: str) -> None:
    """It is not built, and said to be empty; a list without entries makes it none."""
    install(folder, "kustomize", KUSTOMIZE)
    (folder / "base/kustomization.yaml").write_text(text)
    (skipped,) = gather_texts(["base"], tools=Tools()).skipped

    assert (SkipReason.EMPTY, "base/kustomization.yaml") == (skipped.reason, skipped.location.file)
    assert skipped.message.endswith("base/kustomization.yaml: is empty")
    (folder / "base/kustomization.yaml").write_text("resources: []\n")
    assert [] == gather_texts(["base"], tools=Tools()).skipped

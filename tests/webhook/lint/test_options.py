"""The options of a run, of the command line and of evenkeel.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest

from policies.config.lint_config import FailOn, LintConfig, Rendering
from policies.manifests.errors import DocumentError, EvenkeelError, UsageError
from webhook.lint.options import (
    check_all_rules,
    check_rules,
    find_config,
    lint_options,
    release_of,
    with_given,
)
from webhook.lint.tool_limits import Release

HEAD = "apiVersion: evenkeel.dev/v1alpha1\nkind: LintConfig\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a configuration and two folders more."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "c").mkdir()
    text = "paths: [a]\npolicies: [policy.yaml, 'builtin:audit']\nbaseline: base.json\nexclude: [x]\n"
    (tmp_path / "evenkeel.yaml").write_text(HEAD + text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_found_above(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The nearest document above what is read counts, with paths from its own folder."""
    monkeypatch.chdir(folder / "a")
    options = lint_options(("b",), None)

    assert ("b",) == options.paths
    assert ("../policy.yaml", "builtin:audit") == options.config.policies
    assert "../base.json" == options.config.baseline
    assert (folder, ("x",)) == options.exclude
    assert (".",) == lint_options((), None).paths


@pytest.mark.parametrize(
    ("paths", "file", "expected"),
    [
        pytest.param((), None, ("a",), id="the document's paths"),
        pytest.param((), "", (".",), id="no document: the working folder"),
        pytest.param(("-",), None, ("-",), id="stdin"),
        pytest.param(("c", "a/b"), None, ("c", "a/b"), id="2 paths with 1 document"),
    ],
)
def test_paths(folder: Path, paths: tuple[str, ...], file: str | None, expected: tuple[str, ...]) -> None:
    """The command line's paths come first."""
    assert expected == lint_options(paths, file).paths


def test_two_documents(folder: Path) -> None:
    """Paths below different documents need a choice."""
    (folder / "c" / "evenkeel.yaml").write_text(HEAD)

    assert "c/evenkeel.yaml" == find_config(("c",))
    with pytest.raises(UsageError, match="--config"):
        find_config(("a", "c"))


@pytest.mark.parametrize(
    ("content", "found"),
    [
        pytest.param("apiVersion: apps/v1\nkind: Deployment\n", "evenkeel.yaml", id="a manifest"),
        pytest.param("kind: Foo\n", "c/evenkeel.yaml", id="no apiVersion"),
        pytest.param("failOn: never\n", "c/evenkeel.yaml", id="neither"),
        pytest.param("apiVersion: a/v1\nkind: lintconfg\n", "c/evenkeel.yaml", id="a slip of the pen"),
        pytest.param(
            "apiVersion: evenkeel.dev/v1\nkind: Foo\n", "c/evenkeel.yaml", id="no kind of the group"
        ),
        pytest.param(
            '{"apiVersion": "evenkeel.dev/v1", "kind": "Foo"}', "c/evenkeel.yaml", id="the same in JSON"
        ),
        pytest.param("apiVersion: evenkeel.dev/v1\nkind: SpreadPolicy\n", "evenkeel.yaml", id="a policy"),
    ],
)
def test_another_file_of_that_name(folder: Path, content: str, found: str) -> None:
    """A manifest that happens to have the name is none; what is neither is not passed over."""
    (folder / "c" / "evenkeel.yaml").write_text(content)

    assert found == find_config(("c",))


def test_a_broken_document(folder: Path) -> None:
    """It is refused with its lines."""
    (folder / "evenkeel.yaml").write_text(HEAD + "selekt: []\nfailOn: x\n")
    with pytest.raises(DocumentError) as caught:
        lint_options((), None)

    assert 2 == len(caught.value.problems)


def test_given_options_come_first() -> None:
    """Options of the command line replace those of the document, one by one."""
    config = LintConfig(select=("a",), ignore=("b",), cluster="x", fail_on=FailOn.NOTE)
    merged = with_given(config, select=("c",), fail_on="never", cluster=None, baseline="d")

    assert LintConfig(select=("c",), ignore=("b",), cluster="x", baseline="d", fail_on=FailOn.NEVER) == merged


def test_given_rendering() -> None:
    """The command line's values for helm and kustomize are those that the document's text becomes."""
    merged = with_given(LintConfig(helm=Rendering.OFF), helm="auto", kustomize="off")

    assert merged.helm is Rendering.AUTO
    assert merged.kustomize is Rendering.OFF


@pytest.mark.parametrize(
    ("rule", "hint"),
    [
        pytest.param("selector-mises-own-pod", "selector-misses-own-pod", id="a slip"),
        pytest.param("max-skew", "max-skew-not-positive", id="a part of the id"),
        pytest.param("zzz", "evenkeel lint --explain lists", id="nothing close"),
    ],
)
def test_unknown_rules(rule: str, hint: str) -> None:
    """A rule that does not exist is told with those that are close."""
    with pytest.raises(UsageError, match=hint):
        check_rules("--select", [rule])


def test_all_unknown_rules_at_once() -> None:
    """Every id is told, of both options."""
    with pytest.raises(UsageError) as caught:
        check_all_rules(LintConfig(select=("x", "y"), ignore=("z", "selector-empty")))

    assert 3 == len(str(caught.value).splitlines())


def test_no_rule_left() -> None:
    """Nobody means to ask nothing and read that all is well."""
    with pytest.raises(UsageError, match="none would run"):
        check_all_rules(LintConfig(select=("selector-empty",), ignore=("selector-empty", "wrong-type")))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("failOn: warning\n", id="neither apiVersion nor kind"),
        pytest.param("kind: LintConfig\n", id="no apiVersion"),
        pytest.param("apiVersion: evenkeel.dev/v1alpha1\n", id="no kind"),
        pytest.param('{"failOn": "warning"}', id="JSON"),
        pytest.param("", id="nothing"),
        pytest.param(f"{HEAD}ignore: [selector-emty]\n", id="a rule that does not exist"),
    ],
)
def test_mistakes_of_a_document_are_its_own(folder: Path, text: str) -> None:
    """A file of this name is read or refused, not passed over; the message names file and line, no option."""
    (folder / "evenkeel.yaml").write_text(text)
    with pytest.raises(DocumentError) as caught:
        lint_options((), None)

    assert [] == [line for line in caught.value.problems if not line.startswith("evenkeel.yaml")]
    assert [] == [line for line in caught.value.problems if "--ignore" in line or "--select" in line]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("apiVersion: apps/v1\nkind: Deployment\n", id="YAML"),
        pytest.param('{"apiVersion": "apps/v1",\n  "kind": "Deployment"}', id="JSON"),
        pytest.param("{{- if .Values.web }}\nkind: Deployment\n{{- end }}\n", id="a template"),
        pytest.param("apiVersion: evenkeel.dev/v1alpha1\nkind: SpreadPolicy\n", id="a policy"),
    ],
)
def test_manifests_of_that_name(folder: Path, text: str) -> None:
    """A file that is of another kind, by its own fields, is no configuration."""
    (folder / "c" / "evenkeel.yaml").write_text(text)

    assert "evenkeel.yaml" == find_config(("c",))


def test_rules_of_admission() -> None:
    """A rule that only admission runs finds nothing in files, which must not look like all is well."""
    with pytest.raises(UsageError, match="admission"):
        check_all_rules(LintConfig(select=("unschedulable",)))


CHARTS = """\
charts:
- path: shop
  releases: [{name: prod, values: [prod.yaml, 'https://a.b/c'], set: {a.b: '1'}}]
"""


def test_charts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths count from the document's folder; an address stays what it is, and a text stays a text."""
    (folder / "shop").mkdir()
    (folder / "shop" / "Chart.yaml").write_text("")
    (folder / "evenkeel.yaml").write_text(HEAD + CHARTS)
    monkeypatch.chdir(folder / "a")
    charts = lint_options((), None).tools.charts

    assert {
        folder / "shop": (
            Release(name="prod", values=("../prod.yaml", "https://a.b/c"), settings=('--set-json=a.b="1"',)),
        )
    } == charts.releases


def test_charts_that_are_none(folder: Path) -> None:
    """A path in the document that leads to no chart is a mistake in it."""
    (folder / "evenkeel.yaml").write_text(HEAD + CHARTS)

    with pytest.raises(DocumentError, match=r"evenkeel.yaml: charts\[0\].path: no Chart.yaml in shop"):
        lint_options((), None)


@pytest.mark.parametrize(
    ("paths", "values", "settings"),
    [
        pytest.param(("a",), (), ("x=1",), id="no chart"),
        pytest.param(("c",), (), ("x",), id="no value"),
        pytest.param(("c",), ("nowhere.yaml",), (), id="no such file"),
    ],
)
def test_releases_that_cannot_be(
    folder: Path, paths: tuple[str, ...], values: tuple[str, ...], settings: tuple[str, ...]
) -> None:
    """Releases of the command line are checked before anything is rendered."""
    (folder / "c" / "Chart.yaml").write_text("")

    with pytest.raises(EvenkeelError):
        release_of(paths, values, settings)
    assert release_of(paths, (), ()) is None

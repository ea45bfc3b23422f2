"""The generator of the documentation: pages of rules and values, and examples that are run."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from docs.generator import __main__ as generator
from docs.generator import corpus, installation, rules, terminal, verdicts
from docs.generator.markdown import NOTE, page, table
from docs.generator.schemas import fields
from planning.simulation.outcome import Cause
from planning.text import outcome as outcome_text
from policies.rules.base import all_rules


@dataclass(frozen=True)
class Settings:
    """The settings of a rule that does not exist."""

    most: int = 3  #: How many there may be at once.
    keys: tuple[str, ...] = ("app", "tier")  #: Which labels count.
    strict: bool = True  #: Whether to be strict.


def test_every_rule_has_a_row_and_a_page() -> None:
    """The table links to a page for each rule, in the order of the ids."""
    pages = rules.pages()
    linked = re.findall(r"^\| \[`[-a-z]+`\]\(([-a-z]+)\.md\) \|", pages["index.md"], re.MULTILINE)

    assert list(all_rules()) == linked
    assert {*pages} == {"index.md", *(f"{name}.md" for name in linked)}
    assert pages["selector-missing.md"].startswith("# selector-missing\n")


def test_settings_of_a_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each setting has its description on one line and its default as YAML has it."""
    rule = replace(all_rules()["selector-missing"], params=Settings)
    monkeypatch.setattr(rules, "all_rules", lambda: {rule.id: rule})

    assert [
        "- `most`: How many there may be at once. Default: `3`.",
        "- `keys`: Which labels count. Default: `[app, tier]`.",
        "- `strict`: Whether to be strict. Default: `true`.",
    ] == re.findall(r"^- `.*", rules.pages()["selector-missing.md"], re.MULTILINE)


def test_the_glossary_has_every_cause() -> None:
    """In the order of the ladder, each with what it means."""
    row = re.compile(r"^\| `.` \| `([a-z-]+)` \| [a-z ]+ \| \w.*\. \|$", re.MULTILINE)

    assert [*Cause] == row.findall(verdicts.page_of_verdicts())


def test_the_glossary_has_the_columns_of_answers() -> None:
    """A column of numbers that several answers have is explained; others are names, or of one question."""
    explained = {heading for headings in verdicts.HEADINGS.values() for heading in headings.values()}
    text = Path(outcome_text.__file__).read_text()
    shown = {*re.findall(r'"([A-Z][A-Z ]+)"', text)} - {"WORKLOAD", "CONSTRAINT", "BUDGET", "MAX"}
    # What a loss takes, in the table of many losses.
    shown -= {"WITHOUT", "NODES", "PODS LOST", "NOT WELL"}

    assert set() == shown - explained - {name for name in vars(outcome_text) if name.isupper()}


def test_table() -> None:
    """A cell stays one cell, whatever it holds."""
    assert "| a | b |\n| --- | --- |\n| 1 \\| 2 | 3 4 |" == table(("a", "b"), [("1 | 2", "3\n4")])
    assert f"# T\n\n{NOTE}\n\nx\n" == page("T", "", "x\n")


def test_fields_of_a_schema() -> None:
    """Fields of nested objects, lists and maps have paths."""
    leaf = {"type": "object", "properties": {"b": {"type": ["integer", "null"], "description": "B."}}}
    schema = {
        "required": ["a"],
        "properties": {"a": {"type": "array", "items": leaf}, "m": {"additionalProperties": leaf}},
    }

    assert [
        ("`a`", "list of object", "Required."),
        ("`a[].b`", "integer or null", "B."),
        ("`m`", "any", ""),
        ("`m.*.b`", "integer or null", "B."),
    ] == list(fields(schema))


def test_values_of_the_chart() -> None:
    """Comments over several lines are one description, and defaults are those of YAML."""
    described = {name: (default, text) for name, default, text in installation.values()}

    assert ("IfNotPresent", "imagePullPolicy of the container.") == described["image.pullPolicy"]
    assert described["replicas"][1].startswith("Number of pods. Each has a cache of the cluster. ")


def test_examples_are_run() -> None:
    """Output is replaced by what the commands print; blocks of commands alone stay as they are."""
    path = Path("page.md")
    first = "```console\n$ evenkeel lint --fix \\\n    catalog.yaml   # nothing to fix\n"
    text = f"{first}old\n$ evenkeel --version\n```\n```console\n$ evenkeel gone\n```\n"

    new = terminal.refreshed({path: text})[path]

    assert new.startswith(first)
    assert "old" not in new
    assert re.search(r"^\$ evenkeel --version\nevenkeel \d", new, re.MULTILINE)
    assert new.endswith("```console\n$ evenkeel gone\n```\n")


def test_examples_may_change_files() -> None:
    """Commands of one block run in one copy of the examples; errors are shown too."""
    path, before = Path("page.md"), (terminal.EXAMPLES / "cart.yaml").read_text()
    text = "```console\n$ evenkeel lint --fix cart.yaml\nx\n$ evenkeel lint --diff cart.yaml gone.yaml\n```\n"

    new = terminal.refreshed({path: text})[path]

    assert "+          matchLabels" not in new
    assert "gone.yaml" in new.partition("$ evenkeel lint --diff")[2].partition("\n")[2]
    assert before == (terminal.EXAMPLES / "cart.yaml").read_text()


def test_kubectl_is_the_code_of_the_webhook() -> None:
    """An example may apply what is denied, and what is warned about."""
    path = Path("page.md")
    text = "```console\n$ kubectl apply -f checkout.yaml\nx\n$ kubectl apply -f web.yaml\n```\n"

    new = terminal.refreshed({path: text})[path]

    assert (
        'admission webhook "validate.evenkeel.dev" denied the request: Deployment.apps shop/checkout' in new
    )
    assert re.search(r"Warning: evenkeel: .*\ndeployment.apps/web created\n```", new)


def test_numbers_of_the_corpus() -> None:
    """The README has one for each file, the guide has their sum, whatever they had before."""
    readme, guide = (path.read_text() for path in (corpus.README, corpus.GUIDE))
    old = {corpus.README: re.sub(r"(` \| )[\d,]+", r"\g<1>1", readme), corpus.GUIDE: guide.replace(",", "")}
    new = corpus.refreshed(old)
    counts = [
        int(count.replace(",", "")) for count in re.findall(r"^\| `\S+` \| ([\d,]+) \|", readme, re.MULTILINE)
    ]

    assert readme == new[corpus.README] != old[corpus.README]
    assert f"{sum(counts):,} requests" in new[corpus.GUIDE]


def test_images_are_of_a_terminal() -> None:
    """They have colors, and nothing of the machine that made them."""
    image = terminal.images()["lint.svg"]

    assert "cart.yaml" in image
    assert 2 < len(set(re.findall(r"fill: (#[0-9a-f]{6})", image)))
    assert "/tmp" not in image


@pytest.mark.parametrize("stale", ["changed", "left over", "missing"])
def test_stale_files_are_found_and_written(
    stale: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that differs, is missing or should not be there fails the check, until it is generated."""
    wanted, own = tmp_path / "rules/wanted.md", tmp_path / "own.md"
    wanted.parent.mkdir()
    monkeypatch.setattr(generator, "REFERENCE", tmp_path)
    monkeypatch.setattr(generator, "_files", lambda: {wanted: NOTE})
    own.write_text("written by a person")
    if stale != "missing":
        wanted.write_text(NOTE if stale == "left over" else "old")
    if stale == "left over":
        (tmp_path / "old.md").write_text(NOTE)

    codes = [generator.main(arguments) for arguments in (["--check"], [], ["--check"], ["--chek"])]

    assert [1, 0, 0, 2] == codes
    assert {wanted, own} == set(tmp_path.rglob("*.md"))
    assert "run `make generate`" in capsys.readouterr().err

"""Every rule's manual: its form, and that its examples are what it says.

A new rule needs no test here: its docstring is run. What does not fit an example has a table of its own
beside this file.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from docs.generator.type_schema import attribute_docs
from policies.admission.decision import AdmissionWarning
from policies.admission.review_cost import ReviewCost
from policies.admission.unschedulable_forecast import Forecast, forecast
from policies.config.context import AdmissionContext
from policies.lint.run import Selection, lint
from policies.manifests.documents import ManifestObject, load, objects
from policies.manifests.edits import apply_edits
from policies.manifests.errors import DocumentError
from policies.manifests.fields import ErrorList, FieldPath
from policies.manifests.findings import Finding, Severity
from policies.model.node import read_node
from policies.model.topology import ClusterTopology
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from policies.model.workload import Workload
from policies.rules.base import Context, Problem, Rule, RuleTarget, all_rules
from policies.scheduler import capacity
from tests.builders import kind_of
from tests.policies.rules.examples import BLOCK, whole
from tests.policies.rules.run_rules import problems_of_objects
from tests.policies.scheduler.clusters import an_index
from webhook.lint.files import unreadable

#: The headings of a manual, in their order.
SECTIONS = ("What it finds", "Why it matters", "Fails", "Passes", "How to fix")
#: Columns of a manual, as of every source file.
WIDTH = 110

_SECTION = re.compile(r"^## (.+)\n((?:(?!## ).*\n)*)", re.MULTILINE)
#: How an example begins that is about another release than the newest known one.
_RELEASE = re.compile(r"# Kubernetes (\S+)\n")
RULES = [pytest.param(rule, id=rule.id) for rule in all_rules().values()]


class Example(NamedTuple):
    """One YAML block of a manual: manifests, and the cluster that they are judged by."""

    rule: Rule
    manifests: list[ManifestObject]
    inventory: ClusterTopology | None
    version: KubernetesVersion
    nodes: tuple[ManifestObject, ...] = ()
    broken: tuple[str, ...] = ()

    @property
    def context(self) -> AdmissionContext:
        """The context of the example."""
        return AdmissionContext(policies=(), kubernetes_version=self.version)

    def findings(self, *, of: frozenset[str] | None = None) -> list[Finding]:
        """Return the findings of rules, by default of all."""
        if self.rule.target is RuleTarget.NEXT_POD and self.inventory is not None:
            return list(self._forecast())
        selection = Selection(select=of)
        return [unreadable(f"{self.rule.id}.yaml", problem) for problem in self.broken] + lint(
            self.manifests, self.context, selection=selection, inventory=self.inventory
        ).findings

    def problems(self) -> Iterator[Problem]:
        """Yield the problems that the rule finds in the workloads."""
        params = None if self.rule.params is None else self.rule.params()
        context = Context(version=self.version, inventory=self.inventory, params=params)
        for _, problems in problems_of_objects(self.manifests, self.rule, context):
            yield from problems

    def _forecast(self) -> Iterator[Finding]:
        """Yield the forecasts of admission for the next pods."""
        context = AdmissionContext(policies=(), cluster=an_index(node.value for node in self.nodes))
        for entry in self.manifests:
            version, kind = entry.value["apiVersion"], entry.value["kind"]
            subject = Workload.read(entry.value, kind_of(kind, version.rpartition("/")[0]), "shop")
            found = forecast(
                ReviewCost(subject, context.for_rules().inventory), None, context, within=lambda work: work()
            )
            if isinstance(found, Forecast):
                where = entry.location(FieldPath())
                yield Finding(self.rule.severity, where, FieldPath(), found.warning.text, self.rule.id)


def _sections(rule: Rule) -> dict[str, str]:
    return dict(_SECTION.findall(rule.manual + "\n"))


def _read(rule: Rule, block: str) -> Example:
    try:
        documents = load(whole(block), f"{rule.id}.yaml")
    except DocumentError as error:
        return Example(rule, [], None, KNOWN_VERSION, broken=error.problems)
    found = [entry for document in documents for entry in objects(document)]
    nodes = tuple(entry for entry in found if _is_node(entry))
    inventory = (
        ClusterTopology(tuple(read_node(node.value, ErrorList()) for node in nodes)) if nodes else None
    )
    named = _RELEASE.match(block)
    version = KubernetesVersion.parse(named[1]) if named else KNOWN_VERSION
    return Example(rule, [entry for entry in found if not _is_node(entry)], inventory, version, nodes)


def _is_node(entry: ManifestObject) -> bool:
    return (entry.value.get("apiVersion"), entry.value.get("kind")) == ("v1", "Node")


def _examples(section: str) -> list[object]:
    return [
        pytest.param(_read(rule, block), id=f"{rule.id} {section} {number}")
        for rule in all_rules().values()
        for number, block in enumerate(BLOCK.findall(_sections(rule).get(section, "")), start=1)
    ]


@pytest.mark.parametrize("rule", RULES)
def test_the_form_of_a_manual(rule: Rule) -> None:
    """A manual is one sentence and five sections, each with something in it, in lines that fit."""
    first, second, *_ = rule.manual.split("\n")
    sections = _sections(rule)

    assert first.endswith(".")
    assert "" == second
    assert SECTIONS == tuple(sections)
    assert [] == [name for name, text in sections.items() if not text.strip()]
    assert [] == [line for line in rule.manual.split("\n") if len(line) > WIDTH]


@pytest.mark.parametrize("rule", RULES)
def test_a_manual_has_examples(rule: Rule) -> None:
    """There is at least one example on each side, and nothing else in those sections."""
    sections = _sections(rule)
    fails, passes = sections["Fails"], sections["Passes"]

    assert BLOCK.search(fails)
    assert BLOCK.search(passes)
    assert "" == BLOCK.sub("", fails + passes).strip()


@pytest.mark.parametrize("rule", RULES)
def test_the_declarations_of_a_rule(rule: Rule) -> None:
    """A rule has an id of words, a severity, a link, and settings with defaults and descriptions."""
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.id)
    assert rule.severity in Severity
    assert re.fullmatch(r"https://\S+", rule.see)
    assert rule.target in RuleTarget
    if rule.params is not None:
        settings = rule.params()
        names = [field.name for field in dataclasses.fields(settings)]
        assert names == [*attribute_docs(rule.params)]


@pytest.mark.parametrize("example", _examples("Fails"))
def test_fails(example: Example) -> None:
    """The rule finds its manual's failing examples, at a field that can be shown."""
    findings = example.findings(of=frozenset({example.rule.id}))

    assert {example.rule.id} == {finding.rule for finding in findings}
    assert [] == [finding for finding in findings if not finding.location.line]


@pytest.mark.parametrize("example", _examples("Passes"))
def test_passes(example: Example) -> None:
    """An example that a manual gives as passing has no finding of the rule, and no error of any other."""
    findings = example.findings()

    assert [] == [finding for finding in findings if finding.rule == example.rule.id]
    assert [] == [finding for finding in findings if finding.severity is Severity.ERROR]


def test_warnings(golden: Callable[[str, str], str]) -> None:
    """Each rule has a warning that is not cut; read the golden file before agreeing to it."""
    texts = [
        str(AdmissionWarning(problem.short or problem.message, rule.id, (problem.path,)))
        for rule in all_rules().values()
        if rule.target is RuleTarget.WORKLOAD
        for block in BLOCK.findall(_sections(rule)["Fails"])
        for problem in _read(rule, block).problems()
    ]
    text = "\n".join(texts) + "\n"

    assert golden("warnings.txt", text) == text
    # The API server's own sentences about labels are longer.
    assert {"label-selector-invalid", "match-label-key-invalid"} == {
        line.split(": ")[1] for line in texts if line.endswith("…")
    }


@pytest.mark.parametrize("example", _examples("Fails"))
def test_needs_the_cluster(example: Example) -> None:
    """A rule that must know the cluster has one in its examples, and is skipped without."""
    alone = example._replace(inventory=None)

    assert not example.rule.needs_inventory or example.inventory is not None
    assert not example.rule.needs_inventory or [] == alone.findings(of=frozenset({example.rule.id}))


@pytest.mark.parametrize("example", _examples("Fails"))
def test_fixes(example: Example) -> None:
    """An edit removes the finding that it is for, and only rules that are fixable edit anything."""
    rule = example.rule
    context = Context(inventory=example.inventory, params=None if rule.params is None else rule.params())
    edited = []
    for entry, problems in problems_of_objects(example.manifests, rule, context):
        edits = [edit for problem in problems for edit in problem.edits]
        assert rule.fixable or not edits
        if edits:
            edited.append(_edited(entry, apply_edits(entry.value, edits)))

    assert [] == example._replace(manifests=edited, broken=()).findings(of=frozenset({rule.id}))


@pytest.mark.parametrize("rule", [param for param in RULES if param.values[0].fixable])  # type: ignore[union-attr]
def test_a_fixable_rule_fixes(rule: Rule) -> None:
    """A rule that says it can be fixed shows at least one example that can."""
    examples = [_read(rule, block) for block in BLOCK.findall(_sections(rule)["Fails"])]

    assert any(
        finding.fixable for example in examples for finding in example.findings(of=frozenset({rule.id}))
    )


def _edited(entry: ManifestObject, value: dict[str, object]) -> ManifestObject:
    document = dataclasses.replace(entry.document, value=value)
    return ManifestObject(value, entry.path, document)


@pytest.mark.parametrize("example", _examples("Fails"))
def test_what_gives_up_is_said(example: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that gives up its search is listed: it is never silent as if all were well."""
    rule = example.rule.id
    found = {finding.rule for finding in example.findings()}
    monkeypatch.setattr(capacity, "MOST_COMPARISONS", 0)
    if example.inventory is not None:
        example.inventory.memo.clear()
    result = lint(example.manifests, example.context, inventory=example.inventory)

    told = {finding.rule for finding in result.findings} | {entry.message.split()[0] for entry in result.cut}
    assert rule in told or rule not in found or example.broken or example.rule.target is RuleTarget.NEXT_POD

"""``schedulerName`` decides nothing but for rules that look at a profile: they are withheld, which is said.

Which rules these are is declared in their modules alone, and held here to what they do.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from policies import rules
from policies.admission import unschedulable_forecast
from policies.admission.review_cost import ReviewLimits, unlimited
from policies.admission.validation import NOT_JUDGED, decide_validation
from policies.config.context import AdmissionContext
from policies.lint.run import LintResult, Selection, lint
from policies.manifests.documents import load, objects
from policies.manifests.errors import DocumentError
from policies.manifests.fields import ErrorList
from policies.manifests.skipped import SkipReason
from policies.model.node import read_node
from policies.model.topology import ClusterTopology
from policies.model.workload_kinds import WorkloadKinds
from policies.rules.base import Rule, RuleTarget, all_rules
from policies.scheduler.configuration import build
from tests.builders import a_constraint, a_node, a_policy, a_workload
from tests.policies.config.contexts import a_context, read
from tests.policies.rules.documents import text_of
from tests.policies.rules.examples import BLOCK, whole
from tests.policies.rules.scheduling import a_scheduler_config
from webhook.cli import lint as lint_command
from webhook.lint.reports import FORMATS

RULES = all_rules().values()
PROFILED = {rule.id for rule in RULES if rule.needs_profile}
#: All that a module of a rule could learn a scheduler's name or profile by.
WAYS = {"profiles_of", "scheduler_name", "scheduler", "profile_for", "plugins_for", "constraints_for"}
SOFT = a_constraint(whenUnsatisfiable="ScheduleAnyway")
OTHER = "other"
LIMITS = ReviewLimits(rules=unlimited, forecast=unlimited)


def ways_in(module: Path) -> set[str]:
    """Return the ways to a scheduler's name or profile that the code of a module takes."""
    found = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Attribute) and node.attr in WAYS:
            found.add(node.attr)
        if isinstance(node, ast.Constant) and node.value == "schedulerName":
            found.add("schedulerName")
    return found


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.id) for rule in RULES])
def test_a_rule_looks_at_profiles_if_it_says_so(rule: Rule) -> None:
    """NEEDS_PROFILE is what a rule does: it calls ``profiles_of``, and knows of no other way."""
    module = Path(rules.__path__[0]) / f"{rule.id.replace('-', '_')}.py"
    if rule.target is RuleTarget.NEXT_POD:
        module = Path(unschedulable_forecast.__file__)
    if rule.target is RuleTarget.SCHEDULER_CONFIG:
        assert not rule.needs_profile
    elif rule.needs_profile:
        assert "profiles_of" in ways_in(module)
        assert ways_in(module) <= {"profiles_of", "scheduler_name"}
    else:
        assert set() == ways_in(module)


def examples() -> Iterator[list[dict[str, Any]]]:
    """Yield the objects of every example of every manual, that of files that cannot be read left out."""
    for rule in RULES:
        for block in BLOCK.findall(rule.manual):
            try:
                documents = load(whole(block), "example.yaml")
                yield [entry.value for document in documents for entry in objects(document)]
            except DocumentError:
                continue


def scheduled_by(value: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an object whose pods another scheduler is for; itself if it has none."""
    kind = WorkloadKinds().get((str(value.get("apiVersion")).rpartition("/")[0], str(value.get("kind"))))
    changed: dict[str, Any] = json.loads(json.dumps(value))
    part: Any = changed if kind is not None else {}
    for step in () if kind is None else (*kind.template, "spec"):
        part = part.get(step) if isinstance(part, dict) else None
    if isinstance(part, dict) and part:
        part["schedulerName"] = name
    return changed


def linted(documents: list[dict[str, Any]], context: AdmissionContext) -> LintResult:
    """Return what all rules find in documents, with the nodes among them."""
    nodes = tuple(read_node(each, ErrorList()) for each in documents if each.get("kind") == "Node")
    manifests = [each for document in load(text_of(*documents), "x.yaml") for each in objects(document)]
    every = Selection(enable=frozenset(rule.id for rule in RULES))
    inventory = ClusterTopology(nodes) if nodes else None
    return lint(manifests, context, selection=every, inventory=inventory)


def found_in(result: LintResult) -> set[tuple[str, str, str]]:
    return {(each.rule, str(each.path), each.message) for each in result.findings}


def test_the_linter_asks_for_no_scheduler() -> None:
    """On every example, findings of rules without a profile are the same; the others are, or are said."""
    context, found, withheld = AdmissionContext(policies=()), 0, 0
    for documents in examples():
        usual = linted(documents, context)
        other = linted([scheduled_by(each, OTHER) for each in documents], context)
        said = {
            each.message.partition(" ")[0]
            for each in other.cut
            if each.reason is SkipReason.UNKNOWN_SCHEDULER
        }
        lost = found_in(usual) - found_in(other)

        assert set() == found_in(other) - found_in(usual)
        assert {rule for rule, _, _ in lost} <= said <= PROFILED
        found, withheld = found + len(usual.findings), withheld + len(said)
    assert found > 100
    assert withheld > 10


def test_a_second_profile_is_like_the_first() -> None:
    """With the configuration of the scheduler the pods of each of its profiles are judged alike."""
    config = build(a_scheduler_config({"schedulerName": "default-scheduler"}, {"schedulerName": OTHER}))
    context = AdmissionContext(policies=(), scheduler=config)
    for documents in examples():
        if any(each.get("kind") == "KubeSchedulerConfiguration" for each in documents):
            continue
        usual = linted(documents, context)
        other = linted([scheduled_by(each, OTHER) for each in documents], context)

        assert found_in(usual) == found_in(other)
        assert [each.reason for each in usual.cut] == [each.reason for each in other.cut]


def test_admission_asks_for_no_scheduler() -> None:
    """On every example, whoever schedules the pods: the same objects are denied, for the same rules."""
    context, denied = a_context(), 0
    for documents in examples():
        for obj in documents:
            if obj == scheduled_by(obj, OTHER):
                continue
            subjects = [read(each, context) for each in (obj, scheduled_by(obj, OTHER))]
            usual, other = (decide_validation(each, None, context) for each in subjects)

            assert usual.verdict is other.verdict
            assert set(usual.rules) == set(other.rules)
            denied += bool(usual.errors)
    assert denied > 20


@pytest.mark.parametrize(
    ("rules_of_policy", "verdict", "warned"),
    [
        pytest.param({}, "allowed", False, id="a note: it would be in the audit log, too"),
        pytest.param({"severity": "warning"}, "warned", True, id="a warning"),
        pytest.param({"enforcement": "deny"}, "denied", True, id="what denies is not let off"),
    ],
)
def test_withheld_rules_are_said(rules_of_policy: dict[str, str], verdict: str, *, warned: bool) -> None:
    """A rule that is not run is said where its finding would be, and denies where that would."""
    rule = "scheduler-defaults-switched-off"
    context = a_context(a_policy(rules={rule: rules_of_policy}))
    spec = {"topologySpreadConstraints": [SOFT | {"matchLabelKeys": ["pod-template-hash"]}]}
    obj = a_workload(spec=spec | {"schedulerName": OTHER})
    obj["spec"]["replicas"] = 3
    decision = decide_validation(read(obj, context), None, context)

    assert verdict == decision.verdict
    assert rule in decision.audit[NOT_JUDGED]
    assert OTHER in decision.audit[NOT_JUDGED]
    assert warned == any(rule in str(each) for each in decision.warnings)


def test_a_withheld_forecast_is_said() -> None:
    """That the next pod of a scheduler that is not known was not placed is a warning, and no lack of time."""
    cluster = [a_node("n1", "a")]
    obj = a_workload(spec={"schedulerName": OTHER, "nodeSelector": {"pool": "none"}})
    given = a_context(cluster=cluster)
    decision = decide_validation(read(obj, given), None, given, LIMITS)
    text = f"unschedulable: needs the profile of scheduler {OTHER} (--scheduler-config)"

    assert text == decision.audit[NOT_JUDGED]
    assert any("unschedulable not checked" in str(each) for each in decision.warnings)
    assert () == decision.skipped
    known = a_context(cluster=cluster, scheduler=build(a_scheduler_config({"schedulerName": OTHER})))
    assert "unschedulable" in decide_validation(read(obj, known), None, known, LIMITS).rules


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_says_it(form: str, tmp_path: Path) -> None:
    """A report names the object, the rules and why."""
    obj = a_workload(name="web", spec={"topologySpreadConstraints": [SOFT], "schedulerName": OTHER})
    obj["spec"]["replicas"] = 3
    (tmp_path / "web.yaml").write_text(text_of(obj))
    result = CliRunner().invoke(
        lint_command.command, [str(tmp_path / "web.yaml"), "--config", "none", "-o", form]
    )

    assert 0 == result.exit_code, result.output
    for word in ("scheduler-defaults-switched-off was not checked", f"scheduler {OTHER}", "web.yaml"):
        assert word in result.output.replace("\\", "").replace("\n", " ")

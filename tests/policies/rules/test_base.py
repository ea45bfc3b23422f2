"""How rules are found, and that all that is known of a rule is in its module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from policies import rules
from policies.admission.admission_rules import rules_at_admission
from policies.config.enforcement import enforcement_at_admission
from policies.config.loader import build
from policies.config.spread_policy import Enforcement
from policies.lint.run import Selection
from policies.manifests.findings import Severity
from policies.model.api_rules import ApiRule
from policies.rules.base import AtAdmission, RuleTarget, all_rules
from tests.builders import a_policy

#: Rules of the API server and kube-scheduler that no workload can break.
OF_DOCUMENTS = {
    ApiRule.TOPOLOGY_KEY_INVALID,
    ApiRule.DEFAULTING_TYPE_UNKNOWN,
    ApiRule.SYSTEM_DEFAULTS_WITH_LIST,
    ApiRule.SELECTOR_IN_DEFAULT,
}


#: Modules that name a rule besides its own, because it is there that what the rule is about is read.
REPORTED_BY_READERS = {
    ("policies/config/enforcement.py", "unschedulable"),
    ("policies/lint/exemptions.py", "exemption-without-effect"),
    ("policies/manifests/fields.py", "unknown-field"),
    ("policies/manifests/fields.py", "wrong-type"),
    ("policies/manifests/skipped.py", "unreadable"),
    ("policies/model/pod_affinity.py", "affinity-term-invalid"),
    ("webhook/lint/files.py", "unreadable"),
    # The field of a node with the same name.
    ("policies/model/node.py", "unschedulable"),
    # Examples of the schema.
    ("policies/config/policy_exception.py", "selector-missing"),
    ("policies/config/spread_policy.py", "max-skew-not-positive"),
}
#: What becomes of an object for an error of a rule, under a policy that denies.
EXPECTED = {
    AtAdmission.DENY: Enforcement.DENY,
    AtAdmission.WARN: Enforcement.WARN,
    AtAdmission.SKIP: Enforcement.AUDIT,
}
NEW_RULE = """\
\"\"\"A rule that is new.\"\"\"

from policies.cel.check import NEEDS_OBJECTS
from policies.manifests.fields import FieldPath
from policies.manifests.findings import Severity
from policies.rules.base import AtAdmission, Problem

SEVERITY = Severity.ERROR
SEE = "https://example.com"
AT_ADMISSION = AtAdmission.%s
CEL = NEEDS_OBJECTS


def check(workload, context):
    yield Problem(FieldPath(), "is new")
"""


@pytest.fixture
def fresh_rules() -> Iterator[None]:
    """Let rules be found anew in a test, and again after it."""
    for cached in (all_rules, rules_at_admission):
        cached.cache_clear()
    yield
    for cached in (all_rules, rules_at_admission):
        cached.cache_clear()


def test_every_module_is_a_rule() -> None:
    """The folder is the register: each module but two is a rule, and its name the id, in order."""
    names = sorted(path.stem for path in Path(rules.__path__[0]).glob("[!_]*.py") if path.stem != "base")

    assert [name.replace("_", "-") for name in names] == list(all_rules())


@pytest.mark.parametrize("rule", sorted(set(ApiRule) - OF_DOCUMENTS))
def test_every_rule_of_the_api_has_a_manual(rule: ApiRule) -> None:
    """What the API server refuses in a workload is a rule like any other."""
    assert RuleTarget.WORKLOAD is all_rules()[rule].target


@pytest.mark.usefixtures("fresh_rules")
@pytest.mark.parametrize("at_admission", AtAdmission)
def test_a_rule_is_one_file(
    at_admission: AtAdmission, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module in the folder is enough: the linter runs the rule, and admission as the module says."""
    name = f"new_{at_admission}"
    (tmp_path / f"{name}.py").write_text(NEW_RULE % at_admission.name)
    monkeypatch.setattr(rules, "__path__", [*rules.__path__, str(tmp_path)])
    rule = all_rules()[name.replace("_", "-")]

    assert (Severity.ERROR, "A rule that is new.") == (rule.severity, rule.summary)
    assert rule in Selection().rules()
    assert (at_admission is not AtAdmission.SKIP) == (rule in rules_at_admission())
    policy = build(a_policy(enforcement="deny"))
    assert EXPECTED[at_admission] is enforcement_at_admission(rule.id, rule.severity, [policy])


def test_no_other_module_lists_rules() -> None:
    """An id stands in its own module, and where errors of the API's rules are made or files are read."""
    ids = {rule.id for rule in all_rules().values()}
    root = Path(rules.__path__[0]).parents[1]
    others = [
        path.relative_to(root)
        for package in ("policies", "webhook")
        for path in (root / package).rglob("*.py")
        if path.parent.name != "rules" and path.name != "api_rules.py"
    ]
    named = {
        (path.as_posix(), node.value)
        for path in others
        for node in ast.walk(ast.parse((root / path).read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in ids
    }

    assert REPORTED_BY_READERS == named

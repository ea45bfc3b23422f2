"""How rules are found, and that all that is known of a rule is in its module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from policies import rules
from policies.admission.admission_rules import rules_at_admission
from policies.config.context import AdmissionContext
from policies.config.enforcement import Exempting
from policies.config.loader import build
from policies.config.spread_policy import Enforcement
from policies.lint.run import Selection, lint
from policies.manifests.documents import load, objects
from policies.manifests.errors import DocumentError
from policies.manifests.findings import Severity
from policies.model.api_rules import ApiRule
from policies.model.workload import Workload
from policies.rules.base import AtAdmission, Context, RuleTarget, all_rules
from tests.builders import a_policy, a_workload, kind_of
from tests.policies.rules.documents import text_of

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
    ("policies/scheduler/node_view.py", "unschedulable"),
    # Examples of the schema.
    ("policies/config/spread_policy.py", "selector-missing"),
    ("policies/config/spread_policy.py", "max-skew-not-positive"),
}
#: The enforcement of a rule's error, under a policy that denies.
EXPECTED = {
    AtAdmission.DENY: Enforcement.DENY,
    AtAdmission.WARN: Enforcement.WARN,
    AtAdmission.SKIP: Enforcement.AUDIT,
}
NEW_RULE = """\
\"\"\"A rule that is new.\"\"\"

from policies.manifests.fields import FieldPath
from policies.manifests.findings import Severity
from policies.rules.base import AtAdmission, Problem

ID = "%s"
SEVERITY = Severity.ERROR
SEE = "https://example.com"
AT_ADMISSION = AtAdmission.%s


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
    """The folder is the register: each module but two is a rule, named like the id that it declares."""
    names = sorted(path.stem for path in Path(rules.__path__[0]).glob("[!_]*.py") if path.stem != "base")

    assert [name.replace("_", "-") for name in names] == list(all_rules())


@pytest.mark.parametrize("rule", sorted(set(ApiRule) - OF_DOCUMENTS))
def test_every_rule_of_the_api_has_a_manual(rule: ApiRule) -> None:
    """A check of workloads that the API server makes is a rule like any other, and declares whose it is."""
    assert RuleTarget.WORKLOAD is all_rules()[rule].target
    assert all_rules()[rule].is_api_rule


@pytest.mark.usefixtures("fresh_rules")
@pytest.mark.parametrize("at_admission", AtAdmission)
def test_a_rule_is_one_file(
    at_admission: AtAdmission, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module in the folder is enough: the linter runs the rule, and admission as the module says."""
    name = f"new-{at_admission}"
    (tmp_path / f"another_{at_admission}.py").write_text(NEW_RULE % (name, at_admission.name))
    monkeypatch.setattr(rules, "__path__", [*rules.__path__, str(tmp_path)])
    rule = all_rules()[name]

    assert (Severity.ERROR, "A rule that is new.") == (rule.severity, rule.summary)
    assert rule in Selection().rules()
    assert (at_admission is not AtAdmission.SKIP) == (rule in rules_at_admission())
    policy = build(a_policy(enforcement="deny"))
    workload = Workload.read(a_workload(), kind_of("Deployment", "apps"), "shop")
    exempting = Exempting.of(workload, [policy], by_controller=False, today=None)
    assert EXPECTED[at_admission] is exempting.enforcement(rule.id, rule.severity)


HALF_WRITTEN = {
    "empty": ("", [
        "the docstring is missing: it is the manual",
        "ID is missing: must be of type str",
        "SEVERITY is missing: must be of type Severity",
        "SEE is missing: must be of type str",
        "check is missing: must be a function of the target and the context that yields problems",
    ]),
    "types": (
        '"""A rule."""\nID = "a"\nSEVERITY = "error"\nSEE = "https://a.test"\nFIXABLE = "yes"\ncheck = 3\n',
        [
            'SEVERITY: must be of type Severity, got "error"',
            'FIXABLE: must be of type bool, got "yes"',
            "check: must be a function, got 3",
        ],
    ),
    "settings": (
        NEW_RULE % ("a", "WARN") + "\n\nclass Params:\n    most: int\n",
        ["Params: must be a dataclass of DocumentFields whose fields all have defaults"],
    ),
    "import": ("from policies.rules.base import Promblem\n", ["ImportError: cannot import name 'Promblem'"]),
    "syntax": ("def check(", ["SyntaxError: '(' was never closed"]),
}  # fmt: skip


@pytest.mark.usefixtures("fresh_rules")
def test_half_written_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every module that is no rule yet is named, with its file and all that it lacks."""
    for name, (text, _) in HALF_WRITTEN.items():
        (tmp_path / f"half_{name}.py").write_text(text)
    monkeypatch.setattr(rules, "__path__", [*rules.__path__, str(tmp_path)])
    with pytest.raises(DocumentError) as raised:
        all_rules()

    expected = [
        f"{tmp_path}/half_{name}.py: {problem}"
        for name, (_, problems) in sorted(HALF_WRITTEN.items())
        for problem in problems
    ]
    for start, problem in zip(expected, raised.value.problems, strict=True):
        assert problem.startswith(start)


@pytest.mark.usefixtures("fresh_rules")
@pytest.mark.parametrize(
    "body", [pytest.param("1 / 0", id="raises"), pytest.param("pass", id="no generator")]
)
def test_a_rule_that_fails(body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception of a check says which rule it comes from, in the linter and at admission."""
    text = (NEW_RULE % ("failing", "WARN")).replace('yield Problem(FieldPath(), "is new")', body)
    (tmp_path / f"failing_{len(body)}.py").write_text(text)
    monkeypatch.setattr(rules, "__path__", [*rules.__path__, str(tmp_path)])
    rule = all_rules()["failing"]
    workload = Workload.read(a_workload(), kind_of("Deployment", "apps"), "shop")
    manifests = [entry for document in load(text_of(a_workload()), "web.yaml") for entry in objects(document)]
    context = AdmissionContext(policies=())
    for run in (
        lambda: rule.run(workload, Context(), {}),
        lambda: lint(manifests, context, selection=Selection(select=frozenset({rule.id}))),
    ):
        with pytest.raises((ZeroDivisionError, TypeError)) as raised:
            run()
        assert [f"in rule {rule.id}"] == raised.value.__notes__


@pytest.mark.slow
def test_no_other_module_lists_rules() -> None:
    """An id stands in its own module, and where errors of the API are made, files are read, or CEL is."""
    ids = {rule.id for rule in all_rules().values()}
    root = Path(rules.__path__[0]).parents[1]
    others = [
        path.relative_to(root)
        for package in ("planning", "policies", "webhook")
        for path in (root / package).rglob("*.py")
        if path.parent.name != "rules" and path.name not in ("api_rules.py", "rule_checks.py")
    ]
    named = {
        (path.as_posix(), node.value)
        for path in others
        for node in ast.walk(ast.parse((root / path).read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in ids
    }

    assert REPORTED_BY_READERS == named

"""The rules of the linter over one object under review: which are asked of it, and what becomes of a finding.

An object that a controller creates is not asked about: whoever could mend it applied something else, which
was. A file is linted before anybody depends on it, an object under review is what somebody is about to run:
so what is not certain without the rest of the repository warns here, whatever the linter calls it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple, TypeVar

from policies.defaults.scheduler_config import DEFAULT_CONFIG
from policies.documents.spread_policy import Enforcement, RuleSettings, SpreadPolicy
from policies.evaluation.context import AdmissionContext
from policies.evaluation.declaring import workload_of
from policies.evaluation.enforcement import (
    API_RULES,
    CERTAIN,
    NOT_ASKED,
    enforcement_of,
    rule_settings,
)
from policies.evaluation.linting import problems_of
from policies.evaluation.remarks import Remark
from policies.evaluation.subject import Subject
from policies.fields import MAX_ERRORS, ErrorKind, FieldError
from policies.findings import Severity
from policies.model.declared import Workload
from policies.model.pod_affinity import affinity_term_count
from policies.rules import base
from policies.rules.base import Context, Rule, all_rules

_Found = TypeVar("_Found")
#: Does some work if it can be done in time; else returns None.
Within = Callable[[Callable[[], _Found | None]], _Found | None]

#: The groups whose controllers hand a template's constraints on as they are. Of another kind's controller
#: nobody knows what it fills in.
BUILT_IN_GROUPS = frozenset({"", "apps", "batch"})
#: The constraints, and the terms of pod affinity, that a pod may have for rules to be asked: everybody waits
#: for the answer. Arbitrary; people write a handful.
MAX_CONSTRAINTS = 32
#: The replicas up to which rules look at nodes. Arbitrary; so many can take 0.1 s with 5,000 nodes.
MAX_REPLICAS = 300
#: Comparisons with each node up to which rules look at nodes: requirements on nodes, once besides the
#: constraints and once for each. Arbitrary; so many can take 0.1 s with 5,000 nodes.
MAX_COMPARISONS = 32
#: Values in the list of a requirement that cost as much as another requirement.
VALUES_A_COMPARISON = 16


class Violation(NamedTuple):
    """One thing wrong with an object, and what becomes of the object for it.

    Attributes:
        error: What is wrong.
        severity: How bad it is.
        by_linter: How bad the linter calls it, unless a policy says otherwise.
        enforcement: Whether the object is refused, warned about, or only told to the audit log.
    """

    error: FieldError
    severity: Severity
    by_linter: Severity
    enforcement: Enforcement

    @property
    def is_note(self) -> bool:
        """Whether it is no more than something to know."""
        return self.severity is Severity.NOTE

    @property
    def text(self) -> str:
        """What a person reads."""
        return error_text(self.error)

    @property
    def remark(self) -> Remark:
        """The same for a person who has few lines."""
        return Remark(self.error.problem, topic=self.error.rule, paths=(self.error.path,))


def error_text(error: FieldError) -> str:
    """Return what a person reads: first the id of the rule, to look it up or to be exempt from it."""
    return f"{error.rule}: {error}"


@cache
def reviewing_rules() -> tuple[Rule, ...]:
    """Return the rules that are asked of an object, besides those known from reading it."""
    return tuple(
        rule
        for rule in all_rules().values()
        if rule.subject is base.Subject.WORKLOAD and rule.id not in API_RULES | NOT_ASKED
    )


def weigh(
    error: FieldError,
    severity: Severity,
    settings: RuleSettings,
    strictest: Enforcement,
    *,
    by_linter: Severity = Severity.ERROR,
) -> Violation:
    """Return what becomes of an object for an error.

    Args:
        error: What is wrong.
        severity: How bad that is, unless the settings say otherwise.
        settings: What the policies say of the rule.
        strictest: The enforcement of the policies.
        by_linter: How bad the linter calls it.
    """
    severity = settings.severity or severity
    return Violation(error, severity, by_linter, enforcement_of(severity, settings, strictest))


def api_violations(
    errors: Iterable[FieldError], policies: list[SpreadPolicy], strictest: Enforcement
) -> list[Violation]:
    """Return what becomes of an object for what was found in reading it."""
    return [weigh(error, Severity.ERROR, rule_settings(policies, error.rule), strictest) for error in errors]


def rule_violations(
    subject: Subject,
    old: Subject | None,
    context: AdmissionContext,
    *,
    errors: list[FieldError],
    policies: list[SpreadPolicy],
    strictest: Enforcement,
    within: Within[list[Violation]] | None,
) -> list[Violation]:
    """Ask the rules of an object that a person applies; the worst findings first.

    Args:
        subject: The object as it would be stored.
        old: What is stored now, for an update; a rule that it breaks already is not asked.
        context: What is decided by.
        errors: What was found in reading the object.
        policies: Those that hold it.
        strictest: Their enforcement.
        within: Keeps looking at every node to the time that is left; None for not looking.
    """
    if old is not None and (subject.kind.is_pod or _same_pods(subject, old)):
        return []  # The constraints of a pod that is there cannot change; nor have those of this workload.
    raw = subject.pod.constraints
    if isinstance(raw, list) and len(raw) > MAX_CONSTRAINTS:
        return []
    workload = workload_of(subject, errors=errors, behavior=context.behavior)
    if affinity_term_count(workload) > MAX_CONSTRAINTS:
        return []
    around = context.known_cluster.rule_context(context)
    asking = _Asking(workload, old, context, policies, strictest)
    needs_nodes = around.inventory is not None and around.inventory.nodes is not None
    rules = reviewing_rules()
    alone = [rule for rule in rules if not rule.needs_inventory or (around.inventory and not needs_nodes)]
    found = asking.ask(alone, around)
    if needs_nodes and within is not None and _is_quick(asking.workload):
        context.known_cluster.make_room(context, 1 + len(asking.workload.constraints))
        found += within(lambda: asking.ask([rule for rule in rules if rule.needs_inventory], around)) or []
    return _worst_first(found)[:MAX_ERRORS]


def _is_quick(workload: Workload) -> bool:
    """Tell whether rules can look at every node for a workload: everybody waits until they have."""
    terms = workload.affinity.terms or ()
    requirements = [entry for term in terms for entry in (*term.expressions, *term.fields)]
    comparisons = sum(1 + len(entry.values) // VALUES_A_COMPARISON for entry in requirements)
    return (
        comparisons * (1 + len(workload.constraints)) <= MAX_COMPARISONS
        and (workload.replicas or 0) <= MAX_REPLICAS
    )


def _worst_first(found: list[Violation]) -> list[Violation]:
    """Sort violations by how bad they are, here and to the linter; one of each rule first."""
    severities, seen = list(Severity), Counter[str]()
    ranked = []
    for violation in found:
        rule = violation.error.rule
        to_linter = severities.index(violation.by_linter)
        ranked.append((severities.index(violation.severity), to_linter, seen[rule], violation))
        seen[rule] += 1
    return [violation for *_, violation in sorted(ranked, key=lambda entry: entry[:3])]


def _same_pods(subject: Subject, old: Subject) -> bool:
    """Tell whether an update leaves all that rules look at as it is, as most updates do."""
    return subject.pod.labels == old.pod.labels and subject.obj.get("spec") == old.obj.get("spec")


class _Asking(NamedTuple):
    """One object that rules are asked of."""

    workload: Workload
    old: Subject | None
    context: AdmissionContext
    policies: list[SpreadPolicy]
    strictest: Enforcement

    def ask(self, rules: Iterable[Rule], around: Context) -> list[Violation]:
        """Return what rules find in the object and not in what is stored now."""
        found: list[Violation] = []
        for rule in rules:
            settings = rule_settings(self.policies, rule.id)
            if rule.opt_in and not any(rule.id in policy.rules for policy in self.policies):
                continue
            problems = problems_of(self.workload, rule, around, settings.params)
            if not problems or self._broken_before(rule, around, settings):
                continue
            for problem in problems:
                error = FieldError(problem.path, problem.message, ErrorKind.INVALID, rule.id)
                severity = problem.severity or rule.severity
                here = self._here(rule, severity)
                found.append(weigh(error, here, settings, self.strictest, by_linter=severity))
        return found

    def _broken_before(self, rule: Rule, around: Context, settings: RuleSettings) -> bool:
        if self.old is None:
            return False
        errors = self.old.errors(self.old.merge_state(self.old), strict=self.context.strict)
        return bool(
            problems_of(
                workload_of(self.old, errors=errors, behavior=self.context.behavior),
                rule,
                around,
                settings.params,
            )
        )

    def _here(self, rule: Rule, severity: Severity) -> Severity:
        """Return how bad a finding of the linter is at admission."""
        if severity is not Severity.ERROR:
            return severity
        kind, spec = self.workload.kind, self.workload.spec
        profiles = self.context.scheduler or DEFAULT_CONFIG
        name = spec.get("schedulerName")
        by_us = profiles.profile_for(name if isinstance(name, str) else "") is not None
        certain = rule.id in CERTAIN and kind.group in BUILT_IN_GROUPS and by_us
        return Severity.ERROR if certain else Severity.WARNING

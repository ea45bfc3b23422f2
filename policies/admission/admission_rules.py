"""The rules of the linter over one object under review: which are asked of it, and what becomes of a finding.

An object that a controller creates is not asked about: whoever could mend it applied something else, which
was. A file is linted before anybody depends on it, an object under review is what somebody is about to run:
so what is not certain without the rest of the repository warns here, whatever the linter calls it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from policies.admission.review_cost import Costs, NoTime, NotJudged, Within, by_reason, costs_of
from policies.admission.warnings import AdmissionWarning
from policies.config.context import AdmissionContext
from policies.config.enforcement import enforcement_of, rule_settings
from policies.config.spread_policy import Enforcement, RuleSettings, SpreadPolicy
from policies.config.subject import Subject
from policies.lint.run import problems_of
from policies.manifests.fields import MAX_ERRORS, ErrorKind, FieldError, FieldPath
from policies.manifests.findings import Severity
from policies.manifests.sanitize import cut
from policies.rules.base import AtAdmission, Context, Rule, RuleTarget, all_rules
from policies.scheduler.configuration import DEFAULT_CONFIG

#: The groups whose controllers hand a template's constraints on as they are. Of another kind's controller
#: nobody knows what it fills in.
BUILT_IN_GROUPS = frozenset({"", "apps", "batch"})
#: Characters of a finding: more than any has whose names are of a usual length.
MESSAGE_LENGTH = 1000


class Violation(NamedTuple):
    """One thing wrong with an object, and what becomes of the object for it.

    Attributes:
        error: What is wrong.
        severity: How bad it is.
        by_linter: How bad the linter calls it, unless a policy says otherwise.
        enforcement: Whether the object is denied, warned about, or only recorded in the audit log.
        short: The problem in few words, for a warning; empty where the error has few.
    """

    error: FieldError
    severity: Severity
    by_linter: Severity
    enforcement: Enforcement
    short: str = ""

    @property
    def is_note(self) -> bool:
        """Whether it is no more than something to know."""
        return self.severity is Severity.NOTE

    @property
    def text(self) -> str:
        """What a person reads."""
        return error_text(self.error)

    @property
    def warning(self) -> AdmissionWarning:
        """The same as a warning."""
        text = self.short or self.error.problem
        return AdmissionWarning(text, topic=self.error.rule, paths=(self.error.path,))


def error_text(error: FieldError) -> str:
    """Return what a person reads: first the id of the rule, to look it up or to be exempt from it."""
    return f"{error.rule}: {error}"


@cache
def rules_at_admission() -> tuple[Rule, ...]:
    """Return the rules that are asked of an object, besides those known from reading it."""
    return tuple(
        rule
        for rule in all_rules().values()
        if rule.target is RuleTarget.WORKLOAD
        and not rule.is_api_rule
        and rule.at_admission is not AtAdmission.SKIP
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


class RuleResults(NamedTuple):
    """What the rules say of an object.

    Attributes:
        violations: What is wrong, the worst first.
        not_judged: The rules that were not asked, and why; those that deny are violations too.
    """

    violations: list[Violation]
    not_judged: tuple[NotJudged, ...] = ()


def rule_violations(
    costs: Costs,
    old: Subject | None,
    context: AdmissionContext,
    *,
    policies: list[SpreadPolicy],
    strictest: Enforcement,
    within: Within | None,
) -> RuleResults:
    """Ask the rules of an object that a person applies.

    Args:
        costs: The object as it would be stored, and what it costs to ask.
        old: What is stored now, for an update; a rule that it breaks already is not asked.
        context: What is decided by.
        policies: Those that hold it.
        strictest: Their enforcement.
        within: Keeps advice of rules that look at every node to the time that is left; None for not looking.
    """
    subject = costs.subject
    if old is not None and (subject.kind.is_pod or _same_pods(subject, old)):
        # The constraints of a pod that is there cannot change; nor have those of this workload.
        return RuleResults([])
    around = context.known_cluster.rule_context(context)
    before = None if old is None else costs_of(old, context)
    asking = _Asking(costs, before, around, context, policies, strictest)
    inventory = around.inventory
    looks_at_nodes = inventory is not None and inventory.nodes is not None
    rules = [rule for rule in rules_at_admission() if asking.is_enabled(rule)]
    alone = [rule for rule in rules if not rule.needs_inventory or (inventory and not looks_at_nodes)]
    found = asking.ask(alone)
    if looks_at_nodes and within is not None:
        on_nodes = [rule for rule in rules if rule.needs_inventory]
        found = _joined(found, asking.ask_of_nodes(on_nodes, within))
    return found._replace(violations=_worst_first(found.violations))


def _joined(one: RuleResults, other: RuleResults) -> RuleResults:
    return RuleResults(one.violations + other.violations, by_reason(one.not_judged + other.not_judged))


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
    """One object that rules are asked of.

    Attributes:
        costs: The object as it would be stored.
        before: As it is stored now, for an update.
        around: What the rules are given besides.
        context: What is decided by.
        policies: Those that hold it.
        strictest: Their enforcement.
    """

    costs: Costs
    before: Costs | None
    around: Context
    context: AdmissionContext
    policies: list[SpreadPolicy]
    strictest: Enforcement

    def is_enabled(self, rule: Rule) -> bool:
        """Whether a rule runs on what these policies hold."""
        return not rule.opt_in or any(rule.id in policy.rules for policy in self.policies)

    def ask_of_nodes(self, rules: list[Rule], within: Within) -> RuleResults:
        """Ask rules that look at every node: what denies in any case, advice if there is time."""
        if not (self.costs.of_all or self.costs.of_others or self.costs.of_nodes):
            count = len(self.costs.workload.constraints)
            self.context.known_cluster.make_room(self.context, 1 + count)
        enforced = [rule for rule in rules if self._denies(rule)]
        advice = [rule for rule in rules if rule not in enforced]
        found = self.ask(enforced)
        if not advice:
            return found
        more = within(lambda: self.ask(advice))
        if isinstance(more, NoTime):
            more = RuleResults([], (NotJudged(tuple(rule.id for rule in advice), more.value),))
        return _joined(found, more)

    def ask(self, rules: Iterable[Rule]) -> RuleResults:
        """Return what rules find in the object and not in what is stored now."""
        found: list[Violation] = []
        skipped: dict[str, list[Rule]] = {}
        for rule in rules:
            if why := _why_not(self.costs, rule):
                skipped.setdefault(why, []).append(rule)
                continue
            settings = rule_settings(self.policies, rule.id)
            problems = problems_of(self.costs.workload, rule, self.around, settings.params)
            if not problems or self._broken_before(rule, settings):
                continue
            for problem in problems[:MAX_ERRORS]:
                error = FieldError(
                    problem.path, cut(problem.message, MESSAGE_LENGTH), ErrorKind.INVALID, rule.id
                )
                severity = problem.severity or rule.severity
                here = self._here(rule, severity)
                violation = weigh(error, here, settings, self.strictest, by_linter=severity)
                found.append(violation._replace(short=problem.short))
        found += (one for why, unasked in skipped.items() for one in self._unasked(unasked, why))
        told = (NotJudged(tuple(rule.id for rule in unasked), why) for why, unasked in skipped.items())
        return RuleResults(found, tuple(told))

    def _unasked(self, rules: list[Rule], why: str) -> Iterator[Violation]:
        """Yield what denies an object because a rule could not be asked; an update if it could be before."""
        for rule in rules:
            if self._denies(rule) and (self.before is None or not _why_not(self.before, rule)):
                path = self.costs.subject.kind.constraints_path
                error = FieldError(path, f"cannot be checked: {why}", ErrorKind.TOO_MANY, rule.id)
                settings = rule_settings(self.policies, rule.id)
                yield weigh(error, self._here(rule, rule.severity), settings, self.strictest)

    def _denies(self, rule: Rule) -> bool:
        """Tell whether a finding of a rule refuses the object."""
        error = FieldError(FieldPath(), "", ErrorKind.INVALID, rule.id)
        settings = rule_settings(self.policies, rule.id)
        found = weigh(error, self._here(rule, rule.severity), settings, self.strictest)
        return found.enforcement is Enforcement.DENY

    def _broken_before(self, rule: Rule, settings: RuleSettings) -> bool:
        if self.before is None or _why_not(self.before, rule):
            return False
        return bool(problems_of(self.before.workload, rule, self.around, settings.params))

    def _here(self, rule: Rule, severity: Severity) -> Severity:
        """Return how bad a finding of the linter is at admission."""
        if severity is not Severity.ERROR:
            return severity
        kind, name = self.costs.subject.kind, self.costs.subject.pod.scheduler_name
        profiles = self.context.scheduler or DEFAULT_CONFIG
        certain = rule.at_admission is AtAdmission.DENY and kind.group in BUILT_IN_GROUPS
        by_us = profiles.profile_for(name) is not None
        return Severity.ERROR if certain and by_us else Severity.WARNING


def _why_not(costs: Costs, rule: Rule) -> str:
    """Return why a rule cannot be asked of an object for what that costs; empty if it can."""
    if costs.of_all or rule.at_admission is AtAdmission.DENY:
        return costs.of_all
    return costs.of_others or (costs.of_nodes if rule.needs_inventory else "")

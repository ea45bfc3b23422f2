"""The rules of the linter on one object under review: which run, and what becomes of a finding.

None runs on an object that a controller creates: who could fix it applied something else, which was reviewed.
A file is linted before anything depends on it, an object under review is about to run: so what is not certain
without the rest of the repository warns here, whatever the linter calls it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple, TypeVar

from policies.admission.decision import SkipCause, SkippedRules, by_reason
from policies.admission.review_cost import NoTime, ReviewCost, TimeLimit
from policies.admission.warnings import AdmissionWarning
from policies.config.context import AdmissionContext
from policies.config.enforcement import (
    NO_SETTINGS,
    enforcement_of,
    merged_settings,
    rule_settings,
    strictest_of,
)
from policies.config.spread_policy import Enforcement, RuleSettings, SpreadPolicy
from policies.manifests.fields import MAX_ERRORS, ErrorKind, FieldError
from policies.manifests.findings import Severity
from policies.manifests.sanitize import cut
from policies.model.workload import Workload, WorkloadPart
from policies.model.workload_kinds import BUILT_IN_GROUPS
from policies.rules.base import (
    AtAdmission,
    Context,
    MissingObjectError,
    Problem,
    Rule,
    RuleTarget,
    all_rules,
)
from policies.scheduler.capacity import UndecidedError
from policies.scheduler.configuration import UnknownSchedulerError

_Found = TypeVar("_Found", FieldError, Problem)

#: Characters of a finding: more than any has whose names are of a usual length.
MESSAGE_LENGTH = 1000


class Violation(NamedTuple):
    """One thing wrong with an object, and what becomes of the object for it."""

    error: FieldError  #: What is wrong.
    severity: Severity  #: How bad it is.
    by_linter: Severity  #: How bad the linter calls it, unless a policy says otherwise.
    #: Whether the object is denied, warned about, or only recorded in the audit log.
    enforcement: Enforcement
    short: str = ""  #: The problem in few words, for a warning; empty where the error has few.

    @property
    def is_note(self) -> bool:
        """Whether it is no more than something to know."""
        return self.severity is Severity.NOTE

    @property
    def text(self) -> str:
        """The text that users read."""
        return error_text(self.error)

    @property
    def warning(self) -> AdmissionWarning:
        """The same as a warning."""
        text = self.short or self.error.problem
        return AdmissionWarning(text, topic=self.error.rule, paths=(self.error.path,))


def error_text(error: FieldError) -> str:
    """Return the text that users read: first the id of the rule, to look it up or to be exempt from it."""
    return f"{error.rule}: {error}"


@cache
def rules_at_admission() -> tuple[Rule, ...]:
    """Return the rules that run on an object, besides those known from reading it."""
    return tuple(
        rule
        for rule in all_rules().values()
        if rule.target is RuleTarget.WORKLOAD
        and not rule.is_api_rule
        and rule.at_admission is not AtAdmission.SKIP
    )


@cache
def _rules_about(parts: frozenset[WorkloadPart]) -> tuple[Rule, ...]:
    """Return those of them that may find something in a workload with some parts."""
    return tuple(rule for rule in rules_at_admission() if rule.may_find(parts))


def weigh(
    error: FieldError,
    severity: Severity,
    settings: RuleSettings,
    strictest: Enforcement,
    *,
    by_linter: Severity = Severity.ERROR,
    short: str = "",
) -> Violation:
    """Return the violation for an error, with the enforcement that applies to it.

    Args:
        error: What is wrong.
        severity: How bad that is, unless the settings say otherwise.
        settings: The policies' settings of the rule.
        strictest: The enforcement of the policies.
        by_linter: How bad the linter calls it.
        short: The problem in few words; empty where the error has few.
    """
    severity = settings.severity or severity
    return Violation(error, severity, by_linter, enforcement_of(severity, settings, strictest), short)


def api_violations(
    errors: Iterable[FieldError], policies: Sequence[SpreadPolicy], strictest: Enforcement
) -> list[Violation]:
    """Return the violations for the errors that were found in reading an object."""
    return [weigh(error, Severity.ERROR, rule_settings(policies, error.rule), strictest) for error in errors]


def beyond(found: Iterable[_Found], before: Iterable[_Found]) -> list[_Found]:
    """Return what is wrong with an object beyond what is wrong with the stored one already.

    Entries of lists may have moved, so what is wrong with the same field of some entry is compared by number.
    """
    stored = list(before)
    kept, paths = Counter(map(_field_of, stored)), {entry.path for entry in stored}
    more = []
    for entry in sorted(found, key=lambda entry: entry.path not in paths):
        kept[_field_of(entry)] -= 1
        if kept[_field_of(entry)] < 0:
            more.append(entry)
    return more


def _field_of(entry: FieldError | Problem) -> Hashable:
    """Return the field that something is wrong with, of whatever entry of lists, and what kind of it."""
    kind = (entry.rule, entry.kind) if isinstance(entry, FieldError) else entry.severity
    return kind, tuple(part for part in entry.path.segments if not isinstance(part, int))


class RuleResults(NamedTuple):
    """The results of running rules on an object."""

    violations: list[Violation]  #: What is wrong, the worst first.
    #: The rules that were not run, and why; those that deny are violations too.
    skipped: tuple[SkippedRules, ...] = ()
    #: The rules that need objects or a profile which are not known, and which ones.
    unknown: tuple[SkippedRules, ...] = ()

    def with_more(self, other: RuleResults) -> RuleResults:
        """Return the results of both, one entry for each reason to skip rules."""
        return RuleResults(
            self.violations + other.violations,
            by_reason(self.skipped + other.skipped),
            by_reason(self.unknown + other.unknown),
        )


def rule_violations(
    cost: ReviewCost,
    given: Context,
    context: AdmissionContext,
    policies: Sequence[SpreadPolicy],
    within: TimeLimit | None,
) -> RuleResults:
    """Run the rules on an object that a person applies.

    Args:
        cost: The object as it would be stored, and what it costs to run rules on it; for an update with the
            stored object, whose own findings are not repeated.
        given: What the rules are given besides.
        context: What is decided by.
        policies: Those whose scope it is in.
        within: Keeps advice of rules that look at every node to the time that is left; None for not looking.
    """
    workload = cost.workload
    if cost.before and (workload.kind.is_pod or _same_pods(workload, cost.before.workload)):
        # The constraints of a pod that is there cannot change; nor have those of this workload.
        return RuleResults([])
    runner = _Runner(cost, given, context, merged_settings(policies), strictest_of(policies))
    inventory = given.inventory
    looks_at_nodes = inventory is not None and inventory.nodes is not None
    without_nodes = inventory is not None and not looks_at_nodes
    found = runner.run(
        [
            rule
            for rule in (_rules_about(workload.parts) if runner.is_readable else rules_at_admission())
            if (without_nodes or not rule.needs_inventory) and runner.is_in_force(rule)
        ]
    )
    if looks_at_nodes and within is not None:
        on_nodes = [
            rule for rule in rules_at_admission() if rule.needs_inventory and runner.is_in_force(rule)
        ]
        found = found.with_more(runner.run_on_nodes(on_nodes, within))
    return found._replace(violations=_worst_first(found.violations)) if found.violations else found


def _worst_first(found: list[Violation]) -> list[Violation]:
    """Sort violations by how bad they are, here and to the linter; one of each rule first."""
    ranked = [
        (violation.severity.rank, violation.by_linter.rank, repeats, violation)
        for repeats, violation in zip(repeats_of(entry.error for entry in found), found, strict=True)
    ]
    return [violation for *_, violation in sorted(ranked, key=lambda entry: entry[:3])]


def repeats_of(errors: Iterable[FieldError]) -> Iterator[int]:
    """Yield, for each error, how many of its rule came before it: the first of each is the most useful."""
    seen: dict[str, int] = {}
    for error in errors:
        count = seen.get(error.rule, 0)
        yield count
        seen[error.rule] = count + 1


def _same_pods(workload: Workload, old: Workload) -> bool:
    """Return whether an update leaves all that rules look at as it is, as most updates do."""
    if workload.template.labels != old.template.labels:
        return False
    kind = workload.kind
    # A PodTemplate has no spec, and a kind of ``--workload-kind`` may keep its parts anywhere.
    parts = {"spec", *(way[0] for way in (kind.template, kind.selector, kind.replicas) if way)}
    return all(workload.obj.get(part) == old.obj.get(part) for part in parts)


class _Runner(NamedTuple):
    """Runs rules on one object."""

    cost: ReviewCost  #: The object as it would be stored.
    given: Context  #: What the rules are given besides.
    context: AdmissionContext  #: What is decided by.
    settings: Mapping[str, RuleSettings]  #: The policies' settings of rules, by their ids.
    strictest: Enforcement  #: The enforcement of the policies.

    @property
    def is_readable(self) -> bool:
        """Whether it costs little enough to look at the object, but for comparing it with nodes."""
        return not (self.cost.of_all or self.cost.of_others)

    def is_in_force(self, rule: Rule) -> bool:
        """Return whether a rule runs: an opt-in rule only where a policy names it."""
        return not rule.opt_in or rule.id in self.settings

    def run_on_nodes(self, rules: list[Rule], within: TimeLimit) -> RuleResults:
        """Run rules that look at every node: what denies in any case, advice if there is time."""
        if not (self.cost.of_all or self.cost.of_others or self.cost.of_nodes):
            self.context.make_room(self.cost.workload)
        enforced = [rule for rule in rules if self._denies(rule)]
        advice = [rule for rule in rules if rule not in enforced]
        found = self.run(enforced)
        if not advice:
            return found
        more = within(lambda: self.run(advice))
        if isinstance(more, NoTime):
            ids = tuple(rule.id for rule in advice)
            more = RuleResults([], (SkippedRules(ids, more.value, SkipCause.TIMEOUT),))
        return found.with_more(more)

    def run(self, rules: Iterable[Rule]) -> RuleResults:
        """Return the violations that rules find in the object and not in the stored one."""
        found: list[Violation] = []
        skipped: dict[str, list[Rule]] = {}
        unknown: list[SkippedRules] = []
        is_readable, parts = self.is_readable, self.cost.workload.parts
        for rule in rules:
            if (rule.needs_inventory or not is_readable) and (why := _why_not(self.cost, rule)):
                skipped.setdefault(why, []).append(rule)
                continue
            if rule.needs_inventory and not rule.may_find(parts):
                continue
            settings = self.settings.get(rule.id, NO_SETTINGS)
            try:
                problems = self._find(rule, self.cost.workload, settings)
            except UndecidedError as given_up:
                skipped.setdefault(str(given_up), []).append(rule)
                continue
            except UnknownSchedulerError as other:
                if self._enforcement(rule) is not Enforcement.AUDIT:
                    skipped.setdefault(str(other), []).append(rule)
                else:
                    unknown.append(SkippedRules((rule.id,), str(other)))
                continue
            except MissingObjectError as missing:
                unknown.append(SkippedRules((rule.id,), str(missing)))
                continue
            if not problems:
                continue
            problems = beyond(problems, self._problems_before(rule, settings) or ())
            for problem in problems[:MAX_ERRORS]:
                text = cut(problem.message, MESSAGE_LENGTH)
                error = FieldError(problem.path, text, ErrorKind.INVALID, rule.id)
                severity = problem.severity or rule.severity
                here = self._severity_here(rule, severity)
                short = problem.short
                found.append(weigh(error, here, settings, self.strictest, by_linter=severity, short=short))
        found += (one for why, left_out in skipped.items() for one in self._of_skipped(left_out, why))
        reported = (
            SkippedRules(tuple(rule.id for rule in left_out), why) for why, left_out in skipped.items()
        )
        return RuleResults(found, tuple(reported), by_reason(unknown))

    def _find(self, rule: Rule, workload: Workload, settings: RuleSettings) -> list[Problem]:
        """Return the problems that a rule finds; most rules have no settings of their own to read."""
        context = self.given if rule.params is None else rule.context_for(self.given, settings.params)
        return list(rule.check(workload, context))

    def _of_skipped(self, rules: list[Rule], why: str) -> Iterator[Violation]:
        """Yield the denials because a rule could not run; those of an update only if it could before."""
        for rule in rules:
            if self._denies(rule) and not self._unchecked_before(rule):
                path = self.cost.workload.kind.constraints_path
                error = FieldError(path, f"cannot be checked: {why}", ErrorKind.TOO_MANY, rule.id)
                settings = self.settings.get(rule.id, NO_SETTINGS)
                yield weigh(error, self._severity_here(rule, rule.severity), settings, self.strictest)

    def _denies(self, rule: Rule) -> bool:
        """Return whether a finding of a rule refuses the object."""
        return self._enforcement(rule) is Enforcement.DENY

    def _enforcement(self, rule: Rule) -> Enforcement:
        """Return the enforcement for a finding of a rule that has the rule's own severity."""
        settings = self.settings.get(rule.id, NO_SETTINGS)
        severity = settings.severity or self._severity_here(rule, rule.severity)
        return enforcement_of(severity, settings, self.strictest)

    def _unchecked_before(self, rule: Rule) -> bool:
        """Return whether a rule cannot run on what is stored now either."""
        if self.cost.before is None:
            return False
        if _why_not(self.cost.before, rule):
            return True
        settings = self.settings.get(rule.id, NO_SETTINGS)
        return not _why_not(self.cost, rule) and self._problems_before(rule, settings) is None

    def _problems_before(self, rule: Rule, settings: RuleSettings) -> list[Problem] | None:
        """Return the problems that a rule finds in the stored object; None if it gave up.

        There are none where looking at both would cost too much.
        """
        before, certain = self.cost.before, rule.at_admission is AtAdmission.DENY
        if before is None or _why_not(before, rule):
            return []
        on_nodes = rule.needs_inventory and not certain
        if not self.cost.affords_before(labels_only=certain, on_nodes=on_nodes):
            return []
        try:
            return self._find(rule, before.workload, settings)
        except (UndecidedError, MissingObjectError, UnknownSchedulerError):
            return None

    def _severity_here(self, rule: Rule, severity: Severity) -> Severity:
        """Return how bad a finding of the linter is at admission."""
        if severity is not Severity.ERROR:
            return severity
        built_in = self.cost.workload.kind.group in BUILT_IN_GROUPS
        certain = rule.at_admission is AtAdmission.DENY and built_in
        return Severity.ERROR if certain else Severity.WARNING


def _why_not(cost: ReviewCost, rule: Rule) -> str:
    """Return why a rule cannot run on an object for what that costs; empty if it can."""
    if cost.of_all or rule.at_admission is AtAdmission.DENY:
        return cost.of_all
    return cost.of_others or (cost.of_nodes if rule.needs_inventory else "")

"""The rules of the linter on one object under review: which run, and what becomes of a finding.

None runs on an object that a controller creates: who could fix it applied something else, which was reviewed.
A file is linted before anything depends on it, an object under review is about to run: so what is not certain
without the rest of the repository warns here, whatever the linter calls it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple, TypeAlias, TypeVar

from policies.admission.decision import AdmissionWarning, SkipCause, SkippedRules, by_reason
from policies.admission.review_cost import NoTime, ReviewCost, TimeLimit
from policies.config.context import AdmissionContext
from policies.config.enforcement import (
    NO_SETTINGS,
    enforcement_of,
    merged_settings,
    rule_settings,
    severity_at_admission,
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

#: What policies say of rules: the id of each, and the severity and the enforcement that they set, if any.
_Stated: TypeAlias = tuple[tuple[str, Severity | None, Enforcement | None], ...]
#: Combinations of parts and policies for which the rules that run are kept. Arbitrary; some KiB each.
MAX_CHOSEN: Final = 256
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


class _Chosen(NamedTuple):
    """The rules that run on an object, in their order."""

    #: All of them.
    every: tuple[Rule, ...]
    #: Those that look at no nodes.
    without_nodes: tuple[Rule, ...]
    #: Those that look at nodes: whose findings refuse the object, and the others.
    enforced: tuple[Rule, ...]
    advice: tuple[Rule, ...]


@lru_cache(MAX_CHOSEN)
def _choose(
    parts: frozenset[WorkloadPart] | None, stated: _Stated, strictest: Enforcement, *, built_in: bool
) -> _Chosen:
    """Return the rules that run on objects which have some parts; None for what is too large to be read.

    Args:
        parts: The parts.
        stated: What policies say of rules.
        strictest: The enforcement of the policies.
        built_in: Whether the objects are of a kind of Kubernetes.
    """
    settings = {
        name: RuleSettings(severity=severity, enforcement=enforcement)
        for name, severity, enforcement in stated
    }
    in_force = [
        rule
        for rule in rules_at_admission()
        if (not rule.opt_in or rule.id in settings) and (parts is None or rule.may_find(parts))
    ]
    on_nodes = [rule for rule in in_force if rule.needs_inventory]
    enforced = [
        rule
        for rule in on_nodes
        if _enforcement(rule, settings, strictest, built_in=built_in) is Enforcement.DENY
    ]
    return _Chosen(
        tuple(in_force),
        tuple(rule for rule in in_force if not rule.needs_inventory),
        tuple(enforced),
        tuple(rule for rule in on_nodes if rule not in enforced),
    )


def _enforcement(
    rule: Rule, settings: Mapping[str, RuleSettings], strictest: Enforcement, *, built_in: bool
) -> Enforcement:
    """Return the enforcement for a finding of a rule that has the rule's own severity."""
    of_rule = settings.get(rule.id, NO_SETTINGS)
    severity = of_rule.severity or severity_at_admission(rule, rule.severity, built_in=built_in)
    return enforcement_of(severity, of_rule, strictest)


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
        if other is _NOTHING_FOUND:
            return self
        return RuleResults(
            self.violations + other.violations,
            by_reason(self.skipped + other.skipped),
            by_reason(self.unknown + other.unknown),
        )


_NOTHING_FOUND: Final = RuleResults([])


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
        return _NOTHING_FOUND
    runner = _Runner(cost, given, context, merged_settings(policies), strictest_of(policies))
    chosen, inventory = runner.chosen(), given.inventory
    if inventory is not None and inventory.nodes is None:
        found = runner.run(chosen.every)
    else:
        found = runner.run(chosen.without_nodes)
        if inventory is not None and within is not None:
            found = found.with_more(runner.run_on_nodes(chosen, within))
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

    @property
    def is_built_in(self) -> bool:
        """Whether the object is of a kind of Kubernetes."""
        return self.cost.workload.kind.group in BUILT_IN_GROUPS

    def chosen(self) -> _Chosen:
        """Return the rules that run."""
        stated = tuple([(name, each.severity, each.enforcement) for name, each in self.settings.items()])
        parts = self.cost.workload.parts if self.is_readable else None
        return _choose(parts, stated, self.strictest, built_in=self.is_built_in)

    def run_on_nodes(self, chosen: _Chosen, within: TimeLimit) -> RuleResults:
        """Run rules that look at every node: what denies in any case, advice if there is time."""
        if not (self.cost.of_all or self.cost.of_others or self.cost.of_nodes):
            self.context.make_room(self.cost.workload)
        found = self.run(chosen.enforced)
        if not chosen.advice:
            return found
        more = within(lambda: self.run(chosen.advice))
        if isinstance(more, NoTime):
            ids = tuple(rule.id for rule in chosen.advice)
            more = RuleResults([], (SkippedRules(ids, more.value, SkipCause.TIMEOUT),))
        return found.with_more(more)

    def run(self, rules: Iterable[Rule]) -> RuleResults:
        """Return the violations that rules find in the object and not in the stored one."""
        found: list[Violation] = []
        skipped: dict[str, list[Rule]] = {}
        unknown: list[SkippedRules] = []
        runs = self.is_readable
        for rule in rules:
            may_not = not runs or (rule.needs_inventory and self.cost.of_nodes)
            if may_not and (why := _why_not(self.cost, rule)):
                skipped.setdefault(why, []).append(rule)
                continue
            settings = self.settings.get(rule.id, NO_SETTINGS)
            try:
                problems = self._find(rule, self.cost.workload, settings)
            except UndecidedError as given_up:
                skipped.setdefault(str(given_up), []).append(rule)
                continue
            except UnknownSchedulerError as other:
                if self._enforcement_of(rule) is not Enforcement.AUDIT:
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
        if not (found or skipped or unknown):
            return _NOTHING_FOUND
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
            if self._enforcement_of(rule) is Enforcement.DENY and not self._unchecked_before(rule):
                path = self.cost.workload.kind.constraints_path
                error = FieldError(path, f"cannot be checked: {why}", ErrorKind.TOO_MANY, rule.id)
                settings = self.settings.get(rule.id, NO_SETTINGS)
                yield weigh(error, self._severity_here(rule, rule.severity), settings, self.strictest)

    def _enforcement_of(self, rule: Rule) -> Enforcement:
        """Return the enforcement for a finding of a rule that has the rule's own severity."""
        return _enforcement(rule, self.settings, self.strictest, built_in=self.is_built_in)

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
        return severity_at_admission(rule, severity, built_in=self.is_built_in)


def _why_not(cost: ReviewCost, rule: Rule) -> str:
    """Return why a rule cannot run on an object for what that costs; empty if it can."""
    if cost.of_all or rule.at_admission is AtAdmission.DENY:
        return cost.of_all
    return cost.of_others or (cost.of_nodes if rule.needs_inventory else "")

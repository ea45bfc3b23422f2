"""The enforcement of rules, and exemptions from it: an object's annotation, or a policy's exception.

The author of an object writes its annotations too, so from a rule that a policy enforces by refusing objects
they exempt only where the policy allows it. Exceptions are written by the authors of policies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import cache
from typing import NamedTuple

from policies.config.spread_policy import (
    AnnotationExemptions,
    Enforcement,
    PolicyException,
    RuleSettings,
    SpreadPolicy,
)
from policies.manifests.fields import shown
from policies.manifests.findings import Severity
from policies.model.api_rules import ApiRule
from policies.model.workload import Workload
from policies.model.workload_kinds import BUILT_IN_GROUPS
from policies.rules.base import AtAdmission, Rule, RuleTarget, all_rules, unknown_rule

#: Strictest first: where several policies hold an object, the strictest counts.
STRICTNESS = (Enforcement.DENY, Enforcement.WARN, Enforcement.AUDIT)
#: ``rule-id: why`` or ``rule-id: why (until 2027-01-31)``, one a line; the reason is required.
IGNORE_ANNOTATION = "evenkeel.dev/ignore"
#: The rule that a workload breaks whose next pod would be unschedulable; only admission runs it. Annotations,
#: metrics and the audit log use this id.
UNSCHEDULABLE = "unschedulable"
#: Lines of one such annotation that are read: more than there are rules.
MAX_ENTRIES = 100
#: Characters of one such line; a longer one has no effect. The audit log repeats every reason that has one.
MAX_LINE = 1000
#: The settings of a rule that no policy mentions.
NO_SETTINGS = RuleSettings()
#: Starts what is in brackets at the end of a reason that has an expiry.
_UNTIL = "until"


@dataclass(frozen=True, slots=True)
class Exemptions:
    """The rules that an object is exempt from, with the reasons, and what is wrong with the annotation."""

    reasons: Mapping[str, str]
    problems: tuple[str, ...]


#: What an object without the annotation has.
NO_EXEMPTIONS = Exemptions({}, ())


class ExemptionSource(StrEnum):
    """Who exempts an object."""

    ANNOTATION = "annotation"
    POLICY = "policy"


class Exemption(NamedTuple):
    """Why a rule that an object breaks is not enforced."""

    source: ExemptionSource
    reason: str


class EnforcementTarget(NamedTuple):
    """The properties by which exceptions of policies select an object."""

    namespace: str  #: Its namespace.
    kinds: frozenset[str]  #: The kinds that it belongs to.
    #: The names that it goes by; of one that the API server has yet to name, how the name begins.
    names: tuple[str, ...]

    @classmethod
    def of(cls, workload: Workload, *, by_controller: bool) -> EnforcementTarget:
        """Return the target of an object; owners count only if they are believed."""
        own = workload.metadata.get("name") or workload.metadata.get("generateName")
        names = (own,) if isinstance(own, str) else ()
        owner = workload.owner
        if owner is None or not by_controller:
            return cls(workload.namespace, frozenset({workload.kind.kind}), names)
        revision = workload.template.labels.get("pod-template-hash", "")
        owners = (owner.name, owner.name.removesuffix(f"-{revision}"))
        return cls(workload.namespace, workload.all_kinds, names + owners)


def enforcement_of(severity: Severity, settings: RuleSettings, strictest: Enforcement) -> Enforcement:
    """Return the enforcement for a finding on an object.

    A policy's setting of the rule itself counts. Else a warning denies nothing, and a note is for the audit
    log alone.

    Args:
        severity: How bad the finding is.
        settings: The policies' settings of the rule.
        strictest: The enforcement of the policies.
    """
    if settings.enforcement is not None:
        return settings.enforcement
    if severity is Severity.NOTE:
        return Enforcement.AUDIT
    if severity is Severity.WARNING and strictest is Enforcement.DENY:
        return Enforcement.WARN
    return strictest


def severity_at_admission(rule: Rule, severity: Severity, *, built_in: bool) -> Severity:
    """Return how bad a finding is at admission: an error only where the object alone proves it.

    Args:
        rule: The rule.
        severity: How bad the linter calls it.
        built_in: Whether the object is of a kind of Kubernetes: what others make of their pods is not known.
    """
    certain = built_in and rule.at_admission is AtAdmission.DENY
    return Severity.WARNING if severity is Severity.ERROR and not certain else severity


def strictest_of(policies: Iterable[SpreadPolicy]) -> Enforcement:
    """Return the enforcement of those policies that are strictest; there must be some."""
    return min((policy.enforcement for policy in policies), key=STRICTNESS.index)


def rule_settings(policies: Iterable[SpreadPolicy], rule: str) -> RuleSettings:
    """Return the settings of the first policy that has some for a rule."""
    found = (policy.rules[rule] for policy in policies if rule in policy.rules)
    return next(found, NO_SETTINGS)


def merged_settings(policies: Sequence[SpreadPolicy]) -> dict[str, RuleSettings]:
    """Return ``rule_settings`` of every rule that a policy mentions, by its id."""
    merged: dict[str, RuleSettings] = {}
    for policy in reversed(policies):
        merged |= policy.rules
    return merged


@dataclass(frozen=True, slots=True, kw_only=True)
class Exempting:
    """All that may exempt one object."""

    policies: Sequence[SpreadPolicy]  #: Those that hold it.
    annotated: Exemptions  #: What its annotations exempt from.
    target: EnforcementTarget  #: What exceptions select it by.
    today: date | None = None  #: The day for the expiry of exceptions; None lets every one hold.
    built_in: bool = False  #: Whether it is of a kind of Kubernetes.
    _selected: dict[int, bool] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(
        cls, workload: Workload, policies: Sequence[SpreadPolicy], *, by_controller: bool, today: date | None
    ) -> Exempting:
        """Return all that may exempt a workload; its owners count only if they are believed."""
        return cls(
            policies=policies,
            annotated=read_exemptions(workload.annotations, workload.template.annotations, today=today),
            target=EnforcementTarget.of(workload, by_controller=by_controller),
            today=today,
            built_in=workload.kind.group in BUILT_IN_GROUPS,
        )

    def enforcement(self, rule: str, severity: Severity) -> Enforcement:
        """Return the enforcement that admission would apply to a finding of the linter on the object.

        Args:
            rule: The rule's id.
            severity: How bad the linter calls it, by the policies' settings.
        """
        known, settings = all_rules().get(rule), rule_settings(self.policies, rule)
        if not self.policies or known is None or known.target is not RuleTarget.WORKLOAD:
            return Enforcement.AUDIT
        if known.at_admission is AtAdmission.SKIP:
            return Enforcement.AUDIT
        if settings.severity is None and not known.is_api_rule:
            severity = severity_at_admission(known, severity, built_in=self.built_in)
        return enforcement_of(severity, settings, strictest_of(self.policies))

    def find(self, rule: str, enforcement: Enforcement) -> Exemption | None:
        """Return why a rule is not enforced; None if it is."""
        for policy in self.policies:
            for exception in policy.exceptions:
                if rule in exception.rules and self._selected_by(exception):
                    reason = f"{exception.reason} (policy {policy.name})"
                    return Exemption(ExemptionSource.POLICY, reason)
        written = self.annotated.reasons.get(rule)
        if written is None or (enforcement is Enforcement.DENY and self._forbidding(rule) is not None):
            return None
        return Exemption(ExemptionSource.ANNOTATION, written)

    def without_effect(self, rule: str, enforcement: Enforcement) -> str:
        """Return why an annotation does not exempt from a rule that it names; empty if none names it."""
        if rule not in self.annotated.reasons or enforcement is not Enforcement.DENY:
            return ""
        policy = self._forbidding(rule)
        if policy is None or self.find(rule, enforcement) is not None:
            return ""
        return f"{rule} has no effect: policy {policy.name} denies, and allows no exemption by annotation"

    def _selected_by(self, exception: PolicyException) -> bool:
        """Return whether an exception is one for the object: compared once, however many rules are broken."""
        known = self._selected.get(id(exception))
        if known is None:
            known = self._selected[id(exception)] = exception.selects(*self.target, today=self.today)
        return known

    def _forbidding(self, rule: str) -> SpreadPolicy | None:
        """Return the first policy that denies for a rule whatever annotations exempt."""
        for policy in self.policies:
            settings = policy.rules.get(rule, NO_SETTINGS)
            denies = (settings.enforcement or policy.enforcement) is Enforcement.DENY
            allowed = settings.annotation_exemptions or policy.annotation_exemptions
            if denies and allowed is AnnotationExemptions.DENIED:
                return policy
        return None


@cache
def known_rules() -> frozenset[str]:
    """Return every id that an object may be exempt from, at admission or in a file."""
    return frozenset(all_rules()) | frozenset(ApiRule)


def read_exemptions(
    own: Mapping[str, str],
    template: Mapping[str, str],
    *,
    today: date | None = None,
) -> Exemptions:
    """Read ``evenkeel.dev/ignore`` from an object's own annotations and from its template's.

    An entry without a reason, of an unknown rule, or whose last day is over exempts from nothing.

    Args:
        own: The object's annotations.
        template: Its pod template's annotations.
        today: The day for the expiry of entries; None lets every entry hold.

    >>> read_exemptions({IGNORE_ANNOTATION: "wrong-type: moving house (until 2027-01-31)"}, {}).reasons
    {'wrong-type': 'moving house (until 2027-01-31)'}
    """
    if IGNORE_ANNOTATION not in own and IGNORE_ANNOTATION not in template:
        return NO_EXEMPTIONS
    texts = dict.fromkeys(source.get(IGNORE_ANNOTATION, "") for source in (own, template))
    rules = known_rules()
    reasons: dict[str, str] = {}
    problems: list[str] = []
    lines = [line for text in texts for line in text.split("\n", MAX_ENTRIES)[:MAX_ENTRIES]]
    for line in filter(None, (line[: MAX_LINE + 1].strip() for line in lines)):
        rule, _, reason = (part.strip() for part in line.partition(":"))
        if len(line) > MAX_LINE:
            wrong = [f"{shown(rule)} has no effect: the line has more than {MAX_LINE} characters"]
        elif rule in rules:
            wrong = list(_wrong(rule, reason, today))
        else:
            wrong = [unknown_rule(rule)]
        problems += (f"{IGNORE_ANNOTATION}: {problem}" for problem in wrong)
        if not wrong:
            reasons[rule] = reason
    return Exemptions(reasons, tuple(problems))


def _wrong(rule: str, reason: str, today: date | None) -> Iterator[str]:
    """Yield why an entry exempts from nothing."""
    why, day = _without_expiry(reason)
    if not why:
        yield f"{rule} has no effect without a reason, write {rule}: REASON"
    if day is None:
        return
    try:
        last = date.fromisoformat(day)
    except ValueError:
        got = shown(day[:40])
        yield f"{rule} has no effect: Invalid value: {got}: the last day must be a date such as 2027-01-31"
        return
    if today is not None and today > last:
        yield f"{rule} has no effect any more: the exemption ended on {last}"


def _without_expiry(reason: str) -> tuple[str, str | None]:
    """Return a reason without the expiry at its end, and the day of that; None for a reason without one.

    >>> _without_expiry("moving house ( until 2027-01-31 )"), _without_expiry("one (of two) services")
    (('moving house', '2027-01-31'), ('one (of two) services', None))
    """
    why, bracket, inside = reason.removesuffix(")").rpartition("(")
    words = inside.split()
    if bracket and reason.endswith(")") and words[:1] == [_UNTIL]:
        return why.strip(), " ".join(words[1:])
    return reason, None

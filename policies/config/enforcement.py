"""What becomes of an object that breaks a rule, and what exempts it: its annotation, or a policy's exception.

Whoever writes an object writes its annotations too, so from a rule that a policy enforces by refusing objects
they exempt only where the policy allows it. Its exceptions are written by who may write policies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import NamedTuple

from policies.config.exemptions import Exemptions
from policies.config.spread_policy import AnnotationExemptions, Enforcement, RuleSettings, SpreadPolicy
from policies.config.subject import Subject
from policies.manifests.findings import Severity
from policies.rules.base import AtAdmission, RuleTarget, all_rules

#: Strictest first: where several policies hold an object, the strictest counts.
STRICTNESS = (Enforcement.DENY, Enforcement.WARN, Enforcement.AUDIT)


#: What policies say of a rule that none of them mentions.
NO_SETTINGS = RuleSettings()


class ExemptionSource(StrEnum):
    """Who exempts an object."""

    ANNOTATION = "annotation"
    POLICY = "policy"


class Exemption(NamedTuple):
    """Why a rule that an object breaks is not enforced."""

    source: ExemptionSource
    reason: str


class EnforcementTarget(NamedTuple):
    """What exceptions of policies select an object by.

    Attributes:
        namespace: Its namespace.
        kinds: The kinds that it belongs to.
        names: The names that it goes by; of one that the API server has yet to name, how the name begins.
    """

    namespace: str
    kinds: frozenset[str]
    names: tuple[str, ...]

    @classmethod
    def of(cls, subject: Subject, *, by_controller: bool) -> EnforcementTarget:
        """Return the target of an object; owners count only if they are believed."""
        own = subject.metadata.get("name") or subject.metadata.get("generateName")
        names = (own,) if isinstance(own, str) else ()
        owner = subject.owner
        if owner is None or not by_controller:
            return cls(subject.namespace, frozenset({subject.kind.kind}), names)
        revision = subject.pod.labels.get("pod-template-hash", "")
        owners = (owner.name, owner.name.removesuffix(f"-{revision}"))
        return cls(subject.namespace, subject.all_kinds, names + owners)


def enforcement_of(severity: Severity, settings: RuleSettings, strictest: Enforcement) -> Enforcement:
    """Return what becomes of an object for a finding.

    What a policy says of the rule itself counts. Else a warning denies nothing, and a note is for the audit
    log alone.

    Args:
        severity: How bad the finding is.
        settings: What the policies say of the rule.
        strictest: The enforcement of the policies.
    """
    if settings.enforcement is not None:
        return settings.enforcement
    if severity is Severity.NOTE:
        return Enforcement.AUDIT
    if severity is Severity.WARNING and strictest is Enforcement.DENY:
        return Enforcement.WARN
    return strictest


def enforcement_at_admission(rule: str, severity: Severity, policies: Sequence[SpreadPolicy]) -> Enforcement:
    """Return what would become of an object for a finding of the linter.

    Args:
        rule: The rule's id.
        severity: How bad the linter calls it, by the policies' settings.
        policies: Those that hold the object; without any, nothing is denied.
    """
    known, settings = all_rules().get(rule), rule_settings(policies, rule)
    if not policies or known is None or known.target is not RuleTarget.WORKLOAD:
        return Enforcement.AUDIT
    if known.at_admission is AtAdmission.SKIP:
        return Enforcement.AUDIT
    certain = known.at_admission is AtAdmission.DENY or settings.severity is not None
    if severity is Severity.ERROR and not certain:
        severity = Severity.WARNING
    strictest = min((policy.enforcement for policy in policies), key=STRICTNESS.index)
    return enforcement_of(severity, settings, strictest)


def rule_settings(policies: Iterable[SpreadPolicy], rule: str) -> RuleSettings:
    """Return the settings of the first policy that says something of a rule."""
    found = (policy.rules[rule] for policy in policies if rule in policy.rules)
    return next(found, NO_SETTINGS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exempting:
    """All that may exempt one object.

    Attributes:
        policies: Those that hold it.
        annotated: What its annotations say.
        target: What exceptions select it by.
        today: The day by which exceptions are judged; None to let every one hold.
    """

    policies: Sequence[SpreadPolicy]
    annotated: Exemptions
    target: EnforcementTarget
    today: date | None = None

    def find(self, rule: str, enforcement: Enforcement) -> Exemption | None:
        """Return why a rule is not enforced; None if it is."""
        for policy in self.policies:
            for exception in policy.exceptions:
                if exception.covers(rule, *self.target, today=self.today):
                    reason = f"{exception.reason} (policy {policy.name})"
                    return Exemption(ExemptionSource.POLICY, reason)
        written = self.annotated.reasons.get(rule)
        if written is None or (enforcement is Enforcement.DENY and self._forbidding(rule) is not None):
            return None
        return Exemption(ExemptionSource.ANNOTATION, written)

    def without_effect(self, rule: str, enforcement: Enforcement) -> str:
        """Return why an annotation does not exempt from a rule that it names; empty if none names it."""
        policy = self._forbidding(rule)
        named = rule in self.annotated.reasons and enforcement is Enforcement.DENY
        if policy is None or not named or self.find(rule, enforcement) is not None:
            return ""
        return f"{rule} has no effect: policy {policy.name} denies, and allows no exemption by annotation"

    def _forbidding(self, rule: str) -> SpreadPolicy | None:
        """Return the first policy that denies for a rule whatever annotations say."""
        for policy in self.policies:
            settings = policy.rules.get(rule, NO_SETTINGS)
            denies = (settings.enforcement or policy.enforcement) is Enforcement.DENY
            allowed = settings.annotation_exemptions or policy.annotation_exemptions
            if denies and allowed is AnnotationExemptions.DENIED:
                return policy
        return None

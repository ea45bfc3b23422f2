"""What becomes of one object: let through, warned about, refused, or given default constraints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum

from policies.admission.admission_rules import Violation, api_violations, rule_violations
from policies.admission.cache_misses import CacheMiss, missing_for_injection, missing_for_rules
from policies.admission.injection import Injection, Skip, plan_injection
from policies.admission.injection_remnants import remnants
from policies.admission.next_pod_timing import NextPodTiming, next_pod_timing
from policies.admission.review_cost import NotJudged, Within, by_reason, costs_of
from policies.admission.unschedulable_forecast import Forecast, forecast
from policies.admission.warnings import AdmissionWarning
from policies.config.context import AdmissionContext
from policies.config.enforcement import STRICTNESS, EnforcementTarget, Exempting, Exemption
from policies.config.exemptions import (
    IGNORE_ANNOTATION,
    INJECT_ANNOTATION,
    UNSCHEDULABLE,
    Exemptions,
    read_exemptions,
)
from policies.config.ownership import by_controller
from policies.config.spread_policy import Enforcement
from policies.config.subject import Subject
from policies.manifests.fields import FieldError, shown
from policies.manifests.json_patch import AddOperation
from policies.model.api_rules import API_RULES
from policies.model.snapshot import SELECTING_OWNERS

#: The audit annotation that says why the cluster was not asked.
WITHHELD = "withheld"
#: The audit annotation that names the rules that were not asked, and why.
NOT_JUDGED = "not-judged"
#: Violations that an audit annotation lists: more than it has room for.
MAX_AUDITED = 100
#: The audit annotation with the exemptions that a policy does not let an object write for itself.
_DENIED = "exemption-denied"


class AdmissionVerdict(StrEnum):
    """What became of an object, as metrics and logs name it."""

    ALLOWED = "allowed"
    WARNED = "warned"
    DENIED = "denied"
    INJECTED = "injected"
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The answer to one object.

    Attributes:
        verdict: In one word.
        errors: Why it is denied; empty unless it is.
        warnings: What a person who applies it should read, the most important first.
        patch: What changes.
        audit: What the audit log should keep, by plain keys.
        rules: The ids of the broken rules, without repeats, whatever the enforcement.
        injected: How many constraints the patch adds.
        not_judged: The rules that were not asked, and why.
        exempted: The ids of the rules that it breaks and is exempt from, each with who exempts it.
        notes: What else a person should know whose object is denied.
        miss: What should be known of the cluster and was not; None if all was.
    """

    verdict: AdmissionVerdict
    errors: tuple[FieldError, ...] = ()
    warnings: tuple[AdmissionWarning, ...] = ()
    patch: tuple[AddOperation, ...] = ()
    audit: dict[str, str] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    injected: int = 0
    not_judged: tuple[NotJudged, ...] = ()
    exempted: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    miss: CacheMiss | None = None


#: For what Evenkeel never looks at: deletions, subresources, kinds without pods.
IGNORED = Decision(verdict=AdmissionVerdict.IGNORED)
#: For what is in order.
ALLOWED = Decision(verdict=AdmissionVerdict.ALLOWED)


def decide_mutation(subject: Subject, context: AdmissionContext) -> Decision:
    """Decide what a new object gets. It is never refused here, and left alone if it is invalid."""
    miss = missing_for_injection(subject, context)
    if miss is not None:
        return Decision(verdict=AdmissionVerdict.ALLOWED, audit={"injection-skipped": str(miss)}, miss=miss)
    plan = plan_injection(subject, context.policies_for(subject), context)
    match plan:
        case None | Skip.HAS_CONSTRAINTS:
            return ALLOWED
        case Skip():
            return Decision(verdict=AdmissionVerdict.ALLOWED, audit={"injection-skipped": str(plan)})
    given = _describe(plan)
    return Decision(
        verdict=AdmissionVerdict.INJECTED,
        # Nobody reads a warning on a pod that a controller creates.
        warnings=() if by_controller(subject, context.kinds) else (_told(plan),),
        patch=tuple(plan.patch(subject)),
        audit={"injected": f"{plan.policy}: {given}{_unknown_owner(subject, context)}"},
        injected=len(plan.constraints),
    )


def decide_validation(
    subject: Subject,
    old: Subject | None,
    context: AdmissionContext,
    *,
    within: Within | None = None,
    within_rules: Within | None = None,
    today: date | None = None,
) -> Decision:
    """Decide whether an object may be stored.

    Args:
        subject: The object as it would be stored.
        old: What is stored now, for an update; a rule that it breaks already does not hold the update up.
        context: The policies in force.
        within: Keeps the forecast of the next pod to the time that is left; None for no forecast.
        within_rules: The same for advice of rules that look at every node; None to leave those rules out.
        today: The day by which the expiry of exemptions is judged; None to let every exemption hold.
    """
    miss = missing_for_rules(subject, context)
    if miss is None:
        return _validated(subject, old, context, within=within, within_rules=within_rules, today=today)
    context = context.without_cluster(f"{miss}, so policies that select namespaces by labels do not hold")
    decision = _validated(subject, old, context, within=within, within_rules=within_rules, today=today)
    return replace(decision, audit={WITHHELD: context.withheld, **decision.audit}, miss=miss)


def _validated(
    subject: Subject,
    old: Subject | None,
    context: AdmissionContext,
    *,
    within: Within | None,
    within_rules: Within | None,
    today: date | None,
) -> Decision:
    """Decide by what is known; see ``decide_validation``."""
    policies = context.policies_for(subject)
    if not policies:
        return ALLOWED
    strictest = min((policy.enforcement for policy in policies), key=STRICTNESS.index)
    errors = subject.errors(subject.merge_state(old), strict=context.strict)
    found = api_violations(_new(errors, old, context), policies, strictest) if errors else []
    # Nobody who could mend it reads of an object that a controller creates.
    by_person = not by_controller(subject, context.kinds)
    not_judged: tuple[NotJudged, ...] = ()
    if by_person:
        costs = costs_of(subject, context, errors)
        reviewed = rule_violations(
            costs, old, context, policies=policies, strictest=strictest, within=within_rules
        )
        found += reviewed.violations
        not_judged = reviewed.not_judged
    elif not found:
        # Most reviews are of controllers' objects in order: they cost no more than reading them.
        return ALLOWED
    exempting = Exempting(
        policies=policies,
        annotated=read_exemptions(subject.annotations, subject.pod.annotations, today=today),
        target=EnforcementTarget.of(subject, by_controller=not by_person),
        today=today,
    )
    judged = [(entry, exempting.find(entry.error.rule, entry.enforcement)) for entry in found]
    in_force = [violation for violation, exemption in judged if exemption is None]
    advice: tuple[AdmissionWarning, ...] = ()
    if by_person and strictest is not Enforcement.AUDIT:
        advice = (*_advice(subject, exempting.annotated), *remnants(subject, old))
    decision = ALLOWED
    if found or advice:
        decision = _with_exemptions(_decision(in_force, advice, by_person=by_person), judged, exempting)
    if context.withheld and by_person and next_pod_timing(subject, old) is not NextPodTiming.NONE:
        decision = _with_withheld(decision, context.withheld, strictest)
    spoiled = decision.errors or any(violation.error.rule in API_RULES for violation in in_force)
    exempt = exempting.find(UNSCHEDULABLE, Enforcement.WARN) is not None
    if by_person and within is not None and not spoiled and not exempt:
        match forecast(costs, old, context, within=within):
            case Forecast() as unfit:
                decision = _with_forecast(decision, unfit, strictest)
            case NotJudged() as unfit:
                not_judged = by_reason((*not_judged, unfit))
    return _with_not_judged(decision, not_judged, strictest) if not_judged else decision


def _new(errors: list[FieldError], old: Subject | None, context: AdmissionContext) -> list[FieldError]:
    """Return the errors of rules that the stored object kept."""
    if old is None:
        return errors
    broken_before = {error.rule for error in old.errors(old.merge_state(old), strict=context.strict)}
    return [error for error in errors if error.rule not in broken_before]


def _first_of(texts: Iterable[str]) -> list[str]:
    """Return the texts that there is room for, and how many more there are."""
    listed = list(texts)
    more = len(listed) - MAX_AUDITED
    return [*listed[:MAX_AUDITED], f"and {more} more"] if more > 0 else listed


def _with_exemptions(
    decision: Decision, judged: list[tuple[Violation, Exemption | None]], exempting: Exempting
) -> Decision:
    """Add what the audit log keeps of violations: those in force, the notes, and why others are not."""
    lines: dict[str, dict[str, None]] = {name: {} for name in ("exempted", "violations", "notes", _DENIED)}
    used: dict[tuple[str, str], None] = {}
    refused: dict[str, None] = {}
    for violation, exemption in judged:
        rule = violation.error.rule
        if exemption is not None:
            lines["exempted"][f"{rule}: {exemption.reason}"] = None
            used[rule, exemption.source.value] = None
            continue
        lines["notes" if violation.is_note else "violations"][violation.text] = None
        if why := exempting.without_effect(rule, violation.enforcement):
            lines[_DENIED][f"{rule}: {exempting.annotated.reasons[rule]}"] = None
            refused[f"{IGNORE_ANNOTATION}: {why}"] = None
    joints = {"exempted": "; ", _DENIED: "; "}
    return replace(
        decision,
        audit={key: joints.get(key, "\n").join(_first_of(texts)) for key, texts in lines.items() if texts},
        exempted=tuple(used),
        notes=tuple(refused),
    )


def _decision(found: list[Violation], advice: tuple[AdmissionWarning, ...], *, by_person: bool) -> Decision:
    """Return what becomes of an object for the violations in force."""
    denied = tuple(entry.error for entry in found if entry.enforcement is Enforcement.DENY)
    told = [entry for entry in found if entry.enforcement is Enforcement.WARN]
    warnings = (*(entry.warning for entry in told), *advice) if by_person else ()
    verdict = AdmissionVerdict.WARNED if told or advice else AdmissionVerdict.ALLOWED
    return Decision(
        verdict=AdmissionVerdict.DENIED if denied else verdict,
        errors=denied,
        warnings=warnings,
        rules=tuple(dict.fromkeys(entry.error.rule for entry in found if not entry.is_note)),
    )


def _with_forecast(decision: Decision, unfit: Forecast, enforcement: Enforcement) -> Decision:
    """Add a forecast, which denies nothing, whatever the enforcement."""
    told = enforcement is not Enforcement.AUDIT
    return replace(
        decision,
        verdict=AdmissionVerdict.WARNED if told else decision.verdict,
        warnings=(unfit.warning, *decision.warnings) if told else decision.warnings,
        audit=decision.audit | {UNSCHEDULABLE: unfit.details},
        rules=(*decision.rules, UNSCHEDULABLE),
    )


def _with_withheld(decision: Decision, why: str, enforcement: Enforcement) -> Decision:
    """Say that silence means nothing now, which is worth less than anything else that is told."""
    told = enforcement is not Enforcement.AUDIT and not decision.errors
    warning = AdmissionWarning(f"not checked against the cluster's nodes and pods: {why}")
    return replace(
        decision,
        verdict=AdmissionVerdict.WARNED if told else decision.verdict,
        warnings=(*decision.warnings, warning) if told else decision.warnings,
        audit=decision.audit | {WITHHELD: why},
    )


def _with_not_judged(
    decision: Decision, not_judged: tuple[NotJudged, ...], enforcement: Enforcement
) -> Decision:
    """Say what was not asked: silence means nothing there."""
    told = enforcement is not Enforcement.AUDIT
    skipped = [AdmissionWarning(f"{_counted(entry.rules)} not checked: {entry.why}") for entry in not_judged]
    return replace(
        decision,
        verdict=AdmissionVerdict.WARNED if told and not decision.errors else decision.verdict,
        warnings=(*decision.warnings, *skipped) if told else decision.warnings,
        audit=decision.audit | {NOT_JUDGED: "\n".join(map(str, not_judged))},
        not_judged=not_judged,
    )


def _counted(rules: tuple[str, ...]) -> str:
    return rules[0] if len(rules) == 1 else f"{len(rules)} rules"


def _advice(subject: Subject, exemptions: Exemptions) -> list[AdmissionWarning]:
    """Return what is no error of the object but worth telling the person who applies it."""
    texts = list(exemptions.problems)
    for written in (
        subject.annotations.get(INJECT_ANNOTATION),
        subject.pod.annotations.get(INJECT_ANNOTATION),
    ):
        if written not in (None, "true", "false"):
            texts.append(
                f'{INJECT_ANNOTATION}: Unsupported value: {shown(written)}: supported values: "false", "true"'
            )
            break
    return [
        AdmissionWarning(text, topic=annotation)
        for annotation, _, text in (text.partition(": ") for text in texts)
    ]


def _unknown_owner(subject: Subject, context: AdmissionContext) -> str:
    """Return what to add where the owner's selector could not be, though kube-scheduler may know it."""
    owner = subject.owner
    if owner is None or context.snapshot is None or (owner.api_version, owner.kind) not in SELECTING_OWNERS:
        return ""
    if context.snapshot.controller(owner, subject.namespace):
        return ""
    return f"; without the selector of {owner.kind} {owner.name}, which is not in the cluster cache"


def _told(plan: Injection) -> AdmissionWarning:
    """Return what a person reads of an injection: the keys, by what becomes of a pod that finds no place."""
    keys: dict[str, list[str]] = {}
    for constraint in plan.constraints:
        keys.setdefault(constraint.when_unsatisfiable, []).append(constraint.topology_key)
    given = ", ".join(f"{', '.join(of_kind)} ({action})" for action, of_kind in keys.items())
    count = len(plan.constraints)
    return AdmissionWarning(
        f"SpreadPolicy {plan.policy} added {count} constraint{'s' if count > 1 else ''}: {given}"
    )


def _describe(plan: Injection) -> str:
    constraints = ", ".join(
        f"{constraint.topology_key} {constraint.when_unsatisfiable} maxSkew {constraint.max_skew}"
        for constraint in plan.constraints
    )
    return f"topologySpreadConstraints ({constraints})"

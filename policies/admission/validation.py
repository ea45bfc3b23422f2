"""Whether an object may be stored: which rules it breaks, what its exemptions are, and what is reported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from typing import TypeAlias

from policies.admission.admission_rules import (
    MESSAGE_LENGTH,
    Violation,
    api_violations,
    beyond,
    rule_violations,
)
from policies.admission.decision import (
    ALLOWED,
    AdmissionVerdict,
    AdmissionWarning,
    CacheMiss,
    Decision,
    SkippedRules,
    by_reason,
)
from policies.admission.injection import remnants
from policies.admission.review_cost import WITHOUT_NODES, ReviewCost, ReviewLimits
from policies.admission.unschedulable_forecast import Forecast, NextPodTiming, forecast, next_pod_timing
from policies.config.context import AdmissionContext
from policies.config.default_constraints import INJECT_ANNOTATION
from policies.config.enforcement import (
    IGNORE_ANNOTATION,
    UNSCHEDULABLE,
    Exempting,
    Exemption,
    Exemptions,
    strictest_of,
)
from policies.config.spread_policy import Enforcement, SpreadPolicy
from policies.manifests.fields import FieldError, shown
from policies.manifests.sanitize import one_line
from policies.manifests.words import more
from policies.model.api_rules import API_RULES
from policies.model.workload import Owner, Workload
from policies.scheduler.configuration import UnknownSchedulerError

#: The audit annotation that gives the reason why the cluster was not used.
WITHHELD = "withheld"
#: The audit annotation that names the rules that were not run, and why.
NOT_JUDGED = "not-judged"
#: The audit annotation that names the owner of an object whose sender does not prove it.
UNPROVED = "owner-unproved"
#: Violations that an audit annotation lists: more than it has room for.
MAX_AUDITED = 100
#: The audit annotation with the exemptions that a policy does not let an object write for itself.
_DENIED = "exemption-denied"
#: Violations, each with what exempts the object from the rule.
_Evaluated: TypeAlias = list[tuple[Violation, Exemption | None]]


def decide_validation(
    workload: Workload,
    old: Workload | None,
    context: AdmissionContext,
    limits: ReviewLimits = WITHOUT_NODES,
) -> Decision:
    """Decide whether an object may be stored.

    Args:
        workload: The object as it would be stored.
        old: The object as it is stored now, for an update, which its mistakes do not hold up.
        context: The policies in force.
        limits: The time that there is, and the day.
    """
    miss = missing_for_rules(workload, context)
    if miss is not None:
        context = context.without_cluster(f"{miss}, so policies that select namespaces by labels do not hold")
    policies = context.policies_for(workload)
    if not policies:
        decision = ALLOWED
    elif context.made_by_controller(workload):
        decision = _of_controller(workload, old, policies, limits.today)
    else:
        decision = _of_person(workload, old, context, policies, limits)
    if miss is None:
        return decision
    return replace(decision, audit={WITHHELD: context.withheld, **decision.audit}, miss=miss)


def _of_controller(
    workload: Workload, old: Workload | None, policies: Sequence[SpreadPolicy], today: date | None
) -> Decision:
    """Decide on an object that a controller creates: who could fix it applied something else."""
    errors = _new(workload.errors, old)
    if not errors:
        # Most reviews are of controllers' objects in order: they cost no more than reading them.
        return ALLOWED
    exempting = Exempting.of(workload, policies, by_controller=True, today=today)
    found = api_violations(errors, policies, strictest_of(policies))
    return _decision(_evaluated(found, exempting), exempting, (), by_person=False)


def _of_person(
    workload: Workload,
    old: Workload | None,
    context: AdmissionContext,
    policies: Sequence[SpreadPolicy],
    limits: ReviewLimits,
) -> Decision:
    """Decide on an object that a person applies: rules run on it, and the person reads their findings."""
    strictest = strictest_of(policies)
    exempting = Exempting.of(workload, policies, by_controller=False, today=limits.today)
    given = context.for_rules()
    inventory = given.inventory
    cost = ReviewCost(workload, inventory, None if old is None else ReviewCost(old, inventory))
    reviewed = rule_violations(cost, given, context, policies, limits.rules)
    errors = _new(workload.errors, old)
    found = api_violations(errors, policies, strictest) if errors else []
    judged = _evaluated(found + reviewed.violations, exempting)
    skipped, unknown = reviewed.skipped, reviewed.unknown
    advice: tuple[AdmissionWarning, ...] = ()
    if strictest is not Enforcement.AUDIT:
        advice = (*_advice(workload, exempting.annotated), *remnants(workload, old))
    decision = _decision(judged, exempting, advice, by_person=True) if judged or advice else ALLOWED
    if context.withheld and next_pod_timing(workload, old) is not NextPodTiming.NONE:
        decision = _with_withheld(decision, context.withheld, strictest)
    within = limits.forecast if context.cluster is not None else None
    if within is not None and _wants_forecast(decision, judged, exempting):
        try:
            match forecast(cost, old, context, within=within):
                case Forecast() as unfit:
                    decision = _with_forecast(decision, unfit, strictest)
                case SkippedRules() as unfit:
                    skipped = by_reason((*skipped, unfit))
        except UnknownSchedulerError as other:
            left_out = SkippedRules((UNSCHEDULABLE,), str(other))
            decision, unknown = (
                _with_skipped(decision, (left_out,), strictest),
                by_reason((*unknown, left_out)),
            )
    if skipped:
        decision = _with_skipped(decision, skipped, strictest)
    if skipped or unknown:
        told = "\n".join(map(str, by_reason((*skipped, *unknown))))
        decision = replace(decision, audit=decision.audit | {NOT_JUDGED: told}, skipped=skipped)
    return decision if workload.owner is None else _with_unproved(decision, workload, workload.owner)


def _wants_forecast(decision: Decision, judged: _Evaluated, exempting: Exempting) -> bool:
    """Return whether the next pod of an object is worth a forecast: it may be stored, and is valid."""
    invalid = any(violation.error.rule in API_RULES for violation, exemption in judged if not exemption)
    exempt = exempting.find(UNSCHEDULABLE, Enforcement.WARN) is not None
    return not (decision.errors or invalid or exempt)


def _evaluated(found: list[Violation], exempting: Exempting) -> _Evaluated:
    """Return violations with what exempts the object from each."""
    return [(entry, exempting.find(entry.error.rule, entry.enforcement)) for entry in found]


def _new(errors: tuple[FieldError, ...], old: Workload | None) -> tuple[FieldError, ...]:
    """Return the errors that the stored object does not have."""
    return errors if old is None or not errors else tuple(beyond(errors, old.errors))


def _first_of(texts: Iterable[str]) -> list[str]:
    """Return the texts that there is room for, and how many more there are."""
    found = list(texts)
    rest = len(found) - MAX_AUDITED
    return [*found[:MAX_AUDITED], more(rest)] if rest > 0 else found


def _decision(
    judged: _Evaluated, exempting: Exempting, advice: tuple[AdmissionWarning, ...], *, by_person: bool
) -> Decision:
    """Return the decision on an object for its violations, with their annotations for the audit log."""
    found = [violation for violation, exemption in judged if exemption is None]
    denied = tuple(entry.error for entry in found if entry.enforcement is Enforcement.DENY)
    warned = [entry for entry in found if entry.enforcement is Enforcement.WARN]
    verdict = AdmissionVerdict.WARNED if warned or advice else AdmissionVerdict.ALLOWED
    audit, notes = _audit(judged, exempting)
    return Decision(
        verdict=AdmissionVerdict.DENIED if denied else verdict,
        errors=denied,
        warnings=(*(entry.warning for entry in warned), *advice) if by_person else (),
        audit=audit,
        rules=tuple(dict.fromkeys(entry.error.rule for entry in found if not entry.is_note)),
        exempted=tuple(
            dict.fromkeys((entry.error.rule, why.source.value) for entry, why in judged if why is not None)
        ),
        notes=notes,
    )


def _audit(judged: _Evaluated, exempting: Exempting) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the audit annotations for violations, and notes on exemptions that have no effect."""
    lines: dict[str, dict[str, None]] = {name: {} for name in ("exempted", "violations", "notes", _DENIED)}
    refused: dict[str, None] = {}
    for violation, exemption in judged:
        rule = violation.error.rule
        if exemption is not None:
            lines["exempted"][f"{rule}: {exemption.reason}"] = None
            continue
        lines["notes" if violation.is_note else "violations"][violation.text] = None
        if why := exempting.without_effect(rule, violation.enforcement):
            lines[_DENIED][f"{rule}: {exempting.annotated.reasons[rule]}"] = None
            refused[f"{IGNORE_ANNOTATION}: {why}"] = None
    joints = {"exempted": "; ", _DENIED: "; "}
    audit = {key: joints.get(key, "\n").join(_first_of(texts)) for key, texts in lines.items() if texts}
    return audit, tuple(refused)


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
    """Warn that silence means nothing now, which is worth less than anything else that is reported."""
    told = enforcement is not Enforcement.AUDIT and not decision.errors
    warning = AdmissionWarning(f"not checked against the cluster's nodes and pods: {why}")
    return replace(
        decision,
        verdict=AdmissionVerdict.WARNED if told else decision.verdict,
        warnings=(*decision.warnings, warning) if told else decision.warnings,
        audit=decision.audit | {WITHHELD: why},
    )


def _with_unproved(decision: Decision, workload: Workload, owner: Owner) -> Decision:
    """Warn that an object was evaluated as if it had no owner; readers of a denial may not expect that."""
    if workload.user is None:
        return decision
    # All three are texts of other people, of any length.
    why = one_line(
        f"{workload.user} is not a trusted controller, so its owner {owner.kind} {owner.name} does not count",
        MESSAGE_LENGTH,
    )
    notes = (*decision.notes, why) if decision.errors else decision.notes
    return replace(decision, audit={UNPROVED: why, **decision.audit}, notes=notes)


def _with_skipped(
    decision: Decision, skipped: tuple[SkippedRules, ...], enforcement: Enforcement
) -> Decision:
    """Report which rules were not run: silence means nothing there."""
    told = enforcement is not Enforcement.AUDIT
    remarks = [AdmissionWarning(f"{_counted(entry.rules)} not checked: {entry.why}") for entry in skipped]
    return replace(
        decision,
        verdict=AdmissionVerdict.WARNED if told and not decision.errors else decision.verdict,
        warnings=(*decision.warnings, *remarks) if told else decision.warnings,
    )


def _counted(rules: tuple[str, ...]) -> str:
    return rules[0] if len(rules) == 1 else f"{len(rules)} rules"


def _advice(workload: Workload, exemptions: Exemptions) -> list[AdmissionWarning]:
    """Return the warnings about annotations that are no error of the object."""
    texts = list(exemptions.problems)
    for written in (
        workload.annotations.get(INJECT_ANNOTATION),
        workload.template.annotations.get(INJECT_ANNOTATION),
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


def missing_for_rules(workload: Workload, context: AdmissionContext) -> CacheMiss | None:
    """Return the namespace without which it is unknown which policies hold an object; None if it is known."""
    snapshot = context.snapshot
    if not context.live or snapshot is None or workload.namespace in snapshot.namespaces:
        return None
    kinds = context.kinds_of(workload)
    if any(
        policy.scope.needs_namespace_labels
        and policy.scope.may_match(workload.namespace, workload.labels, kinds)
        for policy in context.policies
    ):
        return CacheMiss(workload.namespace)
    return None

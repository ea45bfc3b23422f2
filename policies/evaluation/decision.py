"""What becomes of one object: let through, warned about, refused, or given default constraints."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from policies.documents.spread_policy import Enforcement
from policies.evaluation.context import AdmissionContext
from policies.evaluation.exemptions import INJECT_ANNOTATION, Exemptions, read_exemptions
from policies.evaluation.forecast import DOES_NOT_FIT, Forecast, Within, forecast
from policies.evaluation.injection import Injection, Skip, plan_injection
from policies.evaluation.subject import Subject
from policies.fields import FieldError, shown
from policies.model.api_rules import ApiRule
from policies.model.merging import repeated_match_label_keys
from policies.model.snapshot import SELECTING_OWNERS
from policies.patch import AddOperation

#: Strictest first: where several policies hold an object, the strictest counts.
STRICTNESS = (Enforcement.DENY, Enforcement.WARN, Enforcement.AUDIT)
#: The ids that an object may be exempt from.
KNOWN_RULES: frozenset[str] = frozenset(ApiRule) | {DOES_NOT_FIT}


class Verdict(StrEnum):
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
    """

    verdict: Verdict
    errors: tuple[FieldError, ...] = ()
    warnings: tuple[str, ...] = ()
    patch: tuple[AddOperation, ...] = ()
    audit: dict[str, str] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    injected: int = 0


#: For what Evenkeel never looks at: deletions, subresources, kinds without pods.
IGNORED = Decision(verdict=Verdict.IGNORED)
#: For what is in order.
ALLOWED = Decision(verdict=Verdict.ALLOWED)


def decide_mutation(subject: Subject, context: AdmissionContext) -> Decision:
    """Decide what a new object gets. It is never refused here, and left alone if it is invalid."""
    plan = plan_injection(subject, context.policies_for(subject), context)
    match plan:
        case None | Skip.HAS_CONSTRAINTS:
            return ALLOWED
        case Skip():
            return Decision(verdict=Verdict.ALLOWED, audit={"injection-skipped": str(plan)})
    given = _describe(plan)
    return Decision(
        verdict=Verdict.INJECTED,
        # Nobody reads a warning on a pod that a controller creates.
        warnings=() if subject.owner else (f"evenkeel: policy {plan.policy} added {given}",),
        patch=tuple(plan.patch(subject)),
        audit={"injected": f"{plan.policy}: {given}{_unknown_owner(subject, context)}"},
        injected=len(plan.constraints),
    )


def decide_validation(
    subject: Subject, old: Subject | None, context: AdmissionContext, *, within: Within | None = None
) -> Decision:
    """Decide whether an object may be stored.

    Args:
        subject: The object as it would be stored.
        old: What is stored now, for an update; a rule that it breaks already does not hold the update up.
        context: The policies in force.
        within: Keeps the forecast of the next pod to the time that is left; None for no forecast.
    """
    policies = context.policies_for(subject)
    if not policies:
        return ALLOWED
    enforcement = min((policy.enforcement for policy in policies), key=STRICTNESS.index)
    errors = subject.errors(subject.merge_state(old), strict=context.strict)
    if errors and old is not None:
        broken_before = {error.rule for error in old.errors(old.merge_state(old), strict=context.strict)}
        errors = [error for error in errors if error.rule not in broken_before]
    exemptions = read_exemptions(subject.annotations, subject.pod.annotations, KNOWN_RULES)
    exempted = {
        error.rule: exemptions.reasons[error.rule] for error in errors if error.rule in exemptions.reasons
    }
    audit = {"exempted": "; ".join(f"{rule}: {why}" for rule, why in exempted.items())} if exempted else {}
    errors = [error for error in errors if error.rule not in exempted]
    advice: tuple[str, ...] = ()
    # Nobody reads a warning on an object that a controller creates.
    if subject.owner is None and enforcement is not Enforcement.AUDIT:
        told = errors if enforcement is Enforcement.WARN else []
        advice = tuple(f"evenkeel: {text}" for text in (*told, *_advice(subject, exemptions)))
    decision = _decision(errors, enforcement, advice, audit) if errors or advice or audit else ALLOWED
    if within is None or errors or DOES_NOT_FIT in exemptions.reasons:
        return decision
    unfit = forecast(subject, old, context, within=within)
    return decision if unfit is None else _with_forecast(decision, unfit, enforcement)


def _decision(
    errors: list[FieldError], enforcement: Enforcement, warnings: tuple[str, ...], audit: dict[str, str]
) -> Decision:
    if not errors:
        return Decision(
            verdict=Verdict.WARNED if warnings else Verdict.ALLOWED, warnings=warnings, audit=audit
        )
    audit["violations"] = "\n".join(map(str, errors))
    rules = tuple(dict.fromkeys(error.rule for error in errors))
    match enforcement:
        case Enforcement.DENY:
            return Decision(
                verdict=Verdict.DENIED, errors=tuple(errors), warnings=warnings, audit=audit, rules=rules
            )
        case Enforcement.WARN:
            return Decision(verdict=Verdict.WARNED, warnings=warnings, audit=audit, rules=rules)
        case Enforcement.AUDIT:
            return Decision(verdict=Verdict.ALLOWED, audit=audit, rules=rules)


def _with_forecast(decision: Decision, unfit: Forecast, enforcement: Enforcement) -> Decision:
    """Add a forecast, which denies nothing, whatever the enforcement."""
    told = enforcement is not Enforcement.AUDIT
    return replace(
        decision,
        verdict=Verdict.WARNED if told else decision.verdict,
        warnings=(unfit.warning, *decision.warnings) if told else decision.warnings,
        audit=decision.audit | {DOES_NOT_FIT: unfit.details},
        rules=(*decision.rules, DOES_NOT_FIT),
    )


def _advice(subject: Subject, exemptions: Exemptions) -> list[str]:
    """Return what is no error of the object but worth telling the person who applies it."""
    advice = list(exemptions.problems)
    for written in (
        subject.annotations.get(INJECT_ANNOTATION),
        subject.pod.annotations.get(INJECT_ANNOTATION),
    ):
        if written not in (None, "true", "false"):
            advice.append(f'{INJECT_ANNOTATION}: only "false" has an effect, got {shown(written)}')
            break
    if not subject.kind.is_pod and subject.pod.constraints is not None:
        repeats = repeated_match_label_keys(subject.pod.constraints, subject.kind.constraints_path)
        advice += [
            f"{path}: {key} is listed twice; since Kubernetes 1.34 no pod that carries it starts"
            for path, key in repeats
        ]
    return advice


def _unknown_owner(subject: Subject, context: AdmissionContext) -> str:
    """Return what to add where the owner's selector could not be, though kube-scheduler may know it."""
    owner = subject.owner
    if owner is None or context.snapshot is None or (owner.api_version, owner.kind) not in SELECTING_OWNERS:
        return ""
    if context.snapshot.controller(owner, subject.namespace):
        return ""
    return f"; without the selector of {owner.kind} {owner.name}, which is not in the cluster's picture"


def _describe(plan: Injection) -> str:
    constraints = ", ".join(
        f"{constraint.topology_key} {constraint.when_unsatisfiable} maxSkew {constraint.max_skew}"
        for constraint in plan.constraints
    )
    return f"topologySpreadConstraints ({constraints})"

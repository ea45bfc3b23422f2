"""The decision on an object that could not be reviewed: too large, not readable, or the review failed.

Who writes an object chooses its form, and an HTTP error of a webhook is no refusal where ``failurePolicy`` is
``Ignore``. So an object that a policy may deny is denied if it could not be reviewed.
"""

from __future__ import annotations

from typing import Final

from policies.admission.decision import ALLOWED, AdmissionVerdict, Decision
from policies.admission.warnings import AdmissionWarning
from policies.config.context import AdmissionContext
from policies.config.spread_policy import Enforcement, SpreadPolicy
from policies.manifests.fields import ErrorKind, FieldError, FieldPath

#: The rule that an object breaks which could not be reviewed; only admission has it. The audit annotation of
#: one that was allowed has the same name.
UNREVIEWABLE: Final = "unreviewable"


def decide_unreviewable(namespace: str, context: AdmissionContext, why: str, *, may_deny: bool) -> Decision:
    """Decide on an object of which no more is known than its namespace.

    Its kind is known, too, but not whose it is, and policies for kinds are for what those create.

    Args:
        namespace: Where it is.
        context: The policies in force.
        why: Why it was not reviewed.
        may_deny: Whether it is denied if a policy may want that.
    """
    known = context.snapshot.namespaces.get(namespace) if context.snapshot else None
    labels = None if known is None else known.labels
    policies = [policy for policy in context.policies if policy.scope.may_select(namespace, labels)]
    if not policies:
        return ALLOWED
    if may_deny and (denying := [policy.name for policy in policies if _denies(policy)]):
        problem = f"cannot be reviewed: {why}; SpreadPolicy {denying[0]} denies what breaks its rules"
        error = FieldError(FieldPath(), problem, ErrorKind.TOO_LONG, UNREVIEWABLE)
        return Decision(verdict=AdmissionVerdict.DENIED, errors=(error,), rules=(UNREVIEWABLE,))
    return Decision(
        verdict=AdmissionVerdict.WARNED,
        warnings=(AdmissionWarning(f"not reviewed: {why}", topic=UNREVIEWABLE),),
        audit={UNREVIEWABLE: why},
        rules=(UNREVIEWABLE,),
    )


def _denies(policy: SpreadPolicy) -> bool:
    """Return whether a policy denies an object for any rule."""
    enforcements = (policy.enforcement, *(settings.enforcement for settings in policy.rules.values()))
    return Enforcement.DENY in enforcements

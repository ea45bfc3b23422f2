"""Turn the bytes of an AdmissionReview request into the bytes of its answer. Knows no web framework."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple

import orjson

from policies.evaluation.context import AdmissionContext
from policies.evaluation.decision import IGNORED, Decision, Verdict, decide_mutation, decide_validation
from policies.evaluation.remarks import MAX_LINES, lines
from policies.evaluation.reviewing import API_RULES, error_text
from policies.evaluation.subject import Subject
from policies.fields import MAX_ERRORS, FieldError
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.reports.printable import printable_lines
from webhook.admission.budget import Budget
from webhook.admission.review import API_VERSION, Review

#: Characters of one audit annotation. Arbitrary; the audit log keeps any size, and somebody pays for it.
AUDIT_LENGTH = 4096


class Phase(StrEnum):
    """Which of the two webhooks is asked."""

    MUTATE = "mutate"
    VALIDATE = "validate"


class Reply(NamedTuple):
    """The answer to one review, with what logs and metrics tell of it.

    Attributes:
        body: The AdmissionReview with the response, JSON.
        verdict: What became of the object.
        uid: The review's uid.
        operation: CREATE, UPDATE, …
        kind: The object's kind, with its group where it has one (``Deployment.apps``).
        sub_resource: The subresource asked for; empty for the object itself.
        namespace: The object's namespace, empty for none.
        name: The object's name, or its generateName.
        dry_run: Whether the request asked for no side effects.
        injected: How many constraints the patch adds.
        rules: The ids of the broken rules, in the order they were found, without repeats.
        forecast_s: Seconds that the verdict on the next pod took; None if none was made.
        forecast_skipped: Whether one was wanted and there was too little time.
        rules_s: Seconds that the rules took that look at every node; None if none was asked.
        rules_skipped: Whether the rules that look at every node were wanted and there was too little time.
    """

    body: bytes
    verdict: Verdict
    uid: str
    operation: str
    kind: str
    sub_resource: str
    namespace: str
    name: str
    dry_run: bool
    injected: int
    rules: tuple[str, ...]
    forecast_s: float | None = None
    forecast_skipped: bool = False
    rules_s: float | None = None
    rules_skipped: bool = False


def respond(
    body: bytes,
    phase: Phase,
    context: AdmissionContext,
    *,
    budget: Budget | None = None,
    rules_budget: Budget | None = None,
) -> Reply:
    """Answer one review.

    Args:
        body: The AdmissionReview.
        phase: Which webhook is asked.
        context: What it is decided by.
        budget: The time that is left for a verdict on the next pod; None for no such verdict.
        rules_budget: The time that is left for rules that look at every node; None to leave them out.

    Raises:
        ReviewError: The body is no AdmissionReview.
    """
    review = Review.parse(body)
    decision = decide(review, phase, context, budget=budget, rules_budget=rules_budget)
    name = review.name or _generated_name(review)
    return Reply(
        body=orjson.dumps(
            {
                "apiVersion": API_VERSION,
                "kind": "AdmissionReview",
                "response": _response(review, phase, decision, name),
            }
        ),
        verdict=decision.verdict,
        uid=review.uid,
        operation=review.operation,
        kind=f"{review.kind}.{review.group}" if review.group else review.kind,
        sub_resource=review.sub_resource,
        namespace=review.namespace,
        name=name,
        dry_run=review.dry_run,
        injected=decision.injected,
        rules=decision.rules,
        forecast_s=budget.spent_s if budget else None,
        forecast_skipped=budget.skipped if budget else False,
        rules_s=rules_budget.spent_s if rules_budget else None,
        rules_skipped=rules_budget.skipped if rules_budget else False,
    )


def decide(
    review: Review,
    phase: Phase,
    context: AdmissionContext,
    *,
    budget: Budget | None = None,
    rules_budget: Budget | None = None,
) -> Decision:
    """Decide on one review; deletions, subresources and kinds without pods are let through at once."""
    if review.sub_resource or review.obj is None or review.operation not in ("CREATE", "UPDATE"):
        return IGNORED
    kind = context.kinds.find(review.group, review.kind)
    if kind is None or (phase is Phase.MUTATE and review.operation != "CREATE"):
        return IGNORED
    subject = Subject.read(review.obj, kind, review.namespace)
    if phase is Phase.MUTATE:
        return decide_mutation(subject, context)
    old = None
    if review.operation == "UPDATE" and review.old_object is not None:
        old = Subject.read(review.old_object, kind, review.namespace)
    return decide_validation(
        subject,
        old,
        context,
        within=budget.within if budget else None,
        within_rules=rules_budget.within if rules_budget else None,
        today=datetime.now(UTC).date(),
    )


def _response(review: Review, phase: Phase, decision: Decision, name: str) -> dict[str, Any]:
    response: dict[str, Any] = {"uid": review.uid, "allowed": decision.verdict is not Verdict.DENIED}
    if decision.errors:
        response["status"] = _denial(review, decision, name)
    if decision.patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(orjson.dumps(decision.patch)).decode()
    if decision.warnings:
        told_before = 1 if phase is Phase.VALIDATE and _was_injected(review) else 0
        response["warnings"] = lines(decision.warnings, MAX_LINES - told_before)
    if decision.audit:
        response["auditAnnotations"] = {key: _audited(text) for key, text in decision.audit.items()}
    return response


def _was_injected(review: Review) -> bool:
    """Tell whether the mutating webhook was asked a moment ago, and warned of what it added."""
    metadata = (review.obj or {}).get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    injected = isinstance(annotations, dict) and INJECTED_ANNOTATION in annotations
    return injected and review.operation == "CREATE"


def _denial(review: Review, decision: Decision, name: str) -> dict[str, Any]:
    """Return the status of a refusal. With reason Invalid kubectl would print the causes alone."""
    causes = [
        {"reason": _reason(error), "field": str(error.path), "message": error.problem}
        for error in decision.errors
    ]
    return {
        "code": 403,
        "reason": "Forbidden",
        "message": "\n".join(map(error_text, decision.errors)) + _rest(decision),
        "details": {"kind": review.kind, "name": name, "causes": causes},
    }


def _reason(error: FieldError) -> str:
    """Return Kubernetes' type of a cause; it has none for rules that the API server does not know."""
    return str(error.kind) if error.rule in API_RULES else error.rule


def _rest(decision: Decision) -> str:
    stopped = len(decision.errors) >= MAX_ERRORS
    return f"\nReading stopped after {len(decision.errors)} errors; there may be more." if stopped else ""


def _generated_name(review: Review) -> str:
    """Return an object's name, or what the API server will make it from, for people who read a log."""
    metadata = (review.obj or review.old_object or {}).get("metadata")
    if not isinstance(metadata, dict):
        return ""
    name = metadata.get("name") or metadata.get("generateName")
    return name if isinstance(name, str) else ""


def _audited(text: str) -> str:
    """Return a text for the audit log: people read it in terminals, whatever a user wrote into an object."""
    # Cut first: a text may be megabytes long. Escaping makes it longer again.
    return _cut(printable_lines(_cut(text, AUDIT_LENGTH)), AUDIT_LENGTH)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"

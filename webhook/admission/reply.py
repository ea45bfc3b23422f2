"""The bytes of the answer to a review, and its data for logs and metrics."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

from policies.admission.admission_rules import error_text, repeats_of
from policies.admission.decision import IGNORED, AdmissionVerdict, Decision
from policies.admission.warnings import MAX_WARNINGS, warning_texts
from policies.config.enforcement import UNSCHEDULABLE
from policies.manifests.fields import FieldError, is_cut, member, shown_name, text_member
from policies.manifests.sanitize import cut, printable_lines
from policies.manifests.words import plural
from policies.model.api_rules import API_RULES
from policies.model.pod_template import INJECTED_ANNOTATION
from webhook.admission.review import (
    API_VERSION,
    SPREAD_POLICY,
    Phase,
    Review,
    ReviewAnswer,
    ReviewRequest,
    ReviewResponse,
)
from webhook.registration import PROBE_ANNOTATION, probe_answer
from webhook.telemetry.logs import Value

#: Characters of one audit annotation. The audit log keeps any size, at its operator's cost.
AUDIT_LENGTH = 4096
#: Errors that a denial reports. More than anyone fixes at once.
MAX_TOLD = 100
#: The audit annotation that says what of an object was not read.
NOT_READ = "not-read"


class Reply(NamedTuple):
    """The answer to one review, with its data for logs and metrics.

    Attributes:
        body: The AdmissionReview with the response, JSON.
        verdict: What became of the object.
        uid: The review's uid.
        operation: CREATE, UPDATE, …
        kind: The object's kind, with its group where it has one (``Deployment.apps``).
        sub_resource: The requested subresource; empty for the object itself.
        namespace: The object's namespace, empty for none.
        name: The object's name, or its generateName.
        dry_run: Whether the request must have no side effects.
        injected: How many constraints the patch adds.
        rules: The ids of the broken rules, in the order they were found, without repeats.
        exempted: The ids of the rules that the object is exempt from though it breaks them, each with who
            exempts it (annotation, policy).
        forecast_s: Seconds that the verdict on the next pod took; None if none was made.
        forecast_skipped: Whether one was wanted, and there was too little time or too much to judge.
        rules_s: Seconds that the rules took that look at every node; None if none ran.
        rules_skipped: The same of rules.
        missed: Whether something was not in the cache of the cluster that was needed.
        waited_s: Seconds for which that was waited for; None if nothing was.
        preview_s: Seconds that the preview of a policy or namespace took; None if none was made.
        unreviewable: What kept the object from being reviewed; empty if it was, or need not be.
    """

    body: bytes
    verdict: AdmissionVerdict
    uid: str
    operation: str
    kind: str
    sub_resource: str
    namespace: str
    name: str
    dry_run: bool
    injected: int
    rules: tuple[str, ...]
    exempted: tuple[tuple[str, str], ...] = ()
    forecast_s: float | None = None
    forecast_skipped: bool = False
    rules_s: float | None = None
    rules_skipped: bool = False
    missed: bool = False
    waited_s: float | None = None
    preview_s: float | None = None
    unreviewable: str = ""


def reply_to(
    request: ReviewRequest, review: Review, decision: Decision, previewed: Sequence[str] = ()
) -> Reply:
    """Return the answer to a review.

    Args:
        request: The request.
        review: The AdmissionReview in it.
        decision: The answer to its object.
        previewed: Warnings of what it changes for existing workloads.
    """
    phase, budget = request.phase, request.budget
    if previewed:
        decision = replace(decision, verdict=AdmissionVerdict.WARNED)
    if review.cut and decision is not IGNORED:
        decision = replace(decision, audit=decision.audit | {NOT_READ: "; ".join(review.cut)})
    name = review.name or _generated_name(review)
    answer: ReviewAnswer = {
        "apiVersion": API_VERSION,
        "kind": "AdmissionReview",
        "response": _response(review, phase, decision, name, previewed),
    }
    skipped = {rule for entry in decision.skipped for rule in entry.rules}
    return Reply(
        body=orjson.dumps(answer),
        verdict=decision.verdict,
        uid=review.uid,
        operation=review.operation,
        kind=_full_kind(review),
        sub_resource=review.sub_resource,
        namespace=review.namespace,
        name=name,
        dry_run=review.dry_run,
        injected=decision.injected,
        rules=decision.rules,
        exempted=decision.exempted,
        forecast_s=budget.forecast_s,
        forecast_skipped=UNSCHEDULABLE in skipped,
        rules_s=budget.rules_s,
        rules_skipped=bool(skipped - {UNSCHEDULABLE}),
        missed=decision.miss is not None,
    )


def _response(
    review: Review, phase: Phase, decision: Decision, name: str, previewed: Sequence[str]
) -> ReviewResponse:
    response: ReviewResponse = {"uid": review.uid, "allowed": decision.verdict is not AdmissionVerdict.DENIED}
    if decision.errors:
        response["status"] = _denial(review, decision, name)
    if decision.patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(decision.patch_json).decode()
    if decision.warnings:
        shown_before = 1 if phase is Phase.VALIDATE and _was_injected(review) else 0
        response["warnings"] = warning_texts(decision.warnings, MAX_WARNINGS - shown_before)
    if previewed:
        response["warnings"] = [*response.get("warnings", ()), *previewed]
    if review.dry_run and PROBE_ANNOTATION in _annotations(review):
        response["warnings"] = [probe_answer(f"/{phase}"), *response.get("warnings", ())]
    if decision.audit:
        response["auditAnnotations"] = {key: _audited(text) for key, text in decision.audit.items()}
    return response


def _was_injected(review: Review) -> bool:
    """Return whether the mutating webhook was called a moment ago, and warned of what it added."""
    return review.operation == "CREATE" and INJECTED_ANNOTATION in _annotations(review)


def _annotations(review: Review) -> dict[str, Any]:
    """Return the annotations of the object; their values may be anything."""
    return member(member(review.obj or {}, "metadata"), "annotations")


def _denial(review: Review, decision: Decision, name: str) -> dict[str, Any]:
    """Return the status of a refusal. With reason Invalid kubectl would print the causes alone."""
    told = _one_of_each_first(decision.errors)[:MAX_TOLD]
    causes = [
        {"reason": _reason(error), "field": str(error.path), "message": error.problem} for error in told
    ]
    return {
        "code": 403,
        "reason": "Forbidden",
        "message": "\n".join(
            [
                _headline(review, decision, name),
                *map(error_text, told),
                *_rest(decision.errors, len(told)),
                *decision.notes,
            ]
        ),
        "details": {"kind": review.kind, "name": name, "causes": causes},
    }


def _headline(review: Review, decision: Decision, name: str) -> str:
    """Return which object is refused: of a List, kubectl names the file alone."""
    whole = f"{review.namespace}/{name}" if review.namespace else name
    title = f"{_full_kind(review)} {shown_name(whole)}".rstrip()
    if (review.group, review.kind) == SPREAD_POLICY:
        count = len(decision.errors)
        return f"{title} has {plural(count, 'error')}:"
    count = len({error.rule for error in decision.errors})
    return f"{title} breaks {plural(count, 'rule')}:"


def _full_kind(review: Review) -> str:
    """Return the kind with its group, as kubectl writes it."""
    return f"{review.kind}.{review.group}" if review.group else review.kind


def _reason(error: FieldError) -> str:
    """Return Kubernetes' type of a cause; it has none for rules that the API server does not know."""
    return str(error.kind) if error.rule in API_RULES else error.rule


def _one_of_each_first(errors: Sequence[FieldError]) -> Sequence[FieldError]:
    """Return errors in their order, but if there are too many, the first of each rule before the second."""
    if len(errors) <= MAX_TOLD:
        return errors
    return [error for _, error in sorted(zip(repeats_of(errors), errors, strict=True), key=itemgetter(0))]


def _rest(errors: Sequence[FieldError], told: int) -> Iterator[str]:
    """Yield how many more errors there are."""
    if len(errors) > told:
        least = "At least " if is_cut(errors) else ""
        yield f"{least}{len(errors) - told} more errors are not listed."


def _generated_name(review: Review) -> str:
    """Return an object's name, or what the API server will make it from, for people who read a log."""
    metadata = member(review.obj or review.old_object or {}, "metadata")
    return text_member(metadata, "name" if metadata.get("name") else "generateName")


def _audited(text: str) -> str:
    """Return a text for the audit log: people read it in terminals, whatever a user wrote into an object."""
    # Cut first: a text may be megabytes long. Escaping makes it longer again.
    return cut(printable_lines(cut(text, AUDIT_LENGTH)), AUDIT_LENGTH)


def log_fields(reply: Reply, phase: Phase, seconds: float) -> dict[str, Value]:
    """Return the fields of the log line of a review, without empty ones."""
    fields: dict[str, Value] = {
        "uid": reply.uid,
        "phase": str(phase),
        "op": reply.operation,
        "kind": reply.kind,
        "ns": reply.namespace,
        "name": reply.name,
    }
    if reply.sub_resource:
        fields["sub"] = reply.sub_resource
    if reply.rules:
        fields["rules"] = ",".join(reply.rules)
    if reply.exempted:
        fields["exempted"] = ",".join(rule for rule, _ in reply.exempted)
    if reply.injected:
        fields["injected"] = reply.injected
    if reply.dry_run:
        fields["dry_run"] = True
    if reply.unreviewable:
        fields["unreviewable"] = reply.unreviewable
    fields.update(_cluster_fields(reply))
    fields["ms"] = round(seconds * 1000, 3)
    return fields


def _cluster_fields(reply: Reply) -> Iterator[tuple[str, Value]]:
    """Yield the fields of the log line of a review that have to do with the cluster."""
    if reply.missed:
        yield "cluster", "not-cached"
    if reply.waited_s is not None:
        yield "waited_ms", round(reply.waited_s * 1000, 3)
    if reply.preview_s is not None:
        yield "preview_ms", round(reply.preview_s * 1000, 3)
    if reply.forecast_skipped:
        yield "forecast", "skipped"
    elif reply.forecast_s is not None:
        yield "forecast_ms", round(reply.forecast_s * 1000, 3)
    if reply.rules_skipped:
        yield "node_rules", "skipped"
    elif reply.rules_s is not None:
        yield "node_rules_ms", round(reply.rules_s * 1000, 3)

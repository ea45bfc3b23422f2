"""The bytes of the answer to a review, and its data for logs and metrics."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any, Final, NamedTuple

import orjson

from policies.admission.admission_rules import error_text, repeats_of
from policies.admission.decision import (
    IGNORED,
    MAX_WARNINGS,
    AdmissionVerdict,
    Decision,
    SkipCause,
    SkippedRules,
    warning_texts,
)
from policies.config.enforcement import UNSCHEDULABLE
from policies.manifests.fields import FieldError, is_cut, member, shown_name, text_member
from policies.manifests.sanitize import cut, one_line, printable_lines
from policies.manifests.words import object_title, plural
from policies.model.api_rules import API_RULES
from policies.model.pod_template import INJECTED_ANNOTATION
from webhook.admission.review import (
    API_VERSION,
    SPREAD_POLICY,
    Budget,
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
#: Seconds after which a verdict on the next pod is slow, many times what its counted steps take: a machine
#: that is busy is no problem of the cluster.
SLOW_FORECAST_S: Final = 0.5


class Reply(NamedTuple):
    """The answer to one review, with what logs and metrics are made of."""

    body: bytes  #: The AdmissionReview with the response, JSON.
    review: Review  #: The AdmissionReview of the request.
    decision: Decision  #: The answer to its object.
    budget: Budget  #: The time of the request, and what was spent of it.
    #: Seconds for which was waited for what the cache of the cluster did not have; None if nothing was waited
    #: for.
    waited_s: float | None = None
    #: Seconds that the preview of a policy or namespace took; None if none was made.
    preview_s: float | None = None
    unreviewable: str = ""  #: What kept the object from being reviewed; empty if it was, or need not be.

    @property
    def preliminary(self) -> bool:
        """Whether it lacks what would come soon: an object in the cache of the cluster, or a preview."""
        return self.decision.miss is not None or self.decision.change is not None

    @property
    def forecast_skipped(self) -> SkippedRules | None:
        """Why a verdict that was wanted on the next pod was not begun; None if it was, or none was wanted."""
        return next((entry for entry in self.decision.skipped if UNSCHEDULABLE in entry.rules), None)

    @property
    def forecast_problem(self) -> str:
        """What of the cluster made that verdict too dear or slow, in words; empty if nothing did."""
        skipped, seconds = self.forecast_skipped, self.budget.forecast_s
        if skipped is not None and skipped.cause is SkipCause.CLUSTER:
            problem = f"is not evaluated: {skipped.why}"
        elif seconds is not None and seconds > SLOW_FORECAST_S:
            problem = f"took {seconds:.1f} s to evaluate"
        else:
            return ""
        named = object_title(_full_kind(self.review), self.review.namespace, _name(self.review))
        return one_line(f"the next pod of {named} {problem}")

    @property
    def rules_skipped(self) -> bool:
        """The same of rules that look at every node."""
        skipped = self.decision.skipped
        return bool(skipped) and any(rule != UNSCHEDULABLE for entry in skipped for rule in entry.rules)


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
    if previewed:
        decision = replace(decision, verdict=AdmissionVerdict.WARNED)
    if review.cut and decision is not IGNORED:
        decision = replace(decision, audit=decision.audit | {NOT_READ: "; ".join(review.cut)})
    answer: ReviewAnswer = {
        "apiVersion": API_VERSION,
        "kind": "AdmissionReview",
        "response": _response(review, request.phase, decision, previewed),
    }
    return Reply(orjson.dumps(answer), review, decision, request.budget)


def _response(review: Review, phase: Phase, decision: Decision, previewed: Sequence[str]) -> ReviewResponse:
    response: ReviewResponse = {"uid": review.uid, "allowed": decision.verdict is not AdmissionVerdict.DENIED}
    if decision.errors:
        response["status"] = _denial(review, decision)
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


def _denial(review: Review, decision: Decision) -> dict[str, Any]:
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
                _headline(review, decision),
                *map(error_text, told),
                *_rest(decision.errors, len(told)),
                *decision.notes,
            ]
        ),
        "details": {"kind": review.kind, "name": _name(review), "causes": causes},
    }


def _headline(review: Review, decision: Decision) -> str:
    """Return which object is refused: of a List, kubectl names the file alone."""
    name = _name(review)
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


def _name(review: Review) -> str:
    """Return an object's name, or what the API server will make it from, for people who read a log."""
    if review.name:
        return review.name
    metadata = member(review.obj or review.old_object or {}, "metadata")
    return text_member(metadata, "name" if metadata.get("name") else "generateName")


def _audited(text: str) -> str:
    """Return a text for the audit log: people read it in terminals, whatever a user wrote into an object."""
    # Cut first: a text may be megabytes long. Escaping makes it longer again.
    return cut(printable_lines(cut(text, AUDIT_LENGTH)), AUDIT_LENGTH)


def log_fields(reply: Reply, phase: Phase, seconds: float) -> dict[str, Value]:
    """Return the fields of the log line of a review, without empty ones."""
    review, decision = reply.review, reply.decision
    fields: dict[str, Value] = {
        "uid": review.uid,
        "phase": str(phase),
        "op": review.operation,
        "kind": _full_kind(review),
        "ns": review.namespace,
        "name": _name(review),
    }
    if review.sub_resource:
        fields["sub"] = review.sub_resource
    if decision.rules:
        fields["rules"] = ",".join(decision.rules)
    if decision.exempted:
        fields["exempted"] = ",".join(rule for rule, _ in decision.exempted)
    if decision.injected:
        fields["injected"] = decision.injected
    if review.dry_run:
        fields["dry_run"] = True
    if reply.unreviewable:
        fields["unreviewable"] = reply.unreviewable
    fields.update(_cluster_fields(reply))
    fields["ms"] = round(seconds * 1000, 3)
    return fields


def _cluster_fields(reply: Reply) -> Iterator[tuple[str, Value]]:
    """Yield the fields of the log line of a review that have to do with the cluster."""
    if reply.decision.miss is not None:
        yield "cluster", "not-cached"
    for name, seconds, is_skipped in (
        ("waited", reply.waited_s, False),
        ("preview", reply.preview_s, False),
        ("forecast", reply.budget.forecast_s, reply.forecast_skipped is not None),
        ("node_rules", reply.budget.rules_s, reply.rules_skipped),
    ):
        if is_skipped:
            yield name, "skipped"
        elif seconds is not None:
            yield f"{name}_ms", round(seconds * 1000, 3)

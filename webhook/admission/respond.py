"""Turn the bytes of an AdmissionReview request into the bytes of its answer. Knows no web framework."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

from policies.admission.admission_rules import error_text
from policies.admission.decision import (
    IGNORED,
    AdmissionVerdict,
    CacheMiss,
    Decision,
    NamespaceChange,
)
from policies.admission.injection import decide_mutation
from policies.admission.policy_review import decide_namespace, decide_policy
from policies.admission.unreviewable import UNREVIEWABLE, decide_unreviewable
from policies.admission.validation import decide_validation
from policies.admission.warnings import MAX_WARNINGS, warning_texts
from policies.config import spread_policy
from policies.config.context import AdmissionContext
from policies.config.enforcement import UNSCHEDULABLE
from policies.config.spread_policy import SpreadPolicy
from policies.manifests.fields import ErrorKind, FieldError, FieldPath, is_cut, shown_name
from policies.manifests.sanitize import cut, printable_lines
from policies.model.api_rules import API_RULES
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.workload import Workload
from webhook.admission.answer import ReviewAnswer, ReviewResponse
from webhook.admission.budget import Budget
from webhook.admission.review import API_VERSION, Review, UnreadableReviewError
from webhook.registration import PROBE_ANNOTATION, probe_answer

#: Characters of one audit annotation. The audit log keeps any size, and somebody pays for it.
AUDIT_LENGTH = 4096
#: Errors that a refusal tells. More than anybody fixes at once.
MAX_TOLD = 100
#: The audit annotation that says what of an object was not read.
NOT_READ = "not-read"
#: The group and the kind of policies.
_SPREAD_POLICY = (spread_policy.GROUP, spread_policy.KIND)
#: What is reviewed that makes no pods.
_OTHER_KINDS = {_SPREAD_POLICY: decide_policy, ("", "Namespace"): decide_namespace}


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
        exempted: The ids of the rules that the object is exempt from though it breaks them, each with who
            exempts it (annotation, policy).
        forecast_s: Seconds that the verdict on the next pod took; None if none was made.
        forecast_skipped: Whether one was wanted, and there was too little time or too much to judge.
        rules_s: Seconds that the rules took that look at every node; None if none was asked.
        rules_skipped: The same of rules.
        missed: Whether something was not in the cache of the cluster that was needed.
        waited_s: Seconds for which that was waited for; None if nothing was.
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
    unreviewable: str = ""


class NotCachedError(Exception):
    """A review needs something that the cache of the cluster does not have yet."""

    def __init__(self, miss: CacheMiss) -> None:
        super().__init__(str(miss))
        self.miss = miss


class PreviewWantedError(Exception):
    """The author of a review should read what it changes for existing workloads, which takes a while."""

    def __init__(self, change: SpreadPolicy | NamespaceChange) -> None:
        super().__init__("a preview is wanted")
        self.change = change


def respond(
    body: bytes,
    phase: Phase,
    context: AdmissionContext,
    *,
    budget: Budget | None = None,
    rules_budget: Budget | None = None,
    may_wait: bool = False,
    previewed: Sequence[str] | None = None,
) -> Reply:
    """Answer one review.

    Args:
        body: The AdmissionReview.
        phase: Which webhook is asked.
        context: What it is decided by.
        budget: The time that is left for a verdict on the next pod; None for no such verdict.
        rules_budget: The time that is left for rules that look at every node; None to leave them out.
        may_wait: Whether an answer may come later, when the cache of the cluster has what it needs.
        previewed: What is told of existing workloads; None if it is not known.

    Raises:
        ReviewError: The body is no AdmissionReview, and does not begin as one.
        NotCachedError: It has not yet, and the answer may come later.
        PreviewWantedError: The review may change something for existing workloads; what, is not known yet.
    """
    try:
        review = Review.parse(body)
    except UnreadableReviewError as error:
        if reply := respond_unreviewable(body, phase, context, error.message):
            return reply
        raise
    decision = decide(review, phase, context, budget=budget, rules_budget=rules_budget)
    if may_wait and decision.miss is not None:
        raise NotCachedError(decision.miss)
    if decision.change is not None and previewed is None:
        raise PreviewWantedError(decision.change)
    if previewed:
        decision = replace(decision, verdict=AdmissionVerdict.WARNED)
    if review.cut and decision is not IGNORED:
        decision = replace(decision, audit=decision.audit | {NOT_READ: "; ".join(review.cut)})
    return _reply(review, phase, decision, budget=budget, rules_budget=rules_budget, previewed=previewed)


def respond_unreviewable(beginning: bytes, phase: Phase, context: AdmissionContext, why: str) -> Reply | None:
    """Answer a review of which no more is known than its beginning; None if it is none.

    Args:
        beginning: Its first bytes, or all of them.
        phase: Which webhook is asked.
        context: What it is decided by.
        why: What kept it from being reviewed.
    """
    review = Review.of_beginning(beginning)
    if review is None:
        return None
    decision = _unreviewed(review, phase, context, why)
    return _reply(review, phase, decision)._replace(unreviewable=why if decision is not IGNORED else "")


def _unreviewed(review: Review, phase: Phase, context: AdmissionContext, why: str) -> Decision:
    is_policy = phase is Phase.VALIDATE and (review.group, review.kind) == _SPREAD_POLICY
    kind = context.kinds.get((review.group, review.kind))
    if review.sub_resource or review.operation not in ("CREATE", "UPDATE") or not (kind or is_policy):
        return IGNORED
    if phase is Phase.MUTATE and review.operation != "CREATE":
        return IGNORED
    if is_policy:
        # One with errors is denied by whatever policies there are.
        return Decision(
            verdict=AdmissionVerdict.DENIED,
            errors=(FieldError(FieldPath(), f"cannot be reviewed: {why}", ErrorKind.TOO_LONG, UNREVIEWABLE),),
            rules=(UNREVIEWABLE,),
        )
    with context.reading():
        may_deny = phase is Phase.VALIDATE
        return decide_unreviewable(review.namespace, context, why, may_deny=may_deny)


def _reply(
    review: Review,
    phase: Phase,
    decision: Decision,
    *,
    budget: Budget | None = None,
    rules_budget: Budget | None = None,
    previewed: Sequence[str] | None = None,
) -> Reply:
    name = review.name or _generated_name(review)
    answer: ReviewAnswer = {
        "apiVersion": API_VERSION,
        "kind": "AdmissionReview",
        "response": _response(review, phase, decision, name, previewed or ()),
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
        forecast_s=budget.spent_s if budget else None,
        forecast_skipped=UNSCHEDULABLE in skipped,
        rules_s=rules_budget.spent_s if rules_budget else None,
        rules_skipped=bool(skipped - {UNSCHEDULABLE}),
        missed=decision.miss is not None,
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
    if phase is Phase.VALIDATE and (decide_other := _OTHER_KINDS.get((review.group, review.kind))):
        return decide_other(review.obj, review.old_object, context)
    kind = context.kinds.get((review.group, review.kind))
    if kind is None or (phase is Phase.MUTATE and review.operation != "CREATE"):
        return IGNORED
    old, release, namespace = None, context.release, review.namespace
    if review.operation == "UPDATE" and review.old_object is not None:
        old = Workload.read(review.old_object, kind, namespace, release=release)
    workload = Workload.read(
        review.obj, kind, namespace, release=release, user=review.user, stored=old is not None
    )
    # Events wait meanwhile, but not while objects are read, which takes longest with large ones.
    with context.reading():
        if phase is Phase.MUTATE:
            return decide_mutation(workload, context)
        return decide_validation(
            workload,
            old,
            context,
            within=budget.within if budget else None,
            within_rules=rules_budget.within if rules_budget else None,
            today=datetime.now(UTC).date(),
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
    """Tell whether the mutating webhook was asked a moment ago, and warned of what it added."""
    return review.operation == "CREATE" and INJECTED_ANNOTATION in _annotations(review)


def _annotations(review: Review) -> dict[str, Any]:
    """Return the annotations of the object; their values may be anything."""
    metadata = (review.obj or {}).get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return annotations if isinstance(annotations, dict) else {}


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
    if (review.group, review.kind) == _SPREAD_POLICY:
        count = len(decision.errors)
        return f"{title} has {count} error{'s' if count > 1 else ''}:"
    count = len({error.rule for error in decision.errors})
    return f"{title} breaks {count} rule{'s' if count > 1 else ''}:"


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
    seen = Counter[str]()
    ranked = []
    for error in errors:
        ranked.append((seen[error.rule], error))
        seen[error.rule] += 1
    return [error for _, error in sorted(ranked, key=itemgetter(0))]


def _rest(errors: Sequence[FieldError], told: int) -> Iterator[str]:
    """Yield how many more errors there are."""
    if len(errors) > told:
        least = "At least " if is_cut(errors) else ""
        yield f"{least}{len(errors) - told} more errors are not listed."


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
    return cut(printable_lines(cut(text, AUDIT_LENGTH)), AUDIT_LENGTH)

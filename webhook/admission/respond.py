"""One review from its bytes to what comes of it. Knows no web framework, and waits for nothing.

Whatever comes of a review is a value: an answer, which may be preliminary, or why there will be none. Who
calls may wait for what the answer lacks, and ask again.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final, NamedTuple

from policies.admission.decision import (
    IGNORED,
    UNREVIEWABLE,
    AdmissionVerdict,
    Decision,
    decide_unreviewable,
)
from policies.admission.injection import decide_mutation
from policies.admission.policy_review import decide_namespace, decide_policy
from policies.admission.validation import decide_validation
from policies.config.context import AdmissionContext
from policies.manifests.fields import ErrorKind, FieldError, FieldPath
from policies.model.workload import Workload
from webhook.admission.reply import Reply, reply_to
from webhook.admission.review import (
    SPREAD_POLICY,
    Phase,
    Review,
    ReviewError,
    ReviewRequest,
    UnreadableReviewError,
)
from webhook.telemetry.logs import LOGGER

#: What is reviewed that makes no pods.
_OTHER_KINDS: Final = {SPREAD_POLICY: decide_policy, ("", "Namespace"): decide_namespace}
#: What a client reads of an error of ours.
_INTERNAL: Final = "internal error, see the log"


class RefusedReview(NamedTuple):
    """A request that gets an HTTP error instead of an answer.

    It never has Retry-After: the API server would call again until its timeout, and not apply failurePolicy.
    """

    status: HTTPStatus  #: The status.
    message: str  #: Why.
    errors: tuple[FieldError, ...] = ()  #: Every field that is wrong.


def respond(request: ReviewRequest, context: AdmissionContext) -> Reply | RefusedReview:
    """Answer one review, decided by what is in force now; whatever a body holds, there is an outcome."""
    context = context if request.from_api_server else context.for_stranger()
    try:
        review = Review.parse(request.body)
        return reply_to(request, review, decide(review, request, context))
    except UnreadableReviewError as error:
        return respond_unreviewable(request, context, error.message)
    except ReviewError as error:
        return RefusedReview(HTTPStatus.BAD_REQUEST, error.message, error.errors)
    except Exception as error:  # noqa: BLE001  # whatever a hostile body found: the worker goes on
        return _failed(request, context, error)


def respond_unreviewable(
    request: ReviewRequest, context: AdmissionContext, why: str
) -> Reply | RefusedReview:
    """Answer a review of which no more is known than its beginning, if the body is one.

    Args:
        request: The request, whose body may be cut off.
        context: What it is decided by.
        why: What kept it from being reviewed.
    """
    context = context if request.from_api_server else context.for_stranger()
    try:
        return _reply_unread(request, context, why) or RefusedReview(HTTPStatus.BAD_REQUEST, why)
    except Exception as error:  # noqa: BLE001  # as above
        return _failed(request, context, error)


def _reply_unread(request: ReviewRequest, context: AdmissionContext, why: str) -> Reply | None:
    """Return the answer to a review of which the beginning is read; None if that is none of a review."""
    review = Review.of_beginning(request.body)
    if review is None:
        return None
    decision = _decide_unread(review, request.phase, context, why)
    return reply_to(request, review, decision)._replace(unreviewable=why if decision is not IGNORED else "")


def _failed(request: ReviewRequest, context: AdmissionContext, error: Exception) -> Reply | RefusedReview:
    """Return the answer to a review that we failed on; an error if it says not even whose it is."""
    review = Review.of_beginning(request.body)
    uid = review.uid if review else ""
    fields = {"uid": uid, "phase": request.phase.value, "bytes": len(request.body)}
    LOGGER.error("review_failed", exc_info=error, extra={"fields": fields})
    refused = RefusedReview(HTTPStatus.INTERNAL_SERVER_ERROR, _INTERNAL)
    try:
        return _reply_unread(request, context, _INTERNAL) or refused
    except Exception:  # noqa: BLE001  # the same again, or one that needs no second line
        return refused


def _decide_unread(review: Review, phase: Phase, context: AdmissionContext, why: str) -> Decision:
    """Decide on an object of which no more is known than the beginning of its review."""
    is_policy = phase is Phase.VALIDATE and (review.group, review.kind) == SPREAD_POLICY
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


def decide(review: Review, request: ReviewRequest, context: AdmissionContext) -> Decision:
    """Decide on one review; deletions, subresources and kinds without pods are let through at once."""
    phase = request.phase
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
        return decide_validation(workload, old, context, request.budget.limits())

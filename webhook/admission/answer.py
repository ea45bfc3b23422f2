"""The answer half of an AdmissionReview, as the API server reads it.

Source: ``k8s.io/api/admission/v1``, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

from policies.config.type_schema import Keywords
from webhook.admission.review import API_VERSION


class ReviewResponse(TypedDict):
    """The decision on an object, as the API server reads it.

    Attributes:
        uid: That of the request.
        allowed: Whether the object is admitted.
        status: Why it is not, as a Status of Kubernetes.
        patchType: ``JSONPatch``.
        patch: The changes, in base64.
        warnings: What kubectl prints.
        auditAnnotations: What the audit log keeps.
    """

    uid: str
    allowed: bool
    status: NotRequired[dict[str, Any]]
    patchType: NotRequired[str]
    patch: NotRequired[str]
    warnings: NotRequired[list[str]]
    auditAnnotations: NotRequired[dict[str, str]]


class ReviewAnswer(TypedDict):
    """The AdmissionReview that answers another.

    Attributes:
        apiVersion: That of the request.
        kind: That of the request.
        response: What becomes of the object.
    """

    apiVersion: Annotated[str, Keywords(const=API_VERSION)]
    kind: Annotated[str, Keywords(const="AdmissionReview")]
    response: ReviewResponse

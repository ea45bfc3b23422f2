"""Access reviews of a caller: the requests to the API server, their meaning, and the texts for the caller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Final

from webhook.rbac import AUDIENCE, GROUP, PROXIED_HEADER, Resource

#: The paths of the API server's reviews: who has a token, and what a user may do.
TOKEN_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105  # a path
ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class Result(StrEnum):
    """The outcome of a request, as metrics and logs name it."""

    ALLOWED = "allowed"
    DENIED = "denied"
    UNAUTHENTICATED = "unauthenticated"
    ERROR = "error"


_STATUS: Final = {
    Result.ALLOWED: HTTPStatus.OK,
    Result.DENIED: HTTPStatus.FORBIDDEN,
    Result.UNAUTHENTICATED: HTTPStatus.UNAUTHORIZED,
    Result.ERROR: HTTPStatus.SERVICE_UNAVAILABLE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessDecision:
    """Whether a request is answered.

    Attributes:
        result: What became of it.
        user: Who calls, empty if unknown.
        message: The message for the caller where it is denied.
        why: The reason, for the log alone.
    """

    result: Result
    user: str = ""
    message: str = ""
    why: str = ""

    @property
    def allowed(self) -> bool:
        """Whether the request is answered."""
        return self.result is Result.ALLOWED

    @property
    def status(self) -> HTTPStatus:
        """The status of the answer that it gets."""
        return _STATUS[self.result]


@dataclass(frozen=True, slots=True)
class RequestedAccess:
    """The access that a caller requests, as RBAC rules name it."""

    verb: str
    resource: Resource

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}.{GROUP}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A caller whom the API server knows."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, list[str]] = field(default_factory=dict)


def token_review(token: str, *audiences: str) -> dict[str, Any]:
    """Return the question who has a token.

    Args:
        token: The token.
        audiences: For whom it must be made; the API server itself if there are none.
    """
    spec: dict[str, Any] = {"token": token}
    if audiences:
        spec["audiences"] = list(audiences)
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}


def caller_of(answer: Mapping[str, Any], *, audience: str = "") -> Caller | None:
    """Return the caller whose token was reviewed, None if it is not valid.

    Args:
        answer: A TokenReview with its status.
        audience: For whom the token must be made; empty for the API server. An answer that names no audience
            is about the API server, whatever was requested ("status.audiences" of the API's reference).
    """
    status = answer.get("status") or {}
    user = status.get("user") or {}
    if status.get("authenticated") is not True or not user.get("username"):
        return None
    if audience and audience not in (status.get("audiences") or ()):
        return None
    return Caller(
        name=user["username"],
        uid=user.get("uid") or "",
        groups=tuple(user.get("groups") or ()),
        extra=user.get("extra") or {},
    )


def problem_of(answer: Mapping[str, Any]) -> str:
    """Return the error of the token that a TokenReview reports, empty if there is none."""
    return str((answer.get("status") or {}).get("error") or "")


def access_review(caller: Caller, action: RequestedAccess) -> dict[str, Any]:
    """Return the SubjectAccessReview of a caller and an action."""
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": caller.name,
            "uid": caller.uid,
            "groups": list(caller.groups),
            "extra": dict(caller.extra),
            "resourceAttributes": {"verb": action.verb, "group": GROUP, "resource": action.resource.value},
        },
    }


def decision_on(answer: Mapping[str, Any], caller: Caller, action: RequestedAccess) -> AccessDecision:
    """Return the decision of a SubjectAccessReview with its status."""
    status = answer.get("status") or {}
    if status.get("allowed") is True and status.get("denied") is not True:
        return AccessDecision(result=Result.ALLOWED, user=caller.name)
    text = (
        f"{caller.name} may not {action}: bind a ClusterRole with apiGroups [{GROUP}], resources "
        f"[{action.resource}] and verbs [{action.verb}] by a ClusterRoleBinding, such as evenkeel-client"
    )
    why = status.get("evaluationError") or status.get("reason") or ""
    return AccessDecision(result=Result.DENIED, user=caller.name, message=text, why=why)


def nobody() -> AccessDecision:
    """Return the decision on a caller without a token."""
    text = (
        "this route needs authentication: send Authorization: Bearer TOKEN, or through the API server's "
        f"proxy {PROXIED_HEADER}: Bearer TOKEN"
    )
    return AccessDecision(result=Result.UNAUTHENTICATED, message=text)


def unknown_caller(why: str) -> AccessDecision:
    """Return the decision on a caller whose token is not valid.

    Args:
        why: What the API server says is wrong with it.
    """
    text = (
        f"the token is not valid, or not made for the audience {AUDIENCE}: kubectl create token "
        f"evenkeel-client --namespace evenkeel --audience {AUDIENCE}"
    )
    return AccessDecision(result=Result.UNAUTHENTICATED, message=text, why=why)

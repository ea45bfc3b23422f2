"""The caller of a request and their rights, as the API server says.

The bearer token of a request, which reads no body; the reviews of its owner, and the texts for the caller.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from http import HTTPStatus
from typing import Any, Final

from webhook.kube.api_server import ApiError, ApiServer, ClusterError
from webhook.rbac import ACCESS_REVIEWS, AUDIENCE, GROUP, PROXIED_HEADER, Resource, access_review

#: Where the API server reviews who has a token.
TOKEN_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105  # a path
#: A token as RFC 6750, section 2.1, writes it behind the scheme, whose case does not matter (RFC 9110).
_BEARER: Final = re.compile(r"bearer +([A-Za-z0-9._~+/-]+=*)", re.IGNORECASE)
_PROXIED_VARIABLE: Final = f"HTTP_{PROXIED_HEADER.upper().replace('-', '_')}"
#: Seconds for one answer; there are three at most. An API server needs milliseconds.
TIMEOUT_S: Final = 3.0


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
    """Whether a request is answered."""

    result: Result  #: What became of it.
    user: str = ""  #: Who calls, empty if unknown.
    message: str = ""  #: The message for the caller where it is denied.
    why: str = ""  #: The reason, for the log alone.

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

    @property
    def attributes(self) -> dict[str, str]:
        """The access as a review names it."""
        return {"verb": self.verb, "group": GROUP, "resource": self.resource.value}

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}.{GROUP}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A caller whom the API server knows."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, list[str]] = field(default_factory=dict)

    def review(self, action: RequestedAccess) -> dict[str, Any]:
        """Return the SubjectAccessReview of an action."""
        user = {"user": self.name, "uid": self.uid, "groups": list(self.groups), "extra": dict(self.extra)}
        return access_review(user, {"resourceAttributes": action.attributes})


@dataclass(frozen=True, slots=True)
class Credential:
    """The credential that a caller sends."""

    #: The bearer token; it stands in no representation, so that it ends in no log.
    token: str = field(repr=False)
    #: Whether it came in the header of its own, hence perhaps through a proxy that cannot tell this server
    #: from another.
    proxied: bool = False

    @property
    def digest(self) -> bytes:
        """The hash by which tokens differ, and from which no token can be recovered."""
        return sha256(self.token.encode()).digest()


def read_credential(environ: Mapping[str, Any]) -> Credential | None:
    """Return the credential of a WSGI request, the header of our own first; None if that is no token."""
    own = environ.get(_PROXIED_VARIABLE)
    text = environ.get("HTTP_AUTHORIZATION", "") if own is None else own
    match = _BEARER.fullmatch(text.strip())
    return Credential(match[1], proxied=own is not None) if match else None


class TokenReviewer:
    """Decides with an API server; where that cannot be reached, no caller is let in."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api

    def decide(self, credential: Credential, action: RequestedAccess) -> AccessDecision:
        """Return whether who shows a credential may do something; never fails."""
        try:
            caller, why = self._caller(credential, action)
            if caller is None:
                return unknown_caller(why)
            answer = self._api.call("POST", ACCESS_REVIEWS, body=caller.review(action), timeout_s=TIMEOUT_S)
            return decision_on(answer, caller, action)
        except ClusterError as error:
            return _undecided(error)

    def _caller(self, credential: Credential, action: RequestedAccess) -> tuple[Caller | None, str]:
        """Return whose token it is, or what is wrong with it.

        A token must be for us alone, so that no one sends one here that is worth something elsewhere. But a
        ServiceMonitor can refer only to a token for the API server: metrics are shown for that too, unless it
        came through a proxy, which does not make sure that it talks to us.
        """
        answer = self._review(credential.token, AUDIENCE)
        caller, why = caller_of(answer, audience=AUDIENCE), problem_of(answer)
        if caller is None and action.resource is Resource.METRICS and not credential.proxied:
            answer = self._review(credential.token)
            caller = caller_of(answer)
            why = "; ".join(filter(None, (why, problem_of(answer))))
        return caller, why

    def _review(self, token: str, *audiences: str) -> dict[str, object]:
        return self._api.call(
            "POST", TOKEN_REVIEWS, body=token_review(token, *audiences), timeout_s=TIMEOUT_S
        )


def _undecided(error: ClusterError) -> AccessDecision:
    if isinstance(error, ApiError) and error.forbidden:
        text = "Evenkeel may not have the API server review callers: bind system:auth-delegator to it"
    else:
        text = "the API server does not review the caller: try again"
    return AccessDecision(result=Result.ERROR, message=text, why=str(error))


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

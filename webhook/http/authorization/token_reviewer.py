"""The bearer token of a request, which reads no body, and what the API server says of its owner."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from webhook.http.authorization.access_reviews import (
    ACCESS_REVIEWS,
    TOKEN_REVIEWS,
    AccessDecision,
    Caller,
    RequestedAccess,
    Result,
    access_review,
    caller_of,
    decision_on,
    problem_of,
    token_review,
    unknown_caller,
)
from webhook.kube.api_server import ApiError, ApiServer, ClusterError
from webhook.rbac import AUDIENCE, PROXIED_HEADER, Resource

#: A token as RFC 6750, section 2.1, writes it behind the scheme, whose case does not matter (RFC 9110).
_BEARER: Final = re.compile(r"bearer +([A-Za-z0-9._~+/-]+=*)", re.IGNORECASE)
_PROXIED_VARIABLE: Final = f"HTTP_{PROXIED_HEADER.upper().replace('-', '_')}"


@dataclass(frozen=True, slots=True)
class Credential:
    """The credential that a caller sends.

    Attributes:
        token: The bearer token; it stands in no representation, so that it ends in no log.
        proxied: Whether it came in the header of its own, hence perhaps through a proxy that cannot tell this
            server from another.
    """

    token: str = field(repr=False)
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


#: Seconds for one answer; there are three at most. An API server needs milliseconds.
TIMEOUT_S: Final = 3.0


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
            answer = self._api.call(
                "POST", ACCESS_REVIEWS, body=access_review(caller, action), timeout_s=TIMEOUT_S
            )
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

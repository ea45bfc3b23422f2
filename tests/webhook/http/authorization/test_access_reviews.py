"""The reviews that are requested, and the decisions on their answers, which are those of a kube-apiserver."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import pytest

from webhook.http.authorization.token_reviewer import (
    AccessDecision,
    Caller,
    RequestedAccess,
    Result,
    caller_of,
    decision_on,
    token_review,
)
from webhook.rbac import Resource

USER = {"username": "jane", "uid": "7", "groups": ["a", "b"], "extra": {"scopes": ["x"]}}
KNOWN = {"authenticated": True, "user": USER}
JANE = Caller(name="jane", uid="7", groups=("a", "b"), extra={"scopes": ["x"]})
GET = RequestedAccess("get", Resource.METRICS)


@pytest.mark.parametrize(
    ("status", "audience", "expected"),
    [
        pytest.param(KNOWN | {"audiences": ["evenkeel"]}, "evenkeel", JANE, id="ours"),
        pytest.param(KNOWN | {"audiences": ["x"]}, "evenkeel", None, id="another's"),
        pytest.param(KNOWN, "evenkeel", None, id="no audience: the API server's"),
        pytest.param(KNOWN, "", JANE, id="no audience, none asked for"),
        pytest.param(KNOWN | {"audiences": ["api"]}, "", JANE, id="the API server's"),
        pytest.param({"user": {}, "error": "invalid"}, "", None, id="invalid"),
        pytest.param({"authenticated": True, "user": {}}, "", None, id="nobody"),
        pytest.param({"authenticated": "true", "user": USER}, "", None, id="not a yes"),
        pytest.param(None, "", None, id="no status"),
    ],
)
def test_callers(status: Any, audience: str, expected: Caller | None) -> None:
    """A caller is known only by a token for the audience that was asked about."""
    assert expected == caller_of({"status": status}, audience=audience)


@pytest.mark.parametrize(
    ("status", "result"),
    [
        pytest.param({"allowed": True}, Result.ALLOWED, id="allowed"),
        pytest.param({"allowed": False, "reason": "no"}, Result.DENIED, id="not allowed"),
        pytest.param({"allowed": True, "denied": True}, Result.DENIED, id="both"),
        pytest.param({"allowed": "true"}, Result.DENIED, id="not a yes"),
        pytest.param({}, Result.DENIED, id="nothing"),
        pytest.param(None, Result.DENIED, id="no status"),
    ],
)
def test_decisions(status: Any, result: Result) -> None:
    """Nobody is let in without a clear yes; who is not is told what is lacking."""
    decision = decision_on({"status": status}, JANE, GET)

    assert (result, "jane") == (decision.result, decision.user)
    assert decision.allowed or all(
        part in decision.message for part in ("jane", "get metrics.evenkeel.dev", "ClusterRoleBinding")
    )


def test_questions() -> None:
    """All that is known of a caller is told to the authorizer; a token is asked about for its audiences.

    The right is one to a resource that no API server has: a path could be one of the API server's own.
    """
    spec = JANE.review(GET)["spec"]

    assert {"verb": "get", "group": "evenkeel.dev", "resource": "metrics"} == spec.pop("resourceAttributes")
    assert {"user": "jane", "uid": "7", "groups": ["a", "b"], "extra": {"scopes": ["x"]}} == spec
    assert {"token": "t"} == token_review("t")["spec"]
    assert {"token": "t", "audiences": ["evenkeel"]} == token_review("t", "evenkeel")["spec"]


@pytest.mark.parametrize(
    ("result", "status"),
    [
        (Result.ALLOWED, HTTPStatus.OK),
        (Result.DENIED, HTTPStatus.FORBIDDEN),
        (Result.UNAUTHENTICATED, HTTPStatus.UNAUTHORIZED),
        (Result.ERROR, HTTPStatus.SERVICE_UNAVAILABLE),
    ],
)
def test_statuses(result: Result, status: HTTPStatus) -> None:
    """Every result has a status of its own."""
    assert status == AccessDecision(result=result).status

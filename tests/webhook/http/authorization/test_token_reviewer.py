"""Asking an API server who calls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.webhook.http.authorization.control_plane import API, ControlPlane, a_control_plane
from webhook.http.authorization.token_reviewer import (
    TOKEN_REVIEWS,
    Credential,
    RequestedAccess,
    Result,
    TokenReviewer,
)
from webhook.rbac import ACCESS_REVIEWS, Resource

METRICS, PLACEMENTS = RequestedAccess("get", Resource.METRICS), RequestedAccess("create", Resource.PLACEMENTS)


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    """An API server that knows jane, who may read metrics, and joe, who may not."""
    with a_control_plane() as plane:
        plane.tokens |= {
            "for-us": ("jane", "evenkeel"),
            "for-api": ("jane", API),
            "for-vault": ("jane", "vault"),
            "joes": ("joe", "evenkeel"),
        }
        plane.rights |= {
            ("jane", "get", "metrics.evenkeel.dev"),
            ("jane", "create", "placements.evenkeel.dev"),
        }
        yield plane


@pytest.mark.parametrize(
    ("action", "token", "proxied", "result", "questions"),
    [
        pytest.param(METRICS, "for-us", False, Result.ALLOWED, 2, id="metrics, for us"),
        pytest.param(METRICS, "for-us", True, Result.ALLOWED, 2, id="metrics, for us, proxied"),
        pytest.param(METRICS, "for-api", False, Result.ALLOWED, 3, id="metrics, for the API server"),
        pytest.param(METRICS, "for-api", True, Result.UNAUTHENTICATED, 1, id="the same, proxied"),
        pytest.param(METRICS, "for-vault", False, Result.UNAUTHENTICATED, 2, id="metrics, for another"),
        pytest.param(METRICS, "joes", False, Result.DENIED, 2, id="metrics, without the right"),
        pytest.param(METRICS, "garbage", False, Result.UNAUTHENTICATED, 2, id="metrics, nobody's"),
        pytest.param(PLACEMENTS, "for-us", False, Result.ALLOWED, 2, id="placements, for us"),
        pytest.param(PLACEMENTS, "for-us", True, Result.ALLOWED, 2, id="placements, for us, proxied"),
        pytest.param(PLACEMENTS, "for-api", False, Result.UNAUTHENTICATED, 1, id="placements, the API's"),
        pytest.param(PLACEMENTS, "joes", False, Result.DENIED, 2, id="placements, without the right"),
    ],
)
def test_tokens(
    plane: ControlPlane,
    tmp_path: Path,
    *,
    action: RequestedAccess,
    token: str,
    proxied: bool,
    result: Result,
    questions: int,
) -> None:
    """A token for us counts any way it came, one for the API server for metrics directly, any other never."""
    credential = Credential(token, proxied=proxied)
    decision = TokenReviewer(plane.api(tmp_path)).decide(credential, action)

    assert result == decision.result
    assert questions == len(plane.asked)
    assert credential.token not in f"{decision.message}{decision.why}"


@pytest.mark.parametrize("path", [TOKEN_REVIEWS, ACCESS_REVIEWS])
def test_without_the_right_to_ask(plane: ControlPlane, tmp_path: Path, path: str) -> None:
    """Where Evenkeel itself may not ask, nobody is let in, and is told what is lacking."""
    plane.forbidden.add(path)
    decision = TokenReviewer(plane.api(tmp_path)).decide(Credential("for-us"), METRICS)

    assert Result.ERROR == decision.result
    assert "system:auth-delegator" in decision.message


def test_nobody_there(plane: ControlPlane, tmp_path: Path) -> None:
    """Without an API server nobody is let in."""
    plane.url = "http://127.0.0.1:1"
    decision = TokenReviewer(plane.api(tmp_path)).decide(Credential("for-us"), METRICS)

    assert Result.ERROR == decision.result
    assert decision.why

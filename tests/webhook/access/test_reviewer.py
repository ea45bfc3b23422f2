"""Asking an API server who calls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.webhook.access.control_plane import API, ControlPlane, a_control_plane
from webhook.access.credential import Credential
from webhook.access.reviewer import Reviewer
from webhook.access.reviews import ACCESS_REVIEWS, TOKEN_REVIEWS, Action, Result

METRICS = Action("get", "/metrics")


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
        plane.rights.add(("jane", "get", "/metrics"))
        yield plane


@pytest.mark.parametrize(
    ("credential", "result", "questions"),
    [
        pytest.param(Credential("for-us"), Result.ALLOWED, 2, id="for us"),
        pytest.param(Credential("for-us", proxied=True), Result.ALLOWED, 2, id="for us, proxied"),
        pytest.param(Credential("for-api"), Result.ALLOWED, 3, id="for the API server"),
        pytest.param(
            Credential("for-api", proxied=True), Result.UNAUTHENTICATED, 1, id="for the API server, proxied"
        ),
        pytest.param(Credential("for-vault"), Result.UNAUTHENTICATED, 2, id="for somebody else"),
        pytest.param(Credential("joes"), Result.DENIED, 2, id="without the right"),
        pytest.param(Credential("garbage"), Result.UNAUTHENTICATED, 2, id="nobody's"),
    ],
)
def test_tokens(
    plane: ControlPlane, tmp_path: Path, credential: Credential, result: Result, questions: int
) -> None:
    """A token for us counts any way it came, one for the API server only directly, any other never."""
    decision = Reviewer(plane.api(tmp_path)).decide(credential, METRICS)

    assert result == decision.result
    assert questions == len(plane.asked)
    assert credential.token not in f"{decision.message}{decision.why}"


@pytest.mark.parametrize("path", [TOKEN_REVIEWS, ACCESS_REVIEWS])
def test_without_the_right_to_ask(plane: ControlPlane, tmp_path: Path, path: str) -> None:
    """Where Evenkeel itself may not ask, nobody is let in, and is told what is lacking."""
    plane.forbidden.add(path)
    decision = Reviewer(plane.api(tmp_path)).decide(Credential("for-us"), METRICS)

    assert Result.ERROR == decision.result
    assert "system:auth-delegator" in decision.message


def test_nobody_there(plane: ControlPlane, tmp_path: Path) -> None:
    """Without an API server nobody is let in."""
    plane.url = "http://127.0.0.1:1"
    decision = Reviewer(plane.api(tmp_path)).decide(Credential("for-us"), METRICS)

    assert Result.ERROR == decision.result
    assert decision.why

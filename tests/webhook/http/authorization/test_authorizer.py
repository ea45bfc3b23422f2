"""Requests at a guarded route."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.waiting import eventually
from tests.webhook.http.authorization.control_plane import ControlPlane, a_control_plane
from tests.webhook.http.authorization.test_mode import EVERYWHERE, LOOPBACK, given
from webhook.http.authorization.authorizer import (
    Authorizer,
    ClosedAuthorizer,
    DecisionCache,
    KubernetesAuthorizer,
    OpenAuthorizer,
    build_authorizer,
)
from webhook.http.authorization.token_reviewer import AccessDecision, Result, TokenReviewer
from webhook.http.limits import RateLimiter
from webhook.rbac import Resource


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    """An API server that knows jane, who may read metrics."""
    with a_control_plane() as plane:
        plane.tokens["janes"] = ("jane", "evenkeel")
        plane.rights.add(("jane", "get", "metrics.evenkeel.dev"))
        yield plane


def _check(
    guard: Authorizer, token: str = "", *, method: str = "GET", resource: Resource = Resource.METRICS
) -> AccessDecision:
    environ = {"REQUEST_METHOD": method, "PATH_INFO": "/metrics"}
    return guard.check(environ | ({"HTTP_AUTHORIZATION": f"Bearer {token}"} if token else {}), resource)


def test_guards_of_settings(plane: ControlPlane, tmp_path: Path) -> None:
    """On loopback everybody is let in, elsewhere nobody unless somebody can be asked."""
    guard = build_authorizer(given(live=True), plane.api(tmp_path), places=1, count=list[str]().append)

    assert _check(OpenAuthorizer()).allowed
    assert _check(build_authorizer(given(bind=LOOPBACK), None, places=1, count=list[str]().append)).allowed
    assert (
        Result.DENIED
        is _check(build_authorizer(given(bind=EVERYWHERE), None, places=1, count=list[str]().append)).result
    )
    assert Result.UNAUTHENTICATED is _check(guard).result


@pytest.mark.parametrize(
    ("method", "result"),
    [
        pytest.param("GET", Result.ALLOWED, id="get"),
        pytest.param("HEAD", Result.ALLOWED, id="get without a body"),
        pytest.param("POST", Result.DENIED, id="create"),
        pytest.param("OPTIONS", Result.DENIED, id="no verb of Kubernetes"),
    ],
)
def test_methods(plane: ControlPlane, tmp_path: Path, method: str, result: Result) -> None:
    """A method is the verb that the API server makes of it."""
    guard = build_authorizer(given(live=True), plane.api(tmp_path), places=1, count=list[str]().append)

    assert result is _check(guard, "janes", method=method).result


def test_closed_says_how_to_open(caplog: pytest.LogCaptureFixture) -> None:
    """Who is let in nowhere learns what to change."""
    with caplog.at_level(logging.INFO, logger="evenkeel"):
        decision = _check(ClosedAuthorizer())

    assert "--live" in decision.message
    assert "--access open" in decision.message
    assert 1 == len(caplog.records)


def test_answers_are_counted_logged_and_kept(
    plane: ControlPlane, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each request is counted and logged without its token; what was decided is not asked again."""
    counts = Counter[str]()
    guard = build_authorizer(
        given(live=True), plane.api(tmp_path), places=1, count=lambda result: counts.update([result])
    )
    with caplog.at_level(logging.INFO, logger="evenkeel"):
        for _ in range(3):
            _check(guard, "janes")
        _check(guard, "janes", resource=Resource.PLACEMENTS)
        _check(guard, "garbage")
        _check(guard)
        plane.forbidden |= set(plane.paths())
        _check(guard, "more-garbage")

    assert {"allowed": 3, "denied": 1, "unauthenticated": 2, "error": 1} == counts
    assert 2 + 2 + 2 + 1 == len(plane.asked)
    fields = [getattr(record, "fields", {}) for record in caplog.records]
    assert [*["jane"] * 4, "", "", ""] == [entry["user"] for entry in fields]
    assert ["info"] * 6 + ["error"] == [record.levelname.lower() for record in caplog.records]
    assert not [word for word in ("janes", "garbage") if word in str(fields)]


def test_a_silent_api_server_takes_no_more_than_its_places(plane: ControlPlane, tmp_path: Path) -> None:
    """While as many wait as may, others are told so at once, but for those who are known."""
    guard = build_authorizer(given(live=True), plane.api(tmp_path), places=2, count=list[str]().append)
    _check(guard, "janes")
    plane.answering.clear()
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(_check, guard, token) for token in ("a", "b")]
        eventually(lambda: 2 + 2 == len(plane.asked))
        busy, known = _check(guard, "c"), _check(guard, "janes")
        plane.answering.set()
        answers = [future.result() for future in waiting]

    assert (Result.ERROR, Result.ALLOWED) == (busy.result, known.result)
    assert [Result.UNAUTHENTICATED] * 2 == [answer.result for answer in answers]


def test_a_flood_of_tokens_is_no_flood_of_questions(plane: ControlPlane, tmp_path: Path) -> None:
    """Beyond the rate, no new token is reviewed; those that are known are answered."""
    guard = KubernetesAuthorizer(
        TokenReviewer(plane.api(tmp_path)),
        DecisionCache(),
        places=1,
        count=list[str]().append,
        rate=RateLimiter(3, now=lambda: 0.0),
    )
    decisions = [_check(guard, token) for token in ("janes", "a", "b", "c", "d", "janes")]

    allowed, unknown, busy = Result.ALLOWED, Result.UNAUTHENTICATED, Result.ERROR
    assert [allowed, unknown, unknown, busy, busy, allowed] == [decision.result for decision in decisions]
    assert 2 + 2 + 2 == len(plane.asked)

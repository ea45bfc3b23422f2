"""Errors of an API server."""

from __future__ import annotations

import pytest

from webhook.kube.api_server import Answer


@pytest.mark.parametrize(
    ("answer", "message", "reason", "wait_s"),
    [
        pytest.param(
            Answer(404, b'{"kind":"Status","message":"nodes \\"a\\" not found","reason":"NotFound"}'),
            'nodes "a" not found',
            "NotFound",
            None,
            id="a Status",
        ),
        pytest.param(
            Answer(401, b'{"kind":"Status","message":"Unauthorized","reason":"Unauthorized"}'),
            "Unauthorized: the cluster does not take these credentials, which may have expired",
            "Unauthorized",
            None,
            id="a Status of one word",
        ),
        pytest.param(
            Answer(429, b'{"message":"slow down","details":{"retryAfterSeconds":7}}'), "slow down", "", 7.0,
            id="a Status that asks to wait 7 s",
        ),
        pytest.param(
            Answer(503, b"<html>\n no  healthy upstream </html>", {"retry-after": "3"}),
            "<html> no healthy upstream </html>",
            "",
            3.0,
            id="a proxy's page with Retry-After 3",
        ),
        pytest.param(Answer(502, b""), "HTTP status 502", "", None, id="nothing"),
        pytest.param(Answer(500, b"[1]"), "[1]", "", None, id="JSON that is no Status"),
    ],
)  # fmt: skip
def test_errors_of_answers(answer: Answer, message: str, reason: str, wait_s: float | None) -> None:
    """Errors of the API server, or of a proxy before it, are reported in their own words."""
    error = answer.error()

    assert not answer.ok
    assert (answer.status, message, reason, wait_s) == (
        error.status, str(error), error.reason, error.retry_after_s,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("status", "meaning"), [(403, "forbidden"), (404, "not_found"), (409, "conflict"), (410, "gone")]
)
def test_meanings(status: int, meaning: str) -> None:
    """The statuses that somebody acts on have names, one each."""
    error = Answer(status, b"").error()

    assert [meaning] == [
        name for name in ("conflict", "forbidden", "gone", "not_found") if getattr(error, name)
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(b'{"error":"no"}', {"error": "no"}, id="an object"),
        pytest.param(b"[1]", {}, id="other JSON"),
        pytest.param(b"<html>", {}, id="a page"),
        pytest.param(b"", {}, id="nothing"),
    ],
)
def test_objects_of_answers(body: bytes, expected: dict[str, str]) -> None:
    """Whoever looks into an answer finds an object, maybe without anything in it."""
    assert expected == Answer(200, body).json_object()


def test_answers_are_not_shown() -> None:
    """A token or a private key in an answer ends in no log by way of ``repr``."""
    assert "s3cr3t" not in repr(Answer(201, b'{"status":{"token":"s3cr3t"}}'))

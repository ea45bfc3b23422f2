"""Tokens in headers."""

from __future__ import annotations

import pytest

from webhook.http.authorization.token_reviewer import Credential, read_credential

AUTHORIZATION, OWN = "HTTP_AUTHORIZATION", "HTTP_X_EVENKEEL_AUTHORIZATION"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        pytest.param({}, None, id="none"),
        pytest.param({AUTHORIZATION: "Bearer a.b-c_d=="}, Credential("a.b-c_d=="), id="a token"),
        pytest.param({AUTHORIZATION: "bearer   abc "}, Credential("abc"), id="other case, blanks"),
        pytest.param({AUTHORIZATION: "Basic YTpi"}, None, id="another scheme"),
        pytest.param({AUTHORIZATION: "Bearer"}, None, id="no token"),
        pytest.param({AUTHORIZATION: "Bearer a, Bearer b"}, None, id="two tokens"),
        pytest.param({AUTHORIZATION: "Bearer ä"}, None, id="not ASCII"),
        pytest.param({OWN: "Bearer abc"}, Credential("abc", proxied=True), id="our own header"),
        pytest.param(
            {OWN: "Bearer abc", AUTHORIZATION: "Bearer d"}, Credential("abc", proxied=True), id="both"
        ),
        pytest.param({OWN: "", AUTHORIZATION: "Bearer d"}, None, id="our own is empty"),
    ],
)
def test_headers(environ: dict[str, str], expected: Credential | None) -> None:
    """One bearer token counts; in our own header it comes first."""
    assert expected == read_credential(environ)


def test_nothing_shows_the_token() -> None:
    """Neither representation nor digest gives it away, and digests differ."""
    credential = Credential("secret")

    assert "secret" not in repr(credential)
    assert b"secret" not in credential.digest
    assert credential.digest != Credential("secrets").digest

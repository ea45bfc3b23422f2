"""The frame of JSON requests: what is one, and what is said of one that is not."""

from __future__ import annotations

import pickle

import pytest

from webhook.requests.frame import RequestError, read_request
from webhook.requests.simulate import SimulateRequest


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{", id="cut off"),
        pytest.param(b"\xff", id="no UTF-8"),
        pytest.param(b'"\\ud800"', id="half a character"),
        pytest.param(b"[" * 2000, id="2,000 levels"),
    ],
)
def test_what_is_no_json(body: bytes) -> None:
    """It is one error, without fields."""
    with pytest.raises(RequestError) as caught:
        read_request(SimulateRequest, body)

    assert () == caught.value.errors
    assert "JSON" in caught.value.message


@pytest.mark.parametrize(("body", "given"), [(b"[]", "a list"), (b"3", "3"), (b"null", "null")])
def test_what_is_no_object(body: bytes, given: str) -> None:
    """Only an object is read further."""
    with pytest.raises(RequestError) as caught:
        read_request(SimulateRequest, body)

    assert f"the request: Invalid value: {given}: must be an object" == caught.value.message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(b'{"x": 1}', "x: unknown field", id="1 error"),
        pytest.param(b'{"x": 1, "y": 2, "z": 3}', "(and 2 more errors)", id="3 errors"),
    ],
)
def test_message(body: bytes, message: str) -> None:
    """The message is the first error, and how many there are besides; another process says the same."""
    with pytest.raises(RequestError) as caught:
        read_request(SimulateRequest, body)
    error = pickle.loads(pickle.dumps(caught.value))

    assert message in error.message
    assert caught.value.errors == error.errors

"""The frame of JSON requests: what is one, and what is said of one that is not."""

from __future__ import annotations

import pickle
from typing import TypedDict

import pytest

from policies.manifests.fields import ErrorList
from webhook.json_request import RequestError, read_object


class Form(TypedDict):
    """A request."""

    pod: str


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
        read_object(body, Form, ErrorList())

    assert () == caught.value.errors
    assert "JSON" in caught.value.message


@pytest.mark.parametrize("body", [b"[]", b"3"])
def test_what_is_no_object(body: bytes) -> None:
    """Only an object is read further."""
    with pytest.raises(RequestError):
        read_object(body, Form, ErrorList())


def test_null() -> None:
    """It is an object without fields."""
    assert {} == read_object(b"null", Form, ErrorList())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(b'{"x": 1}', "x: unknown field", id="1 error"),
        pytest.param(b'{"x": 1, "y": 2, "z": 3}', "(and 2 more errors)", id="3 errors"),
    ],
)
def test_message(body: bytes, message: str) -> None:
    """The message is the first error, and how many there are besides; another process says the same."""
    found = ErrorList()
    read_object(body, Form, found)
    error = pickle.loads(pickle.dumps(RequestError(tuple(found.errors))))

    assert message in error.message
    assert tuple(found.errors) == error.errors

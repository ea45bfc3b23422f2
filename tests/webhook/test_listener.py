"""Addresses: what is one, and what cannot be listened on."""

from __future__ import annotations

import pytest

from policies.manifests.errors import UsageError
from webhook.listener import ListenError, open_listener, parse_bind, shown_address


@pytest.mark.parametrize(
    ("bind", "expected"),
    [
        ("127.0.0.1:8443", ("127.0.0.1", 8443)),
        ("[::1]:0", ("::1", 0)),
        ("localhost:1", ("localhost", 1)),
        (":8443", ("0.0.0.0", 8443)),
    ],
)
def test_parse_bind(bind: str, expected: tuple[str, int]) -> None:
    """HOST:PORT and [IPV6]:PORT are addresses; without a host it is every address."""
    assert expected == parse_bind(bind)


@pytest.mark.parametrize("bind", ["", "8443", "host", "::1:8443", "host:65536", "host:-1", "host:x"])
def test_refused_binds(bind: str) -> None:
    """Anything else is refused with what was given."""
    with pytest.raises(UsageError) as caught:
        parse_bind(bind)

    assert repr(bind) in str(caught.value)


def test_address_in_use() -> None:
    """A taken port is one clear error."""
    with open_listener("127.0.0.1:0") as taken:
        taken.listen()
        with pytest.raises(ListenError) as caught:
            open_listener(shown_address(taken.getsockname()))

    assert "Address already in use" in str(caught.value)

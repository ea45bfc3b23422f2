"""Who is answered, by the settings."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.http.authorization.authorizer import Mode, access_mode
from webhook.settings import Access, Settings

LOOPBACK, EVERYWHERE = "127.0.0.1:8443", "0.0.0.0:8443"


def given(*, self_signed: bool = False, **others: Any) -> Settings:
    """Return settings, by default of a server that can be reached."""
    source = {"self_signed": True} if self_signed else {"cert_dir": "certificates"}
    return Settings(**{"bind": EVERYWHERE} | source | others)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param(given(), Mode.CLOSED, id="reachable, nobody to ask"),
        pytest.param(given(live=True), Mode.KUBERNETES, id="reachable, a live cluster"),
        pytest.param(given(bind=LOOPBACK), Mode.OPEN, id="loopback"),
        pytest.param(given(bind="127.8.0.1:1"), Mode.OPEN, id="another loopback"),
        pytest.param(given(bind="[::1]:8443"), Mode.OPEN, id="loopback of IPv6"),
        pytest.param(given(bind="localhost:8443"), Mode.OPEN, id="localhost"),
        pytest.param(given(bind=":8443"), Mode.CLOSED, id="no address is all of them"),
        pytest.param(given(bind="[::]:8443"), Mode.CLOSED, id="all of IPv6"),
        pytest.param(given(bind="localhost.example:8443"), Mode.CLOSED, id="a name"),
        pytest.param(given(self_signed=True), Mode.OPEN, id="for trying out"),
        pytest.param(given(live=True, bind=LOOPBACK), Mode.OPEN, id="loopback, a live cluster"),
        pytest.param(given(access=Access.OPEN, live=True), Mode.OPEN, id="open"),
        pytest.param(
            given(access=Access.KUBERNETES, live=True, bind=LOOPBACK, self_signed=True),
            Mode.KUBERNETES,
            id="kubernetes, also on loopback",
        ),
    ],
)
def test_modes(settings: Settings, expected: Mode) -> None:
    """Only who says so, or can be reached by nobody else, answers everybody."""
    assert expected == access_mode(settings)

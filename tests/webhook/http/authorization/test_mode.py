"""Who is answered, by the settings."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from webhook.http.authorization.authorizer import Mode, access_mode
from webhook.settings import Access

LOOPBACK, EVERYWHERE = "127.0.0.1:8443", "0.0.0.0:8443"


@dataclass(frozen=True)
class Given:
    """The settings that count."""

    access: Access = Access.AUTO
    live: bool = False
    bind: str = EVERYWHERE
    self_signed: bool = False


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(Given(), Mode.CLOSED, id="reachable, nobody to ask"),
        pytest.param(Given(live=True), Mode.KUBERNETES, id="reachable, a live cluster"),
        pytest.param(Given(bind=LOOPBACK), Mode.OPEN, id="loopback"),
        pytest.param(Given(bind="127.8.0.1:1"), Mode.OPEN, id="another loopback"),
        pytest.param(Given(bind="[::1]:8443"), Mode.OPEN, id="loopback of IPv6"),
        pytest.param(Given(bind="localhost:8443"), Mode.OPEN, id="localhost"),
        pytest.param(Given(bind=":8443"), Mode.CLOSED, id="no address is all of them"),
        pytest.param(Given(bind="[::]:8443"), Mode.CLOSED, id="all of IPv6"),
        pytest.param(Given(bind="localhost.example:8443"), Mode.CLOSED, id="a name"),
        pytest.param(Given(self_signed=True), Mode.OPEN, id="for trying out"),
        pytest.param(Given(live=True, bind=LOOPBACK), Mode.OPEN, id="loopback, a live cluster"),
        pytest.param(Given(Access.OPEN, live=True), Mode.OPEN, id="open"),
        pytest.param(
            Given(Access.KUBERNETES, live=True, bind=LOOPBACK, self_signed=True),
            Mode.KUBERNETES,
            id="kubernetes, also on loopback",
        ),
        pytest.param(Given(Access.KUBERNETES, bind=LOOPBACK), Mode.CLOSED, id="kubernetes, nobody to ask"),
    ],
)
def test_modes(given: Given, expected: Mode) -> None:
    """Only who says so, or can be reached by nobody else, answers everybody."""
    assert expected == access_mode(given)

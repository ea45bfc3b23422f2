"""Which objects an exception of a policy is for."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from policies.config.loader import build
from tests.builders import a_policy

UNTIL = {"until": "2027-01-31"}


@pytest.mark.parametrize(
    ("fields", "covered"),
    [
        pytest.param({}, True, id="everything"),
        pytest.param({"namespaces": ["legacy", "team-*"]}, True, id="a pattern of the namespace"),
        pytest.param({"namespaces": ["team"]}, False, id="another namespace"),
        pytest.param({"kinds": ["StatefulSet", "Deployment"]}, True, id="one of its kinds"),
        pytest.param({"kinds": ["Job"]}, False, id="another kind"),
        pytest.param({"names": ["web-*"]}, True, id="a pattern of one of its names"),
        pytest.param({"names": ["we"]}, False, id="the beginning of a name"),
        pytest.param({"names": ["web-*"], "namespaces": ["legacy"]}, False, id="one of two"),
        pytest.param(UNTIL, True, id="on the last day"),
        pytest.param({"until": "2027-01-30"}, False, id="on the day after"),
    ],
)
def test_whom_an_exception_covers(fields: dict[str, Any], *, covered: bool) -> None:
    """Every field narrows it; what is left out means all."""
    entry = {"rules": ["selector-missing"], "reason": "why"} | fields
    (exception,) = build(a_policy(exceptions=[entry])).exceptions
    kinds, today = frozenset({"Pod", "Deployment"}), date(2027, 1, 31)

    assert covered == exception.selects("team-a", kinds, ("web-7d9f-x", "web"), today=today)


def test_without_a_day_every_exception_holds() -> None:
    """Who knows no day lets it hold."""
    (exception,) = build(a_policy(exceptions=[{"rules": ["a"], "reason": "why"} | UNTIL])).exceptions

    assert exception.selects("shop", frozenset(), (), today=None)

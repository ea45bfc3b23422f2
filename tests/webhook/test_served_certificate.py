"""A certificate of a file is valid by the clock of this machine, or no request should come."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

import pytest

from certs.keypair import KeyPair
from webhook.server import ServedCertificate


@dataclass
class Valid:
    """From when until when a certificate is valid."""

    not_before: datetime = datetime(2026, 11, 19, tzinfo=UTC)
    not_after: datetime = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.mark.parametrize(
    ("day", "problem"),
    [
        (18, "certificate is not valid before 2026-11-19T00:00:00Z"),
        (19, ""),
        (20, ""),
        (21, "certificate expired at 2026-11-21T00:00:00Z"),
    ],
)
def test_validity(day: int, problem: str) -> None:
    """No client accepts one that is not valid yet or any more, whoever made it."""
    served, now = cast("KeyPair", Valid()), datetime(2026, 11, day, tzinfo=UTC)

    assert problem == ServedCertificate(lambda: served, lambda: now).problem()

"""How long webhooks may take."""

from __future__ import annotations

import pytest

from policies.model.labels import LabelSelector
from tests.webhook.doctor.installation import (
    a_webhook,
    checks_of,
    configurations,
    evidence,
    healthy,
    ours,
    remedies,
)
from webhook.doctor import timeouts
from webhook.doctor.facts import MUTATING, VALIDATING, Known, Unknown

CHECKS = checks_of(timeouts.CHECKS)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(3, 0, id="3 s"),
        pytest.param(10, 0, id="10 s"),
        pytest.param(11, 2, id="11 s: both are told"),
    ],
)
def test_own_timeouts(seconds: int, expected: int) -> None:
    """More than ten seconds are too many."""
    told = evidence(CHECKS["timeout-own"], healthy(ours=ours(timeout_s=seconds)))

    assert expected == told.count(f"timeoutSeconds {seconds}")


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        pytest.param([], "", id="3 + 3 s"),
        pytest.param([(MUTATING, 10), (MUTATING, 10)], "", id="3 + 10 + 10 + 3: 26 s"),
        pytest.param(
            [(MUTATING, 10), (MUTATING, 14)], "30 s", id="3 + 10 + 14 + 3: one after the other, 30 s"
        ),
        pytest.param([(VALIDATING, 10)] * 5, "", id="3 + max(10): validating ones at once, 13 s"),
        pytest.param([(MUTATING, 20), (VALIDATING, 10)], "33 s", id="3 + 20 + max(3, 10): 33 s"),
    ],
)
def test_sum_of_timeouts(others: list[tuple[str, int]], expected: str) -> None:
    """Mutating webhooks add up, of the validating ones the slowest counts."""
    webhooks = [
        a_webhook(kind=kind, name=f"w{number}.io", timeout_s=seconds)
        for number, (kind, seconds) in enumerate(others)
    ]
    facts = healthy(others=configurations(*webhooks, name="other"))
    told = evidence(CHECKS["timeout-sum"], facts)

    assert (f"warning: a new pod in shop may wait {expected}" if expected else "") == told.partition(" for")[
        0
    ]


@pytest.mark.parametrize(
    ("known", "expected"),
    [pytest.param(True, False, id="known"), pytest.param(False, True, id="unknown: all count")],
)
def test_namespaces_of_the_sum(*, known: bool, expected: bool) -> None:
    """Webhooks of namespaces that do not exist wait for nobody."""
    webhook = a_webhook(timeout_s=30, namespace_selector=LabelSelector((("a", "b"),)), name="slow.io")
    facts = healthy(others=configurations(webhook, name="other"))
    if not known:
        facts = healthy(others=configurations(webhook, name="other"), namespaces=Unknown("may not"))

    assert expected == bool(evidence(CHECKS["timeout-sum"], facts))
    assert expected == any(
        "/webhooks/0/timeoutSeconds" in text for text in remedies(CHECKS["timeout-sum"], facts)
    )


def test_no_webhooks_for_pods() -> None:
    """Nobody waits."""
    assert "" == evidence(CHECKS["timeout-sum"], healthy(ours=ours(rules=()), namespaces=Known(())))

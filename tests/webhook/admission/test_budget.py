"""The time of a review: what the query says, what is kept back, and what earlier verdicts teach."""

from __future__ import annotations

import pytest

from policies.admission.review_cost import NoTime
from webhook.admission.budget import (
    DEFAULT_TIMEOUT_S,
    FIRST_ESTIMATE_S,
    LEAST_RESERVE_S,
    LONGEST_S,
    RESERVED_SHARE,
    Budget,
    Pace,
    parse_duration,
    usable_s,
)


class Clock:
    """Goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """A clock at 100 s."""
    return Clock()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10s", 10.0),
        ("1m30s", 90.0),
        ("1h", 3600.0),
        ("500ms", 0.5),
        ("1.5s", 1.5),
        ("1.s", 1.0),
        (".5s", 0.5),
        ("250us", 0.00025),
        ("250µs", 0.00025),
        ("250μs", 0.00025),
        ("1ns", 1e-9),
        ("0", 0.0),
        ("-1s", -1.0),
        ("+1s", 1.0),
        ("", None),
        ("10", None),
        ("s", None),
        ("1 s", None),
        ("1d", None),
        ("٣s", None),
        ("9" * 4000, None),
    ],
)
def test_durations(text: str, seconds: float | None) -> None:
    """Durations are Go's, and anything else is none."""
    assert seconds == (found := parse_duration(text)) or found == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("query", "timeout_s"),
    [
        ("timeout=10s", 10.0),
        ("timeout=1m", 60.0),
        ("a=b&timeout=2s", 2.0),
        ("", DEFAULT_TIMEOUT_S),
        ("timeout=", DEFAULT_TIMEOUT_S),
        ("timeout=soon", DEFAULT_TIMEOUT_S),
        ("timeout", DEFAULT_TIMEOUT_S),
        ("%ff=%00&&=;timeout", DEFAULT_TIMEOUT_S),
    ],
)
def test_a_share_of_the_timeout_is_kept_back(query: str, timeout_s: float) -> None:
    """The API server's clock began before ours and ends when our answer has arrived."""
    assert timeout_s * (1 - RESERVED_SHARE) == pytest.approx(usable_s(query))


@pytest.mark.parametrize("query", ["timeout=1ms", "timeout=0", "timeout=-5s", "timeout=50ms"])
def test_short_timeouts_leave_nothing(query: str) -> None:
    """Below the least reserve there is no time of ours."""
    assert usable_s(query) <= 0
    assert LEAST_RESERVE_S > 0


def test_a_verdict_in_time(clock: Clock) -> None:
    """What there is time for is done, and measured."""
    pace = Pace()
    budget = Budget(pace, query="timeout=1s", started=clock.now, clock=clock)

    def work() -> str:
        clock.now += 0.25
        return "done"

    assert "done" == budget.within(work)
    assert 0.25 == budget.spent_s
    assert 0.25 == pace.estimate_s


@pytest.mark.parametrize("query", ["timeout=1ms", "timeout=120ms"])
def test_no_time_for_a_verdict(clock: Clock, query: str) -> None:
    """What there is no time for is not begun."""
    budget = Budget(Pace(), query=query, started=clock.now, clock=clock)

    assert budget.within(lambda: pytest.fail("it was begun")) is NoTime.NO_TIME
    assert budget.spent_s is None


def test_waiting_counts(clock: Clock) -> None:
    """Time that went by since the request came is gone."""
    budget = Budget(Pace(), query="timeout=1s", started=clock.now, clock=clock)
    clock.now += 0.8 - FIRST_ESTIMATE_S / 2

    assert budget.within(lambda: "done") is NoTime.NO_TIME


def test_a_failure_is_measured_too(clock: Clock) -> None:
    """A verdict that fails has taken its time."""
    budget = Budget(Pace(), query="", started=clock.now, clock=clock)

    with pytest.raises(ZeroDivisionError):
        budget.within(lambda: 1 / 0)
    assert 0.0 == budget.spent_s


def test_a_slow_verdict_is_remembered_and_forgotten() -> None:
    """After a slow verdict there are no more for a while, and quick ones make it forgotten."""
    pace = Pace()
    pace.record(2 * LONGEST_S)
    refused = 0
    while not pace.allows(60.0):
        refused += 1

    assert 0 < refused < 20
    for _ in range(100):
        pace.record(0.001)
    assert 0.001 == pace.estimate_s


def test_nothing_takes_longer_than_others_can_wait() -> None:
    """However much time there is, a verdict that would hold everybody up is not begun."""
    pace = Pace()
    pace.record(LONGEST_S * 1.01)

    assert not pace.allows(3600.0)


def test_the_first_verdict_has_a_chance_within_a_second() -> None:
    """The shortest timeout that Kubernetes allows is enough for a usual cluster."""
    assert Pace().allows(usable_s("timeout=1s"))

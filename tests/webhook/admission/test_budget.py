"""The time of a review: what the query says, what is kept back, and what earlier verdicts teach."""

from __future__ import annotations

import pytest

from policies.admission.review_cost import NoTime, TimeLimit
from webhook.admission.review import (
    DEFAULT_TIMEOUT_S,
    LEAST_RESERVE_S,
    RESERVED_SHARE,
    VERDICT_S,
    Budget,
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


def test_work_in_time(clock: Clock) -> None:
    """Work that fits in the time is done and measured, rules and forecast separately."""
    budget = Budget("timeout=1s", clock.now, clock)
    limits = budget.limits()
    assert limits.rules is not None
    assert limits.forecast is not None

    def work() -> str:
        clock.now += 0.25
        return "done"

    assert "done" == limits.rules(work)
    assert (0.25, None) == (budget.rules_s, budget.forecast_s)
    assert "done" == limits.forecast(work)
    assert (0.25, 0.25) == (budget.rules_s, budget.forecast_s)


def rules_limit(budget: Budget) -> TimeLimit:
    limit = budget.limits().rules
    assert limit is not None
    return limit


@pytest.mark.parametrize("query", ["timeout=1ms", "timeout=140ms"])
def test_no_time_for_work(clock: Clock, query: str) -> None:
    """Work that does not fit in the time is not started."""
    budget = Budget(query, clock.now, clock)

    assert rules_limit(budget)(lambda: pytest.fail("it was begun")) is NoTime.NO_TIME
    assert budget.rules_s is None


def test_waiting_counts(clock: Clock) -> None:
    """Time that went by since the request came is gone."""
    budget = Budget("timeout=1s", clock.now, clock)
    clock.now += 0.8 - VERDICT_S / 2

    assert rules_limit(budget)(lambda: "done") is NoTime.NO_TIME


@pytest.mark.parametrize(
    ("longest_s", "share", "seconds"), [(1.0, 1.0, 1.0), (60.0, 1.0, 8.0), (60.0, 0.5, 4.0)]
)
def test_deadlines(clock: Clock, longest_s: float, share: float, seconds: float) -> None:
    """The wait of a review ends with its share of the timeout, or earlier."""
    assert clock.now + seconds == Budget("timeout=10s", clock.now, clock).deadline(longest_s, share=share)


def test_the_shortest_timeout_leaves_time() -> None:
    """The shortest timeout that Kubernetes allows is enough for a verdict."""
    assert usable_s("timeout=1s") > VERDICT_S


def test_reviews_take_nothing_from_each_other(clock: Clock) -> None:
    """A verdict that took long keeps none of another review from being begun."""

    def slow() -> None:
        clock.now += 60.0

    rules_limit(Budget("", clock.now, clock))(slow)

    assert "done" == rules_limit(Budget("", clock.now, clock))(lambda: "done")

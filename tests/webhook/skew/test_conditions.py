"""The texts of Events, and their times."""

from __future__ import annotations

from tests.webhook.skew.skews import a_skew, a_workload_skew
from webhook.skew.event_writer import HOLD_S, REPEAT_S, Conditions, EventReason

BAD = a_workload_skew(a_skew(3), a_skew(9, whenUnsatisfiable="ScheduleAnyway"))
GOOD = a_workload_skew(a_skew(1))
WAITING = a_workload_skew(a_skew(1), pending=2)


def _due(conditions: Conditions, now: float) -> list[tuple[EventReason, bool]]:
    return [(subject.reason, is_over) for subject, _, is_over in conditions.due(now)]


def _said(conditions: Conditions, now: float, event: str = "e") -> None:
    for subject, _, is_over in [*conditions.due(now)]:
        conditions.ended(subject) if is_over else conditions.said(subject, event, now)


def test_from_begin_to_end() -> None:
    """It must last for a while, is repeated now and then, and ends with one more Event."""
    conditions = Conditions()
    conditions.update([BAD], 0)
    early = _due(conditions, HOLD_S - 1)
    conditions.update([BAD], HOLD_S)
    begun = _due(conditions, HOLD_S)
    ((_, held, _),) = conditions.due(HOLD_S)
    _said(conditions, HOLD_S)
    quiet = _due(conditions, HOLD_S + REPEAT_S - 1)
    again = _due(conditions, HOLD_S + REPEAT_S)
    _said(conditions, HOLD_S + REPEAT_S)
    ((_, twice),) = conditions.held.items()
    conditions.update([GOOD], 9999)
    over = _due(conditions, 9999)
    _said(conditions, 9999)

    assert ([], [(EventReason.SKEW, False)], [], [(EventReason.SKEW, False)], [(EventReason.SKEW, True)]) == (
        early, begun, quiet, again, over,
    )  # fmt: skip
    assert "a has 3 matching pods" in held.note
    assert "ScheduleAnyway" not in held.note
    assert (2, {}) == (twice.count, conditions.held)


def test_what_passes_by_is_not_said() -> None:
    """A rollout is uneven for some seconds, and its end needs no Event then."""
    conditions = Conditions()
    conditions.update([BAD], 0)
    conditions.update([GOOD], HOLD_S / 2)
    conditions.update([BAD], HOLD_S)

    assert [] == _due(conditions, HOLD_S + 1)
    assert [(EventReason.SKEW, False)] == _due(conditions, 2 * HOLD_S)


def test_a_workload_that_is_gone() -> None:
    """There is nothing left that an Event could be about."""
    conditions = Conditions()
    conditions.update([BAD, WAITING], 0)
    _said(conditions, HOLD_S)
    conditions.update([], HOLD_S + 1)

    assert {} == conditions.held


def test_both_problems_of_one_workload() -> None:
    """Each begins and ends by itself; an Event that expired begins anew."""
    conditions = Conditions()
    conditions.update([a_workload_skew(a_skew(3), pending=2)], 0)
    _said(conditions, HOLD_S)
    conditions.update([BAD], HOLD_S + 1)
    over = _due(conditions, HOLD_S + 1)
    _said(conditions, HOLD_S + REPEAT_S, event="another")
    ((_, held),) = conditions.held.items()

    assert [(EventReason.PENDING, True)] == over
    assert ("another", 1) == (held.event, held.count)

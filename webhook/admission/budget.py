"""The time that a review has left, and whether a verdict on the next pod still fits into it.

A verdict cannot be interrupted, so it is only begun where it should end in time. How much work it may be is
counted beforehand (``policies.admission.review_cost``), for each review by itself: what one user's object
costs takes nothing from the review of another. What the API server gets too late it throws away, and with
``failurePolicy: Fail`` the object too.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, TypeVar
from urllib.parse import parse_qs

from policies.admission.review_cost import NoTime, ReviewLimits

#: Seconds for a request that does not say: what Kubernetes gives a webhook without ``timeoutSeconds``.
DEFAULT_TIMEOUT_S: Final = 10.0
#: The share of the timeout that is kept for what comes before and after us: connecting, the network, sending
#: the answer, and other requests that came in the same moment.
RESERVED_SHARE: Final = 0.2
#: Seconds that are kept at least. Some round trips between zones.
LEAST_RESERVE_S: Final = 0.05
#: Seconds that must be left for a verdict to begin: twice what the work that is counted may take.
VERDICT_S: Final = 0.1

_T = TypeVar("_T")

#: Seconds in Go's units: ``unitMap``, ``time/format.go``. The micro sign may be either of two characters.
_UNITS: Final = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0,
}  # fmt: skip
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_DURATION: Final = re.compile(rf"([+-]?)((?:{_PART.pattern})+|0)")


@dataclass(slots=True)
class Budget:
    """The time of one review."""

    query: str  #: The query of the request's URL, which has the timeout.
    started: float  #: When the request came, by ``clock``.
    clock: Callable[[], float] = time.monotonic  #: Seconds that never go back.
    #: Seconds that the rules took that look at every node; None if they were not begun.
    rules_s: float | None = field(default=None, init=False)
    #: Seconds that the forecast of the next pod took; None if it was not begun.
    forecast_s: float | None = field(default=None, init=False)

    def limits(self) -> ReviewLimits:
        """Return the limits that hold a review to its time."""
        return ReviewLimits(self._run_rules, self._forecast, datetime.now(UTC).date())

    def deadline(self, longest_s: float = math.inf, *, share: float = 1.0) -> float:
        """Return when a share of the usable time is over, by the clock; after so many seconds at most."""
        return self.started + min(usable_s(self.query) * share, longest_s)

    def _run_rules(self, work: Callable[[], _T]) -> _T | NoTime:
        found, self.rules_s = self._timed(work)
        return found

    def _forecast(self, work: Callable[[], _T]) -> _T | NoTime:
        found, self.forecast_s = self._timed(work)
        return found

    def _timed(self, work: Callable[[], _T]) -> tuple[_T | NoTime, float | None]:
        """Do some work if it can be done in time; return what it gives and the seconds that it took."""
        began = self.clock()
        if self.deadline() - began < VERDICT_S:
            return NoTime.NO_TIME, None
        return work(), self.clock() - began


def usable_s(query: str) -> float:
    """Return how many seconds of a request's timeout are ours; a timeout that is no duration is no timeout.

    >>> usable_s("timeout=10s"), usable_s("")
    (8.0, 8.0)
    """
    given = parse_qs(query).get("timeout", [""])[0]
    timeout = parse_duration(given)
    timeout_s = DEFAULT_TIMEOUT_S if timeout is None else timeout
    return timeout_s - max(timeout_s * RESERVED_SHARE, LEAST_RESERVE_S)


def parse_duration(text: str) -> float | None:
    """Return the seconds of a duration as Go writes it, or None; ``time.ParseDuration``.

    The library that the Kubernetes client has for it, durationpy, knows days and months, rounds to
    microseconds, and takes time quadratic in the length of a text that is none.

    >>> parse_duration("1m30s"), parse_duration("500ms"), parse_duration("10")
    (90.0, 0.5, None)
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        return None
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(found[2]))
    return -seconds if found[1] == "-" else seconds

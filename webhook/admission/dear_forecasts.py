"""Forecasts that what the cluster stores makes too dear or slow: who runs the server learns what is to blame.

The author of the reviewed object reads it, too, but can do nothing about what others have stored.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from webhook.component import Component, Confidential
from webhook.telemetry.logs import LOGGER

if TYPE_CHECKING:
    from webhook.admission.reply import Reply

#: Seconds for which the last one is shown, and after which the next one is logged.
_SHOWN_S, _LOGGED_EVERY_S = 600.0, 60.0


class DearForecasts(Component):
    """Names the last one in the warnings of ``/readyz``, and one a minute in the log."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing is known yet; the clock counts seconds and never goes back."""
        self._clock = clock
        self._problem = ""
        self._noted_at = self._logged_at = -math.inf

    def note(self, reply: Reply) -> None:
        """Take note of the answer to a review."""
        problem = reply.forecast_problem
        if not problem:
            return
        self._problem, self._noted_at = problem, self._clock()
        if self._noted_at >= self._logged_at + _LOGGED_EVERY_S:
            self._logged_at = self._noted_at
            LOGGER.warning("forecast_too_dear", extra={"fields": {"problem": problem}})

    def warnings(self) -> list[str]:
        """Return the last one, for some minutes."""
        age_s = self._clock() - self._noted_at
        return [Confidential(f"{self._problem} ({age_s:.0f} s ago)")] if age_s < _SHOWN_S else []

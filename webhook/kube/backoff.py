"""Pauses between the attempts to list and watch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import SystemRandom

#: Seconds of the first pause, and of the longest: an API server that is back, or a right that was granted, is
#: noticed so much later, and what has changed by then is not known. To an API server that refuses all kinds,
#: two replicas send nine requests a second then, which are answered before anything is looked up.
_FIRST_S, _LONGEST_S = 0.5, 5.0


@dataclass(slots=True)
class Backoff:
    """Pauses that double, a random half of each left out, until something went well for longer than one."""

    first_s: float = _FIRST_S  #: The first pause.
    longest_s: float = _LONGEST_S  #: The longest.
    #: Returns numbers from 0 to 1.
    random: Callable[[], float] = field(default_factory=lambda: SystemRandom().random)
    _next_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._next_s = self.first_s

    @property
    def exhausted(self) -> bool:
        """Whether the next pause is the longest."""
        return self._next_s >= self.longest_s

    def restart(self) -> None:
        """Begin with the first pause again: what went wrong has changed, and may be over soon."""
        self._next_s = self.first_s

    def pause_s(self, *, well_s: float, least_s: float = 0.0) -> float:
        """Return the seconds to wait before the next attempt.

        Args:
            well_s: For how many seconds the last one went well; below 0 if it did not.
            least_s: Seconds to wait at least.
        """
        if well_s > self._next_s:
            self._next_s = self.first_s
        pause = self._next_s * (0.5 + self.random() / 2)
        self._next_s = min(2 * self._next_s, self.longest_s)
        return max(pause, least_s)

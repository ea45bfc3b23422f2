"""The steps that one review may take over what the cluster stores: users write that, and every client waits.

Whatever is looked at of the cluster counts before it is looked at. A review hands its counter to
``ClusterIndex.reading``; simulations and commands, which hold up nobody else, read without a limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from policies.manifests.errors import EvenkeelError
from policies.manifests.words import plural


class TooManyStepsError(EvenkeelError):
    """What is stored takes longer than a review may; the text says what is too much, and whose it is."""


class StepCounter:
    """The steps that are left, of some 0.1 µs each on a slow machine.

    >>> counter = StepCounter(1000)
    >>> counter.take(50, 10, "anti-affinity term")
    >>> try:
    ...     counter.take(60, 10, "budget", lambda: "40 of them in namespace shop")
    ... except TooManyStepsError as error:
    ...     print(error)
    60 budgets take too long to look at, 40 of them in namespace shop

    Attributes:
        left: How many steps may still be taken; without a limit at first.
    """

    __slots__ = ("left",)

    def __init__(self, left: float = math.inf) -> None:
        self.left = left

    def take(self, count: int, each: float, noun: str, whose: Callable[[], str] = str) -> None:
        """Take the steps of a loop before it runs.

        Args:
            count: How many things it is over.
            each: The steps for each of them.
            noun: What they are, in the singular.
            whose: Returns which object or namespace most of them are of, if any is; only asked if they are
                too many.

        Raises:
            TooManyStepsError: So many steps are not left.
        """
        self.left -= count * each
        if self.left < 0:
            many = f"{plural(count, noun)} {'takes' if count == 1 else 'take'} too long to look at"
            raise TooManyStepsError(", ".join(filter(None, (many, whose()))))

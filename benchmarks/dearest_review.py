"""A search for the review that costs most: random combinations, and changes of the dearest found so far.

Usage: python -m benchmarks.dearest_review [NODES [TRIES [SEED]]]
"""

from __future__ import annotations

import heapq
import random
import sys
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from benchmarks.shapes import AIM_MS, NODES, cheapest
from policies.config.context import AdmissionContext
from tests.security.combinations import CHOICES, an_object, changed, drawn, stored_before
from tests.security.reviewing import MAX_BODY_BYTES, a_context, review_of
from webhook.admission.review import Phase

#: Combinations that are tried.
TRIES: Final = 2_000
#: The dearest combinations that are changed further. Arbitrary.
ELITE: Final = 40
#: The share of tries that change one of them.
CHANGED: Final = 0.7


class Try(NamedTuple):
    """The cost of the review of a combination."""

    milliseconds: float
    number: int
    bytes: int
    answer: str
    combination: Mapping[str, Any]


def run(nodes: int = NODES, tries: int = TRIES, seed: int = 1) -> None:
    """Print how many combinations are above the aim, and the dearest ones."""
    source, context = random.Random(seed), a_context(nodes)
    elite: list[Try] = []
    above = too_long = 0
    for number in range(tries):
        if elite and source.random() < CHANGED:
            combination = changed(source.choice(elite).combination, source)
        else:
            combination = drawn(source, busy=source.choice((0.15, 0.3, 0.6)))
        found = _tried(number, combination, context)
        if found is None:
            too_long += 1
            continue
        above += found.milliseconds > AIM_MS
        heapq.heappush(elite, found) if len(elite) < ELITE else heapq.heappushpop(elite, found)
    print(
        f"{tries:,} combinations (seed {seed}), {nodes:,} nodes; {too_long:,} larger than an object may be; "
        f"{above} above the aim of {AIM_MS:.0f} ms. The dearest:"
    )
    for each in sorted(elite, reverse=True)[:10]:
        chosen = {name: value for name, value in each.combination.items() if value != CHOICES[name][0]}
        print(f"  {each.milliseconds:7.1f} ms  {each.answer}, {each.bytes:,} bytes: {chosen}")


def _tried(number: int, combination: Mapping[str, Any], context: AdmissionContext) -> Try | None:
    obj = an_object(combination)
    body = review_of(obj, old=stored_before(combination, obj))
    if len(body) > MAX_BODY_BYTES:
        return None
    found = cheapest(body, Phase.VALIDATE, context)
    said = ("denied" if found.is_denied else "allowed") + (", not judged" if found.not_judged else "")
    return Try(found.seconds * 1000, number, len(body), said, combination)


if __name__ == "__main__":
    run(*map(int, sys.argv[1:]))

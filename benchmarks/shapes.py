"""The cost of a review at its worst: each list, map and string of an object, grown to what may be stored.

Usage: python -m benchmarks.shapes [NODES [PART-OF-A-SHAPE'S-NAME]]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from policies.config.context import AdmissionContext
from tests.security.reviewing import MAX_BODY_BYTES, Answer, a_context, answer, review_of, variants
from tests.security.shapes import SIZES, Shape, shapes
from webhook.admission.review import Phase

#: Milliseconds that a review may cost, besides reading its JSON: the project's aim.
AIM_MS: Final = 50.0
#: Nodes of the cluster.
NODES: Final = 5_000
#: Repeats of a review that takes longer: what is in its way once is not its own cost. Arbitrary.
ROUNDS: Final = 3
#: The slowest shapes that are printed. Arbitrary.
SLOWEST: Final = 10


class Cost(NamedTuple):
    """The highest cost of a review of a shape."""

    milliseconds: float
    shape: str
    kind: str
    phase: str
    size: int
    bytes: int


def run(nodes: int = NODES, part: str = "") -> None:
    """Print the slowest reviews of all shapes."""
    context = a_context(nodes)
    family = [shape for shape in shapes() if part in shape.name]
    costs = sorted((max(_costs(shape, context)) for shape in family), reverse=True)
    above = sum(cost.milliseconds > AIM_MS for cost in costs)
    print(f"Reviews of {len(costs):,} shapes, {nodes:,} nodes; {above} above the aim of {AIM_MS:.0f} ms:")
    for cost in costs[: max(SLOWEST, above)]:
        print(
            f"  {cost.milliseconds:7.1f} ms  {cost.phase} {cost.kind}, {cost.bytes:,} bytes: "
            f"{cost.shape} of {cost.size:,}"
        )


def _costs(shape: Shape, context: AdmissionContext) -> Iterator[Cost]:
    for size in SIZES:
        for obj in variants(shape.make(size)):
            body = review_of(obj)
            if len(body) > MAX_BODY_BYTES:
                return
            for phase in Phase:
                milliseconds = cheapest(body, phase, context).seconds * 1000
                yield Cost(milliseconds, shape.name, obj["kind"], phase, size, len(body))


def cheapest(body: bytes, phase: Phase, context: AdmissionContext) -> Answer:
    """Return the answer to a review at its least cost in some rounds; one is enough far below the aim."""
    least = answer(body, phase, context)
    for _ in range(ROUNDS - 1):
        if least.seconds * 1000 < AIM_MS / 2:
            break
        least = min(least, answer(body, phase, context), key=lambda found: found.seconds)
    return least


if __name__ == "__main__":
    given: list[Any] = sys.argv[1:]
    run(*([int(given[0]), *given[1:]] if given else ()))

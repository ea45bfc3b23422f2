"""The effect of actions as text: the pods that stay, those that get a node again, those that do not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from planning.simulation.recovery import DisplacedPod, PodOutcome
from planning.text.words import end_of_evicted, lost_volumes_text
from policies.manifests.sanitize import one_line
from policies.manifests.words import IN_TABLE, listed, plural
from policies.reports.terminal import add_rows, plain_table, section, sentence


def displaced_text(displaced: Sequence[DisplacedPod]) -> Iterator[RenderableType]:
    """Yield which pods that lost their node get one again, and why others do not."""
    recovered = [entry for entry in displaced if entry.outcome is PodOutcome.RECOVERED]
    if recovered:
        yield from section(
            "What gets a node again, in this order",
            [add_rows(plain_table("POD", "FROM", "TO"), map(_move, recovered))],
        )
    yield from _groups(displaced, PodOutcome.PENDING, "What stays pending", sentence)
    yield from _groups(displaced, PodOutcome.NOT_RECREATED, "What nothing recreates", Text)
    yield from _groups(displaced, PodOutcome.NOT_TRIED, "What was not scheduled again", Text)


def evicted_text(displaced: Iterable[DisplacedPod], when: str = "") -> Iterator[RenderableType]:
    """Yield the outcome for the pods that were evicted for others; nothing if there are none.

    Args:
        displaced: The pods that lost their node, evicted ones among them.
        when: When they were, as the end of the title.
    """
    evicted = [entry for entry in displaced if entry.preemptor]
    if not evicted:
        return
    rows = (
        (f"{entry.pod.namespace}/{entry.pod.name}", entry.pod.node, entry.preemptor, end_of_evicted(entry))
        for entry in evicted
    )
    table = plain_table("POD", "FROM", "FOR", "THEN")
    add_rows(table, (tuple(map(one_line, row)) for row in rows))
    yield from section(f"What is evicted for pods of higher priority{when}", [table])


def _move(entry: DisplacedPod) -> tuple[str, ...]:
    target = entry.step.node if entry.step is not None else ""
    names = (f"{entry.pod.namespace}/{entry.pod.name}", entry.pod.node, target or "")
    return tuple(map(one_line, names))


def _groups(
    displaced: Iterable[DisplacedPod], outcome: PodOutcome, title: str, show: Callable[[str], Text]
) -> Iterator[RenderableType]:
    """Yield the pods of an outcome, those of one reason together; nothing if there are none."""
    by_reason: dict[str, list[DisplacedPod]] = {}
    for entry in displaced:
        if entry.outcome is outcome:
            reason = entry.why if entry.step is None else entry.step.message
            by_reason.setdefault(reason, []).append(entry)
    if not by_reason:
        return
    yield from section(title, ())
    for text, alike in list(by_reason.items())[:IN_TABLE]:
        names = (f"{entry.pod.namespace}/{entry.pod.name}" for entry in alike)
        yield Text(f"{len(alike):,}: {listed(names)}")
        yield show(one_line(text))
        steps = (entry.step for entry in alike if entry.step is not None)
        yield from map(Text, lost_volumes_text(lost for step in steps for lost in step.lost_volumes))
    if (rest := len(by_reason) - IN_TABLE) > 0:
        yield Text(f"and {plural(rest, 'other reason')}")

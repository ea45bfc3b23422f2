"""The steps of a rollout as lines of text: those together that are of one kind, or that alternate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final, NamedTuple

from rich.table import Table
from rich.text import Text

from policies.manifests.sanitize import one_line
from policies.manifests.words import IN_PHRASE, listed
from policies.placement.rollout.replica_pods import PodAction, RolloutStep

#: Steps that alternate between two kinds from which on they share a line.
LEAST_ALTERNATING: Final = 8
#: Columns of the numbers of steps.
NUMBERS: Final = 7


class TraceLine(NamedTuple):
    """Some steps that follow each other.

    Attributes:
        first: The number of the first one, from 1.
        last: The number of the last one.
        text: What happens.
        pending: Whether the pods find no node.
    """

    first: int
    last: int
    text: str
    pending: bool

    @property
    def numbers(self) -> str:
        """The number of the step, or those of the first and the last."""
        return f"{self.first:,}" if self.first == self.last else f"{self.first:,}-{self.last:,}"

    def __str__(self) -> str:
        """Return the steps in one line."""
        return f"{self.numbers}. {self.text}{', pending' if self.pending else ''}"


def trace_lines(steps: Iterable[RolloutStep], *, scaled: bool) -> Iterator[TraceLine]:
    """Yield the steps in words; pods of a scale are neither old nor new."""
    groups = [list(group) for _, group in groupby(steps, key=_kind)]
    start, number = 0, 1
    while start < len(groups):
        size = _alternating(groups, start)
        if size < LEAST_ALTERNATING:
            size = 1
        same = [step for group in groups[start : start + size] for step in group]
        what = _what(same, scaled=scaled) if size == 1 else _in_turn(same)
        yield TraceLine(
            number,
            number + len(same) - 1,
            f"{what} {listed(map(_where, same), IN_PHRASE)}",
            pending=size == 1 and same[0].action is PodAction.CREATED and same[0].node is None,
        )
        start += size
        number += len(same)


def trace_table(line: TraceLine) -> Table:
    """Return a line with its numbers in a column of their own."""
    text = Text(line.text)
    if line.pending:
        text.append(", pending", "red")
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, justify="right", min_width=NUMBERS)
    grid.add_column(overflow="fold")
    grid.add_row(line.numbers, text)
    return grid


def _kind(step: RolloutStep) -> tuple[PodAction, bool, bool]:
    return step.action, step.new, step.node is None


def _alternating(groups: list[list[RolloutStep]], start: int) -> int:
    """Return how many groups of one step follow each other that are of two kinds in turn."""
    end = start
    while end < len(groups) and len(groups[end]) == 1:
        if end - start > 1 and _kind(groups[end][0]) != _kind(groups[end - 2][0]):
            break
        end += 1
    return end - start


def _what(same: list[RolloutStep], *, scaled: bool) -> str:
    age = "" if scaled else " new" if same[0].new else " old"
    many = f"{len(same):,}{age} pods"
    return f"{same[0].action} {f'the{age} pod' if len(same) == 1 else many}"


def _in_turn(steps: list[RolloutStep]) -> str:
    """Return the two kinds of steps that alternate."""
    kinds = ", ".join(f"{step.action} {'a new' if step.new else 'an old'} pod" for step in steps[:2])
    return f"in turn: {kinds};"


def _where(step: RolloutStep) -> str:
    evicting = f" (evicting {listed(step.evicted, IN_PHRASE)})" if step.evicted else ""
    if step.node is None:
        return f"{one_line(step.pod)}{evicting}"
    preposition = "from" if step.action in {PodAction.DELETED, PodAction.EVICTED} else "on"
    cause = f" for {one_line(step.evicted_for)}" if step.evicted_for else evicting
    return f"{one_line(step.pod)} {preposition} {one_line(step.node)}{cause}"

"""The problems of workloads as Events report them, and when they do. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, NamedTuple

from policies.manifests.sanitize import one_line
from policies.placement.audit.audit import Risk, WorkloadAudit
from policies.reports.audit.words import skew_text

#: Seconds for which something must be wrong before an Event says so: rollouts and new pods pass by.
HOLD_S: Final = 60.0
#: Seconds after which an Event says again what is still wrong: an API server keeps Events for an hour.
REPEAT_S: Final = 1800.0


class EventReason(Enum):
    """The subject of Events: the reason when a problem begins, and the reason when it is over."""

    SKEW = "SkewAboveMaxSkew", "SkewWithinMaxSkew"
    PENDING = "PodsPendingOnSpread", "PodsNotPendingOnSpread"


class Subject(NamedTuple):
    """A problem of one object."""

    reason: EventReason
    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that is wrong, or was.

    Attributes:
        since: Since when, in seconds.
        note: What it is, in words.
        event: The name of the Event that says so; empty before there is one.
        count: How often that Event was repeated, itself included.
        said_at: When it was last said.
    """

    since: float
    note: str
    event: str = ""
    count: int = 0
    said_at: float = 0.0


@dataclass(slots=True)
class Conditions:
    """The current problems, and those that Events have reported.

    Attributes:
        held: By subject; what is over stays until an Event says so.
    """

    held: dict[Subject, Condition] = field(default_factory=dict)
    _present: set[Subject] = field(default_factory=set)

    def update(self, workloads: Iterable[WorkloadAudit], now: float) -> None:
        """Take over what is wrong now. What is over of a workload that is gone needs no Event."""
        found: dict[Subject, str] = {}
        known: set[tuple[str, ...]] = set()
        for each in workloads:
            known.add((each.kind, each.namespace, each.name))
            for reason, note in _reasons(each):
                # Of two ReplicaSets of a Deployment, the first says it.
                found.setdefault(_subject(reason, each), note)
        self._present = set(found)
        for subject, note in found.items():
            held = self.held.get(subject)
            self.held[subject] = Condition(now, note) if held is None else replace(held, note=note)
        for subject in [*self.held]:
            exists = (subject.kind, subject.namespace, subject.name) in known
            if subject not in found and not (self.held[subject].event and exists):
                del self.held[subject]

    def due(self, now: float) -> Iterator[tuple[Subject, Condition, bool]]:
        """Yield the Events to write and whether the problem is over: new ones first, then by waiting time."""
        for subject, held in sorted(self.held.items(), key=_order):
            is_over = subject not in self._present
            waited_s = now - (held.said_at if held.event else held.since)
            if is_over or waited_s >= (REPEAT_S if held.event else HOLD_S):
                yield subject, held, is_over

    def said(self, subject: Subject, event: str, now: float) -> None:
        """Note that an Event of a name says that something is wrong; once more, if it said so before."""
        held = self.held[subject]
        count = held.count + 1 if held.event == event else 1
        self.held[subject] = replace(held, event=event, count=count, said_at=now)

    def postpone(self, subject: Subject, now: float, *, is_over: bool) -> None:
        """Note that an Event was refused: others come first, and one that says that it is over is dropped."""
        if is_over:
            self.ended(subject)
        else:
            self.held[subject] = replace(self.held[subject], since=now, said_at=now)

    def ended(self, subject: Subject) -> None:
        """Note that an Event says that it is over, or that none can."""
        self.held.pop(subject, None)


def _reasons(found: WorkloadAudit) -> Iterator[tuple[EventReason, str]]:
    violated = [
        skew_text(found.constraints[problem.constraint])
        for problem in found.problems
        if problem.risk is Risk.VIOLATED and problem.constraint is not None
    ]
    if violated:
        yield EventReason.SKEW, "; ".join(violated)
    if found.pending:
        yield EventReason.PENDING, f"{found.pending:,} pending: {one_line(found.message)}"


def _subject(reason: EventReason, found: WorkloadAudit) -> Subject:
    return Subject(reason, found.api_version, found.kind, found.namespace, found.name, found.uid)


def _order(entry: tuple[Subject, Condition]) -> tuple[bool, float, str, tuple[str, ...]]:
    subject, held = entry
    return bool(held.event), held.said_at or held.since, subject.reason.name, subject[1:]

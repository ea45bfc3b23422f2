"""Writes Events on workloads whose spread has been wrong for a while, and on those where that is over."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final, NamedTuple

from planning.audit.words import skew_text, why
from planning.audit.workload_audit import Risk, WorkloadAudit
from policies.manifests.sanitize import cut, one_line
from webhook.kube.api_server import ApiError, ApiServer, ClusterError
from webhook.telemetry.logs import LOGGER
from webhook.telemetry.skew_metrics import SkewReport

#: Seconds for which something must be wrong before an Event says so: rollouts and new pods pass by.
HOLD_S: Final = 60.0
#: Seconds after which an Event says again what is still wrong: an API server keeps Events for an hour.
REPEAT_S: Final = 1800.0
#: Events that are written or repeated in a minute at most, in the whole cluster: what is beyond waits.
MAX_PER_MINUTE: Final = 20
_MINUTE_S: Final = 60.0
#: Seconds for one request.
_TIMEOUT_S: Final = 5.0
#: Bounds of an API server: bytes of a note, characters of an instance.
#: Source: ``pkg/apis/core/validation/events.go``, Kubernetes 1.36.
_NOTE_BYTES, _INSTANCE_LENGTH = 1024, 128
#: Who reports, as an Event names it.
REPORTER: Final = "evenkeel.dev/skew"
#: Names that may begin that of an Event: DNS subdomains, with room for what makes them unlike.
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,218}[a-z0-9])?")
_MILLION: Final = 1_000_000


class EventReason(Enum):
    """The subject of Events: the reason when a problem begins, and the reason when it is over."""

    SKEW = "SkewAboveMaxSkew", "SkewWithinMaxSkew"
    PENDING = "PodsPendingOnSpread", "PodsNotPendingOnSpread"
    ONE_DOMAIN = "StopsWithOneDomain", "StopsWithNoDomain"


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
    """Something that is wrong, or was."""

    since: float  #: Since when, in seconds.
    note: str  #: What it is, in words.
    event: str = ""  #: The name of the Event that says so; empty before there is one.
    count: int = 0  #: How often that Event was repeated, itself included.
    said_at: float = 0.0  #: When it was last said.


@dataclass(slots=True)
class Conditions:
    """The current problems, and those that Events have reported."""

    #: By subject; what is over stays until an Event says so.
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
                named = (each.api_version, each.kind, each.namespace, each.name, each.uid)
                found.setdefault(Subject(reason, *named), note)
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
    for problem in found.problems:
        if problem.risk is Risk.ONE_DOMAIN:
            yield EventReason.ONE_DOMAIN, why(problem, found)


def _order(entry: tuple[Subject, Condition]) -> tuple[bool, float, str, tuple[str, ...]]:
    subject, held = entry
    return bool(held.event), held.said_at or held.since, subject.reason.name, subject[1:]


class EventWriter:
    """Writes the Events of one process."""

    def __init__(self, api: ApiServer, *, instance: str, clock: Callable[[], float] = time.time) -> None:
        """Write nothing yet.

        Args:
            api: The cluster.
            instance: The name of this process.
            clock: Returns the seconds since 1970.
        """
        self._api = api
        self._instance = cut(instance, _INSTANCE_LENGTH)
        self._clock = clock
        self._conditions = Conditions()
        self._written: deque[float] = deque(maxlen=MAX_PER_MINUTE)
        # The kinds of failure that were logged.
        self._failures: set[str] = set()
        # Why the last Event was not written; empty if it was.
        self._refused = ""

    def take(self, report: SkewReport) -> None:
        """Write what there is to say of a report, as far as this minute has room; the rest waits."""
        self._conditions.update(report.workloads, self._clock())
        failures: dict[str, str] = {}
        for subject, condition, is_over in [*self._conditions.due(self._clock())]:
            if not self._may_write():
                break
            try:
                self._report(subject, condition, is_over=is_over)
                self._refused = ""
            except ApiError as error:
                self._refused = str(error)
                failures.setdefault(f"{error.status} {error.reason}", self._refused)
                self._conditions.postpone(subject, self._clock(), is_over=is_over)
            except ClusterError as error:
                failures[type(error).__name__] = self._refused = str(error)
                break
        for kind in failures.keys() - self._failures:
            LOGGER.warning("event_failed", extra={"fields": {"reason": failures[kind]}})
        # What is refused is tried again and again, which is logged once as long as anything is wrong.
        self._failures = self._failures | failures.keys() if self._conditions.held else set()

    def clear(self) -> None:
        """Leave what Events say, which was so; whether they can be written is now for another process."""
        self._refused = ""

    def warnings(self) -> list[str]:
        """Return why the last Event was not written; empty if it was."""
        return [f"Events on skew are not written: {self._refused}"] if self._refused else []

    def _may_write(self) -> bool:
        """Return whether this minute has room for another request, and take it."""
        now = self._clock()
        if len(self._written) == MAX_PER_MINUTE and now - self._written[0] < _MINUTE_S:
            return False
        self._written.append(now)
        return True

    def _report(self, subject: Subject, condition: Condition, *, is_over: bool) -> None:
        """Write that something is wrong, once more or for the first time, or that it is over."""
        if is_over:
            self._create(subject, f"Resolved: {condition.note}", is_over=True)
            self._conditions.ended(subject)
        elif not (condition.event and self._repeat(subject, condition)):
            event = self._create(subject, condition.note, is_over=False)
            self._conditions.said(subject, event, self._clock())

    def _repeat(self, subject: Subject, condition: Condition) -> bool:
        """Count an Event once more, as client-go does; return whether it still exists."""
        series = {"count": condition.count + 1, "lastObservedTime": _micro_time(self._clock())}
        path = f"{_path(subject)}/{condition.event}"
        try:
            self._api.call("PATCH", path, body={"series": series}, timeout_s=_TIMEOUT_S)
        except ApiError as error:
            if not error.not_found:
                raise
            return False
        self._conditions.said(subject, condition.event, self._clock())
        return True

    def _create(self, subject: Subject, note: str, *, is_over: bool) -> str:
        """Create an Event and return its name."""
        now = self._clock()
        body = event_of(subject, note, is_over=is_over, now=now, instance=self._instance)
        self._api.call("POST", _path(subject), body=body, timeout_s=_TIMEOUT_S)
        return str(body["metadata"]["name"])


def event_of(subject: Subject, note: str, *, is_over: bool, now: float, instance: str) -> dict[str, Any]:
    """Return an ``events.k8s.io/v1`` Event.

    Args:
        subject: What is wrong with which object.
        note: What to say.
        is_over: Whether it is so no more.
        now: The time, as seconds since 1970.
        instance: The name of this process.
    """
    begun, over = subject.reason.value
    # As client-go names them; an owner reference may name anything.
    prefix = subject.name if _SUBDOMAIN.fullmatch(subject.name) else "workload"
    regarding = {
        "apiVersion": subject.api_version,
        "kind": subject.kind,
        "namespace": subject.namespace,
        "name": subject.name,
        "uid": subject.uid,
    }
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{prefix}.{int(now * _MILLION):x}", "namespace": subject.namespace},
        "eventTime": _micro_time(now),
        "reportingController": REPORTER,
        "reportingInstance": instance,
        "action": "MeasureSkew",
        "type": "Normal" if is_over else "Warning",
        "reason": over if is_over else begun,
        "regarding": {name: value for name, value in regarding.items() if value},
        "note": note.encode()[:_NOTE_BYTES].decode(errors="ignore"),
    }


def _path(subject: Subject) -> str:
    return f"/apis/events.k8s.io/v1/namespaces/{subject.namespace}/events"


def _micro_time(now: float) -> str:
    """Return a time as Kubernetes writes a MicroTime.

    >>> _micro_time(0.25)
    '1970-01-01T00:00:00.250000Z'
    """
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

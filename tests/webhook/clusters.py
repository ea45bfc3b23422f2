"""A cluster that is followed as a test says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from policies.config.context import AdmissionContext
from policies.scheduler.index import ClusterIndex
from webhook.admission.current_context import CurrentContext
from webhook.kube.kind_record import LeftOutObject


@dataclass
class Kind:
    """How one kind is followed."""

    kind: str
    synced: bool = True
    last_error: str = ""
    objects: int = 3
    events: int = 0
    lists: int = 1
    left_out: tuple[LeftOutObject, ...] = ()
    errors: int = 0
    refused_s: float = 0.0
    unread: str = ""


@dataclass
class Live:
    """A cluster that is followed as a test says."""

    followed: list[Kind] = field(default_factory=lambda: [Kind("Pod"), Kind("Node")])
    age: float = 5.0
    done: list[str] = field(default_factory=list)
    broken: list[LeftOutObject] = field(default_factory=list)
    not_read: dict[str, str] = field(default_factory=dict)

    def left_out(self) -> list[LeftOutObject]:
        return self.broken

    def unread(self) -> dict[str, str]:
        return self.not_read

    def kinds(self) -> list[Kind]:
        return self.followed

    def age_s(self) -> float:
        return self.age

    def unsynced(self) -> list[str]:
        return [f"{kind.kind} ({kind.last_error})" for kind in self.followed if not kind.synced]

    def refused(self, *, longer_s: float) -> list[str]:
        return [f"{kind.kind} ({kind.last_error})" for kind in self.followed if kind.refused_s > longer_s]

    @property
    def synced(self) -> bool:
        return all(kind.synced for kind in self.followed)

    def start(self) -> None:
        self.done.append("started")

    def stop(self) -> None:
        self.done.append("stopped")


def following(live: Live, *, clock: list[float] | None = None) -> CurrentContext:
    """Return the context of a process that follows a cluster, whose cache may be 180 s old."""
    ticks = clock or [0.0]
    context = AdmissionContext(policies=(), cluster=ClusterIndex())
    return CurrentContext(context, cast("Any", live), max_age_s=180.0, clock=lambda: ticks[0])

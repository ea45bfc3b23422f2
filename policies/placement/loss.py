"""What the loss of a domain does to workloads, and by how much they survive it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from policies.scheduler.binding import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadLoss:
    """What one loss does to one workload.

    Attributes:
        displaced: How many of its replicas lose their node.
        running: How many run in the end.
        required: How many must.
        pending: The first replica that fits nowhere then, or fitted nowhere before; None if all fit.
        margin: How many replicas fit then beyond those that must run, of those that did after every loss
            before; None where that was not tried.
    """

    displaced: int
    running: int
    required: int
    pending: Step | None = None
    margin: int | None = None

    @property
    def survives(self) -> bool:
        """Whether as many run as must."""
        return self.running >= self.required


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherPods:
    """What a loss does to the pods of other workloads.

    Attributes:
        displaced: How many lose their node.
        pending: How many of those fit nowhere then.
        untried: How many of those were not scheduled again, though something replaces them.
    """

    displaced: int
    pending: int
    untried: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What the loss of one domain does.

    Attributes:
        domain: The domain.
        nodes: How many nodes it has.
        workloads: What it does to each workload.
        others: What it does to other pods; None where it displaces no replica and was not tried.
        unmodeled: What else a scheduler looks at in what was scheduled again.
    """

    domain: str
    nodes: int
    workloads: tuple[WorkloadLoss, ...]
    others: OtherPods | None = None
    unmodeled: tuple[str, ...] = ()

    @property
    def survives(self) -> bool:
        """Whether every workload survives it."""
        return all(entry.survives for entry in self.workloads)


def margin(losses: Iterable[Loss], number: int) -> int | None:
    """Return how many replicas of a workload fit beyond those needed, whatever is lost; None if unknown."""
    return min((m for loss in losses if (m := loss.workloads[number].margin) is not None), default=None)

"""The effect of the loss of a domain on workloads, what an autoscaler adds, and by how much they survive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple, Self

from planning.simulation.autoscaled import Autoscaled
from planning.simulation.node_source import NodeSource
from planning.simulation.recovery import MOST_OTHERS, DisplacedPod, PodOutcome
from policies.manifests.wire import INLINE, INTERNAL, Count, SentAs, sent
from policies.model.pod_volumes import LostVolume
from policies.scheduler.binding import SchedulingAttempt


@dataclass(frozen=True, slots=True)
class LossOptions:
    """Options: the domains that are lost, and the replicas and pods that count."""

    key: str  #: The topology key; empty where no domain of a cluster is lost, but something else happens.
    allowed_missing: int = 0  #: How many replicas of each workload may be missing after a loss.
    unreachable: bool = False  #: Whether lost nodes stay in the API, as in an outage.
    #: How many pods of other workloads are scheduled again, too; of a whole cluster all are.
    others: int = MOST_OTHERS
    #: What adds nodes for pods that are pending after a loss; None for nothing. No verdict or damage counts
    #: these nodes.
    autoscaler: NodeSource | None = None
    domain: str | None = None  #: The only domain of a cluster that is lost; None for each in turn.


@dataclass(frozen=True, slots=True, kw_only=True)
class LossWithNewNodes:
    """The pods that a loss leaves pending, if an autoscaler adds nodes for them."""

    running: tuple[Count, ...]  #: How many replicas of each workload run then, in the order of the workloads.
    pending: Count  #: How many of the displaced pods stay pending even so.
    scaled: Annotated[Autoscaled, INLINE]  #: The nodes that are added, or why none is.


class PendingMessages(NamedTuple):
    """The scheduler's messages on the first replica that fits nowhere."""

    message: str = ""  #: Its FitError; empty if all fit.
    condition: str = ""  #: The message of its PodScheduled condition; empty if all fit.
    lost_volumes: tuple[LostVolume, ...] = ()  #: Its volumes that no node reaches then.

    @classmethod
    def of(cls, pending: SchedulingAttempt | None) -> Self:
        """Return the messages of a replica; empty ones of None."""
        return cls() if pending is None else cls(pending.message, pending.condition, pending.lost_volumes)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadLoss:
    """The effect of one loss on one workload."""

    displaced: Count  #: How many of its replicas lose their node.
    running: Count  #: How many run in the end.
    required: Annotated[int, INTERNAL]  #: How many must.
    #: The first replica that fits nowhere then, or fitted nowhere before; None if all fit.
    pending: Annotated[SchedulingAttempt | None, INTERNAL] = None
    #: How many replicas fit then beyond those that must run, of those that did after every loss before; None
    #: where that was not tried.
    margin: Annotated[int | None, INTERNAL] = None

    @property
    @sent
    def missing(self) -> Count:
        """How many of those that must run do not."""
        return max(self.required - self.running, 0)

    @property
    @sent
    def survives(self) -> bool:
        """Whether none is missing."""
        return not self.missing

    @property
    @sent
    def messages(self) -> Annotated[PendingMessages, INLINE]:
        """The scheduler's messages on the first replica that fits nowhere."""
        return PendingMessages.of(self.pending)


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingOwner:
    """A controller of pods that fit nowhere after a loss."""

    namespace: str  #: Its namespace.
    owner: str  #: Its kind and name, as pods name it: of a Deployment the ReplicaSet.
    pods: Count  #: How many of its pods fit nowhere.


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherPods:
    """The effect of a loss on the pods of other workloads."""

    displaced: Count  #: How many lose their node.
    pending: Count  #: How many of those fit nowhere then.
    pending_of: tuple[PendingOwner, ...] = ()  #: Whose those are, the one with most of them first.
    #: How many of those were not scheduled again, though something replaces them.
    untried: Annotated[Count, SentAs("notTried")]

    @classmethod
    def of(cls, pods: Sequence[DisplacedPod]) -> Self:
        """Return the outcome for pods of other workloads that lost their node."""
        pending = [pod for pod in pods if pod.outcome is PodOutcome.PENDING]
        owners = Counter((pod.namespace, pod.owner) for pod in pending)
        return cls(
            displaced=len(pods),
            pending=len(pending),
            pending_of=tuple(
                PendingOwner(namespace=namespace, owner=owner, pods=number)
                for (namespace, owner), number in sorted(owners.items(), key=lambda item: (-item[1], item[0]))
            ),
            untried=sum(pod.outcome is PodOutcome.NOT_TRIED for pod in pods),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """The effect of the loss of one domain."""

    domain: str  #: The domain.
    nodes: Count  #: How many nodes it has.
    workloads: tuple[WorkloadLoss, ...]  #: What it does to each workload, in the order of the workloads.
    #: What it does to other pods; None where it displaces no replica and was not tried.
    others: Annotated[OtherPods | None, SentAs("otherPods")] = None
    #: The pods that were evicted for those that it displaces, and what became of them.
    evicted: tuple[DisplacedPod, ...] = ()
    #: What else a scheduler looks at in what was scheduled again.
    unmodeled: Annotated[tuple[str, ...], INTERNAL] = ()
    #: What becomes of the pods that it leaves pending if an autoscaler adds nodes; null where that was not
    #: requested, and where it leaves none. No verdict counts these nodes.
    autoscaled: LossWithNewNodes | None = None

    @property
    @sent
    def survives(self) -> bool:
        """Whether every workload survives it."""
        return all(entry.survives for entry in self.workloads)


def margin(losses: Iterable[Loss], number: int) -> int | None:
    """Return how many replicas of a workload fit beyond those needed, whatever is lost; None if unknown."""
    return min((m for loss in losses if (m := loss.workloads[number].margin) is not None), default=None)

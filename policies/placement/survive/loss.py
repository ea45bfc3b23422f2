"""The effect of the loss of a domain on workloads, what an autoscaler adds, and by how much they survive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple, Self

from policies.autoscaler.node_autoscaler import NodeAutoscaler
from policies.manifests.wire import INLINE, INTERNAL, Count, SentAs, sent
from policies.model.pod_volumes import LostVolume
from policies.placement.core.autoscaling import Autoscaled
from policies.placement.core.recovery import MOST_OTHERS, DisplacedPod, PodOutcome
from policies.scheduler.binding import Step


@dataclass(frozen=True, slots=True)
class LossOptions:
    """Options: the domains that are lost, and the replicas and pods that count.

    Attributes:
        key: The topology key; empty where no domain of a cluster is lost, but something else happens.
        allowed_missing: How many replicas of each workload may be missing after a loss.
        unreachable: Whether lost nodes stay in the API, as in an outage.
        others: How many pods of other workloads are scheduled again, too; of a whole cluster all are.
        autoscaler: What adds nodes for pods that are pending after a loss; None for nothing. No verdict
            or damage counts these nodes.
        domain: The only domain of a cluster that is lost; None for each in turn.
    """

    key: str
    allowed_missing: int = 0
    unreachable: bool = False
    others: int = MOST_OTHERS
    autoscaler: NodeAutoscaler | None = None
    domain: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LossWithNewNodes:
    """The pods that a loss leaves pending, if an autoscaler adds nodes for them.

    Attributes:
        running: How many replicas of each workload run then, in the order of the workloads.
        pending: How many of the displaced pods stay pending even so.
        scaled: The nodes that are added, or why none is.
    """

    running: tuple[Count, ...]
    pending: Count
    scaled: Annotated[Autoscaled, INLINE]


class PendingMessages(NamedTuple):
    """The scheduler's messages on the first replica that fits nowhere.

    Attributes:
        message: Its FitError; empty if all fit.
        condition: The message of its PodScheduled condition; empty if all fit.
        lost_volumes: Its volumes that no node reaches then.
    """

    message: str = ""
    condition: str = ""
    lost_volumes: tuple[LostVolume, ...] = ()

    @classmethod
    def of(cls, pending: Step | None) -> Self:
        """Return the messages of a replica; empty ones of None."""
        return cls() if pending is None else cls(pending.message, pending.condition, pending.lost_volumes)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadLoss:
    """The effect of one loss on one workload.

    Attributes:
        displaced: How many of its replicas lose their node.
        running: How many run in the end.
        required: How many must.
        pending: The first replica that fits nowhere then, or fitted nowhere before; None if all fit.
        margin: How many replicas fit then beyond those that must run, of those that did after every loss
            before; None where that was not tried.
    """

    displaced: Count
    running: Count
    required: Annotated[int, INTERNAL]
    pending: Annotated[Step | None, INTERNAL] = None
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
    """A controller of pods that fit nowhere after a loss.

    Attributes:
        namespace: Its namespace.
        owner: Its kind and name, as pods name it: of a Deployment the ReplicaSet.
        pods: How many of its pods fit nowhere.
    """

    namespace: str
    owner: str
    pods: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherPods:
    """The effect of a loss on the pods of other workloads.

    Attributes:
        displaced: How many lose their node.
        pending: How many of those fit nowhere then.
        pending_of: Whose those are, the one with most of them first.
        untried: How many of those were not scheduled again, though something replaces them.
    """

    displaced: Count
    pending: Count
    pending_of: tuple[PendingOwner, ...] = ()
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
    """The effect of the loss of one domain.

    Attributes:
        domain: The domain.
        nodes: How many nodes it has.
        workloads: What it does to each workload, in the order of the workloads.
        others: What it does to other pods; None where it displaces no replica and was not tried.
        evicted: The pods that were evicted for those that it displaces, and what became of them.
        unmodeled: What else a scheduler looks at in what was scheduled again.
        autoscaled: What becomes of the pods that it leaves pending if an autoscaler adds nodes; null
            where that was not requested, and where it leaves none. No verdict counts these nodes.
    """

    domain: str
    nodes: Count
    workloads: tuple[WorkloadLoss, ...]
    others: Annotated[OtherPods | None, SentAs("otherPods")] = None
    evicted: tuple[DisplacedPod, ...] = ()
    unmodeled: Annotated[tuple[str, ...], INTERNAL] = ()
    autoscaled: LossWithNewNodes | None = None

    @property
    @sent
    def survives(self) -> bool:
        """Whether every workload survives it."""
        return all(entry.survives for entry in self.workloads)

    def survives_with_nodes(self, number: int) -> bool:
        """Return whether a workload survives it, with the nodes that an autoscaler adds."""
        entry, scaled = self.workloads[number], self.autoscaled
        return entry.survives or (scaled is not None and scaled.running[number] >= entry.required)


def margin(losses: Iterable[Loss], number: int) -> int | None:
    """Return how many replicas of a workload fit beyond those needed, whatever is lost; None if unknown."""
    return min((m for loss in losses if (m := loss.workloads[number].margin) is not None), default=None)

"""The outcome for pods that lost their node: where what replaces them goes, and what stays pending."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from planning.simulation.actions import Disruption
from policies.manifests.wire import INLINE, INTERNAL, OPTIONAL, Count, SentAs, sent
from policies.scheduler.binding import SchedulingAttempt
from policies.scheduler.index import PodOnNode

#: Pods of other workloads that are scheduled again: some milliseconds each where nodes are thousands.
MOST_OTHERS: Final = 10_000


class PodOutcome(StrEnum):
    """The outcome for a pod that lost its node."""

    RECOVERED = "recovered"
    PENDING = "pending"
    NOT_RECREATED = "notRecreated"
    NOT_TRIED = "notTried"


@dataclass(frozen=True, slots=True, kw_only=True)
class DisplacedPod:
    """A pod that lost its node. One that was scheduled again has the members of a step, others ``why``."""

    pod: Annotated[PodOnNode, INTERNAL]  #: Where it was.
    #: The number of the given workload that it belongs to; None for any other.
    workload: Annotated[int | None, INTERNAL] = None
    owner: str = ""  #: Its controller, as kind and name; empty if it has none or that is not known.
    priority: int = 0  #: Its priority.
    created: Annotated[str, INTERNAL] = ""  #: When it was created; empty if that is not known.
    #: Why nothing replaces it, or why that was not tried; empty if it was scheduled again.
    why: Annotated[str, INTERNAL] = ""
    final: Annotated[bool, INTERNAL] = False  #: Whether nothing replaces it.
    step: Annotated[SchedulingAttempt | None, INLINE] = None  #: What became of its replacement.
    #: The pod that it was evicted for, as namespace/name; empty if an action displaced it.
    preemptor: Annotated[str, INTERNAL] = ""

    @property
    def key(self) -> tuple[str, str]:
        """Its namespace and name."""
        return self.pod.namespace, self.pod.name

    @property
    @sent
    def evicted_for(self) -> Annotated[str | None, OPTIONAL]:
        """The pod that it was evicted for, as namespace/name; None if it was not."""
        return self.preemptor or None

    @property
    @sent
    def name(self) -> str:
        """Its name."""
        return self.pod.name

    @property
    @sent
    def namespace(self) -> str:
        """Its namespace."""
        return self.pod.namespace

    @property
    @sent
    def lost_node(self) -> str:
        """The node that it lost."""
        return self.pod.node

    @property
    @sent
    def own(self) -> bool:
        """Whether it belongs to a given workload."""
        return self.workload is not None

    @property
    @sent
    def reason(self) -> Annotated[str | None, OPTIONAL, SentAs("why")]:
        """Why it was not scheduled again; None if it was."""
        return self.why if self.step is None else None

    @property
    @sent
    def outcome(self) -> PodOutcome:
        """The outcome for the pod."""
        if self.step is not None:
            return PodOutcome.PENDING if self.step.node is None else PodOutcome.RECOVERED
        return PodOutcome.NOT_RECREATED if self.final else PodOutcome.NOT_TRIED


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """The effect of some actions on the pods of a cluster."""

    disruption: Annotated[Disruption, INLINE]  #: What the actions did.
    #: Every pod that lost its node, in the order in which they were scheduled again.
    displaced: tuple[DisplacedPod, ...]
    complete: Annotated[bool, SentAs("podsKnown")]  #: Whether what was needed of every pod is known.
    #: What else a scheduler looks at in the replacements, as the API names it.
    unmodeled: Annotated[tuple[str, ...], INTERNAL] = ()

    @property
    @sent
    def recovered(self) -> Count:
        """How many pods got a node again."""
        return self.count(PodOutcome.RECOVERED)

    @property
    @sent
    def pending(self) -> Count:
        """How many pods got none."""
        return self.count(PodOutcome.PENDING)

    @property
    @sent
    def not_recreated(self) -> Count:
        """How many pods nothing recreates: bare and static ones, and those of DaemonSets."""
        return self.count(PodOutcome.NOT_RECREATED)

    @property
    @sent
    def not_tried(self) -> Count:
        """How many pods were not scheduled again, mostly since their objects are not known."""
        return self.count(PodOutcome.NOT_TRIED)

    def count(self, outcome: PodOutcome) -> int:
        """Return how many pods have an outcome."""
        return sum(pod.outcome is outcome for pod in self.displaced)

"""The pods that a new revision of a workload replaces where it is applied, and how that rollout ends.

Such an object is played as its controller would roll it out: what fits nowhere beside the pods that run may
fit as these go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from planning.simulation.rollout.courses import RolloutEnd
from planning.simulation.rollout.rollout import Rollout, is_rolled_out, simulate_rollout
from planning.simulation.rollout.rollout_start import RolloutSettings
from planning.simulation.rollout.running_pods import find_running
from policies.config.context import AdmissionContext
from policies.manifests.wire import INTERNAL, Count, SentAs, sent
from policies.pods.placement import PlacementError, PreparedPod


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacedPods:
    """The pods that a new revision replaces."""

    count: Annotated[Count, SentAs("pods")]  #: How many there are.
    #: How they are replaced; None where that is not simulated: of other kinds than Deployments and
    #: StatefulSets, and of many replicas.
    rollout: Annotated[Rollout | None, INTERNAL]

    @property
    @sent
    def outcome(self) -> RolloutEnd | None:
        """How the rollout ends, at worst of the courses taken; None if it is not simulated."""
        return None if self.rollout is None else self.rollout.outcome

    @property
    @sent
    def pending(self) -> Count | None:
        """The most pods that the rollout leaves pending; None if it is not simulated."""
        return None if self.rollout is None else self.rollout.pending

    @property
    @sent
    def evicted(self) -> Count | None:
        """The most pods of other workloads that it evicts; None if it is not simulated."""
        return None if self.rollout is None else self.rollout.evicted


def find_replaced(
    prepared: PreparedPod, context: AdmissionContext, settings: RolloutSettings
) -> ReplacedPods | None:
    """Return the pods that an object replaces where it is applied; None if there are none.

    Also None for an object of the cluster of which no revision is known, so that its pods may be its own.

    Args:
        prepared: The object.
        context: What it was prepared by.
        settings: How it is rolled out; that of more replicas than it allows is not simulated.
    """
    workload, revision = prepared.workload, prepared.revision
    if workload.own_pods is None or revision is None or not revision.is_new:
        return None
    # A file that was exported has the uid of the stored object, and may have been edited since.
    if workload.stored and not prepared.cluster.snapshot.revisions(
        workload.kind.name, workload.namespace, workload.name
    ):
        return None
    count = len(find_running(prepared, settings.known).pods)
    if not count:
        return None
    if not is_rolled_out(workload):
        return ReplacedPods(count=count, rollout=None)
    try:
        rollout = simulate_rollout(workload.obj, context, settings, namespace=workload.namespace)
    except PlacementError:
        return ReplacedPods(count=count, rollout=None)
    return ReplacedPods(count=count, rollout=rollout)

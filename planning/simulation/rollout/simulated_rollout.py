"""A rollout or a scale in a cluster as it is now: the nodes that come for it, and what would complete it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from planning.simulation.autoscaled import Autoscaled, AutoscalerName
from planning.simulation.autoscaling import Autoscaling
from planning.simulation.cluster_simulation import ClusterSimulation
from planning.simulation.node_source import NodeSource
from planning.simulation.rollout.rollout import Rollout, simulate_rollout, with_nodes
from planning.simulation.rollout.rollout_start import RolloutSettings
from planning.simulation.suggestions.rollout_suggestions import RolloutSuggestions, find_rollout_suggestions
from policies.config.context import AdmissionContext


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRollout:
    """A rollout or a scale, and what would make it complete."""

    rollout: Rollout  #: The rollout, with the nodes that an autoscaler adds.
    suggestions: RolloutSuggestions  #: What would make it complete, with these nodes.
    autoscaler: AutoscalerName | None = None  #: What adds nodes; None for nothing.
    autoscaled: Autoscaled | None = None  #: The nodes; None where no pod is pending without.

    @property
    def nodes(self) -> int:
        """How many nodes there were before any was added."""
        new = () if self.autoscaled is None else self.autoscaled.nodes
        return self.rollout.prepared.cluster.node_count - len(new)

    @property
    def pending(self) -> int:
        """The most pods that stay pending in any course, with those that were evicted."""
        return self.rollout.pending

    @property
    def kept(self) -> int:
        """How many old pods stay until someone deletes them (``OnDelete``)."""
        return self.rollout.kept

    @property
    def succeeds(self) -> bool:
        """Whether no pod stays pending, and none waits for someone to delete it."""
        return self.rollout.succeeds


def roll_out(
    obj: Mapping[str, Any],
    context: AdmissionContext,
    settings: RolloutSettings,
    *,
    namespace: str = "",
    autoscaler: NodeSource | None = None,
    played: Rollout | None = None,
) -> SimulatedRollout:
    """Roll out or scale an object; find what would make a rollout complete that does not.

    Arguments and errors are those of ``simulate_rollout``. Pods that would stay pending get nodes where there
    is an autoscaler. What was ``played`` with these settings already is not played again, unless it has more
    replicas than they allow, which is refused.
    """
    # Later events must not change what suggestions are verified on.
    frozen = context if context.cluster is None else replace(context, cluster=context.cluster.fork(namespace))

    def play() -> Rollout:
        return simulate_rollout(obj, frozen, settings, namespace=namespace)

    scaling = None
    if autoscaler is not None and frozen.cluster is not None:
        scaling = Autoscaling(ClusterSimulation(cluster=frozen.cluster), autoscaler)
    rollout = played if played is not None and played.replicas <= settings.most else play()
    if scaling is not None:
        rollout = with_nodes(rollout, play, scaling)
    return SimulatedRollout(
        rollout=rollout,
        suggestions=find_rollout_suggestions(rollout, frozen, settings),
        autoscaler=None if autoscaler is None else autoscaler.name,
        autoscaled=None if scaling is None else scaling.scaled,
    )

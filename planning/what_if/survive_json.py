"""The outcome of a loss for the workloads of a cluster, as the page shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

from planning.simulation.survive.cluster_loss import ClusterLoss, ClusterSurvivalReport
from planning.simulation.survive.damage import Damage
from planning.what_if.survive_cluster_text import new_nodes
from policies.manifests.wire import INLINE, Count, Keywords


class LossResult(NamedTuple):
    """The outcome for the pods that lose their node."""

    survives: bool | None  #: Whether it does not do too much damage; null where that is not known.
    #: How many workloads have each damage; null where that is not known.
    damages: Annotated[Mapping[str, Count | None], Keywords(propertyNames={"enum": list(Damage)})]
    #: Which nodes an autoscaler adds for those that stay pending, and how many stay so all the same, a
    #: sentence each.
    new_nodes: Sequence[str]
    loss: Annotated[ClusterLoss, INLINE]  #: What becomes of them.


def loss_result(report: ClusterSurvivalReport, loss: ClusterLoss) -> LossResult:
    """Return the outcome of a loss for its pods."""
    counts = {damage.value: count for damage, count in report.counts(loss).items()}
    return LossResult(report.survives(loss), counts, list(new_nodes(loss)), loss)

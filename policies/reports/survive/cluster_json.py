"""Whether a whole cluster survives losses, as one JSON object of the form ``survive_all.schema.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from policies.manifests.wire import INLINE, Count, Keywords, dumps
from policies.model.version import KubernetesVersion
from policies.placement.survive.cluster_loss import ClusterLoss, ClusterSurvivalReport
from policies.placement.survive.damage import Damage, DomainImpact
from policies.reports.survive.cluster_words import new_nodes, notes, verdict

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/survive-all/v1"


class LossResult(NamedTuple):
    """The outcome for the pods that lose their node.

    Attributes:
        survives: Whether it does not do too much damage; null where that is not known.
        damages: How many workloads have each damage; null where that is not known.
        new_nodes: Which nodes an autoscaler adds for those that stay pending, and how many stay so all the
            same, a sentence each.
        loss: What becomes of them.
    """

    survives: bool | None
    damages: Annotated[Mapping[str, Count | None], Keywords(propertyNames={"enum": list(Damage)})]
    new_nodes: Sequence[str]
    loss: Annotated[ClusterLoss, INLINE]


class LossOfDomain(NamedTuple):
    """The loss of one domain.

    Attributes:
        impact: What is gone with it.
        result: What becomes of the pods that lose their node; null where that was not tried.
    """

    impact: Annotated[DomainImpact, INLINE]
    result: LossResult | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SurviveAllAnswer:
    """Whether the workloads of a cluster survive the loss of domains.

    Later releases may add fields; within v1 none is renamed or goes away.

    Attributes:
        schema: The form's name and version.
        kubernetes_version: The release that the scheduler behaves as.
        topology_key: The node label whose values are the domains.
        nodes: How many nodes there are.
        pods: How many pods are bound to them.
        nodes_without_key: How many nodes do not have the label.
        unreachable: Whether lost nodes stay in the API, as in an outage.
        allow_missing: How many pods of each workload may be missing in the end.
        namespace: The only namespace whose workloads are judged; empty for all.
        fail_on: The least damage that is too much.
        survives: Whether no loss does too much damage; null where none did, but not all is known.
        complete: Whether every loss was tried to its end.
        verdict: The same as a sentence.
        pending_before: How many pods had no node before, and were not scheduled.
        budgets_read: Whether PodDisruptionBudgets were read; no workload is known to be below one otherwise.
        losses: The loss of each domain, those with most pods first.
        notes: What was assumed, and what was not read, not judged or not scheduled, as sentences.
        not_modeled: What else a scheduler looks at, which may refuse more nodes.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)] = SCHEMA
    kubernetes_version: KubernetesVersion
    topology_key: str
    nodes: Count
    pods: Count
    nodes_without_key: Count
    unreachable: bool
    allow_missing: Count
    namespace: str
    fail_on: Damage
    survives: bool | None
    complete: bool
    verdict: str
    pending_before: Count
    budgets_read: bool
    losses: Sequence[LossOfDomain]
    notes: Sequence[str]
    not_modeled: Sequence[str]


def loss_result(report: ClusterSurvivalReport, loss: ClusterLoss) -> LossResult:
    """Return the outcome of a loss for its pods."""
    counts = {damage.value: count for damage, count in report.counts(loss).items()}
    return LossResult(report.survives(loss), counts, list(new_nodes(loss)), loss)


def render(report: ClusterSurvivalReport) -> bytes:
    """Return a report as one line of JSON, without its end."""
    results = {loss.impact.domain: loss_result(report, loss) for loss in report.losses}
    answer = SurviveAllAnswer(
        kubernetes_version=report.version,
        topology_key=report.key,
        nodes=report.nodes,
        pods=report.pods,
        nodes_without_key=report.without_key,
        unreachable=report.unreachable,
        allow_missing=report.allowed_missing,
        namespace=report.namespace,
        fail_on=report.fail_on,
        survives=report.verdict,
        complete=report.complete,
        verdict=verdict(report),
        pending_before=report.waiting,
        budgets_read=report.budgets_known,
        losses=[LossOfDomain(impact, results.get(impact.domain)) for impact in report.impacts],
        notes=list(notes(report)),
        not_modeled=report.unmodeled,
    )
    return dumps(answer)

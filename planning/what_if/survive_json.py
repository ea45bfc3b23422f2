"""Whether workloads survive single losses, as one JSON object of the form ``survive.schema.json``.

Of a whole cluster it is ``survive_all.schema.json``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from planning.simulation.suggestions.survive_suggestions import SurvivalHelp
from planning.simulation.survive.cluster_loss import ClusterLoss, ClusterSurvivalReport
from planning.simulation.survive.damage import Damage, DomainImpact
from planning.simulation.survive.deployed_workloads import DeployedWorkload
from planning.simulation.survive.loss import Loss
from planning.simulation.survive.survival_report import SurvivalReport
from planning.simulation.survive.survive import MOST_MARGIN
from planning.text.suggestion_json import SuggestedChange, suggested_change
from planning.what_if.survive_cluster_text import new_nodes, notes, verdict
from policies.manifests.wire import INLINE, Count, Keywords, dumps
from policies.model.version import KubernetesVersion
from policies.model.workload import Workload

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/survive/v1"


class SurvivalChange(NamedTuple):
    """Changes that together help a workload after one loss."""

    change: Annotated[SuggestedChange, INLINE]  #: The changes.
    survives: bool | None  #: Whether the workload then survives every single loss; null if not tried.


@dataclass(frozen=True, slots=True, kw_only=True)
class SurvivingWorkload:
    """A workload as it runs before anything is lost, and whether it survives."""

    deployed: Annotated[DeployedWorkload, INLINE]  #: The workload as it runs.
    #: Whether enough run before any loss, and after each; null where no loss failed but not all were tried.
    survives: bool | None
    #: How many replicas fit beyond those that must run, whatever is lost; null for a workload of which that
    #: it survives is not known.
    margin: Count | None
    margin_is_least: bool  #: Whether no more were tried, so that more may fit.
    changes_for: str | None  #: The lost domain that the changes are for; null without any.
    changes: Sequence[SurvivalChange]  #: What would help, each verified.
    changes_complete: bool  #: Whether everything that looked promising was tried.


class UnjudgedWorkload(NamedTuple):
    """A workload without a number of replicas that could survive."""

    workload: Annotated[Workload, INLINE]  #: The workload.
    why: str  #: Why there is none.


@dataclass(frozen=True, slots=True, kw_only=True)
class SurviveAnswer:
    """Whether workloads survive the loss of any single domain.

    Later releases may add fields; within v1 none is renamed or goes away.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)] = SCHEMA  #: The form's name and version.
    kubernetes_version: KubernetesVersion  #: The release that the scheduler behaves as.
    topology_key: str  #: The node label whose values are the domains.
    domains: Count  #: How many domains there are.
    nodes: Count  #: How many nodes there are.
    nodes_without_key: Count  #: How many of them do not have the label.
    unreachable: bool  #: Whether lost nodes stay in the API, as in an outage.
    allow_missing: Count  #: How many replicas of each workload may be missing after a loss.
    #: Whether every workload survives every loss; null where none failed but not all were tried.
    survives: bool | None
    complete: bool  #: Whether every domain was lost once, and the search for changes was not ended.
    workloads: Sequence[SurvivingWorkload]  #: The workloads.
    losses: Sequence[Loss]  #: What each loss does, of those that were tried.
    not_judged: Sequence[UnjudgedWorkload]  #: Workloads without a number of replicas that could survive.
    not_modeled: Sequence[str]  #: What else a scheduler looks at, which may refuse more nodes.


def render(report: SurvivalReport) -> bytes:
    """Return a report as one line of JSON, without its end.

    Entries of ``losses[].workloads`` are in the order of ``workloads``.
    """
    survival, options = report.survival, report.survival.options
    helps = {entry.workload: entry for entry in report.helps}
    answer = SurviveAnswer(
        kubernetes_version=report.version,
        topology_key=options.key,
        domains=len(survival.domains),
        nodes=survival.cluster.node_count,
        nodes_without_key=survival.without_key,
        unreachable=options.unreachable,
        allow_missing=options.allowed_missing,
        survives=report.verdict,
        complete=report.complete and not report.stopped,
        workloads=[
            _workload(report, number, deployed, helps.get(number))
            for number, deployed in enumerate(survival.deployed)
        ],
        losses=report.losses,
        not_judged=[UnjudgedWorkload(*entry) for entry in report.unjudged],
        not_modeled=report.unmodeled,
    )
    return dumps(answer)


def _workload(
    report: SurvivalReport, number: int, deployed: DeployedWorkload, found: SurvivalHelp | None
) -> SurvivingWorkload:
    margin = report.margin(number)
    return SurvivingWorkload(
        deployed=deployed,
        survives=report.survives(number),
        margin=margin,
        margin_is_least=margin == MOST_MARGIN,
        changes_for=None if found is None else found.domain,
        changes=[] if found is None else list(_changes(found)),
        changes_complete=not report.stopped if found is None else found.complete,
    )


def _changes(found: SurvivalHelp) -> Iterator[SurvivalChange]:
    for entry in found.found:
        change = suggested_change(entry.suggestion, found.placement, found.replicas)
        yield SurvivalChange(change, entry.survives)


#: The form's name; its number changes when a field is renamed, goes away or means something else.
ALL_SCHEMA: Final = "evenkeel.dev/survive-all/v1"


class LossResult(NamedTuple):
    """The outcome for the pods that lose their node."""

    survives: bool | None  #: Whether it does not do too much damage; null where that is not known.
    #: How many workloads have each damage; null where that is not known.
    damages: Annotated[Mapping[str, Count | None], Keywords(propertyNames={"enum": list(Damage)})]
    #: Which nodes an autoscaler adds for those that stay pending, and how many stay so all the same, a
    #: sentence each.
    new_nodes: Sequence[str]
    loss: Annotated[ClusterLoss, INLINE]  #: What becomes of them.


class LossOfDomain(NamedTuple):
    """The loss of one domain."""

    impact: Annotated[DomainImpact, INLINE]  #: What is gone with it.
    #: What becomes of the pods that lose their node; null where that was not tried.
    result: LossResult | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SurviveAllAnswer:
    """Whether the workloads of a cluster survive the loss of domains.

    Later releases may add fields; within v1 none is renamed or goes away.
    """

    schema: Annotated[str, Keywords(const=ALL_SCHEMA)] = ALL_SCHEMA  #: The form's name and version.
    kubernetes_version: KubernetesVersion  #: The release that the scheduler behaves as.
    topology_key: str  #: The node label whose values are the domains.
    nodes: Count  #: How many nodes there are.
    pods: Count  #: How many pods are bound to them.
    nodes_without_key: Count  #: How many nodes do not have the label.
    unreachable: bool  #: Whether lost nodes stay in the API, as in an outage.
    allow_missing: Count  #: How many pods of each workload may be missing in the end.
    namespace: str  #: The only namespace whose workloads are judged; empty for all.
    fail_on: Damage  #: The least damage that is too much.
    survives: bool | None  #: Whether no loss does too much damage; null where none did, but not all is known.
    complete: bool  #: Whether every loss was tried to its end.
    verdict: str  #: The same as a sentence.
    pending_before: Count  #: How many pods had no node before, and were not scheduled.
    #: Whether PodDisruptionBudgets were read; no workload is known to be below one otherwise.
    budgets_read: bool
    losses: Sequence[LossOfDomain]  #: The loss of each domain, those with most pods first.
    #: What was assumed, and what was not read, not judged or not scheduled, as sentences.
    notes: Sequence[str]
    not_modeled: Sequence[str]  #: What else a scheduler looks at, which may refuse more nodes.


def loss_result(report: ClusterSurvivalReport, loss: ClusterLoss) -> LossResult:
    """Return the outcome of a loss for its pods."""
    counts = {damage.value: count for damage, count in report.counts(loss).items()}
    return LossResult(report.survives(loss), counts, list(new_nodes(loss)), loss)


def render_cluster(report: ClusterSurvivalReport) -> bytes:
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

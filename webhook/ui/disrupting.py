"""The whole cluster, what if: nodes are lost, drained, tainted or added, and displaced pods placed again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from planning.simulation.actions import ChangedNodes, in_list
from planning.simulation.events import LostDomain, NodeEvent
from planning.simulation.recovery import DisplacedPod, PodOutcome
from planning.simulation.survive.cluster_loss import ClusterSurvivalReport
from planning.simulation.survive.cluster_survival import ClusterSurvival, Disrupted
from planning.simulation.survive.damage import Damage, DomainImpact
from planning.simulation.survive.loss import LossOptions
from planning.text.actions import disruption
from planning.what_if.survive_cluster_text import about, notes, verdict_on
from planning.what_if.survive_json import LossResult, loss_result
from policies.manifests.fields import ErrorList
from policies.manifests.wire import Count, dumps
from webhook.requests.placement import autoscaler_of
from webhook.ui.bodies import DisruptBody
from webhook.ui.cluster import PageCluster
from webhook.ui.manifest import ProblemsError, field_problems, request_problem
from webhook.ui.placing import ACTIONS

#: The least damage that is too much: all pods must run, as in the command where nothing else is said.
_TOO_MUCH: Final = Damage.PENDING
#: Where pods are that get no node.
_NOWHERE: Final[Mapping[PodOutcome, int]] = {
    PodOutcome.PENDING: -1,
    PodOutcome.NOT_RECREATED: -2,
    PodOutcome.NOT_TRIED: -3,
}

#: Verdicts, the worst first.
_VERDICTS: Final = (False, None, True)


class MovedPods(NamedTuple):
    """The pods that lose their node, in the order in which they are scheduled again."""

    #: The position of each one's workload in the columns of the cluster; -1 without a controller.
    workload: Sequence[int]
    origin: Sequence[Count]  #: The position of the node that it was on.
    #: That of the node where its replacement goes: one of the cluster, or behind those an added one; -1 if it
    #: stays pending, -2 if nothing replaces it, -3 if that was not tried.
    node: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOutcome:
    """The effect of some actions on all workloads of the cluster, as ``survive --all`` has it of a loss."""

    what: str  #: What happens, as the object of a sentence.
    verdict: str  #: Whether the cluster survives it, in a sentence.
    rank: Sequence[int]  #: Sorts outcomes by damage, number by number: the smallest is the worst.
    impact: DomainImpact  #: What is gone with it, known before anything is scheduled again.
    result: LossResult  #: What becomes of the pods that lose their node.
    #: The damages of each of the result's workloads in words; empty where there is none.
    damages: Sequence[str]
    lost_nodes: Sequence[Count]  #: The positions of the nodes that are gone or unreachable.
    added_nodes: Sequence[str]  #: The names of new nodes.
    changed_nodes: Sequence[ChangedNodes]  #: New nodes, and those that are otherwise than before.
    moved: MovedPods  #: Where each pod goes.
    #: What was assumed, and what was not read, not judged or not scheduled, as sentences.
    notes: Sequence[str]
    not_modeled: Sequence[str]  #: What else a scheduler looks at, which may refuse more nodes.
    command: str  #: The command that answers the same; empty where there is none.


def disrupt(cluster: PageCluster, body: DisruptBody) -> bytes:
    """Return the outcome of actions for all workloads of the cluster.

    Raises:
        ProblemsError: One names what the cluster does not have, or the pods are not known.
    """
    if cluster.remote is not None:
        text = (
            "only nodes and pods that were read can be lost: start evenkeel ui with --cluster and a snapshot"
        )
        raise ProblemsError([request_problem("actions", text)])
    actions, found = body.actions, ErrorList()
    scaling = None if cluster.autoscale is None else cluster.autoscale.documents
    options = LossOptions(key="", autoscaler=autoscaler_of(scaling, cluster.index, found))
    survival = ClusterSurvival(cluster.objects.workloads, cluster.context, options, cluster.objects.running)
    done = survival.disrupt(actions, found, in_list(ACTIONS))
    if found.errors:
        raise ProblemsError(field_problems(found.errors))
    report = survival.report([done.loss], fail_on=_TOO_MUCH, unread=cluster.notes, stopped=False)
    return dumps(cluster_outcome(cluster, actions, done, report, command=_command(cluster, actions)))


def cluster_outcome(
    cluster: PageCluster,
    actions: Sequence[NodeEvent],
    done: Disrupted,
    report: ClusterSurvivalReport,
    *,
    command: str = "",
) -> ClusterOutcome:
    """Return the answer on something that happened to the cluster.

    Args:
        cluster: The cluster.
        actions: What happened.
        done: What came of it.
        report: The report on that alone.
        command: The command that answers the same; empty for none.
    """
    positions = dict(cluster.index.nodes.positions())
    positions |= {name: len(positions) + number for number, name in enumerate(done.disruption.added)}
    what, (damages, missing, _) = disruption(actions), done.loss.rank
    moved = MovedPods(
        workload=[cluster.workload_of_pod(each.pod.namespace, each.pod.name) for each in done.displaced],
        origin=[positions[each.pod.node] for each in done.displaced],
        node=[_place(each, positions) for each in done.displaced],
    )
    return ClusterOutcome(
        what=what,
        verdict=verdict_on(report, what),
        rank=[_VERDICTS.index(report.survives(done.loss)), *damages, missing],
        impact=done.loss.impact,
        result=loss_result(report, done.loss),
        damages=[about(each) for each in done.loss.workloads],
        lost_nodes=sorted(positions[name] for name in done.disruption.lost),
        added_nodes=done.disruption.added,
        changed_nodes=done.disruption.changed,
        moved=moved,
        notes=list(notes(report)),
        not_modeled=report.unmodeled,
        command=command,
    )


def _place(entry: DisplacedPod, positions: Mapping[str, int]) -> int:
    if entry.step is not None and entry.step.node is not None:
        return positions[entry.step.node]
    return _NOWHERE[entry.outcome]


def _command(cluster: PageCluster, actions: Sequence[NodeEvent]) -> str:
    """Return the command that answers the same of the loss of one domain."""
    match actions:
        case [NodeEvent(lose=LostDomain() as lost)]:
            words = ["evenkeel", "what-if", "--lose", f"{lost.key}={lost.value}"]
            words += ["--unreachable"] if lost.unreachable else []
            words += ["--live"] if cluster.live else ["--cluster", cluster.name]
            words += [] if cluster.autoscale is None else ["--autoscale", cluster.autoscale.name]
            return shlex.join(words)
    return ""

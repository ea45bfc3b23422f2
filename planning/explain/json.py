"""An explanation as one JSON object: everything that its text says as values, and the text itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from planning.explain import text as explain_text
from planning.explain.explain import Explained
from planning.explain.score_answer import UsedProfile
from planning.explain.score_profile import not_modeled
from planning.simulation.autoscaled import WithNewNodes
from planning.simulation.explained_pod import Moment
from planning.simulation.outcome import HelpfulChange, WorkloadOutcome
from planning.simulation.replicas import Replicas
from planning.simulation.suggestions.outvoted import OutvotedSpread
from planning.simulation.suggestions.suggestions import examples_of
from planning.simulation.suggestions.words import delete_command
from planning.text.suggestion_json import SuggestedChange, SuggestedClusterChange, suggested_change
from planning.text.suggestion_text import how_edited
from policies.manifests.wire import INLINE, OPTIONAL, Count, dumps
from policies.model.next_pod import PodRevision
from policies.model.replica_number import ReplicaNumber
from policies.model.version import KubernetesVersion
from policies.model.workload import Workload
from policies.scheduler.defaults import NoConstraints
from policies.scheduler.domain_stats import ConstraintStats, Tier
from policies.scheduler.rejections import RejectedNodes
from policies.scheduler.releases import judged_as
from policies.scheduler.result import Preemption
from policies.scheduler.volume_deadlocks import VolumeDeadlock

#: Columns of the text: what terminals have had for long.
TEXT_WIDTH = 80


class ReplicaCounts(NamedTuple):
    """How many replicas of the workload's revision fit, placed one after another."""

    wanted_from: ReplicaNumber | None  #: What says how many the workload wants.
    replicas: Annotated[Replicas, INLINE]  #: The numbers.


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainAnswer:
    """Where a pod would go and why, or why it fits nowhere and what would help."""

    kubernetes_version: KubernetesVersion  #: The release that the scheduler behaves as.
    judged_as: str  #: The release that is used for it, with its patch: the newest known one for a newer one.
    dropped: Sequence[str]  #: The fields of the pod and its own constraints that the release drops.
    object: Workload  #: The object of the request.
    #: The revision of the workload that the pod was scheduled as; null for what has none.
    revision: PodRevision | None
    #: How many pods of older revisions it replaces; null for none, and for an object of the cluster.
    replaced: Count | None
    #: What becomes of an object that is not in the cluster as it is; the replicas are its numbers.
    outcome: Annotated[WorkloadOutcome | None, OPTIONAL]
    #: Which of its pods the rest is about, and when: the first that stays pending, else the first new one.
    moment: Annotated[Moment | None, OPTIONAL]
    fits: bool  #: Whether the pod fits a node.
    nodes: Count  #: How many nodes there are.
    feasible_nodes: Count  #: How many of them the pod fits.
    at_most: bool  #: Whether something in ``notModeled`` may refuse more, so that numbers are bounds.
    running_nodes: Count | None  #: Of a DaemonSet: nodes that run one of its pods now, which were left out.
    #: The node that the pod is on, though placed as if it were scheduled again; null for none.
    runs_on: str | None
    replicas: ReplicaCounts | None  #: How many replicas fit; null for what has none.
    why: str  #: Why the first pod that does not fit is pending, in a sentence; empty if all fit.
    message: str  #: The condition of a pod that fits nowhere, as in a score; else empty.
    replica_message: str  #: The same for the first replica that does not fit; empty if all do.
    #: On which node room would be made for a pod that fits nowhere, and who is evicted; null for a pod that
    #: fits, and where preemption is not tried.
    preemption: Preemption | None
    #: What becomes of the pod that fits nowhere, or of the first replica that does not fit, if an autoscaler
    #: adds nodes for it; null where that was not requested, where all fits, and where other pods are evicted
    #: for it.
    autoscaled: WithNewNodes | None
    policy: str | None  #: The SpreadPolicy that gave the constraints.
    why_no_constraints: NoConstraints | None  #: Why no constraint is in force; null if there is one.
    constraints: Sequence[ConstraintStats]  #: The constraints in force.
    #: Volumes that leave the pod no node, or the first replica that does not fit.
    deadlocks: Sequence[VolumeDeadlock]
    rejections: Sequence[RejectedNodes]  #: The nodes that reject the pod, the largest group first.
    ranking: Sequence[Tier]  #: Feasible nodes, the best score first.
    lead: Count | None  #: Points by which the first tier leads; null without a second one.
    #: With what an outvoted PodTopologySpread would have won; null where it is not.
    outvoted: OutvotedSpread | None
    #: Each makes the pod fit, or the first replica that does not; those that are enough for every replica
    #: come first, then by how little they give up.
    changes: Sequence[SuggestedChange]
    changes_complete: bool  #: Whether all promising changes, and pairs of them, were tried.
    editing: str  #: What becomes of pods that run when the manifest is edited; or empty.
    profile: UsedProfile  #: The profile of kube-scheduler that the pod was scheduled by.
    not_modeled: Sequence[str]  #: What else the scheduler looks at, in this pod or by its profile.
    text: Sequence[str]  #: The same for a person, in lines of at most 80 columns.


def render(explained: Explained) -> bytes:
    """Return an explanation as one line of JSON, without its end.

    Amounts of cpu are thousandths, all others units; the schema of the route says the rest.
    """
    placement, result, replicas = explained.placement, explained.placement.result, explained.replicas
    explanation, suggestions = explained.explanation, explained.suggestions
    workload, profile, played = placement.workload, result.request.profile, explained.played
    changes = [suggested_change(found, placement, replicas) for found in suggestions.found]
    if played is not None:
        changes = [_helpful_change(found, explained) for found in played.helpful]
    answer = ExplainAnswer(
        kubernetes_version=placement.version,
        judged_as=judged_as(placement.version).exact,
        dropped=placement.dropped,
        object=workload,
        revision=placement.revision,
        replaced=None if played is None or played.found.updated is None else played.found.before or None,
        outcome=None if played is None else played.found,
        moment=None if played is None else played.moment,
        fits=bool(result.feasible_count),
        nodes=len(result.names),
        feasible_nodes=result.feasible_count,
        at_most=result.request.is_upper_bound,
        running_nodes=placement.running,
        runs_on=explained.node or None,
        replicas=None if replicas is None else ReplicaCounts(workload.replica_number, replicas),
        why=explained.why,
        message=result.message,
        replica_message=explained.stuck_message,
        preemption=result.preemption,
        autoscaled=explained.autoscaled,
        policy=placement.policy,
        why_no_constraints=placement.why_none,
        constraints=explanation.constraints,
        deadlocks=explained.deadlocks,
        rejections=explanation.rejected,
        ranking=explanation.tiers,
        lead=explanation.lead,
        outvoted=explained.outvoted,
        changes=changes,
        changes_complete=suggestions.complete,
        editing=how_edited(placement, explained.waits_for) if any(each.edits for each in changes) else "",
        profile=UsedProfile.of(profile),
        not_modeled=[*result.request.pod.unmodeled, *result.unread, *not_modeled(profile)],
        text=explain_text.render(explained, width=TEXT_WIDTH, color=False).splitlines(),
    )
    return dumps(answer)


def _helpful_change(helpful: HelpfulChange, explained: Explained) -> SuggestedChange:
    """Return a change with which what is played ends well."""
    replicas, events = explained.replicas, (*helpful.events, *helpful.then)
    deleted = (delete_command(event.delete) for event in helpful.then if event.delete is not None)
    changed = SuggestedClusterChange(
        text="; ".join(deleted) if helpful.edits else helpful.text,
        nodes=(),
        count=len(events),
        key=None,
        value=None,
        without_taints=(),
        claims=(),
        storage_class=None,
        class_like=None,
    )
    result = explained.placement.result if helpful.placement is None else helpful.placement.result
    return SuggestedChange(
        kinds=helpful.kinds,
        edits=helpful.edits,
        elsewhere=(),
        in_cluster=changed if events else None,
        feasible_nodes=result.feasible_count,
        examples=examples_of(result),
        replicas_before=None if replicas is None else replicas.fitting,
        replicas_after=None if replicas is None else helpful.after,
        enough=True,
        costs=[helpful.cost],
        given_up=helpful.given_up,
        caution=helpful.caution,
    )

"""Why the next pods of an object would go where they go, or fit nowhere, and what would help."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from planning.simulation.autoscaled import WithNewNodes
from planning.simulation.autoscaling import Autoscaling
from planning.simulation.cluster_simulation import ClusterSimulation, QueuedPod, never
from planning.simulation.events import Event
from planning.simulation.explained_pod import Moment, explained_pod, moment_of
from planning.simulation.judge import reached
from planning.simulation.node_source import NodeSource
from planning.simulation.object_changes import ref_of, shown_ref
from planning.simulation.object_differences import differences
from planning.simulation.outcome import HelpfulChange, ObjectChange, Outcome, Verdict, WorkloadOutcome
from planning.simulation.play import play
from planning.simulation.played_cluster import object_in
from planning.simulation.replicas import Replicas, count_replicas
from planning.simulation.rollout.courses import RolloutEnd
from planning.simulation.scenario import ClusterState, Scenario
from planning.simulation.suggestions.helpful_changes import suggestions_for
from planning.simulation.suggestions.outvoted import OutvotedSpread, find_outvoted
from planning.simulation.suggestions.suggestions import Suggestions, find_suggestions
from planning.simulation.verdicts import pending_sentence
from policies.config.context import AdmissionContext
from policies.manifests.fields import FieldPath, invalid_value
from policies.model.workload import Workload
from policies.model.workload_ref import with_namespace
from policies.pods.known_pods import KnownPods
from policies.pods.placement import (
    DAEMON_SET,
    Placement,
    PlacementError,
    PreparedPod,
    evaluate_workload,
    read_workload,
)
from policies.scheduler.domain_stats import Explanation, explain
from policies.scheduler.rejections import EXAMPLES
from policies.scheduler.volume_deadlocks import VolumeDeadlock, find_deadlocks

#: The rule that an object breaks for whose pods no autoscaler adds nodes.
NOT_AUTOSCALED: Final = "not-autoscaled"

_KIND = FieldPath(("kind",))


class PlayedWorkload(NamedTuple):
    """What becomes of an object that is not in the cluster as it is."""

    outcome: Outcome  #: The outcome.
    found: WorkloadOutcome  #: The workload in it.
    moment: Moment | None  #: Which of its pods is explained, and when; None where it gets none.

    @property
    def verdict(self) -> Verdict:
        """The verdict."""
        return self.outcome.verdict

    @property
    def helpful(self) -> tuple[HelpfulChange, ...]:
        """What would help; none where the verdict is not false."""
        return self.outcome.suggestions or ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A placement with its reasons, all of one state of the cluster."""

    #: Where the pod would go: of what is played the first pod that stays pending at the end, else the first
    #: new one when it is created; of anything else the next one.
    placement: Placement
    explanation: Explanation  #: What the verdict comes down to.
    #: With what the pod would fit if it fits nowhere; otherwise the first replica that does not. None of what
    #: is played.
    suggestions: Suggestions
    #: The volumes that leave the pod no node, or the first replica that does not fit.
    deadlocks: tuple[VolumeDeadlock, ...] = ()
    #: Where other plugins outvote PodTopologySpread; None where they do not.
    outvoted: OutvotedSpread | None = None
    #: Why the first one that does not fit is pending, in a sentence; empty if all fit.
    why: str = ""
    stuck_message: str = ""  #: The condition of the first replica that does not fit; empty if all do.
    #: How many replicas of the workload fit; None where their number is not known.
    replicas: Replicas | None = None
    #: What becomes of an object that is not in the cluster as it is; None for a Pod, and one that is.
    played: PlayedWorkload | None = None
    #: What becomes of the pod that fits nowhere, or of the first replica that does not fit, if an autoscaler
    #: adds nodes for it; None where that was not requested, where all fits, and where other pods are evicted
    #: for it.
    autoscaled: WithNewNodes | None = None
    #: The pods without a node for whose deletion the controller waits, whatever the manifest is by then.
    waits_for: tuple[str, ...] = ()
    #: The node that the pod is on, though it is placed as if it were scheduled again; empty for none.
    node: str = ""

    @property
    def succeeds(self) -> bool:
        """Whether the pod fits some node; of what is played, whether that ends well."""
        if self.played is not None:
            return self.played.verdict.value is True
        return bool(self.placement.result.feasible_count)


def explain_object(
    obj: Mapping[str, Any],
    state: ClusterState,
    *,
    namespace: str = "",
    examples: int = EXAMPLES,
    autoscaler: NodeSource | None = None,
    stop: Callable[[], bool] = never,
) -> Explained:
    """Explain what becomes of the pods of an object: of one that is not in the cluster so, it is played.

    Args:
        obj: The object, of any shape.
        state: The cluster, and what its pods are evaluated by.
        namespace: Where the object goes if it names no namespace itself.
        examples: How many nodes of a group are named.
        autoscaler: What adds nodes for a pod that fits nowhere; None for nothing.
        stop: Whether to count no more replicas and to try no more changes; called before each.

    Raises:
        PlacementError: Kubernetes would refuse the object or its pods; holds every error.
    """
    context = state.context
    if context.cluster is None:
        raise ValueError("there is no cluster to place anything in")
    workload = read_workload(obj, context, namespace=namespace)
    if autoscaler is not None and workload.kind.kind == DAEMON_SET:
        text = "must not be DaemonSet: no node is added for its pods"
        raise PlacementError((invalid_value(_KIND, DAEMON_SET, text, NOT_AUTOSCALED),))
    # Counting replicas may take seconds, for which no other request should wait.
    context = replace(context, cluster=context.cluster.fork(workload.namespace))
    placement = evaluate_workload(workload, context)
    judged = None
    if _is_changed(placement, state):
        judged = _judge_played(placement, replace(state, context=context), stop)
    judged = judged or _judge_next(placement, context, stop)
    placement, stuck = judged.placement, judged.stuck
    return Explained(
        placement=placement,
        explanation=explain(placement.result, placement.cluster, examples=examples),
        deadlocks=find_deadlocks(stuck.result, stuck.cluster),
        suggestions=judged.suggestions,
        outvoted=find_outvoted(placement.result, placement.cluster),
        why="" if stuck.result.feasible_count else pending_sentence(stuck.result, stuck.cluster),
        stuck_message=judged.message,
        replicas=judged.replicas,
        played=judged.played,
        autoscaled=_autoscaled(stuck, autoscaler, stop),
        waits_for=_waits_for(workload, state.known),
    )


def _is_changed(prepared: PreparedPod, state: ClusterState) -> bool:
    """Return whether an object is not in the cluster as it is."""
    workload = prepared.workload
    if workload.kind.is_pod or state.context.reads_stored:
        return False
    before = object_in(state.workloads, ref_of(workload))
    if before is not None:
        return bool(differences(before, workload))
    if not workload.stored:
        return True
    # Of a stored object of which no revision is known, what runs may be its own.
    key, revision = (workload.kind.name, workload.namespace, workload.name), prepared.revision
    return revision is not None and revision.is_new and bool(prepared.cluster.snapshot.revisions(*key))


class _Judged(NamedTuple):
    """The pod that is explained, and what becomes of those after it."""

    placement: Placement  #: Where the pod would go.
    stuck: Placement  #: The same of the first one that does not fit, or of the pod itself.
    message: str  #: The condition of the one that does not fit; empty if all do.
    replicas: Replicas | None  #: How many fit; None where their number is not known.
    suggestions: Suggestions = Suggestions()  #: What would help.
    played: PlayedWorkload | None = None  #: What becomes of an object that is played.


def _judge_played(prepared: PreparedPod, state: ClusterState, stop: Callable[[], bool]) -> _Judged | None:
    """Judge the pods of an object as applying it leaves them; None where that changes nothing."""
    workload = prepared.workload
    ref = ref_of(workload)
    event = Event(apply=dict(with_namespace(workload.obj, workload.namespace)))
    scenario = Scenario(cluster=state, events=(event,), workloads=(ref,), runs=1, stop=stop)
    outcome = play(scenario)
    found = next(each for each in outcome.workloads if each.ref == shown_ref(ref, workload))
    if found.change is ObjectChange.NONE:
        return None
    placement = explained_pod(outcome, found, found.prepared or prepared)
    outcome = replace(outcome, suggestions=suggestions_for(scenario, outcome))
    played = PlayedWorkload(outcome, found, moment_of(outcome, found))
    message = "" if found.stuck is None else found.verdict.message or placement.result.message
    return _Judged(placement, placement, message, _counted(found), played=played)


def _counted(found: WorkloadOutcome) -> Replicas | None:
    """Return how many replicas are as they should be in the end; None where their number is not known."""
    if found.wanted is None:
        return None
    rollout = found.rollout
    placed = found.before if found.updated is None else 0 if rollout is None else rollout.in_progress
    completes = rollout is not None and rollout.courses.likely.outcome is RolloutEnd.COMPLETE
    return Replicas(
        wanted=found.wanted,
        placed=placed,
        fitting=reached(found, completes=completes),
        complete=not found.not_tried,
    )


def _judge_next(placement: Placement, context: AdmissionContext, stop: Callable[[], bool]) -> _Judged:
    """Judge the next pod of a workload, and the replicas after it."""
    stuck, replicas = placement, None
    counted = count_replicas(placement, stop)
    if counted is not None:
        replicas, fork = counted
        if placement.result.feasible_count and not replicas.enough:
            # The next pod fits, but a later one will not: what helps is evaluated beside those that fit.
            context = replace(context, cluster=fork)
            stuck = evaluate_workload(placement.workload, context, revision_of=placement)
    suggestions = find_suggestions(stuck, context, replicas, stop=stop)
    return _Judged(placement, stuck, stuck.result.message, replicas, suggestions)


def _waits_for(workload: Workload, known: KnownPods) -> tuple[str, ...]:
    """Return the pods that keep a StatefulSet from replacing any other (kubernetes/kubernetes#67250)."""
    if not workload.is_ordered or workload.own_pods is None:
        return ()
    return tuple(pod.name for pod in known.pending(workload.namespace, workload.own_pods))


def _autoscaled(
    stuck: Placement, autoscaler: NodeSource | None, stop: Callable[[], bool]
) -> WithNewNodes | None:
    """Return the outcome for a pod if nodes are added; None if it fits, or others are evicted for it."""
    result = stuck.result
    nominated = result.preemption is not None and result.preemption.nominated
    if autoscaler is None or result.feasible_count or nominated:
        return None
    pod = QueuedPod(result.request.pod.name or stuck.workload.title, result.request)
    simulation = ClusterSimulation.of(stuck.cluster)
    pending = simulation.schedule(pod.request, pod.name)
    simulation.stop = stop
    (step,), scaled = Autoscaling(simulation, autoscaler).add_nodes([pod], [pending])
    return WithNewNodes(step=step, scaled=scaled)

"""Why the next pods of an object would go where they go, or fit nowhere, and what would help."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from planning.simulation.autoscaled import WithNewNodes
from planning.simulation.autoscaling import Autoscaling
from planning.simulation.cluster_simulation import ClusterSimulation, QueuedPod, never
from planning.simulation.node_source import NodeSource
from planning.simulation.replicas import MOST_PLACED, Replicas, count_replicas
from planning.simulation.rollout.new_revision import ReplacedPods, find_replaced
from planning.simulation.rollout.rollout import Rollout
from planning.simulation.rollout.rollout_start import RolloutSettings
from planning.simulation.suggestions.outvoted import OutvotedSpread, find_outvoted
from planning.simulation.suggestions.rollout_suggestions import RolloutSuggestions, find_rollout_suggestions
from planning.simulation.suggestions.suggestions import Suggestions, find_suggestions
from planning.simulation.verdicts import pending_sentence
from policies.config.context import AdmissionContext
from policies.manifests.fields import FieldPath, invalid_value
from policies.model.workload import Workload
from policies.pods.known_pods import KnownPods
from policies.pods.placement import (
    DAEMON_SET,
    Placement,
    PlacementError,
    evaluate_workload,
    read_workload,
)
from policies.scheduler.domain_stats import Explanation, explain
from policies.scheduler.rejections import EXAMPLES
from policies.scheduler.volume_deadlocks import VolumeDeadlock, find_deadlocks

#: The rule that an object breaks for whose pods no autoscaler adds nodes.
NOT_AUTOSCALED: Final = "not-autoscaled"

_KIND = FieldPath(("kind",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A placement with its reasons, all of one state of the cluster."""

    #: Where the pod would go: of a rollout that leaves pods pending when nothing goes on, else the first new
    #: one that gets a node, when it does.
    placement: Placement
    explanation: Explanation  #: What the verdict comes down to.
    #: With what the pod would fit if it fits nowhere; otherwise the first replica that does not.
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
    replaced: ReplacedPods | None = None  #: What it replaces where it is applied; None for nothing.
    #: What would make its rollout complete, in place of other suggestions; None without a rollout.
    completing: RolloutSuggestions | None = None
    #: What becomes of the pod that fits nowhere, or of the first replica that does not fit, if an autoscaler
    #: adds nodes for it; None where that was not requested, where all fits, and where other pods are evicted
    #: for it.
    autoscaled: WithNewNodes | None = None
    #: The pods without a node for whose deletion the controller waits, whatever the manifest is by then.
    waits_for: tuple[str, ...] = ()
    #: The node that the pod is on, though it is placed as if it were scheduled again; empty for none.
    node: str = ""

    @property
    def rollout(self) -> Rollout | None:
        """The rollout of a new revision that replaces pods; None where none is played."""
        return None if self.replaced is None else self.replaced.rollout

    @property
    def succeeds(self) -> bool:
        """Whether the pod fits some node; of a new revision that replaces pods, whether it rolls out."""
        if self.rollout is not None:
            return self.rollout.succeeds
        return bool(self.placement.result.feasible_count)


def explain_object(
    obj: Mapping[str, Any],
    context: AdmissionContext,
    known: KnownPods,
    *,
    namespace: str = "",
    examples: int = EXAMPLES,
    autoscaler: NodeSource | None = None,
    stop: Callable[[], bool] = never,
) -> Explained:
    """Evaluate the next pod of an object as ``evaluate_workload`` does, and explain the result.

    Args:
        obj: The object, of any shape.
        context: What it is evaluated with; it must have a cluster.
        known: What is known of the cluster's pods.
        namespace: Where the object goes if it names no namespace itself.
        examples: How many nodes of a group are named.
        autoscaler: What adds nodes for a pod that fits nowhere; None for nothing.
        stop: Whether to count no more replicas and to try no more changes; called before each.

    Raises:
        PlacementError: Kubernetes would refuse the object or its pods; holds every error.
    """
    if context.cluster is None:
        raise ValueError("there is no cluster to place anything in")
    workload = read_workload(obj, context, namespace=namespace)
    if autoscaler is not None and workload.kind.kind == DAEMON_SET:
        text = "must not be DaemonSet: no node is added for its pods"
        raise PlacementError((invalid_value(_KIND, DAEMON_SET, text, NOT_AUTOSCALED),))
    # Counting replicas may take seconds, for which no other request should wait.
    fork = context.cluster.fork(workload.namespace)
    context = replace(context, cluster=fork)
    placement = evaluate_workload(workload, context)
    # Of as many replicas as are placed of an object that replaces nothing; one course is enough for a clause.
    settings = RolloutSettings(known=known, most=MOST_PLACED, search=False)
    replaced = find_replaced(placement, context, settings)
    rollout = None if replaced is None else replaced.rollout
    if rollout is None:
        judged = _judge_next(placement, context, stop)
    else:
        judged = _judge_rollout(rollout, context, settings, stop)
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
        replaced=replaced,
        completing=judged.completing,
        autoscaled=_autoscaled(stuck, autoscaler, stop),
        waits_for=_waits_for(workload, known),
    )


class _Judged(NamedTuple):
    """The pod that is explained, and what becomes of those after it."""

    placement: Placement  #: Where the pod would go.
    stuck: Placement  #: The same of the first one that does not fit, or of the pod itself.
    message: str  #: The condition of the one that does not fit; empty if all do.
    replicas: Replicas | None  #: How many fit; None where their number is not known.
    suggestions: Suggestions = Suggestions()  #: What would help.
    completing: RolloutSuggestions | None = None  #: What would make a rollout complete; None where it does.


def _judge_rollout(
    rollout: Rollout, context: AdmissionContext, settings: RolloutSettings, stop: Callable[[], bool]
) -> _Judged:
    """Judge the pods of a new revision as its rollout leaves them."""
    placement, completing = rollout.moment, None
    if not rollout.succeeds:
        completing = (
            RolloutSuggestions(complete=False)
            if stop()
            else find_rollout_suggestions(rollout, context, settings)
        )
    message = rollout.courses.worst.message
    return _Judged(placement, placement, message, rollout.fitting, completing=completing)


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

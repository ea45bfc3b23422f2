"""A simulate request: pods or the replicas of a workload, scheduled one after another."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Final, Literal, TypeAlias

from planning.simulation.actions import in_list
from planning.simulation.events import NodeEvent, NodeEvents
from planning.simulation.limits import MOST_PODS, MOST_ROLLED_OUT, MOST_SEED
from planning.simulation.node_source import NodeSource
from planning.simulation.recovery import MOST_OTHERS
from planning.simulation.rollout.rollout import Rollout
from planning.simulation.rollout.rollout_start import RolloutSettings
from planning.simulation.rollout.simulated_rollout import SimulatedRollout, roll_out
from planning.simulation.scheduling_queue import (
    SchedulingQueue,
    queue_applied,
    queue_pods,
    queue_replicas,
)
from planning.simulation.simulated_queue import (
    PlannedActions,
    SimulatedQueue,
    SimulationSettings,
    simulate_queue,
)
from planning.simulation.what_if import ActionError
from planning.text.actions import happening_text
from policies.config.context import AdmissionContext
from policies.manifests.fields import (
    FIELD_MISSING,
    VALUE_INVALID,
    ErrorList,
    FieldPath,
    forbidden,
    invalid_value,
    objects_at,
    required_value,
)
from policies.manifests.wire import Keywords, Received, document_name
from policies.pods.known_pods import KnownPods
from policies.scheduler.binding import TieBreaker, first_by_name
from policies.scheduler.evaluate import ADAPTIVE
from webhook.requests.cluster import filled_in
from webhook.requests.frame import ApiObject, RequestError, read_request, refuse
from webhook.requests.placement import (
    AUTOSCALE,
    MOST_WORK,
    AutoscaleField,
    PlacementFields,
    PodLimit,
    autoscaler_of,
    most_rolled_out,
    nodes_of,
    try_placing,
)
from webhook.requests.score import SCORED_RULES

#: What chooses among equal nodes at random.
Seed: TypeAlias = Annotated[int, Keywords(minimum=0, maximum=MOST_SEED)]
#: The rule that a request breaks which has two fields of which one excludes the other.
FIELDS_EXCLUDE: Final = "fields-exclude"

#: The attributes that must not be set together with another; the first of these that is set counts.
_EXCLUDED: Final = {
    "rollout": ("queue", "replicas", "runs", "nodes_to_score", "actions", "scale", "scale_down"),
    "scale": ("queue", "replicas", "runs", "nodes_to_score", "actions", "scale_down"),
    "queue": ("workload", "replicas", "scale_down"),
}

#: What is said of a scale-down without an autoscaler.
REMOVES_NOTHING: Final = "the autoscaler that removes nodes"

_QUEUE: Final = FieldPath(("queue",))
_WORKLOAD: Final = FieldPath(("workload",))
_REPLICAS: Final = FieldPath(("replicas",))
_SCALE: Final = FieldPath(("scale",))
_ACTIONS: Final = FieldPath(("actions",))


@dataclass(frozen=True, kw_only=True)
class SimulationFields(Received):
    """How the replicas of a workload are scheduled."""

    #: How many replicas are scheduled beside those that run; left out, those that the workload wants and that
    #: have no node.
    replicas: Annotated[int, Keywords(minimum=0, maximum=MOST_PODS)] | None = None
    seed: Seed | None = None  #: Chooses among the best nodes at random; left out, the first by name is taken.
    #: How often the pods are scheduled, with other choices among the best nodes.
    runs: Annotated[int, Keywords(minimum=1, maximum=MOST_WORK)] | None = None
    #: kube-scheduler's ``percentageOfNodesToScore``, of which ``adaptive`` is the default; left out, all
    #: nodes are looked at.
    nodes_to_score: Literal["adaptive"] | Annotated[int, Keywords(minimum=1, maximum=100)] | None = None
    #: What happens to nodes first, in this order. Displaced pods are then scheduled again, the highest
    #: priority first, and after them the pods of the request.
    actions: NodeEvents | None = None
    #: To how many replicas the workload is scaled, from those that run; not with actions.
    scale: Annotated[int, Keywords(minimum=0, maximum=MOST_ROLLED_OUT)] | None = None
    #: What adds nodes for pods that are pending: a ``NodeGroups`` document for Cluster Autoscaler, NodePools
    #: and an ``InstanceTypes`` document for Karpenter, or ``deduced`` for groups as the nodes of the cluster
    #: show them.
    autoscale: AutoscaleField | None = None
    #: Whether what adds nodes then removes those that are not needed, the first time; only with autoscale,
    #: and of a workload.
    scale_down: bool | None = None

    @property
    def settings(self) -> SimulationSettings:
        """How pods are scheduled."""
        percentage = ADAPTIVE if isinstance(self.nodes_to_score, str) else self.nodes_to_score
        return SimulationSettings(seed=self.seed, runs=self.runs, percentage=percentage)


@dataclass(frozen=True, kw_only=True)
class SimulateRequest(SimulationFields, PlacementFields):
    """Either a queue, or a workload and its replicas; and what the pods are scheduled by."""

    #: Pods in the order in which they are scheduled: manifests, or as the API server has stored them. They
    #: may leave out apiVersion, kind and metadata.name.
    queue: Annotated[list[dict[str, Any]], Keywords(maxItems=MOST_PODS)] | None = None
    workload: ApiObject | None = None  #: A workload whose replicas are scheduled, or a Pod.
    #: Whether the workload is rolled out, as the new revision of what runs in the cluster.
    rollout: bool | None = None

    @property
    def rolls_out(self) -> bool:
        """Whether the workload is rolled out or scaled, instead of scheduling replicas."""
        return bool(self.rollout) or self.scale is not None

    @property
    def applies(self) -> bool:
        """Whether the workload, if it is a new revision of pods that run, replaces them before all else."""
        beside = (self.queue, self.replicas, self.runs, self.nodes_to_score)
        return not self.rolls_out and all(given is None for given in beside)

    @property
    def changes_nodes(self) -> bool:
        """Whether nodes go or come in another way than for pods that are pending."""
        return bool(self.actions or self.scale_down)

    def happening(self, actions: Iterable[NodeEvent]) -> str:
        """Return the simulated actions in words."""
        if self.rollout:
            return happening_text(actions, ("rollout", None))
        if self.scale is not None:
            return happening_text(actions, ("scale", self.scale))
        return happening_text(actions, ("replicas", self.replicas))

    def _exclusions(self) -> Iterator[tuple[str, str]]:
        """Yield the attributes that are set and must not be, each with the one that excludes it."""
        for name, others in _EXCLUDED.items():
            value = getattr(self, name)
            if value is not None and value is not False:
                yield from ((other, name) for other in others if getattr(self, other) is not None)
                return

    def check(self, found: ErrorList) -> None:
        """Record fields that exclude each other, or that nothing is to be scheduled."""
        super().check(found)
        for name, other in self._exclusions():
            text = f"must not be set together with {other}"
            found.add(forbidden(FieldPath((document_name(name),)), text, FIELDS_EXCLUDE))
        if self.scale_down and self.autoscale is None:
            found.add(required_value(AUTOSCALE, REMOVES_NOTHING, FIELD_MISSING))
        if self.queue is None and self.workload is None:
            found.add(required_value(_QUEUE, "a list of pods, or workload instead", FIELD_MISSING))

    def rollout_settings(self, known: KnownPods) -> RolloutSettings:
        """Return how the workload is rolled out or scaled.

        Args:
            known: What is known of the pods of the cluster.
        """
        return RolloutSettings(scale=self.scale, known=known, choose=tie_breaker(self.seed), seed=self.seed)


def simulate_request(
    body: bytes, server: AdmissionContext, known: KnownPods
) -> SimulatedQueue | SimulatedRollout:
    """Simulate a request, JSON: see ``run``."""
    return run(read_request(SimulateRequest, body), server, known, ErrorList())


def run(
    request: SimulateRequest,
    server: AdmissionContext,
    known: KnownPods,
    found: ErrorList,
    *,
    applied: bool = False,
) -> SimulatedQueue | SimulatedRollout:
    """Simulate the pods of a request, or the rollout or scale of its workload.

    A new revision of pods that run is rolled out before all else, unless replicas or runs are asked for.

    Args:
        request: The request.
        server: What holds where the request leaves something out.
        known: What is known of the pods of the server's cluster.
        found: Takes what is wrong with the cluster and the objects.
        applied: Whether any workload is rolled out first, and the rest is of the cluster then.

    Raises:
        RequestError: The request cannot be answered; holds every error.
    """
    context, known = request.state(server, known, found)
    context = replace(context, tolerated=SCORED_RULES)
    autoscaler = autoscaler_of(request.autoscale, context.cluster, found)
    settings = request.rollout_settings(known)
    if request.rolls_out:
        return _roll_out(request, context, settings, autoscaler, found)
    groups = 0 if autoscaler is None else autoscaler.width
    queue = _applied(request, context, settings, found, always=applied)
    if queue is not None and not (applied or request.changes_nodes):
        return _roll_out(request, context, settings, autoscaler, found, played=queue.rollout)
    queue = queue or _queue(request, context, known, groups, found)
    others = min(
        PodLimit(queue.cluster.node_count, groups, request.runs or 1).most - len(queue.pods), MOST_OTHERS
    )
    planned = PlannedActions(
        actions=tuple(request.actions or ()),
        where=in_list(_ACTIONS),
        others=others,
        autoscaler=autoscaler,
        scales_down=bool(request.scale_down),
        most_tried=others,
    )
    choose = tie_breaker(request.settings.used_seed)
    try:
        return simulate_queue(queue, request.settings, planned=planned, choose=choose)
    except ActionError as error:
        raise RequestError(error.errors) from error


def _applied(
    request: SimulateRequest,
    context: AdmissionContext,
    settings: RolloutSettings,
    found: ErrorList,
    *,
    always: bool,
) -> SchedulingQueue | None:
    """Return what waits once the workload of a request has replaced the pods that run; None if it does not.

    Raises:
        RequestError: The request cannot be answered; holds every error.
    """
    if not (always or request.applies):
        return None
    settings = replace(settings, most=most_rolled_out(context))
    obj = filled_in(request.workload or {})
    place = partial(queue_applied, obj, context, settings, always=always)
    return try_placing(place, _WORKLOAD, found)


def _queue(
    request: SimulateRequest,
    context: AdmissionContext,
    known: KnownPods,
    groups: int,
    found: ErrorList,
) -> SchedulingQueue:
    """Return the pods that are to be scheduled, of which there may be fewer the more node groups there are.

    Raises:
        RequestError: The request cannot be answered; holds every error.
    """
    limit = PodLimit(nodes_of(context), groups, request.runs or 1)
    if limit.refuses(len(request.queue or ()), _QUEUE, found):
        # To look into each would take long, too.
        refuse(found)
    if request.queue is not None:
        pods = tuple((path, filled_in(pod)) for path, pod in objects_at(request.queue, _QUEUE))
        return try_placing(partial(queue_pods, pods, context, known), FieldPath(), found)
    place = partial(
        queue_replicas,
        filled_in(request.workload or {}),
        context,
        known,
        # With errors the number may be wrong, too.
        count=0 if found.errors else request.replicas,
        changes_nodes=bool(request.actions) or request.autoscale is not None,
    )
    queue = try_placing(place, _WORKLOAD, found)
    limit.refuses(len(queue.pods), _REPLICAS, found)
    refuse(found)
    return queue


def _roll_out(
    request: SimulateRequest,
    context: AdmissionContext,
    settings: RolloutSettings,
    autoscaler: NodeSource | None,
    found: ErrorList,
    *,
    played: Rollout | None = None,
) -> SimulatedRollout:
    """Roll the workload of a request out, or scale it; one that was played already is not played again.

    Raises:
        RequestError: The request cannot be answered; holds every error.
    """
    nodes, most = nodes_of(context), most_rolled_out(context, autoscaler)
    if (request.scale or 0) > most:
        text = f"must be from 0 to {most:,} with {nodes:,} nodes"
        found.add(invalid_value(_SCALE, request.scale, text, VALUE_INVALID))
    refuse(found)
    workload, settings = filled_in(request.workload or {}), replace(settings, most=most)
    place = partial(roll_out, workload, context, settings, autoscaler=autoscaler, played=played)
    return try_placing(place, _WORKLOAD, found)


def tie_breaker(seed: int | None) -> TieBreaker:
    """Return the choice among nodes with the same total: at random, or without a seed the first."""
    return first_by_name if seed is None else random.Random(seed).choice  # noqa: S311  # no secret

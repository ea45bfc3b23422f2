"""A simulate request: pods or the replicas of a workload, scheduled one after another."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Final, Literal, TypeAlias

from planning.simulation.actions import in_list
from planning.simulation.events import NodeEvents
from planning.simulation.limits import MOST_PODS, MOST_SEED
from planning.simulation.recovery import MOST_OTHERS
from planning.simulation.scheduling_queue import (
    SchedulingQueue,
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
from policies.config.context import AdmissionContext
from policies.manifests.fields import (
    FIELD_MISSING,
    ErrorList,
    FieldPath,
    forbidden,
    objects_at,
    required_value,
)
from policies.manifests.wire import Keywords
from policies.pods.known_pods import KnownPods
from policies.scheduler.binding import TieBreaker, first_by_name
from policies.scheduler.evaluate import ADAPTIVE
from webhook.requests.cluster import filled_in
from webhook.requests.frame import ApiObject, RequestError, read_request, refuse
from webhook.requests.placement import (
    MOST_WORK,
    AutoscaleField,
    PlacementFields,
    PodLimit,
    autoscaler_of,
    nodes_of,
    try_placing,
)
from webhook.requests.score import SCORED_RULES

#: What chooses among equal nodes at random.
Seed: TypeAlias = Annotated[int, Keywords(minimum=0, maximum=MOST_SEED)]
#: The rule that a request breaks which has two fields of which one excludes the other.
FIELDS_EXCLUDE: Final = "fields-exclude"

#: The attributes that must not be set together with a queue.
_BESIDE_QUEUE: Final = ("workload", "replicas")

_QUEUE: Final = FieldPath(("queue",))
_WORKLOAD: Final = FieldPath(("workload",))
_REPLICAS: Final = FieldPath(("replicas",))
_ACTIONS: Final = FieldPath(("actions",))


@dataclass(frozen=True, kw_only=True)
class SimulateRequest(PlacementFields):
    """Either a queue, or a workload and its replicas; and what the pods are scheduled by."""

    #: Pods in the order in which they are scheduled: manifests, or as the API server has stored them. They
    #: may leave out apiVersion, kind and metadata.name.
    queue: Annotated[list[dict[str, Any]], Keywords(maxItems=MOST_PODS)] | None = None
    workload: ApiObject | None = None  #: A workload whose replicas are scheduled, or a Pod.
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
    #: What adds nodes for pods that are pending: a ``NodeGroups`` document for Cluster Autoscaler, NodePools
    #: and an ``InstanceTypes`` document for Karpenter, or ``deduced`` for groups as the nodes of the cluster
    #: show them.
    autoscale: AutoscaleField | None = None

    @property
    def settings(self) -> SimulationSettings:
        """How pods are scheduled."""
        percentage = ADAPTIVE if isinstance(self.nodes_to_score, str) else self.nodes_to_score
        return SimulationSettings(seed=self.seed, runs=self.runs, percentage=percentage)

    def check(self, found: ErrorList) -> None:
        """Record fields that a queue excludes, or that nothing is to be scheduled."""
        super().check(found)
        for name in _BESIDE_QUEUE:
            if self.queue is not None and getattr(self, name) is not None:
                found.add(
                    forbidden(FieldPath((name,)), "must not be set together with queue", FIELDS_EXCLUDE)
                )
        if self.queue is None and self.workload is None:
            found.add(required_value(_QUEUE, "a list of pods, or workload instead", FIELD_MISSING))


def simulate_request(body: bytes, server: AdmissionContext, known: KnownPods) -> SimulatedQueue:
    """Simulate the pods of a request, JSON.

    Args:
        body: The request.
        server: What holds where the request leaves something out.
        known: What is known of the pods of the server's cluster.

    Raises:
        RequestError: The request cannot be answered; holds every error.
    """
    request, found = read_request(SimulateRequest, body), ErrorList()
    context, known = request.state(server, known, found)
    context = replace(context, tolerated=SCORED_RULES)
    autoscaler = autoscaler_of(request.autoscale, context.cluster, found)
    groups = 0 if autoscaler is None else autoscaler.width
    queue = _queue(request, context, known, groups, found)
    others = min(
        PodLimit(queue.cluster.node_count, groups, request.runs or 1).most - len(queue.pods), MOST_OTHERS
    )
    planned = PlannedActions(
        actions=tuple(request.actions or ()), where=in_list(_ACTIONS), others=others, autoscaler=autoscaler
    )
    choose = tie_breaker(request.settings.used_seed)
    try:
        return simulate_queue(queue, request.settings, planned=planned, choose=choose)
    except ActionError as error:
        raise RequestError(error.errors) from error


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


def tie_breaker(seed: int | None) -> TieBreaker:
    """Return the choice among nodes with the same total: at random, or without a seed the first."""
    return first_by_name if seed is None else random.Random(seed).choice  # noqa: S311  # no secret

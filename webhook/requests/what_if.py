"""A what-if request: a scenario, which is a cluster, what happens to it in order, and what is assumed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal, NamedTuple

from planning.simulation.actions import domains_of, in_list
from planning.simulation.cluster_simulation import never
from planning.simulation.events import Events, Name, TargetWorkload, topology_key
from planning.simulation.limits import MOST_ROLLED_OUT
from planning.simulation.node_source import NodeSource
from planning.simulation.outcome import Outcome
from planning.simulation.play import EventError, play
from planning.simulation.scenario import ClusterState, Scenario
from planning.simulation.suggestions.helpful_changes import suggestions_for
from policies.config.context import AdmissionContext
from policies.manifests.fields import (
    FIELD_MISSING,
    VALUE_INVALID,
    ErrorKind,
    ErrorList,
    FieldError,
    FieldPath,
    invalid_value,
    member,
    required_value,
    text_member,
)
from policies.manifests.wire import Keywords
from policies.manifests.words import object_title
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.snapshot import kind_of
from policies.model.workload import DEFAULT_NAMESPACE
from policies.model.workload_ref import WorkloadRef
from policies.pods.known_pods import KnownPods
from policies.scheduler.index import ClusterIndex
from webhook.requests.frame import RequestError, read_request, refuse
from webhook.requests.placement import (
    AUTOSCALE,
    MOST_WORK,
    AutoscaleField,
    PlacementFields,
    PodLimit,
    autoscaler_of,
    cluster_state,
)
from webhook.requests.simulate import Seed, tie_breaker

#: Workloads that a request may ask for: as many as a screen has room for several times over.
MOST_TARGETS: Final = 1_000
#: The rule that a request breaks which names a workload that the cluster does not have.
NO_SUCH_WORKLOAD: Final = "workload-not-in-cluster"
#: As many ways as are played where nothing else is said.
ALL_WAYS: Final = "all"

_EVENTS: Final = FieldPath(("events",))
_EACH: Final = FieldPath(("each",))
_WORKLOADS: Final = FieldPath(("workloads",))


@dataclass(frozen=True, kw_only=True)
class WhatIfRequest(PlacementFields):
    """What happens to a cluster, and what is assumed; without events only what is pending is tried."""

    events: Events | None = None  #: What happens, in this order.
    #: A topology key of which each domain is lost after the events, each on its own copy of the cluster;
    #: zone, region and hostname are short for Kubernetes' own.
    each: Name | None = None
    #: Whom the verdict is about; left out, all workloads that are changed or hit.
    workloads: Annotated[list[TargetWorkload], Keywords(maxItems=MOST_TARGETS)] | None = None
    #: What adds nodes for pods that are pending, as for a simulation.
    autoscale: AutoscaleField | None = None
    suggest: bool | None = None  #: Whether to look for what would help where the verdict is false.
    #: Whether what adds nodes then removes those that are not needed; only with autoscale.
    scale_down: bool | None = None
    #: Whether the nodes that ``each`` loses stay in the API, tainted as unreachable.
    unreachable: bool | None = None
    #: How many replicas of each workload may be missing after events on nodes.
    allow_missing: Annotated[int, Keywords(minimum=0, maximum=MOST_ROLLED_OUT)] | None = None
    #: How many ways are played of what Kubernetes leaves to chance; left out, all within a limit where a
    #: rollout or a scale comes last, and one else.
    runs: Literal["all"] | Annotated[int, Keywords(minimum=1, maximum=MOST_WORK)] | None = None
    seed: Seed | None = None  #: Chooses among equal nodes at random; left out, the first by name is taken.

    def check(self, found: ErrorList) -> None:
        """Record a scale-down without an autoscaler, too."""
        super().check(found)
        if self.scale_down and self.autoscale is None:
            found.add(required_value(AUTOSCALE, "the autoscaler that removes nodes", FIELD_MISSING))


class Work(NamedTuple):
    """How the work on a request is watched."""

    stop: Callable[[], bool] = never  #: Whether to end with what is done.
    progress: Callable[[float], None] = lambda _share: None  #: Called with the share that is done.
    #: What adds nodes, where it was read already.
    autoscaler: NodeSource | None = None


def what_if_request(
    body: bytes,
    server: AdmissionContext,
    known: KnownPods,
    workloads: ClusterWorkloads | None,
    work: Work,
) -> Outcome:
    """Play the scenario of a request.

    Args:
        body: The request, JSON.
        server: What holds where the request leaves something out.
        known: What is known of the pods of the server's cluster.
        workloads: The workloads of that cluster; None without one.
        work: How the work is watched.

    Raises:
        RequestError: The request cannot be answered; holds every error.
    """
    request, found = read_request(WhatIfRequest, body), ErrorList()
    state = cluster_state(request, server, known, workloads, found)
    refuse(found)
    _check_cost(request, state, found)
    return run(request, state, found, work)


def run(request: WhatIfRequest, state: ClusterState, found: ErrorList, work: Work = Work()) -> Outcome:  # noqa: B008  # it has no state
    """Play the scenario of a request on a cluster that was read.

    Args:
        request: The request.
        state: Its cluster.
        found: Takes what is wrong with the request.
        work: How the work is watched.

    Raises:
        RequestError: The request cannot be answered; holds every error.
    """
    cluster = state.context.cluster or ClusterIndex()
    each = None if request.each is None else topology_key(request.each)
    if each is not None and not domains_of(cluster, each):
        found.add(invalid_value(_EACH, request.each, "no node has this label", VALUE_INVALID))
    asked = _refs(request, state, found)
    autoscaler = work.autoscaler or autoscaler_of(request.autoscale, cluster, found)
    refuse(found)
    scenario = Scenario(
        cluster=state,
        events=tuple(request.events or ()),
        each=each,
        workloads=asked,
        nodes_from=autoscaler,
        scale_down=bool(request.scale_down),
        unreachable=bool(request.unreachable),
        allow_missing=request.allow_missing or 0,
        runs=None if isinstance(request.runs, str) else request.runs,
        choose=tie_breaker(request.seed),
        stop=work.stop,
        progress=work.progress,
    )
    try:
        outcome = play(scenario, in_list(_EVENTS))
    except EventError as error:
        found.extend(error.errors)
        raise RequestError(tuple(found.errors)) from error
    return replace(outcome, suggestions=suggestions_for(scenario, outcome)) if request.suggest else outcome


def _check_cost(request: WhatIfRequest, state: ClusterState, found: ErrorList) -> None:
    """Record more replicas than can be placed in bounded time; what nodes lose is bounded by the deadline."""
    ways = request.runs if isinstance(request.runs, int) else 1
    cluster = state.context.cluster or ClusterIndex()
    domains = 0 if request.each is None else len(domains_of(cluster, topology_key(request.each)))
    groups = len(request.autoscale) if isinstance(request.autoscale, list) else 0
    limit = PodLimit(cluster.node_count, groups, ways * max(domains, 1))
    for position, event in enumerate(request.events or ()):
        at = _EVENTS.index(position)
        if event.scale is not None:
            limit.refuses(abs(event.scale.to or event.scale.by or 0), at.child("scale"), found)
        elif event.apply is not None:
            replicas = member(event.apply, "spec").get("replicas")
            if isinstance(replicas, int):
                limit.refuses(replicas, at.child("apply", "spec", "replicas"), found)


def _refs(request: WhatIfRequest, state: ClusterState, found: ErrorList) -> tuple[WorkloadRef, ...] | None:
    """Return whom the verdict is about; None for all that are changed or hit."""
    if request.workloads is None:
        return None
    there = state.workloads.known_by()
    applied = {
        (kind_of(obj)[1], text_member(names, "namespace") or DEFAULT_NAMESPACE, text_member(names, "name"))
        for obj in (event.apply or {} for event in request.events or ())
        for names in (member(obj, "metadata"),)
    }
    for position, each in enumerate(request.workloads):
        kind = each.kind.partition(".")[0]
        key = WorkloadRef(each.namespace, kind, each.name)
        if key not in there and (kind, each.namespace, each.name) not in applied:
            text = f"the cluster has no {object_title(kind, each.namespace, each.name)}"
            at = _WORKLOADS.index(position)
            found.add(FieldError(at, text, ErrorKind.INVALID, NO_SUCH_WORKLOAD))
    return tuple(WorkloadRef(each.namespace, each.kind, each.name) for each in request.workloads)

"""An advise request: a workload, and what is wanted of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final

from planning.advise.advise import Advice, advise, why_unadvised
from planning.advise.goal import Goal, parse_limit
from planning.advise.node_groups import groups_for, groups_lacking, scaled_groups
from planning.simulation.actions import domains_of
from planning.simulation.events import MOST_ADDED, topology_key
from planning.simulation.limits import MOST_ADVISED
from planning.simulation.node_source import NodeSource
from planning.simulation.scenario import ClusterState
from policies.config.context import AdmissionContext
from policies.manifests.errors import UsageError
from policies.manifests.fields import (
    FIELD_MISSING,
    VALUE_INVALID,
    ErrorKind,
    ErrorList,
    FieldError,
    FieldPath,
    forbidden,
    invalid_value,
    required_value,
)
from policies.manifests.wire import Count, Keywords, Received
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.scaling import ReplicaRange
from policies.pods.known_pods import KnownPods
from policies.pods.placement import read_workload
from webhook.requests.frame import ApiObject, Name, RequestError, read_request, refuse
from webhook.requests.placement import (
    AUTOSCALE,
    AutoscaleField,
    PlacementFields,
    PodLimit,
    autoscaler_of,
    cluster_state,
    nodes_of,
    try_placing,
)
from webhook.requests.simulate import FIELDS_EXCLUDE

#: How often each replica is placed as a rule, of which a request may cost as much as a simulation.
TRIALS: Final = 20
#: The rules that a request breaks whose goal cannot be read, and whose workload has no replicas to spread.
GOAL_INVALID: Final = "goal-invalid"
NOTHING_TO_SPREAD: Final = "nothing-to-spread"

_WORKLOAD, _KEY = FieldPath(("workload",)), FieldPath(("topologyKey",))
_LIMIT, _ENFORCE = FieldPath(("loseAtMost",)), FieldPath(("enforce",))
_NODES, _REPLICAS = FieldPath(("nodes",)), FieldPath(("replicas",))


@dataclass(frozen=True, kw_only=True)
class AdviseRange(Received):
    """A range of replicas."""

    least: Annotated[int, Keywords(minimum=1, maximum=MOST_ADVISED)]  #: The smallest number.
    most: Annotated[int, Keywords(minimum=1, maximum=MOST_ADVISED)]  #: The largest number.


@dataclass(frozen=True, kw_only=True)
class AdviseRequest(PlacementFields):
    """A workload, a goal, and what its pods are scheduled by."""

    workload: ApiObject  #: A workload with a number of replicas and a selector.
    #: How many replicas may be lost with one domain: a share such as ``1/3`` or ``33%``, rounded up to whole
    #: replicas, or a number; left out, only ``oneANode`` is wanted.
    lose_at_most: str | None = None
    #: Of which one domain goes; zone, region and hostname are short for Kubernetes' own. The default is zone.
    topology_key: Name | None = None
    #: Whether no node may have two replicas more than another that could take one.
    one_a_node: bool | None = None
    enforce: bool | None = None  #: Whether only a DoNotSchedule constraint counts for ``loseAtMost``.
    allow_soft: bool | None = None  #: Whether DoNotSchedule constraints that are there may be weakened.
    replicas: AdviseRange | None = None  #: The numbers of replicas; left out, the workload's own.
    #: How many nodes an autoscaler may bring each domain to.
    nodes: Annotated[dict[str, Count], Keywords(maxProperties=MOST_ADDED)] | None = None
    #: The node groups that an autoscaler may add nodes to, as for a simulation; not with ``nodes``.
    autoscale: AutoscaleField | None = None

    def check(self, found: ErrorList) -> None:
        """Record a goal that is none, and what does not go together."""
        super().check(found)
        found.extend(self._goal_errors())
        total = sum((self.nodes or {}).values())
        if total > MOST_ADDED:
            text = f"must be at most {MOST_ADDED:,} nodes in all"
            found.add(invalid_value(_NODES, total, text, VALUE_INVALID))
        if self.nodes is not None and self.autoscale is not None:
            found.add(forbidden(AUTOSCALE, "must not be set together with nodes", FIELDS_EXCLUDE))
        if self.replicas is not None and self.replicas.most < self.replicas.least:
            text = f"must be {self.replicas.least:,} or more, as least is"
            found.add(invalid_value(_REPLICAS.child("most"), self.replicas.most, text, VALUE_INVALID))

    def _goal_errors(self) -> Iterator[FieldError]:
        if self.lose_at_most is None:
            if not self.one_a_node:
                text = "a share of the replicas such as 1/3, or oneANode instead"
                yield required_value(_LIMIT, text, FIELD_MISSING)
            elif self.enforce:
                yield forbidden(_ENFORCE, "may only be set with loseAtMost", GOAL_INVALID)
            return
        try:
            parse_limit(self.lose_at_most)
        except UsageError as error:
            yield FieldError(_LIMIT, str(error), ErrorKind.INVALID, GOAL_INVALID)

    def goal(self, own: int) -> Goal:
        """Return the goal of a request without errors.

        Args:
            own: The workload's own number of replicas.
        """
        limit, given = self.lose_at_most, self.replicas
        return Goal(
            key=topology_key(self.topology_key or "zone"),
            limit=None if limit is None else parse_limit(limit),
            one_a_node=bool(self.one_a_node),
            enforced=bool(self.enforce),
            allow_soft=bool(self.allow_soft),
            replicas=ReplicaRange(own, own) if given is None else ReplicaRange(given.least, given.most),
        )


def advise_request(
    body: bytes, server: AdmissionContext, known: KnownPods, workloads: ClusterWorkloads | None
) -> Advice:
    """Return the advice on the workload of a request.

    Args:
        body: The request, JSON.
        server: What holds where the request leaves something out.
        known: What is known of the pods of the server's cluster.
        workloads: The workloads of that cluster; None without one.

    Raises:
        RequestError: The request cannot be answered; holds every error.
    """
    request, found = read_request(AdviseRequest, body), ErrorList()
    state = cluster_state(request, server, known, workloads, found)
    autoscaler = autoscaler_of(request.autoscale, state.context.cluster, found)
    refuse(found)
    return try_placing(partial(_advise, request, state, autoscaler), _WORKLOAD, found)


def _advise(request: AdviseRequest, state: ClusterState, autoscaler: NodeSource | None) -> Advice:
    """Return advice on a workload.

    Raises:
        PlacementError: Kubernetes would refuse the workload or its pods.
        RequestError: It has no replicas to spread, no node has the topology key, or it would take too long.
    """
    context = state.context
    workload = read_workload(request.workload, context)
    if why := why_unadvised(workload):
        raise RequestError((FieldError(_WORKLOAD, why, ErrorKind.INVALID, NOTHING_TO_SPREAD),))
    goal = request.goal(max(workload.replicas or 1, 1))
    if autoscaler is None:
        groups = groups_for(context, goal.key, request.nodes or {}, goal.replicas.most)
    else:
        if lacking := groups_lacking(autoscaler, goal.key):
            raise RequestError((FieldError(AUTOSCALE, lacking, ErrorKind.INVALID, GOAL_INVALID),))
        groups = scaled_groups(autoscaler, goal.key, goal.replicas.most)
    nodes = nodes_of(context) + sum(group.count for group in groups)
    most = min(PodLimit(nodes).most // TRIALS, MOST_ADVISED)
    if goal.replicas.most > most:
        text = f"must be at most {most:,} for one request with {nodes:,} nodes"
        raise RequestError((invalid_value(_REPLICAS, goal.replicas.most, text, VALUE_INVALID),))
    has_key = any(group.key == goal.key for group in groups)
    if not has_key and (context.cluster is None or not domains_of(context.cluster, goal.key)):
        raise RequestError((invalid_value(_KEY, goal.key, "no node has this label", GOAL_INVALID),))
    advice = advise(workload, state, goal, groups, nodes_from=autoscaler)
    if advice is None:
        raise ValueError("nothing stops it")
    return advice

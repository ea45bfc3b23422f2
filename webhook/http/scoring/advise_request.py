"""An advise request: a workload, and what is wanted of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, NotRequired, TypedDict

from policies.config.context import AdmissionContext
from policies.config.type_schema import Count, Keywords
from policies.manifests.errors import UsageError
from policies.manifests.fields import (
    ErrorKind,
    ErrorList,
    FieldError,
    FieldPath,
    invalid_value,
    wrong_type,
)
from policies.model.scaling import ReplicaRange
from policies.placement.actions import MOST_ADDED, domains_of, topology_key
from policies.placement.advise import Advice, advise, why_unadvised
from policies.placement.goal import Goal, parse_limit
from policies.placement.goal_simulator import MOST_REPLICAS
from policies.placement.node_groups import groups_for
from policies.placement.placement import PlacementError, read_workload
from webhook.http.scoring.request import ContextBody, RequestContext, missing
from webhook.http.scoring.simulate_request import MOST_WORK, POD_COST
from webhook.json_request import NUMBER_OUT_OF_RANGE, RequestError, read_number, read_object

#: How often each replica is placed as a rule, of which a request may cost as much as a simulation.
TRIALS: Final = 20
#: The rules that a request breaks whose goal cannot be read, and whose workload has no replicas to spread.
GOAL_INVALID: Final = "goal-invalid"
NOTHING_TO_SPREAD: Final = "nothing-to-spread"

_WORKLOAD, _KEY, _NODES = FieldPath(("workload",)), FieldPath(("topologyKey",)), FieldPath(("nodes",))
_LIMIT, _REPLICAS = FieldPath(("loseAtMost",)), FieldPath(("replicas",))


class AdviseRange(TypedDict):
    """A range of replicas.

    Attributes:
        least: The smallest number.
        most: The largest number.
    """

    least: Annotated[int, Keywords(minimum=1, maximum=MOST_REPLICAS)]
    most: Annotated[int, Keywords(minimum=1, maximum=MOST_REPLICAS)]


class AdviseBody(ContextBody, TypedDict):
    """A workload, a goal, and what its pods are scheduled by.

    Attributes:
        workload: A workload with a number of replicas and a selector.
        loseAtMost: How many replicas may be lost with one domain: a share such as ``1/3`` or ``33%``, rounded
            up to whole replicas, or a number; left out, only ``oneANode`` is wanted.
        topologyKey: Of which one domain goes; zone, region and hostname are short for Kubernetes' own. The
            default is zone.
        oneANode: Whether no node may have two replicas more than another that could take one.
        enforce: Whether only a DoNotSchedule constraint counts for ``loseAtMost``.
        allowSoft: Whether DoNotSchedule constraints that are there may be weakened.
        replicas: At which numbers of replicas; left out, the workload's own.
        nodes: How many nodes an autoscaler may bring each domain to.
    """

    workload: dict[str, Any]
    loseAtMost: NotRequired[str | None]
    topologyKey: NotRequired[str | None]
    oneANode: NotRequired[bool | None]
    enforce: NotRequired[bool | None]
    allowSoft: NotRequired[bool | None]
    replicas: NotRequired[AdviseRange | None]
    nodes: NotRequired[dict[str, Count] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviseRequest:
    """One advise request.

    Attributes:
        workload: The workload, as it came.
        goal: What is wanted; without replicas for the workload's own number.
        nodes: How many nodes each domain may come to have.
        context: What the pods are placed by.
        errors: What is wrong with the request, except for the workload.
    """

    workload: dict[str, Any]
    goal: Goal
    nodes: dict[str, int]
    context: RequestContext
    errors: tuple[FieldError, ...] = ()

    @classmethod
    def parse(cls, body: bytes) -> AdviseRequest:
        """Read a request; the workload is not looked into.

        Raises:
            RequestError: It is not JSON, or no object.
        """
        found = ErrorList()
        request = read_object(body, AdviseBody, found)
        if not request.get("workload") and isinstance(request.get("workload"), dict | None):
            found.add(missing(_WORKLOAD, "a workload with a number of replicas"))
        return cls(
            workload=found.mapping(request.get("workload"), _WORKLOAD),
            goal=_read_goal(request, found),
            nodes=_read_nodes(request.get("nodes"), found),
            context=RequestContext.read(request, found),
            errors=tuple(found.errors),
        )


def advise_request(body: bytes, server: AdmissionContext) -> Advice:
    """Return the advice that a request wants.

    Args:
        body: The request, JSON.
        server: What holds where the request leaves something out.

    Raises:
        RequestError: The request cannot be answered; holds every error.
    """
    request = AdviseRequest.parse(body)
    errors = [*request.errors, *request.context.missing(server)]
    if errors:
        raise RequestError(tuple(errors))
    try:
        return _advise(request, request.context.over(server))
    except PlacementError as error:
        at = (replace(entry, path=_WORKLOAD + entry.path) for entry in error.errors)
        raise RequestError(tuple(at)) from error


def _advise(request: AdviseRequest, context: AdmissionContext) -> Advice:
    """Return advice on a workload.

    Raises:
        PlacementError: Kubernetes would refuse the workload or its pods.
        RequestError: It has no replicas to spread, no node has the topology key, or it would take too long.
    """
    workload, goal = read_workload(request.workload, context), request.goal
    if why := why_unadvised(workload):
        raise RequestError((FieldError(_WORKLOAD, why, ErrorKind.INVALID, NOTHING_TO_SPREAD),))
    if not goal.replicas.most:
        own = max(workload.replicas or 1, 1)
        goal = replace(goal, replicas=ReplicaRange(own, own))
    groups = groups_for(context, goal.key, request.nodes, goal.replicas.most)
    nodes = 0 if context.cluster is None else context.cluster.node_count
    nodes += sum(group.count for group in groups)
    most = min(MOST_WORK // (nodes + POD_COST) // TRIALS, MOST_REPLICAS)
    if goal.replicas.most > most:
        text = f"must be at most {most:,} for one request with {nodes:,} nodes"
        raise RequestError((invalid_value(_REPLICAS, goal.replicas.most, text, NUMBER_OUT_OF_RANGE),))
    known = any(group.key == goal.key for group in groups)
    if not known and (context.cluster is None or not domains_of(context.cluster, goal.key)):
        raise RequestError((invalid_value(_KEY, goal.key, "no node has this label", GOAL_INVALID),))
    advice = advise(workload, context, goal, groups)
    if advice is None:
        raise ValueError("nothing stops it")
    return advice


def _read_goal(request: dict[str, Any], found: ErrorList) -> Goal:
    limit, key = request.get("loseAtMost"), request.get("topologyKey")
    flags = {name: _flag(request.get(name), name, found) for name in ("oneANode", "enforce", "allowSoft")}
    key = found.text(key, _KEY) if key is not None else "zone"
    text = None if limit is None else found.text(limit, _LIMIT)
    if limit is None and not flags["oneANode"]:
        found.add(missing(_LIMIT, "a share of the replicas such as 1/3, or oneANode instead"))
    goal = Goal(
        key=topology_key(key),
        one_a_node=flags["oneANode"],
        enforced=flags["enforce"] and limit is not None,
        allow_soft=flags["allowSoft"],
        replicas=_read_replicas(request.get("replicas"), found),
    )
    try:
        return replace(goal, limit=parse_limit(text) if text else None)
    except UsageError as error:
        found.add(FieldError(_LIMIT, str(error), ErrorKind.INVALID, GOAL_INVALID))
        return goal


def _flag(raw: object, name: str, found: ErrorList) -> bool:
    if not isinstance(raw, bool | None):
        found.add(wrong_type(FieldPath((name,)), "a boolean", raw))
    return raw is True


def _read_replicas(raw: object, found: ErrorList) -> ReplicaRange:
    """Read a range; 0 to 0 where there is none."""
    if raw is None:
        return ReplicaRange(0, 0)
    fields = found.mapping(raw, _REPLICAS)
    found.unknown(fields, _REPLICAS, known=AdviseRange.__annotations__.keys())
    ends = []
    for name in AdviseRange.__annotations__:
        if fields and fields.get(name) is None:
            found.add(missing(_REPLICAS.child(name), "a number of replicas"))
        number = read_number(fields.get(name), _REPLICAS.child(name), found, least=1, most=MOST_REPLICAS)
        ends.append(number or 0)
    least, most = ends
    if most < least:
        text = f"must be {least:,} or more, as least is"
        found.add(invalid_value(_REPLICAS.child("most"), most, text, NUMBER_OUT_OF_RANGE))
    return ReplicaRange(least, most)


def _read_nodes(raw: object, found: ErrorList) -> dict[str, int]:
    counts = found.mapping(raw, _NODES) if raw is not None else {}
    read = {
        domain: read_number(count, _NODES.child(domain), found, most=MOST_ADDED) or 0
        for domain, count in counts.items()
    }
    if sum(read.values()) > MOST_ADDED:
        text = f"must be at most {MOST_ADDED:,} nodes in all"
        found.add(invalid_value(_NODES, sum(read.values()), text, NUMBER_OUT_OF_RANGE))
    return read

"""A simulate request: pods or the replicas of a workload, scheduled one after another."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict

from policies.config.context import AdmissionContext
from policies.config.type_schema import Keywords
from policies.manifests.fields import (
    ErrorList,
    FieldError,
    FieldPath,
    forbidden,
    invalid_value,
    unsupported_value,
    wrong_type,
)
from policies.placement.actions import Action
from policies.placement.known_pods import KnownPods
from policies.placement.placement import PlacementError
from policies.placement.pod_objects import PodObjects
from policies.placement.recovery import MOST_OTHERS
from policies.placement.rollout import MOST_REPLICAS, RolloutSettings
from policies.placement.rollout_suggestions import SimulatedRollout, roll_out
from policies.placement.scheduling_queue import (
    MOST_PODS,
    PlannedActions,
    SchedulingQueue,
    SimulatedQueue,
    SimulationSettings,
    queue_pods,
    queue_replicas,
    simulate_queue,
)
from policies.placement.what_if import ActionError
from policies.scheduler.binding import TieBreaker, first_by_name
from policies.scheduler.node_sampling import ADAPTIVE
from webhook.http.scoring.actions import MOST_ACTIONS, ActionBody, read_actions
from webhook.http.scoring.place import SCORED_RULES
from webhook.http.scoring.request import (
    ContextBody,
    RequestContext,
    filled_in,
    missing,
)
from webhook.json_request import NUMBER_OUT_OF_RANGE, RequestError, read_number, read_object

#: How the percentage of nodes is called that falls with their number.
ADAPTIVE_NODES: Final = "adaptive"
#: The largest seed: any would do, and programs that keep numbers as doubles have all of these.
MOST_SEED: Final = 2**53 - 1
#: What one request may cost: each pod costs its nodes, and besides as much as ``POD_COST`` of them. It takes
#: some seconds on a machine that does nothing else, which is less than the timeout of a request.
MOST_WORK: Final = 10_000_000
POD_COST: Final = 1_000
#: How often each replica of a rollout is scheduled as a rule: of the old revision, and in three courses.
COURSES: Final = 4

#: The rule that a request breaks which names a percentage that there is not.
PERCENTAGE_UNKNOWN: Final = "percentage-unknown"
#: The rule that a request breaks which has two fields of which one excludes the other.
FIELDS_EXCLUDE: Final = "fields-exclude"

_QUEUE = FieldPath(("queue",))
_WORKLOAD = FieldPath(("workload",))
_REPLICAS = FieldPath(("replicas",))
_SEED = FieldPath(("seed",))
_RUNS = FieldPath(("runs",))
_ACTIONS = FieldPath(("actions",))
_NODES_TO_SCORE = FieldPath(("nodesToScore",))
_ROLLOUT = FieldPath(("rollout",))
_SCALE = FieldPath(("scale",))


class SimulateBody(ContextBody, TypedDict):
    """Either a queue, or a workload and its replicas; and what the pods are scheduled by.

    Attributes:
        queue: Pods in the order in which they are scheduled: manifests, or as the API server has stored
            them. They may leave out apiVersion, kind and metadata.name.
        workload: A workload whose replicas are scheduled, or a Pod.
        replicas: How many replicas are scheduled beside those that run; left out, those that the workload
            wants and that have no node.
        seed: Chooses among the best nodes at random; left out, the first by name is taken.
        runs: How often the pods are scheduled, with other choices among the best nodes.
        nodesToScore: kube-scheduler's ``percentageOfNodesToScore``, of which ``adaptive`` is the default;
            left out, all nodes are looked at.
        actions: What happens to nodes first, in this order. Displaced pods are then scheduled again, the
            highest priority first, and after them the pods of the request.
        rollout: Whether the workload is rolled out, as the new revision of what runs in the cluster.
        scale: To how many replicas the workload is scaled, from those that run.
    """

    queue: NotRequired[Annotated[list[dict[str, Any]], Keywords(maxItems=MOST_PODS)] | None]
    workload: NotRequired[dict[str, Any] | None]
    replicas: NotRequired[Annotated[int, Keywords(minimum=0, maximum=MOST_PODS)] | None]
    seed: NotRequired[Annotated[int, Keywords(minimum=0, maximum=MOST_SEED)] | None]
    runs: NotRequired[Annotated[int, Keywords(minimum=1, maximum=MOST_WORK)] | None]
    nodesToScore: NotRequired[Literal["adaptive"] | Annotated[int, Keywords(minimum=1, maximum=100)] | None]
    actions: NotRequired[Annotated[list[ActionBody], Keywords(maxItems=MOST_ACTIONS)] | None]
    rollout: NotRequired[bool | None]
    scale: NotRequired[Annotated[int, Keywords(minimum=0, maximum=MOST_REPLICAS)] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulateRequest:
    """One simulate request.

    Attributes:
        queue: The pods, as they came, and where each is; None for the replicas of a workload.
        workload: The workload, as it came; empty if there is a queue.
        replicas: How many of its replicas to schedule; None for those that have no node.
        settings: How they are scheduled.
        actions: What happens to nodes first.
        running: The pods of the request's cluster, where actions may displace them; None for the server's.
        rollout: How the workload is rolled out or scaled; None if replicas are scheduled.
        context: What the pods are placed by.
        errors: What is wrong with the request, except for the pods and the workload.
    """

    queue: tuple[tuple[FieldPath, dict[str, Any]], ...] | None = None
    workload: dict[str, Any] = field(default_factory=dict)
    replicas: int | None = None
    settings: SimulationSettings
    actions: tuple[Action, ...] = ()
    running: PodObjects | None = None
    rollout: RolloutSettings | None = None
    context: RequestContext
    errors: tuple[FieldError, ...] = ()

    @classmethod
    def parse(cls, body: bytes) -> SimulateRequest:
        """Read a request; pods and workload are not looked into.

        Raises:
            RequestError: It is not JSON, or no object.
        """
        found = ErrorList()
        request = read_object(body, SimulateBody, found)
        raw_queue, raw_workload = request.get("queue"), request.get("workload")
        if raw_queue is not None:
            found.extend(
                forbidden(FieldPath((name,)), "must not be set together with queue", FIELDS_EXCLUDE)
                for name in ("workload", "replicas")
                if request.get(name) is not None
            )
        elif not raw_workload and isinstance(raw_workload, dict | None):
            found.add(missing(_QUEUE, "a list of pods, or workload instead"))
        running, known = PodObjects(), KnownPods()
        looks: list[PodObjects | KnownPods] = [running] if request.get("actions") else []
        looks += [known] if request.get("rollout") or request.get("scale") is not None else []

        def look(obj: dict[str, Any]) -> None:
            for each in looks:
                each(obj)

        queue = tuple((path, filled_in(pod)) for path, pod in found.objects(raw_queue, _QUEUE))
        if len(queue) > MOST_PODS:
            found.add(
                invalid_value(_QUEUE, len(queue), f"must have at most {MOST_PODS} pods", NUMBER_OUT_OF_RANGE)
            )
        seed = read_number(request.get("seed"), _SEED, found, most=MOST_SEED)
        return cls(
            queue=None if raw_queue is None else queue,
            workload=filled_in(found.mapping(raw_workload, _WORKLOAD)),
            replicas=read_number(request.get("replicas"), _REPLICAS, found, most=MOST_PODS),
            settings=SimulationSettings(
                seed=seed,
                runs=read_number(request.get("runs"), _RUNS, found, least=1, most=MOST_WORK),
                percentage=_percentage(request.get("nodesToScore"), found),
            ),
            actions=read_actions(request.get("actions"), _ACTIONS, found),
            running=None if request.get("cluster") is None else running,
            rollout=_rollout(request, seed, known, found),
            context=RequestContext.read(request, found, look),
            errors=tuple(found.errors),
        )

    def prepare(self, server: AdmissionContext) -> SchedulingQueue:
        """Return the pods that are to be scheduled.

        Args:
            server: What holds where the request leaves something out.

        Raises:
            RequestError: The request cannot be answered; holds every error.
        """
        errors, queue = [*self.errors, *self.context.missing(server)], None
        context = self.context.over(server)
        nodes = 0 if context.cluster is None else context.cluster.node_count
        if too_many := self._work_errors(len(self.queue or ()), nodes):
            # To look into each would take long, too.
            raise RequestError((*errors, *too_many))
        try:
            # Also with errors, to know what is wrong with the pods.
            if self.queue is not None:
                queue = queue_pods(self.queue, context, tolerated=SCORED_RULES)
            elif self.workload:
                # With errors the number may be wrong, too.
                count = 0 if errors else self.replicas
                queue = queue_replicas(self.workload, context, count=count, tolerated=SCORED_RULES)
                errors += self._work_errors(len(queue.pods), nodes)
        except PlacementError as error:
            at = _WORKLOAD if self.queue is None else FieldPath()
            errors += (replace(entry, path=at + entry.path) for entry in error.errors)
        if errors or queue is None:
            raise RequestError(tuple(errors))
        return queue

    def planned(
        self, queue: SchedulingQueue, server: AdmissionContext, running: PodObjects | None
    ) -> PlannedActions | None:
        """Return what happens to the cluster of a queue first, None if nothing does.

        Args:
            queue: What ``prepare`` returned.
            server: What holds where the request leaves something out.
            running: The objects of the pods of its cluster, if they are known.
        """
        if not self.actions:
            return None
        return PlannedActions(
            actions=self.actions,
            context=self.context.over(server),
            running=running if self.running is None else self.running,
            others=min(self._most_pods(queue.cluster.node_count) - len(queue.pods), MOST_OTHERS),
        )

    def _most_pods(self, nodes: int) -> int:
        """Return how many pods may be scheduled each time."""
        return MOST_WORK // (nodes + POD_COST) // (self.settings.runs or 1)

    def roll_out(self, server: AdmissionContext, settings: RolloutSettings) -> SimulatedRollout:
        """Return what becomes of the workload.

        Args:
            server: What holds where the request leaves something out.
            settings: How it is rolled out or scaled.

        Raises:
            RequestError: The request cannot be answered; holds every error.
        """
        errors = [*self.errors, *self.context.missing(server)]
        context = self.context.over(server)
        nodes = 0 if context.cluster is None else context.cluster.node_count
        most = min(MOST_WORK // (nodes + POD_COST) // COURSES, MOST_REPLICAS)
        if (settings.scale or 0) > most:
            text = f"must be from 0 to {most:,} with {nodes:,} nodes"
            errors.append(invalid_value(_SCALE, settings.scale, text, NUMBER_OUT_OF_RANGE))
        if not errors:
            try:
                return roll_out(self.workload, context, replace(settings, most=most), tolerated=SCORED_RULES)
            except PlacementError as error:
                errors += (replace(entry, path=_WORKLOAD + entry.path) for entry in error.errors)
        raise RequestError(tuple(errors))

    def _work_errors(self, pods: int, nodes: int) -> list[FieldError]:
        """Return what keeps a request from being answered in bounded time."""
        runs, most = self.settings.runs or 1, self._most_pods(nodes)
        if pods <= most:
            return []
        path = _REPLICAS if self.queue is None else _QUEUE
        often = "" if runs == 1 else f" and {runs:,} runs"
        text = f"must be at most {most:,} pods for one request with {nodes:,} nodes{often}"
        return [invalid_value(path, pods, text, NUMBER_OUT_OF_RANGE)]


def as_request(
    workload: dict[str, Any],
    *,
    settings: SimulationSettings,
    replicas: int | None,
    is_rollout: bool = False,
    scale: int | None = None,
) -> dict[str, Any]:
    """Return the request about a workload, by which ``SimulateRequest`` reads the same."""
    percentage = ADAPTIVE_NODES if settings.percentage == ADAPTIVE else settings.percentage
    # A server that does not know these fields yet takes requests without them.
    rollout = {"rollout": True} if is_rollout else {} if scale is None else {"scale": scale}
    return {
        "workload": workload,
        "replicas": replicas,
        "seed": settings.seed,
        "runs": settings.runs,
        "nodesToScore": percentage,
        **rollout,
    }


def simulate_request(
    body: bytes,
    server: AdmissionContext,
    running: PodObjects | None = None,
    known: KnownPods | None = None,
) -> SimulatedQueue | SimulatedRollout:
    """Return what becomes of the pods of a request, or of its workload.

    Args:
        body: The request, JSON.
        server: What holds where the request leaves something out.
        running: The objects of the pods of its cluster, if they are known.
        known: The states and ages of these pods, if they are known.

    Raises:
        RequestError: The request cannot be answered; holds every error.
    """
    request = SimulateRequest.parse(body)
    if request.rollout is not None:
        settings = request.rollout
        if request.context.cluster is None:
            settings = replace(settings, known=KnownPods() if known is None else known)
        return request.roll_out(server, settings)
    queue = request.prepare(server)
    planned, choose = request.planned(queue, server, running), tie_breaker(request.settings.used_seed)
    try:
        return simulate_queue(queue, request.settings, planned=planned, choose=choose)
    except ActionError as error:
        raise RequestError(error.errors) from error


def tie_breaker(seed: int | None) -> TieBreaker:
    """Return what chooses among nodes with the same total: at random, or the first without a seed."""
    return first_by_name if seed is None else random.Random(seed).choice  # noqa: S311  # no secret


def _rollout(
    request: dict[str, Any], seed: int | None, known: KnownPods, found: ErrorList
) -> RolloutSettings | None:
    """Read how a workload is rolled out or scaled; None if neither is requested."""
    scale = read_number(request.get("scale"), _SCALE, found, most=MOST_REPLICAS)
    is_rollout = request.get("rollout")
    if not isinstance(is_rollout, bool | None):
        found.add(wrong_type(_ROLLOUT, "a boolean", is_rollout))
        is_rollout = None
    if not is_rollout and request.get("scale") is None:
        return None
    name = "rollout" if is_rollout else "scale"
    others = ("queue", "replicas", "runs", "nodesToScore", "actions", *(("scale",) if is_rollout else ()))
    found.extend(
        forbidden(FieldPath((other,)), f"must not be set together with {name}", FIELDS_EXCLUDE)
        for other in others
        if request.get(other) is not None
    )
    return RolloutSettings(scale=scale, known=known, choose=tie_breaker(seed), seed=seed)


def _percentage(raw: object, found: ErrorList) -> int | None:
    if raw == ADAPTIVE_NODES:
        return ADAPTIVE
    if isinstance(raw, str):
        found.add(unsupported_value(_NODES_TO_SCORE, raw, [ADAPTIVE_NODES], PERCENTAGE_UNKNOWN))
        return None
    return read_number(raw, _NODES_TO_SCORE, found, least=1, most=100)

"""Outcome for replicas where an autoscaler adds nodes for them, for the rules that depend on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from planning.simulation.autoscaling import Autoscaling
from planning.simulation.cluster_simulation import ClusterSimulation, QueuedPod, count_bound
from planning.simulation.node_source import NodeSource
from planning.simulation.replicas import replicas_of
from policies.config.context import AdmissionContext
from policies.model.constraint import WhenUnsatisfiable
from policies.model.pod import Pod
from policies.model.scaling import AS_IT_IS, ScaleUpOutcome, Tool, Variation
from policies.model.topology_keys import HOSTNAME
from policies.model.workload import DEFAULT_NAMESPACE, Workload, api_errors
from policies.pods.placement import PlacementError, PreparedPod, prepare
from policies.scheduler.index import ClusterIndex
from policies.scheduler.request import AppliedConstraint, ConstraintOrigin, SchedulingRequest
from policies.scheduler.skew import skew_of
from policies.scheduler.workload_topology import REVISION_LABELS, honoring_both

#: Pods times nodes up to which the outcome for a workload is simulated: a second or two.
MOST_COMPARED: Final = 100_000
#: How often as much may be compared as for one workload, before rules go by their rules of thumb: some 20 s.
_MOST_WORKLOADS: Final = 20
#: Why an outcome is not simulated.
_TOO_LARGE: Final = f"its replicas times nodes and replicas are more than {MOST_COMPARED:,}"
_TOO_MANY: Final = f"those of all workloads are more than {MOST_COMPARED * _MOST_WORKLOADS:,}"
#: The revision of a pod that comes beside the replicas.
_NEXT: Final = "next"


class SimulatedScaleUps:
    """Replicas on the nodes that an autoscaler adds, simulated once for each question about a workload.

    Attributes:
        tool: The autoscaler.
        source: Where its node groups come from, as messages say it.

    Args:
        autoscaler: What adds nodes.
        source: As above.
        context: What pods are prepared by, with the cluster if there is one.
    """

    def __init__(self, autoscaler: NodeSource, source: str, context: AdmissionContext) -> None:
        self.tool = Tool(autoscaler.name)
        self.source = source
        self._autoscaler = autoscaler
        self._cluster = context.cluster or ClusterIndex()
        self._context = replace(context, cluster=self._cluster)
        self._left = MOST_COMPARED * _MOST_WORKLOADS
        # A workload has a few questions, one after another.
        self._last: _Answers | None = None

    def outcome(
        self, workload: Workload, replicas: int, variation: Variation = AS_IT_IS
    ) -> ScaleUpOutcome | None:
        """Return the outcome for replicas as ``ScaleUps`` has it; the same one when it is asked for again."""
        answers = self._answers(workload)
        if (replicas, variation) not in answers.outcomes:
            answers.outcomes[replicas, variation] = self._simulate(answers, replicas, variation)
        return answers.outcomes[replicas, variation]

    def domains(self, workload: Workload, key: str) -> frozenset[str]:
        """Return the domains as ``ScaleUps`` has them; none where Kubernetes refuses the pods."""
        prepared = self._answers(workload).prepared
        return frozenset(() if prepared is None else self._autoscaler.domains(key, prepared.request.pod))

    def undecided(self, workload: Workload) -> str:
        """Return why an outcome was not simulated, as ``ScaleUps`` has it."""
        return self._answers(workload).undecided

    def _answers(self, workload: Workload) -> _Answers:
        if self._last is None or self._last.workload is not workload:
            self._last = _Answers(workload, self._prepare(workload))
        return self._last

    def _prepare(self, workload: Workload) -> PreparedPod | None:
        """Return a workload on the cluster without its own pods; None where Kubernetes refuses it."""
        # Of a patch or a template, lint reports not all of them: other tools complete it.
        if api_errors(workload):
            return None
        cluster, namespace = self._cluster, workload.namespace or DEFAULT_NAMESPACE
        if workload.own_pods is not None and cluster.count_pods(namespace, workload.own_pods):
            cluster = cluster.fork("")
            cluster.unbind(namespace, workload.own_pods)
        try:
            return prepare(workload, replace(self._context, cluster=cluster))
        except PlacementError:
            return None

    def _simulate(self, answers: _Answers, replicas: int, variation: Variation) -> ScaleUpOutcome | None:
        prepared = answers.prepared
        if prepared is None:
            return None
        size = replicas * (self._cluster.node_count + self._autoscaler.width + replicas)
        if size > min(MOST_COMPARED, self._left):
            answers.undecided = _TOO_LARGE if size > MOST_COMPARED else _TOO_MANY
            return None
        self._left -= size
        simulation, autoscaler = ClusterSimulation.of(prepared.cluster), self._autoscaler
        request = _varied(prepared.request, variation)
        queue: Sequence[QueuedPod] = [
            replace(entry, request=_varied(entry.request, variation))
            for entry in replicas_of(prepared, replicas)
        ]
        if variation.required:
            queue = self._with_min_domains(queue, simulation)
        scaling = Autoscaling(simulation, autoscaler)
        steps = scaling.schedule_all(queue)
        if variation.updated:
            updated = replace(prepared, request=_varied(self._of_next_revision(prepared), variation))
            steps += scaling.schedule_all(replicas_of(updated, 1, simulation.cluster))
        pods, skews = dict[str, dict[str, int]](), dict[str, int]()
        for applied, counts in zip(request.constraints, simulation.count(request), strict=True):
            key = applied.constraint.topology_key
            pods[key] = dict.fromkeys(sorted(autoscaler.domains(key, request.pod)), 0) | counts
            skews[key] = skew_of(applied, pods[key])
        scaled = scaling.scaled
        return ScaleUpOutcome(
            nodes=0 if scaled is None else len(scaled.nodes),
            loops=0 if scaled is None else len(scaled.loops),
            pending=len(steps) - count_bound(steps),
            pods=pods,
            skews=skews,
        )

    def _with_min_domains(self, queue: Sequence[QueuedPod], simulation: ClusterSimulation) -> list[QueuedPod]:
        """Return pods whose own hard constraints require as many domains as there may be; not of nodes."""
        labels = [node.labels for node in simulation.cluster.nodes.listed()]
        made: dict[int, SchedulingRequest] = {}

        def required(pod: Pod, applied: AppliedConstraint) -> AppliedConstraint:
            constraint = applied.constraint
            key = constraint.topology_key
            of_pod = applied.origin in (ConstraintOrigin.POD, ConstraintOrigin.POLICY)
            if not applied.is_hard or not of_pod or key == HOSTNAME:
                return applied
            there = {each[key] for each in labels if key in each}
            domains = len(self._autoscaler.domains(key, pod) | there)
            most = max(domains, constraint.min_domains)
            return applied._replace(constraint=replace(constraint, min_domains=most))

        for request in (entry.request for entry in queue):
            if id(request) not in made:
                constraints = tuple(required(request.pod, applied) for applied in request.constraints)
                made[id(request)] = replace(request, constraints=constraints)
        return [replace(entry, request=made[id(entry.request)]) for entry in queue]

    def _of_next_revision(self, prepared: PreparedPod) -> SchedulingRequest:
        """Return a pod of another revision than the prepared one."""
        pod = prepared.pod
        labels = {
            key: _NEXT if key in REVISION_LABELS else value for key, value in pod.template.labels.items()
        }
        obj = {**pod.obj, "metadata": {**pod.metadata, "labels": labels}}
        other = Workload.read(obj, pod.kind, pod.namespace, release=pod.release)
        as_revision = replace(other, owner=pod.owner, read_owner_selector=pod.read_owner_selector)
        of_other = replace(prepared, pod=as_revision)
        return prepare(prepared.workload, self._context, revision_of=of_other).request


@dataclass(slots=True)
class _Answers:
    """What was found out about a workload."""

    workload: Workload  #: The workload.
    prepared: PreparedPod | None  #: Its next pod; None where Kubernetes refuses it.
    #: By the number of replicas and the variation; None is not known.
    outcomes: dict[tuple[int, Variation], ScaleUpOutcome | None] = field(default_factory=dict)
    undecided: str = ""  #: Why an outcome was not simulated.


def _varied(request: SchedulingRequest, variation: Variation) -> SchedulingRequest:
    """Return a pod without the constraints and terms that a variation leaves out; the others are changed."""
    constraints = tuple(
        _changed(applied, variation)
        for applied in request.constraints
        if applied.constraint.topology_key not in variation.without
    )
    terms = request.pod.terms
    apart = tuple(term for term in terms.anti_affinity if term.topology_key not in variation.together)
    pod = request.pod._replace(terms=terms._replace(anti_affinity=apart))
    return replace(request, constraints=constraints, pod=pod)


def _changed(applied: AppliedConstraint, variation: Variation) -> AppliedConstraint:
    constraint = applied.constraint
    if constraint.topology_key == variation.required:
        constraint = replace(constraint, when_unsatisfiable=WhenUnsatisfiable.DO_NOT_SCHEDULE)
    if constraint.topology_key == variation.honoring:
        constraint = honoring_both(constraint)
    return applied._replace(constraint=constraint)

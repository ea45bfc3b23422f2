"""A copy of a cluster to which things happen, and in which controllers and the scheduler then act.

Whose each pod is, which pods wait, what was lost and evicted, and every step in order.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final, NamedTuple

import numpy as np

from planning.simulation.autoscaling import Autoscaling
from planning.simulation.cluster_simulation import ClusterSimulation, PreemptedPod, unnoticed
from planning.simulation.disruption_budgets import DisruptionBudgets
from planning.simulation.node_source import NodeSource
from planning.simulation.outcome import Did, Step
from planning.simulation.pod_facts import PodFacts
from planning.simulation.recovery import DisplacedPod, PodOutcome
from planning.simulation.rescheduling import MadeRequests, Rescheduling
from planning.simulation.rollout.courses import EndPod
from planning.simulation.scenario import ClusterState
from policies.config.context import AdmissionContext
from policies.manifests.edits import Edit, apply_edits
from policies.manifests.fields import FieldPath, member
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.deletion_facts import seconds_of
from policies.model.version import KubernetesVersion
from policies.model.workload import OWNER_KEY, Workload
from policies.model.workload_kinds import KNOWN_KINDS
from policies.model.workload_ref import WorkloadRef
from policies.pods.known_pods import KnownPods, PendingReplica
from policies.pods.placement import DAEMON_SET, PlacementError, PreparedPod, prepare
from policies.scheduler.index import ClusterIndex, PodOnNode

#: What a pod without a controller belongs to: itself.
POD: Final = "Pod"


class PodOwners:
    """Whose the pods of a cluster are, as it is before anything happens."""

    def __init__(self, state: ClusterState, before: PodOwners | None = None) -> None:
        """Find whose the pods of a cluster are, or take them from what is known of the same cluster."""
        self._state = state
        self._owners: dict[WorkloadRef, WorkloadRef] = {}
        self._objects: dict[WorkloadRef, Workload | None] = {}
        self._revisions = state.workloads.revisions()
        #: The pods of each that have a node which is there, and are not being deleted.
        self.running: dict[WorkloadRef, list[tuple[str, str]]] = {}
        #: Those that have none.
        self.waiting: dict[WorkloadRef, list[tuple[str, str]]] = {}
        if before is not None:
            self.running, self.waiting = before.running, before.waiting
            return
        cluster = cluster_of(state)
        for pod in cluster.pods_on(cluster.nodes.names()):
            if not pod.terminating and (ref := self.of(pod.namespace, pod.name)) is not None:
                self.running.setdefault(ref, []).append((pod.namespace, pod.name))
        for key in state.known.running.waiting():
            if (ref := self.of(*key)) is not None:
                self.waiting.setdefault(ref, []).append(key)

    def of(self, namespace: str, name: str) -> WorkloadRef | None:
        """Return the workload of a pod, itself without a controller; None for one that is not there."""
        found = self._state.known.running.find(namespace, name)
        if found is None:
            return self._by_label(namespace, name)
        if found.owner is None or found.static:
            return WorkloadRef(namespace, POD, name)
        key = WorkloadRef(namespace, found.owner.kind, found.owner.name)
        if key not in self._owners:
            owner = self._state.workloads.controller(key)
            # Who owns a revision that is not known, its pods say.
            is_known = owner != key or self.object_of(key) is not None
            self._owners[key] = owner if is_known else self._by_label(namespace, name) or key
        return self._owners[key]

    def _by_label(self, namespace: str, name: str) -> WorkloadRef | None:
        """Return the workload of a pod of which nothing is known but what the index has."""
        table = cluster_of(self._state).pods_of(namespace)
        row = None if table is None else table.find(name)
        if table is None or row is None:
            return None
        owner = dict(table.label_sets.labels(row.label_set)).get(OWNER_KEY, "")
        kind, _, title = owner.partition("/")
        return WorkloadRef(namespace, kind, title) if title else WorkloadRef(namespace, POD, name)

    def object_of(self, ref: WorkloadRef) -> Workload | None:
        """Return the object of a workload as the cluster has it; None if that is not known."""
        if ref not in self._objects:
            found = object_in(self._state.workloads, ref, self._revisions)
            self._objects[ref] = found or self._state.applied.get(ref)
        return self._objects[ref]


def object_in(
    workloads: ClusterWorkloads,
    ref: WorkloadRef,
    revisions: Mapping[WorkloadRef, Sequence[WorkloadRef]] | None = None,
) -> Workload | None:
    """Return the object of a workload as a cluster has it; None if that is not known.

    Args:
        workloads: The workloads of the cluster.
        ref: The workload.
        revisions: Their revisions, for who looks for many.
    """
    found = workloads.find(ref, revisions)
    return _deployment(found, ref) if found is not None and found.kind.kind != ref.kind else found


def _deployment(revision: Workload, ref: WorkloadRef) -> Workload:
    """Return the Deployment of a ReplicaSet, as far as this shows it; that itself of another kind."""
    kind = next((each for each in KNOWN_KINDS if (each.group, each.kind) == ("apps", ref.kind)), None)
    label = None if kind is None else kind.revision_label
    if kind is None or label is None:
        return revision
    way, spec = FieldPath(("spec",)), member(revision.obj, "spec")
    named = {**revision.metadata, "name": ref.name, "ownerReferences": None}
    edits = (
        Edit(way.child("selector", "matchLabels", label), None, None),
        Edit(way.child("template", "metadata", "labels", label), None, None),
    )
    obj = {"apiVersion": "apps/v1", "kind": ref.kind, "metadata": named, "spec": spec}
    return Workload.read(apply_edits(obj, edits), kind, ref.namespace, stored=True)


@dataclass(slots=True)
class Hit:
    """What happens to the pods of a workload."""

    lowest: int = sys.maxsize  #: The fewest that ran at a moment when some had left.
    lost: int = 0  #: How many lost their node to an event.
    evicted: int = 0  #: How many were evicted.
    not_recreated: int = 0  #: How many of both nothing creates anew.
    untried: int = 0  #: How many pods were not tried that should be there.


def cluster_of(state: ClusterState) -> ClusterIndex:
    """Return the index of a cluster, which is there."""
    if state.context.cluster is None:
        raise ValueError("a scenario has a cluster")
    return state.context.cluster


class Unfinished(NamedTuple):
    """A rollout or a scale that is not at its end."""

    number: int  #: The position of its next pod among those that were placed.
    before: Workload | None = None  #: The object before it; None for none.
    scale: int | None = None  #: How many pods a scale is to leave; None for a rollout.
    fills: bool = False  #: Whether it only tries again the pods that wait.


@dataclass(slots=True)
class PlayedObject:
    """A workload as events leave it."""

    workload: Workload | None  #: Its object; None once it is removed.
    prepared: PreparedPod | None = None  #: Its next pod; None without one.
    wanted: int | None = None  #: How many pods it should have; None without a number.
    waiting: tuple[EndPod, ...] = ()  #: Its pods without a node that its rollout left over.
    #: The names of its pods of the new revision; None if no template changes.
    updated: set[str] | None = None
    unfinished: Unfinished | None = None  #: Its rollout, which goes on once there is room; None at its end.

    def copy(self) -> PlayedObject:
        """Return a copy."""
        return replace(self, updated=None if self.updated is None else set(self.updated))


@dataclass(slots=True, eq=False)
class PlayedCluster:
    """A copy of a cluster while it is played."""

    state: ClusterState  #: The cluster as it was.
    owners: PodOwners  #: Whose its pods were.
    simulation: ClusterSimulation  #: The copy.
    context: AdmissionContext  #: What pods are prepared by.
    made: MadeRequests  #: Requests that were prepared, for all copies.
    scaling: Autoscaling | None = None  #: Adds nodes; None for nothing.
    #: The workloads whose pods were placed here, and which of them each pod is of: no object says that.
    placed: list[PreparedPod] = field(default_factory=list)
    own: dict[tuple[str, str], int] = field(default_factory=dict)
    belongs: dict[tuple[str, str], WorkloadRef] = field(default_factory=dict)  #: Whose pods came or changed.
    objects: dict[WorkloadRef, PlayedObject] = field(default_factory=dict)  #: The workloads that changed.
    hits: dict[WorkloadRef, Hit] = field(default_factory=dict)  #: What happened to pods, by workload.
    gone: list[PodOnNode] = field(default_factory=list)  #: The pods that left their nodes.
    steps: list[Step] = field(default_factory=list)  #: Everything that happened.
    event: int | None = None  #: The position of the event that happens now.
    #: Called with the share of the work that is done for pods that lost their node.
    progress: Callable[[float], None] = lambda _share: None
    again: Rescheduling = field(init=False)  #: Schedules again what lost its node.
    budgets: DisruptionBudgets = field(init=False)  #: What may be evicted.
    _cause: dict[tuple[str, str], int | None] = field(default_factory=dict)
    _told_nodes: int = 0
    # Of each workload the pods that came to it, and all that it has or had.
    _claimed: dict[WorkloadRef, set[tuple[str, str]]] = field(default_factory=dict)
    _names: dict[WorkloadRef, set[tuple[str, str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._connect(())

    @classmethod
    def of(
        cls,
        state: ClusterState,
        simulation: ClusterSimulation,
        nodes_from: NodeSource | None,
        owners: PodOwners | None = None,
    ) -> PlayedCluster:
        """Return a cluster that is played, whose simulation is a copy of it."""
        simulation.preempts = True
        played = cls(
            state=state,
            owners=owners or PodOwners(state),
            simulation=simulation,
            context=replace(state.context, cluster=simulation.cluster),
            made={},
            scaling=None if nodes_from is None else Autoscaling(simulation, nodes_from),
        )
        played._claim_applied()
        return played

    def fork(self) -> PlayedCluster:
        """Return a copy that goes its own way from here, with its steps and numbers from here on."""
        simulation = self.simulation.fork()
        other = PlayedCluster(
            state=self.state,
            owners=self.owners,
            simulation=simulation,
            context=replace(self.context, cluster=simulation.cluster),
            made=self.made,
            scaling=None if self.scaling is None else Autoscaling(simulation, self.scaling.autoscaler),
            placed=list(self.placed),
            own=dict(self.own),
            belongs=dict(self.belongs),
            _claimed={ref: set(keys) for ref, keys in self._claimed.items()},
            objects={ref: each.copy() for ref, each in self.objects.items()},
            gone=list(self.gone),
            event=self.event,
        )
        other._connect(self.again.displaced)
        other.budgets.note_gone(self.gone)
        return other

    def _connect(self, displaced: Iterable[DisplacedPod]) -> None:
        cluster = self.simulation.cluster
        facts = PodFacts(cluster, self.placed, self.state.known.running, self.own)
        self.again = Rescheduling(
            self.simulation, facts, self.context, others=sys.maxsize, made=self.made, displaced=displaced
        )
        self.again.on_preempted = self._note_preempted
        self.budgets = DisruptionBudgets(
            cluster_of(self.state),
            cluster,
            self.state.known,
            controller=lambda pod: self.workload_of(pod.namespace, pod.name),
            replicas_before=self._wanted_before,
            replicas=self.wanted,
        )

    @property
    def cluster(self) -> ClusterIndex:
        """The copy's index."""
        return self.simulation.cluster

    @property
    def facts(self) -> PodFacts:
        """What is known of its pods."""
        return self.again.facts

    def workload_of(self, namespace: str, name: str) -> WorkloadRef | None:
        """Return the workload of a pod; None if that is not known."""
        return self.belongs.get((namespace, name)) or self.owners.of(namespace, name)

    def object_of(self, ref: WorkloadRef) -> Workload | None:
        """Return the object of a workload as it is now; None if it is not known, or is gone."""
        played = self.objects.get(ref)
        if played is not None:
            return played.workload
        found = self.owners.object_of(ref)
        if found is None or found.kind.replicas is None or found.states_replicas:
            return found
        running = len(self.owners.running.get(ref, ()))
        return replace(found, unstated=self.context.replica_sources.number(found, lambda: running))

    def wanted(self, ref: WorkloadRef) -> int | None:
        """Return how many pods a workload should have; None where that is not known."""
        played = self.objects.get(ref)
        if played is not None:
            return played.wanted
        workload = self.object_of(ref)
        return None if workload is None else workload.replicas

    def _wanted_before(self, ref: WorkloadRef) -> int | None:
        workload = self.owners.object_of(ref)
        return None if workload is None else workload.replicas

    def use_release(self, version: KubernetesVersion) -> None:
        """Go on under another release of Kubernetes."""
        self.context = replace(self.context, kubernetes_version=version)
        self._reconnect()

    def _reconnect(self) -> None:
        # What was prepared, was so under the context before.
        self.made = {}
        gone, displaced = list(self.gone), self.again.displaced
        self._connect(displaced)
        self.budgets.note_gone(gone)

    def go_on(self, state: ClusterState, nodes_from: NodeSource | None) -> None:
        """Go on by what is known of a cluster, decides about it and adds nodes to it from now on."""
        self.owners = PodOwners(state, self.owners)
        self.state, self.context = state, replace(state.context, cluster=self.cluster)
        self.scaling = None if nodes_from is None else Autoscaling(self.simulation, nodes_from)
        self._claim_applied()
        self._reconnect()

    def _claim_applied(self) -> None:
        """Note whose the pods are that workloads select of which the cluster has no object."""
        for ref, workload in self.state.applied.items():
            if workload.own_pods is not None:
                self.claim(ref, self.cluster.selected_names(workload.namespace, workload.own_pods))

    def running(self, ref: WorkloadRef) -> Counter[str]:
        """Return how many pods of a workload run on each node that is there."""
        return Counter(self.cluster.nodes_of(ref.namespace, [name for _, name in self._keys(ref)]))

    def running_pods(self, ref: WorkloadRef) -> Iterator[tuple[str, str]]:
        """Yield the name and the node of each pod of a workload that runs on a node that is there."""
        cluster = self.cluster
        for namespace, name in sorted(self._keys(ref)):
            if (node := cluster.node_of(namespace, name)) is not None:
                yield name, node

    def claimed(self, ref: WorkloadRef) -> set[tuple[str, str]]:
        """Return the namespace and name of every pod that came to a workload."""
        return self._claimed.get(ref, set())

    def waiting(self) -> dict[WorkloadRef | None, list[DisplacedPod]]:
        """Return the pods that wait by their workload, but for those of its rollout."""
        found: dict[WorkloadRef | None, list[DisplacedPod]] = {}
        for entry in self.again.displaced:
            if entry.outcome is PodOutcome.PENDING:
                found.setdefault(self.workload_of(*entry.key), []).append(entry)
        return found

    def waiting_pods(self, ref: WorkloadRef) -> list[DisplacedPod]:
        """Return the same of one workload."""
        return self.waiting().get(ref, [])

    def pending(self, ref: WorkloadRef) -> int:
        """Return how many pods of a workload have no node."""
        played = self.objects.get(ref)
        return len(self.waiting_pods(ref)) + (0 if played is None else len(played.waiting))

    def _keys(self, ref: WorkloadRef) -> set[tuple[str, str]]:
        """Return the namespace and name of every pod that a workload has, or had."""
        if ref not in self._names:
            known = (*self.owners.running.get(ref, ()), *self.owners.waiting.get(ref, ()))
            self._names[ref] = {key for key in known if self.belongs.get(key, ref) == ref}
            self._names[ref] |= self.claimed(ref)
        return self._names[ref]

    def names_of(self, ref: WorkloadRef) -> frozenset[str]:
        """Return the name of every pod that a workload has, or had."""
        return frozenset(name for _, name in self._keys(ref))

    def claim(self, ref: WorkloadRef, names: Iterable[str], number: int | None = None) -> None:
        """Note that pods belong to a workload, perhaps to one whose pods were placed here."""
        keys = [(ref.namespace, name) for name in names]
        for key in keys:
            if (was := self.workload_of(*key)) is not None:
                self._names.pop(was, None)
                self._claimed.get(was, set()).discard(key)
        self.belongs |= dict.fromkeys(keys, ref)
        self._claimed.setdefault(ref, set()).update(keys)
        self._names.pop(ref, None)
        if number is not None:
            self.own |= dict.fromkeys(keys, number)

    def known(self) -> KnownPods:
        """Return what is known of the pods as they are now."""
        waiting = [
            (entry.namespace, self._replica(entry.name, request.pod.labels, request.pod.owner, entry.created))
            for entry in self.again.displaced
            if entry.outcome is PodOutcome.PENDING and (request := self.again.request_of(entry)) is not None
        ]
        waiting += (
            (ref.namespace, self._replica(pod.name, pod.request.pod.labels, pod.request.pod.owner, ""))
            for ref, played in self.objects.items()
            for pod in played.waiting
        )
        return self.state.known.as_played(waiting, ((pod.namespace, pod.name) for pod in self.gone))

    def _replica(self, name: str, labels: dict[str, str], owner: str, created: str) -> PendingReplica:
        return PendingReplica(name, labels, seconds_of(created), owner)

    def hit(self, ref: WorkloadRef) -> Hit:
        """Return what happened to the pods of a workload so far."""
        return self.hits.setdefault(ref, Hit())

    def dip(self, ref: WorkloadRef) -> None:
        """Note that some pods of a workload have just left."""
        hit = self.hit(ref)
        hit.lowest = min(hit.lowest, self.running(ref).total())

    def note(self, did: Did, *, pod: str | None = None, node: str | None = None, why: str = "") -> None:
        """Note a step of the event that happens now."""
        self.steps.append(Step(self.event, did, pod, node, None, why or None))

    def settle(self, displaced: Iterable[PodOnNode] = ()) -> None:
        """Schedule what lost its node and what waits, and add nodes for what stays pending."""
        before = {entry.key: entry for entry in self.again.displaced}
        waiting = [entry.pod for entry in before.values() if entry.outcome is PodOutcome.PENDING]
        lost = list(displaced)
        for pod in lost:
            self._cause[pod.namespace, pod.name] = self.event
            if self.facts.own(pod.namespace, pod.name) is None and self.facts.object_of(pod) is None:
                self._replace_unknown(pod)
        queue = [*lost, *waiting]
        done, most = count(1), max(len(queue), 1)
        # Those that are evicted for others come besides.
        self.simulation.on_step = lambda _step: self.progress(min(next(done) / most, 1.0))
        self.again.schedule(queue)
        self.simulation.on_step = unnoticed
        self._tell(before)
        if self.scaling is not None and not self.simulation.stop():
            before = {entry.key: entry for entry in self.again.displaced}
            self.scaling.schedule_again(self.again)
            self.tell_nodes()
            self._tell(before)

    def tell_nodes(self) -> None:
        """Note the nodes that an autoscaler has added since the last time."""
        if self.scaling is not None and self.scaling.scaled is not None:
            nodes = self.scaling.scaled.nodes
            for node in nodes[self._told_nodes :]:
                self.note(Did.ADDED, node=node.name)
            self._told_nodes = len(nodes)

    def _replace_unknown(self, pod: PodOnNode) -> None:
        """Let the workload of a pod whose object is not known make what replaces it, if that is known."""
        ref = self.workload_of(pod.namespace, pod.name)
        workload = None if ref is None or ref.kind == POD else self.object_of(ref)
        if ref is None or workload is None:
            return
        number = next((at for at, each in enumerate(self.placed) if each.workload is workload), None)
        if number is None:
            try:
                prepared = prepare(replace(workload, release=self.context.release), self.context)
            except PlacementError:
                return
            number = len(self.placed)
            self.placed.append(replace(prepared, workload=workload))
        self.claim(ref, [pod.name], number)

    def _tell(self, before: dict[tuple[str, str], DisplacedPod]) -> None:
        """Note what became of pods that were scheduled again."""
        for entry in self.again.displaced:
            was = before.get(entry.key)
            if entry is was:
                continue
            event = self._cause.get(entry.key, self.event)
            pod, step = f"{entry.namespace}/{entry.name}", entry.step
            ref = self.workload_of(*entry.key)
            if step is not None and step.node is not None:
                self.steps.append(Step(event, Did.BOUND, pod, step.node))
            elif step is not None:
                # One that has waited before the first event does so still.
                if (entry.pod.node or event is not None) and (
                    was is None or was.outcome is not PodOutcome.PENDING
                ):
                    self.steps.append(Step(event, Did.PENDING, pod, why=step.message or None))
            elif entry.outcome is PodOutcome.NOT_RECREATED:
                if not self._is_daemon(entry):
                    self.steps.append(Step(event, Did.NOT_RECREATED, pod, entry.pod.node, why=entry.why))
                    if ref is not None:
                        self.hit(ref).not_recreated += 1
            elif ref is not None:
                self.hit(ref).untried += 1

    def adopt(self, displaced: Iterable[DisplacedPod]) -> None:
        """Take over the pods that something else scheduled again in this cluster."""
        before = {entry.key: entry for entry in self.again.displaced}
        self.again.adopt(displaced)
        self._tell(before)

    def _is_daemon(self, entry: DisplacedPod) -> bool:
        """Return whether a pod goes with its node, as its DaemonSet means it."""
        if entry.workload is not None:
            return self.placed[entry.workload].workload.kind.kind == DAEMON_SET
        known = self.facts.object_of(entry.pod)
        return known is not None and known.of_daemon_set

    def _note_preempted(self, gone: PreemptedPod) -> None:
        pod, ref = gone.pod, self.workload_of(gone.pod.namespace, gone.pod.name)
        self.leave([pod])
        if ref is not None:
            self.hit(ref).evicted += 1
            self.dip(ref)
        self.note(Did.EVICTED, pod=f"{pod.namespace}/{pod.name}", node=pod.node, why=f"for {gone.preemptor}")

    def leave(self, pods: Iterable[PodOnNode]) -> None:
        """Note that pods left their nodes."""
        left = list(pods)
        self.gone += left
        self.budgets.note_gone(left)

    def without_nodes(self) -> list[PodOnNode]:
        """Return the pods that are bound to nodes which are not there."""
        nodes = self.cluster.nodes
        slots = {
            slot for _, table in self.cluster.pod_tables() for slot in np.unique(table.rows().node).tolist()
        }
        there = set(nodes.order().tolist())
        names = [nodes.name_of(slot) for slot in slots - there]
        return self.cluster.pods_on(names) if names else []

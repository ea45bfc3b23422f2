"""The changes of the pods of a workload that is added, changed or removed, in a copy of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from planning.plan.placement_plan import PodChange
from planning.simulation.autoscaling import Autoscaling
from planning.simulation.cluster_simulation import ClusterSimulation, count_bound
from planning.simulation.daemon_pods import schedule_on_each_node
from planning.simulation.node_source import NodeSource
from planning.simulation.object_differences import rolls_out
from planning.simulation.pod_facts import PodFacts
from planning.simulation.replicas import replicas_of
from planning.simulation.rescheduling import Rescheduling
from planning.simulation.rollout.rollout import Rollout, is_rolled_out, simulate_rollout, with_nodes
from planning.simulation.rollout.rollout_start import RolloutSettings
from planning.simulation.rollout.running_pods import PREVIOUS, revision_label
from policies.config.context import AdmissionContext
from policies.manifests.fields import member
from policies.model.labels import LabelSelector, Operator, Requirement
from policies.model.workload import Workload
from policies.pods.known_pods import KnownPods
from policies.pods.placement import DAEMON_SET, PlacementError, PreparedPod
from policies.scheduler.binding import SchedulingAttempt
from policies.scheduler.workload_topology import REVISION_LABELS

#: Pods of one plan that are scheduled one after another; with 5,000 nodes each takes some milliseconds.
MOST_SCHEDULED: Final = 5_000
#: Rollouts and scales of one plan that are simulated; each may take half a second.
MOST_ROLLOUTS: Final = 50
#: Why a pod that was evicted before is not scheduled again.
_CHANGED: Final = "its workload is changed afterwards"
#: The labels with which controllers mark revisions, in the order in which a pod is searched for one.
_REVISION_LABELS: Final = tuple(sorted(REVISION_LABELS))


@dataclass(slots=True)
class _Budget:
    """The pods and rollouts that may still be scheduled."""

    pods: int
    rollouts: int


class PodChanger:
    """Changes the pods of a copy of a cluster, within a budget."""

    def __init__(
        self,
        simulation: ClusterSimulation,
        context: AdmissionContext,
        *,
        known: KnownPods,
        autoscaler: NodeSource | None = None,
    ) -> None:
        """Change the pods of a cluster.

        Args:
            simulation: The cluster, which is changed.
            context: What new pods are placed by.
            known: What is known of its pods besides.
            autoscaler: What adds nodes for pods that would stay pending; None for nothing.
        """
        self._simulation, self._cluster = simulation, simulation.cluster
        self._context = replace(context, cluster=simulation.cluster)
        self._known = known
        self._budget = _Budget(MOST_SCHEDULED, MOST_ROLLOUTS)
        self._scaling = None if autoscaler is None else Autoscaling(simulation, autoscaler)
        simulation.preempts = True
        # Of the workloads whose pods were placed here: no object of a pod says what replaces those.
        self._placed: list[PreparedPod] = []
        self._own: dict[tuple[str, str], int] = {}
        self._facts = PodFacts(simulation.cluster, self._placed, self._known.running, self._own)
        self._again = Rescheduling(simulation, self._facts, self._context)

    def on(self, simulation: ClusterSimulation) -> PodChanger:
        """Return a changer for another copy of the cluster, which shares what is left of the budget."""
        autoscaler = None if self._scaling is None else self._scaling.autoscaler
        other = PodChanger(simulation, self._context, known=self._known, autoscaler=autoscaler)
        other._budget = self._budget
        return other

    def unlimited(self) -> PodChanger:
        """Return a changer for the same cluster with a budget of its own, and without an autoscaler."""
        other = PodChanger(self._simulation, self._context, known=self._known)
        other._placed, other._own, other._facts = self._placed, self._own, self._facts
        other._again = self._again
        return other

    def apply(
        self, before: Workload | None, after: PreparedPod | None, change: Callable[[], PodChange]
    ) -> PodChange:
        """Change the pods of a workload; return that with whom it evicts, and what becomes of those.

        Args:
            before: The workload as it was; None if it is added.
            after: As it will be; None if it is removed.
            change: Makes the change.
        """
        # What is evicted again keeps its place.
        known, number = len(self._again.displaced), len(self._placed)
        for workload in (before, None if after is None else after.workload):
            if workload is not None and workload.selector is not None:
                # Its pods that wait are among those that it lacks.
                self._again.leave(workload.namespace, workload.selector, _CHANGED)
        if after is not None:
            self._placed.append(after)
        pods = change()
        if after is not None:
            self._own |= dict.fromkeys(((step.namespace, step.name) for step in pods.steps), number)
        self._again.replace_preempted()
        if known and pods.removed:
            # There may be room for what was evicted before.
            self._again.retry()
        pods = self._add_nodes(pods)
        return replace(pods, evicted=self._again.displaced[known:])

    def _add_nodes(self, pods: PodChange) -> PodChange:
        """Add nodes for the pods that are evicted and stay pending; return the change with all that came."""
        if self._scaling is None:
            return pods
        self._scaling.schedule_again(self._again)
        scaled, self._scaling.scaled = self._scaling.scaled, None
        return replace(pods, autoscaled=scaled)

    def latest(self, change: PodChange) -> PodChange:
        """Return a change with what has become since of the pods that were evicted for it."""
        return replace(change, evicted=tuple(map(self._again.latest, change.evicted)))

    def count(self, workload: Workload) -> int:
        """Return how many pods of a workload have a node."""
        if workload.kind.is_pod:
            return int(workload.name in self._cluster.pod_names(workload.namespace))
        selector = workload.own_pods
        return 0 if selector is None else self._cluster.count_pods(workload.namespace, selector)

    def remove(self, workload: Workload) -> PodChange:
        """Remove the pods of a workload."""
        running = self.count(workload)
        if workload.kind.is_pod:
            self._simulation.delete(workload.namespace, workload.name)
        elif workload.own_pods is not None:
            self._simulation.delete_selected(workload.namespace, workload.own_pods)
        return PodChange(running=running, removed=running)

    def add(self, prepared: PreparedPod) -> PodChange:
        """Schedule the pods of a workload that are missing."""
        workload = prepared.workload
        if workload.kind.kind == DAEMON_SET:
            return self._on_each_node(prepared)
        running = self.count(workload)
        wanted = self._wanted(workload, running)
        return replace(self._fill(prepared, wanted - running), running=running, wanted=wanted)

    def assume(self, prepared: PreparedPod) -> None:
        """Schedule the pods that a workload had, and mark them as of a revision that is not the next one."""
        pod, label = prepared.request.pod, revision_label(prepared.workload)
        for step in self.apply(None, prepared, lambda: self.add(prepared)).steps:
            if step.node is not None and label is not None:
                marked = pod._replace(labels={**pod.labels, label: PREVIOUS})
                self._simulation.bind(marked, step.name, step.node)

    def change(self, before: Workload, after: PreparedPod, *, template: bool) -> PodChange:
        """Bring the pods of a workload from one state to another.

        Args:
            before: The workload as it was.
            after: As it will be.
            template: Whether its pod template differs.
        """
        workload, running = after.workload, self.count(before)
        if workload.kind.kind == DAEMON_SET and template:
            return replace(self._on_each_node(after), removed=running)
        if workload.kind.kind == DAEMON_SET:
            return PodChange(running=running, wanted=running, stay=True)
        if not running and not self._waiting(before):
            return self.add(after)
        wanted = self._wanted(workload, running)
        replaces = template and self._others(before, after) > 0
        # Also with OnDelete, whose pods wait for someone to delete them.
        played, rolled_out = replaces and is_rolled_out(workload), replaces and rolls_out(workload)
        if played or wanted < running:
            found = self._simulate(before, workload, wanted, rolled_out=played)
            if found is not None:
                return self._end_of(found, workload, running, wanted)
        if rolled_out:
            self.remove(before)
            filled = replace(self._fill(after, wanted), removed=running, recreated=True)
        else:
            self._delete_last(before, running - wanted)
            filled = replace(self._fill(after, wanted - running), removed=max(running - wanted, 0))
        stay = not filled.removed and not filled.steps
        return replace(filled, running=running, wanted=wanted, stay=stay)

    def _wanted(self, workload: Workload, running: int) -> int:
        """Return how many pods a workload should have, of which some run; 1 for a kind without a number."""
        if workload.replicas is None:
            return 1
        return max(self._context.replica_sources.number(workload, lambda: running).replicas, 0)

    def _simulate(
        self, before: Workload, workload: Workload, wanted: int, *, rolled_out: bool
    ) -> Rollout | None:
        """Return how pods are brought to a new template or number; None if it is not simulated."""
        if wanted > self._budget.pods or self._budget.rollouts <= 0:
            return None
        obj = {**workload.obj, "spec": {**member(workload.obj, "spec"), "replicas": wanted}}
        settings = RolloutSettings(
            scale=None if rolled_out else wanted, known=self._known, others=self._facts, previous=before
        )

        def play() -> Rollout:
            found = simulate_rollout(obj, self._context, settings, namespace=workload.namespace)
            self._budget.rollouts -= 1
            return found

        try:
            found = play()
            if self._scaling is not None:
                found = with_nodes(found, play, self._scaling)
        except PlacementError:
            return None
        self._budget.pods -= wanted
        return found

    def _delete_last(self, workload: Workload, count: int) -> None:
        """Delete pods in the order of their names: of this kind it is not simulated which ones go."""
        if workload.own_pods is None or count <= 0:
            return
        pods = self._cluster.selected_pods(workload.namespace, workload.own_pods)
        for pod in pods[-count:]:
            self._simulation.delete(workload.namespace, pod.name)

    def _end_of(self, rollout: Rollout, workload: Workload, running: int, wanted: int) -> PodChange:
        """Give the cluster the pods that there are at the end of the likely course."""
        course, selector = rollout.courses.likely, workload.own_pods
        if selector is None:
            raise ValueError("what is rolled out selects its pods")
        start, end = (
            {pod.name: pod.node for pod in cluster.selected_pods(workload.namespace, selector)}
            for cluster in (self._cluster, course.cluster)
        )
        steps = []
        for name in start.keys() - {name for name, node in end.items() if start.get(name) == node}:
            self._simulation.delete(workload.namespace, name)
        self._again.adopt(course.evicted)
        for name, node in end.items():
            if start.get(name) != node:
                self._simulation.bind(rollout.prepared.request.pod, name, node)
                steps.append(SchedulingAttempt(namespace=workload.namespace, name=name, node=node))
        decisions = {step.pod: step.decision for step in course.steps if step.decision is not None}
        # Some were pending before the course began.
        steps += (
            decisions.get(
                name,
                SchedulingAttempt(namespace=workload.namespace, name=name, message=course.message),
            )
            for name in course.pending
        )
        removed = sum(end.get(name) != node for name, node in start.items())
        return PodChange(running=running, removed=removed, wanted=wanted, steps=tuple(steps), rollout=rollout)

    def _others(self, before: Workload, after: PreparedPod) -> int:
        """Return how many pods of a workload are of other revisions than its next pod."""
        selector, labels = before.own_pods, after.pod.template.labels
        if selector is None:
            return 0
        known = after.revision is not None and not after.revision.is_new
        label = next((key for key in _REVISION_LABELS if key in labels), None) if known else None
        if label is not None:
            selector = selector.narrowed(Requirement(label, Operator.NOT_IN, (labels[label],)))
        return self._cluster.count_pods(before.namespace, selector) + self._waiting(before, selector)

    def _waiting(self, workload: Workload, selector: LabelSelector | None = None) -> int:
        """Return how many pods of a workload have no node, perhaps only those of a narrower selector."""
        selector = selector or workload.own_pods
        return 0 if selector is None else sum(1 for _ in self._known.pending(workload.namespace, selector))

    def _fill(self, prepared: PreparedPod, missing: int) -> PodChange:
        missing = max(missing, 0)
        tried = min(missing, self._budget.pods)
        self._budget.pods -= tried
        queue = replicas_of(prepared, tried)
        steps = self._simulation.schedule_all(queue)
        if self._scaling is not None and count_bound(steps) < len(steps) == len(queue):
            steps, _ = self._scaling.add_nodes(queue, steps)
        return PodChange(
            steps=tuple(steps),
            untried=missing - len(steps),
            next_only=prepared.workload.replicas is None,
        )

    def _on_each_node(self, prepared: PreparedPod) -> PodChange:
        """Give each node that a DaemonSet is for one of its pods, in place of one that runs there."""
        workload = prepared.workload
        running = 0 if prepared.running is None else prepared.running
        if workload.own_pods is not None:
            self._simulation.delete_selected(workload.namespace, workload.own_pods)
        pods = schedule_on_each_node(self._simulation, prepared.request, workload.name, self._budget.pods)
        self._budget.pods -= pods.scheduled
        wanted = len(pods.steps) + pods.untried
        return PodChange(running=running, wanted=wanted, steps=pods.steps, untried=pods.untried)

"""What becomes of the pods of a workload that is added, changed or removed, in a copy of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from policies.config.context import AdmissionContext
from policies.manifests.fields import member
from policies.model.labels import LabelSelector, Operator, Requirement
from policies.model.workload import Workload
from policies.placement.known_pods import KnownPods
from policies.placement.placement import DAEMON_SET, PlacementError, PreparedPod
from policies.placement.plan_differences import rolls_out
from policies.placement.rollout import Rollout, RolloutSettings, simulate_rollout
from policies.placement.running_pods import PREVIOUS, revision_label
from policies.placement.simulate import replicas_of
from policies.scheduler.binding import Step, schedule
from policies.scheduler.evaluate import evaluate
from policies.scheduler.index import ClusterIndex
from policies.scheduler.profile import Plugin
from policies.scheduler.result import SchedulingResult
from policies.scheduler.workload_topology import REVISION_LABELS

#: Pods of one plan that are scheduled one after another; with 5,000 nodes each takes some milliseconds.
MOST_SCHEDULED: Final = 5_000
#: Rollouts and scales of one plan that are simulated; each may take half a second.
MOST_ROLLOUTS: Final = 50
#: What keeps a DaemonSet's controller from making a pod for a node.
_NO_POD: Final = frozenset(
    {Plugin.NODE_NAME, Plugin.NODE_AFFINITY, Plugin.NODE_UNSCHEDULABLE, Plugin.TAINT_TOLERATION}
)
#: The labels with which controllers mark revisions, in the order in which a pod is asked for one.
_REVISION_LABELS: Final = tuple(sorted(REVISION_LABELS))


@dataclass(frozen=True, slots=True, kw_only=True)
class PodChange:
    """What becomes of the pods of a workload.

    Attributes:
        running: How many have a node now.
        removed: How many of them go.
        wanted: How many there should be afterwards.
        steps: Of each pod that is scheduled, in order.
        untried: How many more should be, which were not tried: there are too many, or the work was ended.
        stay: Whether pods that run stay as they are though something differs.
        next_only: Whether only one pod was tried, because the kind says no number.
        recreated: Whether all pods were taken to be deleted first: how the kind, or so many pods, are rolled
            out is not simulated.
        rollout: How its controller replaces or deletes pods; None where it does neither, or not simulated.
    """

    running: int = 0
    removed: int = 0
    wanted: int = 0
    steps: tuple[Step, ...] = ()
    untried: int = 0
    stay: bool = False
    next_only: bool = False
    recreated: bool = False
    rollout: Rollout | None = None

    def then(self, other: PodChange) -> PodChange:
        """Return this change and another one after it."""
        return replace(other, running=self.running, removed=self.removed)


@dataclass(slots=True)
class _Budget:
    """What may still be scheduled."""

    pods: int
    rollouts: int


class PodChanger:
    """Changes the pods of a copy of a cluster, within a budget."""

    def __init__(
        self,
        cluster: ClusterIndex,
        context: AdmissionContext,
        stop: Callable[[], bool] = lambda: False,
        *,
        known: KnownPods | None = None,
    ) -> None:
        """Change the pods of a cluster.

        Args:
            cluster: A fork.
            context: What new pods are placed by.
            known: What is known of its pods besides; None for nothing.
            stop: Whether to schedule no more pods; asked before each.
        """
        self._stop = stop
        self._cluster, self._context = cluster, replace(context, cluster=cluster)
        self._known = KnownPods() if known is None else known
        self._budget = _Budget(MOST_SCHEDULED, MOST_ROLLOUTS)

    def on(self, cluster: ClusterIndex) -> PodChanger:
        """Return what changes the pods of another copy of the cluster, within what is left of the budget."""
        other = PodChanger(cluster, self._context, self._stop, known=self._known)
        other._budget = self._budget
        return other

    def count(self, workload: Workload) -> int:
        """Return how many pods of a workload have a node."""
        if workload.kind.is_pod:
            table = self._cluster.pods_of(workload.namespace)
            return int(table is not None and workload.name in table.names())
        selector = workload.selector
        return 0 if selector is None else self._cluster.count_pods(workload.namespace, selector)

    def remove(self, workload: Workload) -> PodChange:
        """Remove the pods of a workload."""
        running = self.count(workload)
        if workload.kind.is_pod:
            self._cluster.remove("v1", "Pod", workload.namespace, workload.name)
        elif workload.selector is not None:
            self._cluster.unbind(workload.namespace, workload.selector)
        return PodChange(running=running, removed=running)

    def add(self, prepared: PreparedPod) -> PodChange:
        """Schedule the pods of a workload that are missing."""
        workload = prepared.workload
        if workload.kind.kind == DAEMON_SET:
            return self._on_each_node(prepared)
        running = self.count(workload)
        wanted = _wanted(workload, running)
        return replace(self._fill(prepared, wanted - running), running=running, wanted=wanted)

    def assume(self, prepared: PreparedPod) -> None:
        """Schedule the pods that a workload had, and mark them as of a revision that is not the next one."""
        pod, label = prepared.request.pod, revision_label(prepared.workload)
        for step in self.add(prepared).steps:
            if step.node is not None and label is not None:
                marked = replace(pod, labels={**pod.labels, label: PREVIOUS})
                self._cluster.bind(marked, step.name, step.node)

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
        if not running:
            return self.add(after)
        wanted = _wanted(workload, running)
        rolled_out = template and rolls_out(workload) and self._others(before, after) > 0
        if (rolled_out or wanted < running) and (
            found := self._simulate(before, workload, wanted, rolled_out=rolled_out)
        ):
            return self._end_of(found, workload, running, wanted)
        if rolled_out:
            self.remove(before)
            filled = replace(self._fill(after, wanted), removed=running, recreated=True)
        else:
            self._delete_last(before, running - wanted)
            filled = replace(self._fill(after, wanted - running), removed=max(running - wanted, 0))
        stay = not filled.removed and not filled.steps
        return replace(filled, running=running, wanted=wanted, stay=stay)

    def _simulate(
        self, before: Workload, workload: Workload, wanted: int, *, rolled_out: bool
    ) -> Rollout | None:
        """Return how pods are brought to a new template or number; None if it is not simulated."""
        if wanted > self._budget.pods or not self._budget.rollouts:
            return None
        obj = {**workload.obj, "spec": {**member(workload.obj, "spec"), "replicas": wanted}}
        settings = RolloutSettings(scale=None if rolled_out else wanted, known=self._known, previous=before)
        try:
            found = simulate_rollout(obj, self._context, settings, namespace=workload.namespace)
        except PlacementError:
            return None
        self._budget.pods -= wanted
        self._budget.rollouts -= 1
        return found

    def _delete_last(self, workload: Workload, count: int) -> None:
        """Delete pods in the order of their names: of this kind it is not simulated which ones go."""
        if workload.selector is None or count <= 0:
            return
        pods = self._cluster.selected_pods(workload.namespace, workload.selector)
        for pod in pods[-count:]:
            self._cluster.remove("v1", "Pod", workload.namespace, pod.name)

    def _end_of(self, rollout: Rollout, workload: Workload, running: int, wanted: int) -> PodChange:
        """Give the cluster the pods that there are at the end of the likely course."""
        course, selector = rollout.courses.likely, workload.selector
        if selector is None:
            raise ValueError("what is rolled out selects its pods")
        start, end = (
            {pod.name: pod.node for pod in cluster.selected_pods(workload.namespace, selector)}
            for cluster in (self._cluster, course.cluster)
        )
        steps = []
        for name in start.keys() - {name for name, node in end.items() if start.get(name) == node}:
            self._cluster.remove("v1", "Pod", workload.namespace, name)
        for name, node in end.items():
            if start.get(name) != node:
                self._cluster.bind(rollout.prepared.request.pod, name, node)
                steps.append(Step(namespace=workload.namespace, name=name, node=node))
        decisions = {step.pod: step.decision for step in course.steps if step.decision is not None}
        # Some were pending before the course began.
        steps += (
            decisions.get(name, Step(namespace=workload.namespace, name=name, message=course.message))
            for name in course.pending
        )
        removed = sum(end.get(name) != node for name, node in start.items())
        return PodChange(running=running, removed=removed, wanted=wanted, steps=tuple(steps), rollout=rollout)

    def _others(self, before: Workload, after: PreparedPod) -> int:
        """Return how many pods of a workload are of other revisions than its next pod."""
        selector, labels = before.selector, after.pod.template.labels
        if selector is None:
            return 0
        known = after.revision is not None and not after.revision.is_new
        label = next((key for key in _REVISION_LABELS if key in labels), None) if known else None
        if label is not None:
            selector = _narrowed(selector, Requirement(label, Operator.NOT_IN, (labels[label],)))
        return self._cluster.count_pods(before.namespace, selector)

    def _fill(self, prepared: PreparedPod, missing: int) -> PodChange:
        missing = max(missing, 0)
        tried = min(missing, self._budget.pods)
        self._budget.pods -= tried
        steps: list[Step] = []
        for entry in replicas_of(prepared, tried):
            if self._stop():
                break
            steps.append(schedule(entry.request, self._cluster, entry.name))
        return PodChange(
            steps=tuple(steps),
            untried=missing - len(steps),
            next_only=prepared.workload.replicas is None,
        )

    def _on_each_node(self, prepared: PreparedPod) -> PodChange:
        """Give each node that a DaemonSet is for one of its pods, in place of one that runs there."""
        workload = prepared.workload
        running = 0 if prepared.running is None else prepared.running
        if workload.selector is not None:
            self._cluster.unbind(workload.namespace, workload.selector)
        result = evaluate(prepared.request, self._cluster)
        steps = []
        for position in _nodes_of_daemon(result):
            node = result.names[position]
            pod = Step(namespace=workload.namespace, name=f"{workload.name}-{node}")
            if result.feasible[position]:
                self._cluster.bind(prepared.request.pod, pod.name, node)
                steps.append(replace(pod, node=node, feasible=1, tied=(node,)))
            else:
                steps.append(replace(pod, message=f"{node}: {_reasons(result, position)}"))
        return PodChange(running=running, wanted=len(steps), steps=tuple(steps))


def _wanted(workload: Workload, running: int) -> int:
    """Return how many pods a workload should have; who does not say it leaves it to an autoscaler."""
    if running and workload.kind.replicas is not None and not workload.states_replicas:
        return running
    return 1 if workload.replicas is None else max(workload.replicas, 0)


def _narrowed(selector: LabelSelector, more: Requirement) -> LabelSelector:
    return replace(selector, match_expressions=(*selector.match_expressions, more))


def _nodes_of_daemon(result: SchedulingResult) -> list[int]:
    """Return the positions of the nodes for which a DaemonSet's controller makes a pod."""
    left_out = np.zeros(len(result.names), np.bool_)
    for rejected in result.rejections:
        if rejected.plugin in _NO_POD:
            left_out |= rejected.of_node != 0
    return np.flatnonzero(~left_out).tolist()


def _reasons(result: SchedulingResult, position: int) -> str:
    """Return why a node rejects a pod, in the scheduler's words."""
    numbers = ((rejected, int(rejected.of_node[position])) for rejected in result.rejections)
    return ", ".join(str(rejected.reasons[number - 1]) for rejected, number in numbers if number)

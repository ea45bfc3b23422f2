"""Workloads and clusters that are rolled out in tests, and what is read off a course."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from planning.simulation.rollout.courses import Course, PodAction
from planning.simulation.rollout.rollout import Rollout, simulate_rollout
from planning.simulation.rollout.rollout_start import RolloutSettings
from policies.config.context import AdmissionContext
from policies.model.deletion_facts import DELETION_COST_ANNOTATION, DeletionFacts
from policies.pods.known_pods import UNREAD_PODS, KnownPods
from tests.builders import a_constraint, a_node, a_pod, a_workload
from tests.planning.clusters import known_of
from tests.planning.verdicts import an_index

#: The facts of a pod that runs and is ready.
READY = DeletionFacts(phase=2, ready=True, cost=0, ready_since=0.0, restarts=(0, 0), created=0.0, uid="")
#: A node in each of three zones.
THREE_ZONES = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c")]
#: The same, but the last zone takes no pod.
CORDONED = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c", unschedulable=True)]


def a_deployment(replicas: int, *constraints: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """Return a Deployment; ``unavailable`` and ``surge`` are its limits, the rest goes into its spec."""
    limits = {"maxUnavailable": spec.pop("unavailable", None), "maxSurge": spec.pop("surge", None)}
    given = {name: value for name, value in limits.items() if value is not None}
    strategy = {"strategy": {"rollingUpdate": given}} if given else {}
    return _sized(a_workload(spec=_spread(constraints)), replicas, strategy | spec)


def a_stateful_set(replicas: int, *constraints: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """Return a StatefulSet; ``update`` is its ``rollingUpdate``."""
    update = spec.pop("update", None)
    strategy = {"updateStrategy": {"rollingUpdate": update}} if update else {}
    return _sized(a_workload("StatefulSet", "apps", spec=_spread(constraints)), replicas, strategy | spec)


def of_revisions(**changed: Any) -> dict[str, Any]:
    """Return a hard zone constraint that counts the pods of one revision."""
    return a_constraint(matchLabelKeys=["pod-template-hash"], **changed)


def running(revision: str, **nodes: int) -> list[dict[str, Any]]:
    """Return so many running pods of a revision on each node."""
    return [
        a_pod(
            name=f"web-{revision}-{node}-{number}",
            labels={"app": "web", "pod-template-hash": revision},
            spec={"nodeName": node},
        )
        for node, count in nodes.items()
        for number in range(count)
    ]


def ordinals(*nodes: str, revision: str = "web-old") -> list[dict[str, Any]]:
    """Return the running pods of a StatefulSet, each on a node."""
    return [
        a_pod(
            name=f"web-{ordinal}",
            labels={"app": "web", "controller-revision-hash": revision},
            spec={"nodeName": node},
        )
        for ordinal, node in enumerate(nodes)
    ]


def known_at(pods: list[dict[str, Any]], costs: Iterable[int]) -> KnownPods:
    """Return what is known of pods that are ready and of one age, each with its deletion cost."""
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return known_of(
        pod
        | {
            "metadata": pod["metadata"] | {"annotations": {DELETION_COST_ANNOTATION: str(cost)}},
            "status": status,
        }
        for pod, cost in zip(pods, costs, strict=False)
    )


def a_context(*objects: dict[str, Any]) -> AdmissionContext:
    """Return the context by which pods are placed in a cluster."""
    return AdmissionContext(policies=(), cluster=an_index(*objects))


#: A rollout with the first choices by name, in a cluster of whose pods only the index is known.
PLAIN_ROLLOUT = RolloutSettings(known=UNREAD_PODS)


def roll(obj: dict[str, Any], context: AdmissionContext, **settings: Any) -> Rollout:
    """Roll out an object."""
    return simulate_rollout(obj, context, replace(PLAIN_ROLLOUT, **settings))


#: The sign of each action on a pod.
_SIGNS = {PodAction.CREATED: "+", PodAction.SCHEDULED: "*", PodAction.DELETED: "-", PodAction.EVICTED: "!"}


def story(course: Course) -> list[str]:
    """Return the steps: ``+ n1`` for a new pod on a node, ``- old n1`` for a deleted old one."""
    return [
        f"{_SIGNS[step.action]}{'' if step.new else ' old'} {step.node or 'pending'}" for step in course.steps
    ]


def names(course: Course) -> list[str]:
    """Return the pods to which something happens, with what it is."""
    return [f"{_SIGNS[step.action]}{step.pod.rpartition('-')[2]}" for step in course.steps]


def _spread(constraints: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    return {"topologySpreadConstraints": list(constraints)} if constraints else {}


def _sized(workload: dict[str, Any], replicas: int, spec: dict[str, Any]) -> dict[str, Any]:
    return workload | {"spec": workload["spec"] | {"replicas": replicas} | spec}

"""Where the next pod of an object would go: the constraints in force for it, and the engine's verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from policies.config.context import AdmissionContext
from policies.config.default_constraints import Injection, plan_injection
from policies.manifests.errors import EvenkeelError
from policies.manifests.fields import (
    ErrorKind,
    ErrorList,
    FieldError,
    FieldPath,
    is_cut,
    member,
    shown,
    text_member,
)
from policies.model.cluster_kinds import STATEFUL_SET
from policies.model.constraint import Constraint, without_fields
from policies.model.next_pod import PodRevision, next_pod, pod_revision
from policies.model.pod import Pod, read_pod
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.revisions import find_revision
from policies.model.storage_readers import read_claim_templates
from policies.model.topology import class_of
from policies.model.version import KubernetesVersion
from policies.model.workload import DEFAULT_NAMESPACE, Workload
from policies.scheduler.configuration import DEFAULT_CONFIG
from policies.scheduler.defaults import NoConstraints, default_constraints, own_constraints
from policies.scheduler.evaluate import evaluate
from policies.scheduler.index import ClusterIndex
from policies.scheduler.pod_claims import with_claims, with_known_claims
from policies.scheduler.release_changes import Behavior
from policies.scheduler.releases import dropped_fields, dropped_of_pod
from policies.scheduler.request import AppliedConstraint, ConstraintOrigin, SchedulingRequest
from policies.scheduler.result import SchedulingResult
from policies.scheduler.workload_topology import REVISION_LABELS


def free_names(name: str, cluster: ClusterIndex, namespace: str) -> Iterator[str]:
    """Yield the names that follow one and are free, that one first.

    The pods of a StatefulSet have the first ordinals that are free; those of other kinds end in a number,
    where the controller would write a random suffix.
    """
    taken = cluster.pod_names(namespace)
    base, _, last = name.rpartition("-")
    number, base = (int(last), base) if last.isdecimal() and base else (1, name)
    while True:
        if (made := f"{base}-{number}") not in taken:
            yield made
        number += 1


def next_ordinal(name: str, replicas: int | None, cluster: ClusterIndex, namespace: str) -> str:
    """Return the pod that a StatefulSet's controller makes next: the first missing one, else the last anew.

    Args:
        name: The first pod.
        replicas: How many the StatefulSet has; None if that is not known.
        cluster: The cluster.
        namespace: The namespace of the pods.
    """
    base, _, first = name.rpartition("-")
    free = next(free_names(name, cluster, namespace))
    if replicas is None or not first.isdecimal():
        return free
    last = int(first) + max(replicas, 1) - 1
    return free if int(free.rpartition("-")[2]) <= last else f"{base}-{last}"


#: The rule that an object breaks which makes no pods, as far as is known.
HOLDS_NO_POD = "holds-no-pod"

#: Steps of comparing a revision, the name of a pod, and a Service with an object.
REVISION_STEPS, NAME_STEPS, SERVICE_STEPS = 60, 2, 8

#: The kind whose controller makes a pod for each node, and replaces those that run.
DAEMON_SET = "DaemonSet"


class PlacementError(EvenkeelError):
    """An object that cannot be placed: Kubernetes would refuse it or its pods."""

    def __init__(self, errors: tuple[FieldError, ...]) -> None:
        self.errors = errors
        super().__init__("\n".join(map(str, errors)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedPod:
    """The next pod of an object, with all that its placement depends on."""

    request: SchedulingRequest  #: The engine's input.
    workload: Workload  #: The object as it was read.
    pod: Workload  #: The pod that is scheduled, as the object's controller would make it.
    version: KubernetesVersion  #: The release of Kubernetes.
    cluster: ClusterIndex  #: What it is scheduled on: of a DaemonSet, the cluster without its pods.
    why_none: NoConstraints | None = None  #: Why no constraint is in force; None if there is one.
    policy: str | None = None  #: The name of the SpreadPolicy that gave the constraints; None if none did.
    running: int | None = None  #: On how many nodes pods of a DaemonSet are; None for other objects.
    #: The revision that the pod belongs to; None for what has no revisions.
    revision: PodRevision | None = None

    @property
    def dropped(self) -> list[str]:
        """The fields of the pod and of the object's own constraints that the release drops, each once."""
        template, behavior = self.workload.template, self.request.behavior
        # An object with errors is not placed, so what is a list holds constraints.
        entries = template.constraints if isinstance(template.constraints, list) else ()
        of_constraints = [name for entry in entries for name in dropped_fields(entry, behavior)]
        of_pod = [str(name) for name, _ in dropped_of_pod(template.spec, FieldPath(), behavior)]
        return list(dict.fromkeys((*of_constraints, *of_pod)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement(PreparedPod):
    """Where the next pod of an object would go."""

    result: SchedulingResult  #: The engine's result.


@dataclass(frozen=True, slots=True)
class _InForce:
    """The constraints in force, and notes on where they come from."""

    constraints: tuple[AppliedConstraint, ...] = ()
    why_none: NoConstraints | None = None
    policy: str | None = None


def read_workload(obj: Mapping[str, Any], context: AdmissionContext, *, namespace: str = "") -> Workload:
    """Read an object that is to be placed.

    Args:
        obj: The object, of any shape.
        context: What it is placed by.
        namespace: Where the object goes if it names no namespace itself.

    Raises:
        PlacementError: It makes no pods, as far as is known.
    """
    kind = context.kind_of(obj)
    if kind is None:
        given = f"{shown(obj.get('kind'))} of {shown(obj.get('apiVersion'))}"
        text = f"Unsupported value: {given}: must be a Pod or a kind with a pod template"
        path = FieldPath().child("kind")
        raise PlacementError((FieldError(path, text, ErrorKind.NOT_SUPPORTED, HOLDS_NO_POD),))
    own = text_member(obj.get("metadata"), "namespace")
    known = {"stored": True} if context.reads_stored else {}
    workload = Workload.read(
        obj, kind, own or namespace or DEFAULT_NAMESPACE, release=context.release, **known
    )
    if kind.replicas is None or workload.states_replicas:
        return workload
    unstated = context.replica_sources.number(workload, partial(_count_running, workload, context))
    return replace(workload, unstated=unstated)


def check_controller(workload: Workload) -> None:
    """Check what a workload's controller reads: how many replicas, and that there is a pod template.

    Raises:
        PlacementError: The API server would refuse it; holds every error.
    """
    if errors := tuple(workload.controller_errors()):
        raise PlacementError(errors)


def _count_running(workload: Workload, context: AdmissionContext) -> int:
    if context.cluster is None or workload.own_pods is None:
        return 0
    with context.reading():
        return context.cluster.count_pods(workload.namespace, workload.own_pods)


def evaluate_manifest(
    obj: Mapping[str, Any],
    context: AdmissionContext,
    *,
    namespace: str = "",
) -> Placement:
    """Read an object as ``read_workload`` does and evaluate it as ``evaluate_workload`` does."""
    return evaluate_workload(read_workload(obj, context, namespace=namespace), context)


def evaluate_workload(
    workload: Workload, context: AdmissionContext, *, revision_of: PreparedPod | None = None
) -> Placement:
    """Return where a pod, or the next pod of a workload, could go: see ``prepare``."""
    # All of it is of one state of the cluster.
    with context.reading():
        prepared = prepare(workload, context, revision_of=revision_of)
        return evaluate_pod(prepared, prepared.cluster)


def evaluate_pod(prepared: PreparedPod, cluster: ClusterIndex) -> Placement:
    """Return where a pod could go in a cluster, its own or one that it has become."""
    known = {each.name: getattr(prepared, each.name) for each in fields(PreparedPod)}
    return Placement(**known | {"cluster": cluster, "result": evaluate(prepared.request, cluster)})


def prepare(
    workload: Workload,
    context: AdmissionContext,
    *,
    revision_of: PreparedPod | None = None,
) -> PreparedPod:
    """Return the pod that is to be scheduled, or a workload's next one, with the constraints in force for it.

    Args:
        workload: The pod or workload.
        context: The cluster, which must be there; policies, whose defaults are injected first; the
            scheduler's configuration, kube-scheduler's own where there is none; rules that may be broken.
        revision_of: Where the object was placed before it was edited: its pods are then taken for pods of
            that revision, beside those of it that run.

    Raises:
        PlacementError: Kubernetes would refuse the object or its pods; holds every error.
    """
    cluster, behavior, running, kind = context.cluster, context.behavior, None, workload.kind
    if cluster is None:
        raise ValueError("there is no cluster to place anything in")
    with cluster.reading():
        pod, of_revision = _next_pod(workload, cluster, revision_of)
        pending = _read_next(workload, pod, behavior, context.tolerated)
        pending = _with_priority(pending, member(pod.obj, "spec"), cluster)
        if pending.claim_templates:
            # Which claims a replica has depends on its ordinal.
            names = len(cluster.pod_names(workload.namespace))
            cluster.steps.take(names, NAME_STEPS, "pod name")
            name = next_ordinal(pending.name, workload.replicas, cluster, workload.namespace)
            pending = with_claims(pending, name)
        if kind.kind == DAEMON_SET:
            cluster, running = _without_own_pods(cluster, workload)
        in_force = _in_force(workload, pod, context, cluster, behavior)
    request = SchedulingRequest(
        pod=with_known_claims(pending, cluster.storage),
        constraints=in_force.constraints,
        behavior=behavior,
        pinned=kind.kind == DAEMON_SET,
        profile=(context.scheduler or DEFAULT_CONFIG).plugins_for(pod.template.scheduler_name),
    )
    why_none = in_force.why_none
    if in_force.constraints and not request.constraints:
        why_none = NoConstraints.NOT_RUN
    return PreparedPod(
        request=request,
        workload=workload,
        pod=pod,
        version=context.kubernetes_version,
        cluster=cluster,
        running=running,
        why_none=why_none,
        policy=in_force.policy,
        revision=of_revision,
    )


def _next_pod(
    workload: Workload, cluster: ClusterIndex, revision_of: PreparedPod | None
) -> tuple[Workload, PodRevision | None]:
    """Return the next pod as an object, and the revision that it is of."""
    revisions = cluster.snapshot.revisions(workload.kind.name, workload.namespace, workload.name)
    cluster.steps.take(len(revisions), REVISION_STEPS, "revision")
    revision = find_revision(workload, revisions)
    pod = next_pod(workload, revision)
    if revision_of is None or workload.kind.is_pod:
        return pod, pod_revision(workload, revision)
    return _as_revision(pod, revision_of.pod), revision_of.revision


def _read_next(workload: Workload, pod: Workload, behavior: Behavior, tolerated: frozenset[str]) -> Pod:
    """Return the next pod as the scheduler reads it.

    Raises:
        PlacementError: Kubernetes would refuse it, or its workload.
    """
    found = ErrorList()
    pending = read_pod(
        pod.obj, workload.pod_path, found, namespace=workload.namespace, reading=behavior.reading
    )
    if workload.kind.kind == STATEFUL_SET[1]:
        pending = pending._replace(claim_templates=read_claim_templates(workload.obj, found))
    errors = [*workload.errors, *workload.controller_errors(), *found.errors]
    # Where errors were left out, it is not known which parts are good.
    if is_cut(errors) or any(error.rule not in tolerated for error in errors):
        raise PlacementError(tuple(dict.fromkeys(errors)))
    return pending


def _with_priority(pod: Pod, spec: Mapping[str, Any], cluster: ClusterIndex) -> Pod:
    """Return a pod with the priority that the API server gives it by its class, if it has none itself."""
    if spec.get("priority") is not None:
        return pod
    classes = cluster.priority_classes
    found = class_of(spec, classes)
    if found is not None:
        return pod._replace(priority=found.value, may_preempt=pod.may_preempt and found.preempts)
    # Without a class a pod has that of a default, which may be among those that could not be read.
    unknown = bool(classes.unread or spec.get("priorityClassName"))
    return pod._replace(class_unknown=True) if unknown else pod


def _without_own_pods(cluster: ClusterIndex, workload: Workload) -> tuple[ClusterIndex, int]:
    """Return a cluster without the pods of a DaemonSet, and on how many nodes they were."""
    namespace, selector = workload.namespace, workload.own_pods
    if selector is None:
        return cluster, 0
    running = cluster.count_nodes(namespace, selector)
    fork = cluster.fork(namespace)
    fork.unbind(namespace, selector)
    return fork, running


def _as_revision(pod: Workload, other: Workload) -> Workload:
    """Return a pod with the labels and the owner that identify the revision of another."""
    labels = other.template.labels
    revision = {key: labels[key] for key in REVISION_LABELS if key in labels}
    metadata = {**pod.metadata, "labels": {**member(pod.metadata, "labels"), **revision}}
    obj = {**pod.obj, "metadata": metadata}
    read = Workload.read(obj, pod.kind, pod.namespace, release=pod.release)
    return replace(read, owner=other.owner, read_owner_selector=other.read_owner_selector)


def _in_force(
    workload: Workload, pod: Workload, context: AdmissionContext, cluster: ClusterIndex, behavior: Behavior
) -> _InForce:
    """Return the pod's own constraints, or a policy's, or the scheduler's."""
    labels, raw = pod.template.labels, pod.template.constraints
    if isinstance(raw, list) and raw:
        policy = pod.annotations.get(INJECTED_ANNOTATION) or workload.annotations.get(INJECTED_ANNOTATION)
        origin = ConstraintOrigin.POLICY if policy else ConstraintOrigin.POD
        if workload.errors:  # Tolerated ones.
            entries = [Constraint.parse(without_fields(entry, context.release.dropped)) for entry in raw]
        else:
            entries = [entry.constraint for entry in workload.constraints]
        own = own_constraints(entries, labels, origin=origin, behavior=behavior)
        return _InForce(own, policy=policy)
    services = cluster.snapshot.count_services(pod.namespace, labels)
    cluster.steps.take(services, SERVICE_STEPS, "Service")
    # Policies change what is created alone: the pods of a stored workload still are, its template is not.
    for level in (pod,) if workload.kind.is_pod or workload.stored else (workload, pod):
        plan = plan_injection(level, context.policies_for(level), context)
        if isinstance(plan, Injection):
            injected = map(Constraint.parse, plan.entries())
            given = own_constraints(injected, labels, origin=ConstraintOrigin.POLICY, behavior=behavior)
            return _InForce(given, policy=plan.policy)
    profile = (context.scheduler or DEFAULT_CONFIG).profile_for(pod.template.scheduler_name)
    defaults = default_constraints(pod, profile, cluster.snapshot, behavior=behavior)
    if isinstance(defaults, NoConstraints):
        return _InForce(why_none=defaults)
    return _InForce(defaults)

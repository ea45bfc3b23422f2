"""Where the next pod of an object would go: the constraints in force for it, and the engine's verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from policies.admission.injection import Injection, plan_injection
from policies.config.context import AdmissionContext
from policies.config.subject import Subject
from policies.manifests.errors import EvenkeelError
from policies.manifests.fields import ErrorKind, ErrorList, FieldError, FieldPath, is_cut, shown
from policies.model.constraint import Constraint
from policies.model.next_pod import NextPod, PodRevision, next_pod
from policies.model.pod import DEFAULT_NAMESPACE, read_pending_pod
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.revisions import find_revision
from policies.model.version import KubernetesVersion
from policies.model.workload import KNOWN_KINDS, WorkloadKind
from policies.scheduler.configuration import DEFAULT_CONFIG
from policies.scheduler.defaults import NoConstraints, PodIdentity, default_constraints, own_constraints
from policies.scheduler.evaluate import evaluate
from policies.scheduler.index import ClusterIndex
from policies.scheduler.releases import Behavior, dropped_fields
from policies.scheduler.request import AppliedConstraint, ConstraintOrigin, SchedulingRequest
from policies.scheduler.result import SchedulingResult
from policies.scheduler.workload_topology import REVISION_LABELS

#: The rule that an object breaks which makes no pods, as far as is known.
HOLDS_NO_POD = "holds-no-pod"

#: The kind whose controller makes a pod for each node, and replaces those that run.
DAEMON_SET = "DaemonSet"

_POD = next(kind for kind in KNOWN_KINDS if kind.is_pod)


class PlacementError(EvenkeelError):
    """An object that cannot be placed: Kubernetes would refuse it or its pods."""

    def __init__(self, errors: tuple[FieldError, ...]) -> None:
        self.errors = errors
        super().__init__("\n".join(map(str, errors)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where the next pod of an object would go.

    Attributes:
        verdict: What the engine says.
        subject: The object as it was read.
        pod: The pod that was judged, as the object's controller would make it.
        identity: Whose pod it is, as the scheduler sees it.
        version: The release of Kubernetes.
        why_none: Why no constraint is in force; None if there is one.
        policy: The name of the SpreadPolicy that gave the constraints; None if none did.
        cluster: What it was judged on: of a DaemonSet, the cluster without its pods.
        running: On how many nodes pods of a DaemonSet are; None for other objects.
        revision: The revision that the pod was judged as; None for what has no revisions.
    """

    verdict: SchedulingResult
    subject: Subject
    pod: Mapping[str, Any]
    identity: PodIdentity
    version: KubernetesVersion
    cluster: ClusterIndex
    why_none: NoConstraints | None = None
    policy: str | None = None
    running: int | None = None
    revision: PodRevision | None = None

    @property
    def dropped(self) -> list[str]:
        """The fields of the object's own constraints that the release drops, each once."""
        entries = self.subject.pod.constraints
        behavior = self.verdict.request.behavior
        # An object with errors is not placed, so what is a list holds constraints.
        if not isinstance(entries, list):
            return []
        return list(dict.fromkeys(name for entry in entries for name in dropped_fields(entry, behavior)))


@dataclass(frozen=True, slots=True)
class _InForce:
    """The constraints in force, and what there is to say of where they come from."""

    constraints: tuple[AppliedConstraint, ...] = ()
    why_none: NoConstraints | None = None
    policy: str | None = None


def place(
    obj: Mapping[str, Any],
    context: AdmissionContext,
    *,
    namespace: str = "",
    tolerated: frozenset[str] = frozenset(),
    revision_of: Placement | None = None,
) -> Placement:
    """Judge the pod, or the next pod of a workload, against the cluster of a context.

    Args:
        obj: The object, of any shape.
        context: The cluster, which must be there; policies, whose defaults are injected first; the
            scheduler's configuration, kube-scheduler's own where there is none.
        namespace: Where the object goes if it names no namespace itself.
        tolerated: Rules of the API server that the object may break.
        revision_of: Where the object was placed before it was edited: its pods are then judged as pods of
            that revision, beside those of it that run.

    Raises:
        PlacementError: Kubernetes would refuse the object or its pods; holds every error.
    """
    cluster = context.cluster
    if cluster is None:
        raise ValueError("there is no cluster to place anything in")
    behavior = context.behavior
    kind = _kind(obj, context)
    subject = Subject.read(obj, kind, namespace_of(obj, namespace))
    running = None
    with cluster.reading():
        made = _next_pod(subject, cluster)
        if revision_of is not None and not kind.is_pod:
            made = _as_revision(made, revision_of)
        found = ErrorList()
        pending = read_pending_pod(made.pod, FieldPath(kind.template), found)
        errors = [*subject.errors(subject.merge_state(subject), strict=context.strict), *found.errors]
        # Where errors were left out, it is not known which parts are good.
        if is_cut(errors) or any(error.rule not in tolerated for error in errors):
            raise PlacementError(tuple(dict.fromkeys(errors)))
        pod = Subject.read(made.pod, _POD, subject.namespace)
        pod = pod._replace(owner=made.owner, owner_selector=made.owner_selector)
        if kind.kind == DAEMON_SET:
            cluster, running = _without_own_pods(cluster, obj, kind, subject.namespace)
        in_force = _in_force(subject, pod, context, cluster, behavior)
        question = SchedulingRequest(
            pod=replace(pending, namespace=subject.namespace),
            constraints=in_force.constraints,
            behavior=behavior,
            pinned=kind.kind == DAEMON_SET,
        )
        verdict = evaluate(question, cluster)
    return Placement(
        verdict=verdict,
        subject=subject,
        pod=made.pod,
        identity=pod.identity,
        version=context.kubernetes_version,
        cluster=cluster,
        running=running,
        why_none=in_force.why_none,
        policy=in_force.policy,
        revision=made.revision,
    )


def _without_own_pods(
    cluster: ClusterIndex, obj: Mapping[str, Any], kind: WorkloadKind, namespace: str
) -> tuple[ClusterIndex, int]:
    """Return a cluster without the pods of a DaemonSet, and on how many nodes they were."""
    selector = kind.read_selector(obj)
    if selector is None:
        return cluster, 0
    running = cluster.count_nodes(namespace, selector)
    fork = cluster.fork(namespace)
    fork.unbind(namespace, selector)
    return fork, running


def _as_revision(made: NextPod, placement: Placement) -> NextPod:
    """Return a pod with the labels and the owner that tell the revision of another."""
    labels = placement.identity.labels
    revision = {key: labels[key] for key in REVISION_LABELS if key in labels}
    metadata = made.pod["metadata"]
    metadata = {**metadata, "labels": {**(metadata.get("labels") or {}), **revision}}
    pod, identity = {**made.pod, "metadata": metadata}, placement.identity
    return NextPod(pod, identity.owner, identity.owner_selector, placement.revision)


def _next_pod(subject: Subject, cluster: ClusterIndex) -> NextPod:
    """Return the pod that is made next: of the revision with the workload's template, if there is one."""
    name = subject.metadata.get("name")
    named = name if isinstance(name, str) else ""
    revisions = cluster.snapshot.revisions(subject.kind.name, subject.namespace, named)
    revision = find_revision(subject.obj, subject.kind, revisions)
    return next_pod(subject.obj, subject.kind, subject.namespace, revision)


def _kind(obj: Mapping[str, Any], context: AdmissionContext) -> WorkloadKind:
    version, name = obj.get("apiVersion"), obj.get("kind")
    kind = None
    if isinstance(version, str) and isinstance(name, str):
        kind = context.kinds.find(version.rpartition("/")[0], name)
    if kind is None:
        given = f"{shown(name)} of {shown(version)}"
        text = f"Unsupported value: {given}: must be a Pod or a kind with a pod template"
        path = FieldPath().child("kind")
        raise PlacementError((FieldError(path, text, ErrorKind.NOT_SUPPORTED, HOLDS_NO_POD),))
    return kind


def namespace_of(obj: Mapping[str, Any], namespace: str) -> str:
    """Return the namespace that an object names, else a given one, else the default."""
    metadata = obj.get("metadata")
    own = metadata.get("namespace") if isinstance(metadata, dict) else None
    return own if isinstance(own, str) and own else namespace or DEFAULT_NAMESPACE


def _in_force(
    subject: Subject, pod: Subject, context: AdmissionContext, cluster: ClusterIndex, behavior: Behavior
) -> _InForce:
    """Return the pod's own constraints, or a policy's, or the scheduler's."""
    labels = pod.pod.labels
    raw = pod.pod.constraints
    if isinstance(raw, list) and raw:
        policy = pod.annotations.get(INJECTED_ANNOTATION) or subject.annotations.get(INJECTED_ANNOTATION)
        origin = ConstraintOrigin.POLICY if policy else ConstraintOrigin.POD
        own = own_constraints(map(Constraint.parse, raw), labels, origin=origin, behavior=behavior)
        return _InForce(own, policy=policy)
    for level in (pod,) if subject.kind.is_pod else (subject, pod):
        plan = plan_injection(level, context.policies_for(level), context)
        if isinstance(plan, Injection):
            injected = map(Constraint.parse, plan.entries())
            given = own_constraints(injected, labels, origin=ConstraintOrigin.POLICY, behavior=behavior)
            return _InForce(given, policy=plan.policy)
    profile = (context.scheduler or DEFAULT_CONFIG).profile_for(pod.pod.scheduler_name)
    defaults = default_constraints(pod.identity, profile, cluster.snapshot, behavior=behavior)
    if isinstance(defaults, NoConstraints):
        return _InForce(why_none=defaults)
    return _InForce(defaults)

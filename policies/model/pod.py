"""Pods as the scheduler sees them: those of the cluster, and one that waits for a node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from policies.manifests.fields import (
    LABELS,
    METADATA,
    SPEC,
    STATUS,
    ErrorList,
    FieldPath,
    object_items,
    text_member,
)
from policies.model.deletion_facts import seconds_of
from policies.model.held_amounts import HeldAmounts, held_amounts, usual_held
from policies.model.interpod_terms import NO_TERMS, InterPodTerms, read_interpod_terms
from policies.model.node_affinity import NodeAffinity, read_node_affinity
from policies.model.pod_reading import EVERY_FIELD_OF_PODS, PodReading
from policies.model.pod_volumes import NO_VOLUMES, PodVolumes, read_pod_volumes
from policies.model.resources import NO_IMAGES, HostPort, Images, PodAmounts, Requests, host_ports, images_of
from policies.model.storage_objects import PersistentVolumeClaim
from policies.model.taints import Toleration, read_tolerations
from policies.model.workload import DEFAULT_NAMESPACE, owner_of_pod

#: The phases in which a pod holds nothing any more.
FINISHED_PHASES = ("Succeeded", "Failed")

#: When a pod started that has not: later than any other. Source: ``GetPodStartTime``.
NOT_STARTED: Final = 2**62
#: The condition and the reason of a pod that the scheduler evicts.
_DISRUPTION, _PREEMPTION = "DisruptionTarget", "PreemptionByScheduler"

#: Places of a pod, or of a template, of which the paths are kept: each kind has one.
MAX_PATHS: Final = 64
_NAMESPACE = METADATA.child("namespace")
_NODE_NAME = SPEC.child("nodeName")
_PHASE = STATUS.child("phase")


class BoundPod(NamedTuple):
    """A pod of the cluster."""

    namespace: str  #: Its namespace.
    name: str  #: Its name.
    labels: dict[str, str]  #: Its labels.
    node_name: str  #: The node that it is bound to; empty while it waits.
    finished: bool  #: Whether it is over and holds nothing any more.
    terminating: bool  #: Whether it is being deleted: it holds what it has but does not count for spreading.
    requests: Requests  #: What it takes of its node.
    assumed: Requests = ()  #: What nodes are compared by: see ``PodAmounts.assumed``.
    terms: InterPodTerms = NO_TERMS  #: Its pod affinity and anti-affinity.
    ports: tuple[HostPort, ...] = ()  #: The ports of its node that it takes.
    older: Requests = ()  #: How much more of both requests older releases count.
    spread: bool = False  #: Whether it has spread constraints of its own.
    volumes: PodVolumes = NO_VOLUMES  #: Its volumes.
    priority: int = 0  #: Its priority.
    started: int = NOT_STARTED  #: When it started, in seconds since 1970; ``NOT_STARTED`` before.
    #: The node on which the scheduler makes room for it, while it waits; empty if none.
    nominated_node: str = ""
    preempted: bool = False  #: Whether the scheduler is evicting it for another pod.
    owner: str = ""  #: What its controller is found by: see ``owner_of_pod``.


class Pod(NamedTuple):
    """A pod to place."""

    namespace: str  #: Its namespace.
    name: str  #: Its name; may be empty.
    labels: dict[str, str]  #: Its labels.
    node_name: str  #: The only node that it accepts; empty for any.
    affinity: NodeAffinity  #: Which nodes it requires.
    tolerations: tuple[Toleration, ...]  #: Which taints it tolerates.
    requests: Requests  #: What it takes of a node.
    gated: bool  #: Whether scheduling gates hold it back.
    unmodeled: tuple[str, ...]  #: What else a scheduler would look at, as the API names it.
    assumed: Requests = ()  #: What nodes are compared by: see ``PodAmounts.assumed``.
    terms: InterPodTerms = NO_TERMS  #: Its pod affinity and anti-affinity.
    ports: tuple[HostPort, ...] = ()  #: The ports of its node that it takes.
    images: Images = NO_IMAGES  #: The images that it runs.
    reading: PodReading = EVERY_FIELD_OF_PODS  #: How its release reads pods, this one and those that run.
    held: Requests = ()  #: What nodes are compared by once it runs.
    asked_zero: tuple[str, ...] = ()  #: The resources besides those of every node of which it requests 0.
    cpu_overhead: int = 0  #: See ``PodAmounts.cpu_overhead``.
    volumes: PodVolumes = NO_VOLUMES  #: Its volumes.
    #: What the claims of a replica of a StatefulSet are made of.
    claim_templates: tuple[PersistentVolumeClaim, ...] = ()
    #: The claims that are made of these, the first of its volumes.
    made_claims: tuple[PersistentVolumeClaim, ...] = ()
    uid: str = ""  #: Its uid; empty if it is not known.
    priority: int = 0  #: Its priority.
    #: Whether it names a PriorityClass that is not known, so that its priority is not either.
    class_unknown: bool = False
    may_preempt: bool = True  #: Whether pods of lower priority may be evicted for it.
    nominated_node: str = ""  #: The node on which the scheduler makes room for it; empty if none.
    owner: str = ""  #: What its controller is found by: see ``owner_of_pod``.

    def bound_as(self, name: str, *, node_name: str = "", nominated_node: str = "") -> BoundPod:
        """Return the pod under a name as one of the cluster."""
        return BoundPod(
            namespace=self.namespace,
            name=name,
            labels=dict(self.labels),
            node_name=node_name,
            finished=False,
            terminating=False,
            requests=self.requests,
            assumed=self.held,
            terms=self.terms,
            ports=self.ports,
            volumes=self.volumes,
            priority=self.priority,
            nominated_node=nominated_node,
            owner=self.owner,
        )


def _members(obj: Mapping[str, Any], found: ErrorList) -> tuple[Mapping[str, Any], ...]:
    """Return the metadata, the spec and the status of a pod of the cluster."""
    metadata, spec, status = obj.get("metadata"), obj.get("spec"), obj.get("status")
    if type(metadata) is not dict:
        metadata = found.mapping(metadata, METADATA)
    if type(spec) is not dict:
        spec = found.mapping(spec, SPEC)
    if type(status) is not dict:
        status = found.mapping(status, STATUS)
    return metadata, spec, status


def _identity(metadata: Mapping[str, Any], found: ErrorList) -> tuple[str, str]:
    """Return the namespace and the name of a pod of the cluster."""
    namespace = metadata.get("namespace")
    if type(namespace) is not str:
        namespace = found.text(namespace, _NAMESPACE)
    return namespace or DEFAULT_NAMESPACE, found.name(metadata, METADATA)


def read_bound_pod(obj: Mapping[str, Any], found: ErrorList) -> BoundPod:
    """Read a v1 Pod of the cluster; what is of the wrong type is recorded and read as absent.

    Runs once for every event of a pod: paths are built for what is wrong alone.
    """
    metadata, spec, status = _members(obj, found)
    namespace, name = _identity(metadata, found)
    given, node_name, phase = metadata.get("labels"), spec.get("nodeName"), status.get("phase")
    labels = {} if given is None else found.labels(given, LABELS)
    if type(node_name) is not str:
        node_name = found.text(node_name, _NODE_NAME)
    if type(phase) is not str:
        phase = found.text(phase, _PHASE)
    amounts = held_amounts(spec, SPEC, found, status)
    terms, ports, volumes = found.once(
        "spec",
        lambda: (
            # The API server has validated the terms, and merged into them what it merges. One that it took
            # and we cannot read is no reason to lose the pod.
            read_interpod_terms(spec, {}, namespace, SPEC, ErrorList()),
            host_ports(spec),
            read_pod_volumes(spec, namespace, name),
        ),
    )
    return BoundPod(
        namespace,
        name,
        labels,
        node_name,
        phase in FINISHED_PHASES,
        metadata.get("deletionTimestamp") is not None,
        amounts.requests,
        amounts.assumed,
        terms,
        ports,
        amounts.older,
        bool(spec.get("topologySpreadConstraints")),
        volumes,
        _priority(spec),
        started_at(status),
        text_member(status, "nominatedNodeName"),
        _is_preempted(status),
        owner_of_pod(labels, metadata),
    )


def read_pod(
    pod: Mapping[str, Any],
    at: FieldPath,
    found: ErrorList,
    *,
    namespace: str = "",
    reading: PodReading = EVERY_FIELD_OF_PODS,
) -> Pod:
    """Read a v1 Pod that is to be placed; what is of the wrong type is recorded and read as absent.

    Args:
        pod: The pod.
        at: Where it is, or the template that it was made from.
        found: Takes what is wrong.
        namespace: Where the pod goes, whatever it names; by default the namespace that it names.
        reading: How its release reads it.
    """
    metadata_path, labels_path, path, tolerations_path, gates_path = _paths_of(at)
    metadata = found.mapping(pod.get("metadata"), metadata_path)
    spec = found.mapping(pod.get("spec"), path)
    own = found.text_of(metadata, "namespace", metadata_path)
    namespace = namespace or own or DEFAULT_NAMESPACE
    labels = found.labels(metadata.get("labels"), labels_path)
    name = found.text_of(metadata, "name", metadata_path)
    merged = labels if reading.affinity_label_keys else {}
    node_name = found.text_of(spec, "nodeName", path)
    affinity = read_node_affinity(spec, path, found)
    tolerations = read_tolerations(spec.get("tolerations"), tolerations_path, found)
    usual, amounts = usual_held(spec), None
    if usual is None:
        amounts = PodAmounts(spec, path, found, reading=reading.amounts)
        usual = HeldAmounts(amounts.requests(), amounts.assumed())
    return Pod(
        namespace=namespace,
        name=name,
        labels=labels,
        node_name=node_name,
        affinity=affinity,
        tolerations=tolerations,
        requests=usual.requests,
        gated=bool(found.items(spec.get("schedulingGates"), gates_path)),
        unmodeled=tuple(_unmodeled(spec)),
        assumed=usual.assumed,
        terms=read_interpod_terms(spec, merged, namespace, path, found),
        ports=tuple(port for port in host_ports(spec) if reading.sidecar_ports or not port.sidecar),
        images=images_of(spec),
        reading=reading,
        held=usual.assumed if amounts is None else amounts.assumed(running=True),
        asked_zero=() if amounts is None else amounts.asked_zero(),
        cpu_overhead=0 if amounts is None else amounts.cpu_overhead(),
        volumes=read_pod_volumes(spec, namespace, name),
        uid=found.text_of(metadata, "uid", metadata_path),
        priority=_priority(spec),
        may_preempt=spec.get("preemptionPolicy") != "Never",
        nominated_node=text_member(pod.get("status"), "nominatedNodeName"),
        owner=owner_of_pod(labels, metadata),
    )


@lru_cache(MAX_PATHS)
def _paths_of(at: FieldPath) -> tuple[FieldPath, FieldPath, FieldPath, FieldPath, FieldPath]:
    """Return the paths of metadata, labels, spec, tolerations and gates of a pod, or of its template."""
    metadata, spec = at.child("metadata"), at.child("spec")
    return metadata, metadata.child("labels"), spec, spec.child("tolerations"), spec.child("schedulingGates")


def _priority(spec: Mapping[str, Any]) -> int:
    priority = spec.get("priority")
    return priority if type(priority) is int and abs(priority) < 2**31 else 0


def started_at(status: Mapping[str, Any]) -> int:
    """Return when a pod started, of its status: seconds since 1970."""
    started = status.get("startTime")
    return NOT_STARTED if started is None else int(seconds_of(started))


def _is_preempted(status: Mapping[str, Any]) -> bool:
    conditions = status.get("conditions")
    return bool(conditions) and any(
        (entry.get("type"), entry.get("status"), entry.get("reason")) == (_DISRUPTION, "True", _PREEMPTION)
        for entry in object_items(conditions)
    )


def _unmodeled(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields that a scheduler reads though they are not modeled; none of the wrong type."""
    volumes = object_items(spec.get("volumes"))
    if any(volume.get("persistentVolumeClaim") or volume.get("ephemeral") for volume in volumes):
        yield "persistentVolumeClaims"
    if spec.get("resourceClaims"):
        yield "resourceClaims"

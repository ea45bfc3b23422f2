"""The pods of a cluster beyond the index: the parts of their objects that their replacements would have.

The index keeps of a pod what it holds of its node. A pod that loses its node is scheduled again from its own
spec, of which the parts are kept here that a scheduler reads. The pods of one controller share them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, ItemsView, Iterable, Mapping
from typing import Any, Final, NamedTuple

import orjson

from policies.config.default_constraints import INJECT_ANNOTATION, MIRROR_ANNOTATION
from policies.manifests.fields import member, object_items, text_member
from policies.model.cluster_kinds import POD, STATEFUL_SET
from policies.model.cluster_workloads import is_pending
from policies.model.deletion_facts import DisruptionFacts, read_disruption_facts
from policies.model.pod import FINISHED_PHASES
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.snapshot import kind_of
from policies.model.workload import DEFAULT_NAMESPACE, Owner, controller_of, is_parallel

#: What is kept of a spec: all that decides where a pod goes, except for its node.
_SPEC_FIELDS: Final = (
    "affinity", "hostNetwork", "nodeSelector", "overhead", "priority", "resourceClaims", "resources",
    "schedulerName", "tolerations", "topologySpreadConstraints",
)  # fmt: skip
_CONTAINER_FIELDS: Final = ("image", "name", "ports", "resources", "restartPolicy")
_VOLUME_FIELDS: Final = ("ephemeral", "image", "persistentVolumeClaim")


class PodObject(NamedTuple):
    """A pod of the cluster, as its replacement is made of it."""

    manifest: bytes  #: The pod without its name and node, JSON; equal pods share it.
    owner: Owner | None  #: Its controller; None for one that nothing recreates.
    priority: int  #: ``spec.priority``.
    created: str  #: When it was created, as the API writes it.
    static: bool  #: Whether the kubelet of its node runs it from a file.
    disruption: DisruptionFacts  #: What autoscalers read of it before they evict it.

    @property
    def why_final(self) -> str:
        """Why nothing replaces it on another node; empty if its controller does."""
        if self.static:
            return "static pod of its node"
        if self.owner is None:
            return "no controller recreates it"
        if self.of_daemon_set:
            return f"DaemonSet {self.owner.name} runs one on each node"
        return ""

    @property
    def of_daemon_set(self) -> bool:
        """Whether a DaemonSet runs it, of Kubernetes or of another group."""
        return self.owner is not None and self.owner.kind == "DaemonSet"

    @property
    def is_tied(self) -> bool:
        """Whether it belongs to its node, from which nobody evicts it."""
        return self.static or self.of_daemon_set

    def to_dict(self, name: str) -> dict[str, Any]:
        """Return the pod that would replace it, as the API stores it."""
        pod: dict[str, Any] = orjson.loads(self.manifest)
        pod["metadata"]["name"] = name
        return pod


class PodObjects:
    """The pods among the objects of a cluster, each of which is shown once, or which are read when needed."""

    def __init__(self, read: Callable[[], Iterable[Mapping[str, Any]]] | None) -> None:
        """Start without pods.

        Args:
            read: Reads all objects, once a pod is looked up; what is shown before is passed over then. None
                to keep what is shown.
        """
        self._read = read
        self._pods: dict[tuple[str, str], PodObject] = {}
        self._waiting: dict[tuple[str, str], PodObject] = {}
        self._manifests: dict[bytes, bytes] = {}
        self._parallel: set[tuple[str, str]] = set()

    def __call__(self, obj: Mapping[str, Any]) -> None:
        """Keep an object if it is a pod that runs or waits, or says of some how they are created.

        One that is broken is in no index either.
        """
        if self._read is None:
            self._keep(obj)

    def _keep(self, obj: Mapping[str, Any]) -> None:
        metadata, spec = member(obj, "metadata"), member(obj, "spec")
        if kind_of(obj) == STATEFUL_SET and is_parallel(obj):
            name = text_member(metadata, "name")
            self._parallel.add((text_member(metadata, "namespace") or DEFAULT_NAMESPACE, name))
        if kind_of(obj) != POD:
            return
        kept = self._waiting if is_pending(obj) else self._pods
        if kept is self._pods and not spec.get("nodeName"):
            return
        if text_member(obj.get("status"), "phase") in FINISHED_PHASES:
            return
        namespace = text_member(metadata, "namespace") or DEFAULT_NAMESPACE
        owner, priority = controller_of(metadata), spec.get("priority")
        static = MIRROR_ANNOTATION in member(metadata, "annotations") or (
            owner is not None and owner.kind == "Node"
        )
        try:
            manifest = orjson.dumps(pod_manifest(metadata, spec, namespace))
        except TypeError:
            return  # A number that no API has; such a pod counts as unknown.
        kept[namespace, text_member(metadata, "name")] = PodObject(
            manifest=self._manifests.setdefault(manifest, manifest),
            owner=owner,
            priority=priority if type(priority) is int else 0,
            created=text_member(metadata, "creationTimestamp"),
            static=static,
            disruption=read_disruption_facts(metadata, spec),
        )

    def items(self) -> ItemsView[tuple[str, str], PodObject]:
        """Return the pods with a node, by namespace and name."""
        self.read_all()
        return self._pods.items()

    def waiting(self) -> Collection[tuple[str, str]]:
        """Return the namespace and name of each pod without a node."""
        self.read_all()
        return self._waiting.keys()

    def find(self, namespace: str, name: str) -> PodObject | None:
        """Return a pod, or None if it was not shown."""
        self.read_all()
        return self._pods.get((namespace, name)) or self._waiting.get((namespace, name))

    def is_ordered(self, namespace: str, pod: PodObject) -> bool:
        """Return whether a pod is created once those before it are ready: as of a StatefulSet by default."""
        owner = pod.owner
        if owner is None or (owner.api_version, owner.kind) != STATEFUL_SET:
            return False
        return (namespace, owner.name) not in self._parallel

    def read_all(self) -> None:
        """Read what is read when needed, once."""
        if self._read is not None:
            read, self._read = self._read, None
            for obj in read():
                self._keep(obj)


def pod_manifest(metadata: Mapping[str, Any], spec: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    """Return the parts of a pod that decide where another one made like it goes, without name and node."""
    kept: dict[str, Any] = {name: spec[name] for name in _SPEC_FIELDS if name in spec}
    for name in ("containers", "initContainers"):
        if name in spec:
            kept[name] = [_some(entry, _CONTAINER_FIELDS) for entry in object_items(spec[name])]
    volumes = [_some(entry, _VOLUME_FIELDS) for entry in object_items(spec.get("volumes"))]
    if any(volumes):
        kept["volumes"] = [volume for volume in volumes if volume]
    # With a uid it is known that the API server has merged matchLabelKeys into the selectors.
    kept_metadata: dict[str, Any] = {"namespace": namespace, "uid": "kept"}
    kept_metadata |= _some(metadata, ("labels", "ownerReferences"))
    # Networks write each pod's address into its annotations, and pods would share nothing.
    annotations = member(metadata, "annotations")
    kept_metadata["annotations"] = {
        key: annotations[key] for key in (INJECT_ANNOTATION, INJECTED_ANNOTATION) if key in annotations
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": kept_metadata, "spec": kept}


def _some(entry: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: entry[name] for name in names if name in entry}

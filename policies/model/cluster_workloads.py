"""The workloads of a cluster and its pods without a node, gathered from its objects as they pass by."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import orjson

from policies.manifests.fields import ErrorList, member, object_items, text_member
from policies.manifests.words import object_title
from policies.model.cluster_kinds import POD
from policies.model.labels import LabelSelector
from policies.model.pod import FINISHED_PHASES
from policies.model.snapshot import kind_of
from policies.model.workload import DEFAULT_NAMESPACE, Owner, Workload, controller_of, controller_reference
from policies.model.workload_kinds import WorkloadKind, WorkloadKinds
from policies.model.workload_ref import WorkloadRef

#: Pods that are kept: more than anyone reads, and some 100 MB of text at most as a rule.
MOST_KEPT: Final = 20_000
#: Of 1 to 9: more would save a tenth for twice the time.
_LEVEL: Final = 1
#: The kinds whose objects are revisions of their owner: of a Deployment or a DeploymentConfig, for example.
_REVISIONS: Final = frozenset({"ReplicaSet", "ReplicationController"})


class WaitingPod(NamedTuple):
    """A pod without a node."""

    namespace: str  #: Its namespace.
    name: str  #: Its name.
    owner: Owner | None  #: Its controller; None without one.
    created: str  #: When it was created, as the API writes it.
    condition: str  #: The message of its condition PodScheduled; empty without one.
    text: bytes  #: The pod, JSON.


class PendingPods:
    """The pods without a node among the objects of a cluster, each of which is shown once.

    Attributes:
        count: How many there are.
    """

    def __init__(self) -> None:
        self.count = 0
        self._pods: dict[tuple[str, str], WaitingPod] = {}

    def __call__(self, obj: Mapping[str, Any]) -> None:
        """Keep an object if it is a pod that waits; beyond ``MOST_KEPT`` they are counted."""
        if kind_of(obj) != POD or not is_pending(obj):
            return
        self.count += 1
        if len(self._pods) >= MOST_KEPT:
            return
        metadata = member(obj, "metadata")
        namespace, name = (
            text_member(metadata, "namespace") or DEFAULT_NAMESPACE,
            text_member(metadata, "name"),
        )
        try:
            text = orjson.dumps(obj)
        except TypeError:
            return  # A number that no API has.
        self._pods[namespace, name] = WaitingPod(
            namespace=namespace,
            name=name,
            owner=controller_of(metadata),
            created=text_member(metadata, "creationTimestamp"),
            condition=_condition(obj),
            text=text,
        )

    def each(self) -> list[WaitingPod]:
        """Return those that are kept, by namespace and name."""
        return [self._pods[key] for key in sorted(self._pods)]

    def find(self, namespace: str, name: str) -> WaitingPod | None:
        """Return a pod, or None if it does not wait or is not kept."""
        return self._pods.get((namespace, name))


def is_pending(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod of any shape waits for a node."""
    if member(pod, "spec").get("nodeName") or member(pod, "metadata").get("deletionTimestamp") is not None:
        return False
    return member(pod, "status").get("phase") not in FINISHED_PHASES


def _condition(pod: Mapping[str, Any]) -> str:
    conditions = object_items(member(pod, "status").get("conditions"))
    return next(
        (text_member(each, "message") for each in conditions if each.get("type") == "PodScheduled"), ""
    )


class _OwnerReference(NamedTuple):
    """The owner that an object names."""

    key: WorkloadRef
    api_version: str
    uid: str


class ClusterWorkload(NamedTuple):
    """A workload of a cluster."""

    workload: Workload  #: The object, for a release that has every field.
    kind: str  #: The kind that it is known by: of a ReplicaSet, its owner's.
    name: str  #: The name that it is known by.
    pending: int  #: How many of its pods have no node.
    api_version: str = ""  #: The apiVersion of that kind.
    uid: str = ""  #: The uid of the object that it is known by; empty if unknown.
    #: How many pods it has by its status, where those without a node are not known; else None.
    made: int | None = None


@dataclass(slots=True)
class ClusterWorkloads:
    """The workloads, and how many pods of each are pending.

    Objects are kept as compressed text: it takes a twentieth of the memory, and each is looked at once.
    """

    kinds: WorkloadKinds  #: The kinds that make pods.
    namespace: str = ""  #: The only namespace that is looked at; empty for all.
    selector: LabelSelector | None = None  #: What selects workloads by their labels; None for all.
    every_kind: bool = False  #: Whether workloads without a number of replicas are looked at, too.
    bound_only: bool = False  #: Whether the pods that have no node are not among the objects.
    unread: tuple[str, ...] = ()  #: What is not known of the workloads, a line each.
    #: The namespaces of all that was seen of these kinds, looked at or not.
    namespaces: set[str] = field(default_factory=set)
    # Of each what is not its spec, and that.
    _texts: dict[WorkloadRef, tuple[WorkloadKind, bytes, bytes]] = field(default_factory=dict)
    _owners: dict[WorkloadRef, _OwnerReference] = field(default_factory=dict)
    # The owner of each pending pod, by the pod's namespace and name.
    _pending: dict[tuple[str, str], WorkloadRef] = field(default_factory=dict)

    def __call__(self, obj: Mapping[str, Any], found: ErrorList | None = None) -> None:
        """Look at an object of the cluster; what is no workload or pod is passed over.

        Args:
            obj: The object.
            found: Keeps the text of a large spec as long as that does not change.
        """
        api_version, name = obj.get("apiVersion"), obj.get("kind")
        if not isinstance(api_version, str) or not isinstance(name, str):
            return
        kind = self.kinds.get((api_version.rpartition("/")[0], name))
        metadata = member(obj, "metadata")
        title, namespace = metadata.get("name"), metadata.get("namespace") or DEFAULT_NAMESPACE
        if kind is None or not isinstance(title, str) or not isinstance(namespace, str):
            return
        is_looked_at = kind.replicas is not None or self.every_kind
        if is_looked_at and not kind.is_pod:
            self.namespaces.add(namespace)
        if self.namespace and namespace != self.namespace:
            return
        if kind.is_pod:
            # Most have a node, and whose they are does not matter here.
            owner = _owner_reference(metadata, namespace) if is_pending(obj) else None
            if owner is not None:
                self._pending[namespace, title] = owner.key
            else:
                self._pending.pop((namespace, title), None)
        elif is_looked_at:
            owner = _owner_reference(metadata, namespace)
            self._keep(WorkloadRef(namespace, kind.kind, title), kind, owner, obj, found or ErrorList())

    def _keep(
        self,
        key: WorkloadRef,
        kind: WorkloadKind,
        owner: _OwnerReference | None,
        obj: Mapping[str, Any],
        found: ErrorList,
    ) -> None:
        """Keep a workload in place of what was kept of it."""
        if owner is not None and key.kind in _REVISIONS and member(obj, "spec").get("replicas") == 0:
            # An old revision: there may be ten for each that has pods.
            self.remove(key.kind, key.namespace, key.name)
            return
        try:
            head = _text({name: value for name, value in obj.items() if name != "spec"})
            spec = found.once("text", lambda: _text(obj.get("spec")))
        except RecursionError:
            self.remove(key.kind, key.namespace, key.name)
            named = object_title(key.kind, key.namespace, key.name)
            self.unread += (f"{named} is left out: lists and mappings are nested too deep",)
            return
        # The owner first: who reads in between knows the object by its owner.
        if owner is not None:
            self._owners[key] = owner
        else:
            self._owners.pop(key, None)
        self._texts[key] = kind, head, spec

    def remove(self, kind: str, namespace: str, name: str) -> None:
        """Remove an object; one that is not there changes nothing."""
        key = WorkloadRef(namespace or DEFAULT_NAMESPACE, kind, name)
        self._texts.pop(key, None)
        self._owners.pop(key, None)

    def remove_pod(self, namespace: str, name: str) -> None:
        """Remove a pod; one that is not pending changes nothing."""
        self._pending.pop((namespace or DEFAULT_NAMESPACE, name), None)

    def pending_pods(self) -> set[tuple[str, str]]:
        """Return the namespace and name of each pod that is pending."""
        return set(self._pending)

    def copy(self) -> ClusterWorkloads:
        """Return workloads of their own, as they are now."""
        return replace(
            self, _texts=dict(self._texts), _owners=dict(self._owners), _pending=dict(self._pending)
        )

    def narrowed(self, namespace: str, selector: LabelSelector | None) -> ClusterWorkloads:
        """Return those of one namespace, or of all if it is empty, that a selector selects; None for all."""
        texts = {key: text for key, text in self._texts.items() if namespace in ("", key.namespace)}
        return replace(self, namespace=namespace, selector=selector, _texts=texts)

    def __len__(self) -> int:
        """How many objects there are to look at."""
        return len(self._texts)

    def keys(self) -> list[WorkloadRef]:
        """Return the keys of the objects to look at, in their order."""
        return sorted(self._texts)

    def each(self, part: slice = slice(None)) -> Iterator[ClusterWorkload | None]:
        """Yield each workload, None for an object that is none of its own, by name.

        A ReplicaSet stands for the Deployment that owns it where that is not among the objects.

        Args:
            part: Which of the objects; all of them by default.
        """
        pending = Counter(self.controller(key) for key in self._pending.values())
        for key in self.keys()[part]:
            owner = self.controller(key)
            workload = self._read(key)
            selected = self.selector is None or self.selector.matches(workload.labels)
            if not selected or (owner != key and owner in self._texts):
                yield None
            else:
                api_version, uid = self._identity(key, workload)
                made = member(workload.obj, "status").get("replicas") if self.bound_only else None
                yield ClusterWorkload(
                    workload=workload,
                    kind=owner.kind,
                    name=owner.name,
                    pending=pending[owner],
                    api_version=api_version,
                    uid=uid,
                    made=made if type(made) is int else None,
                )

    def controller(self, key: WorkloadRef) -> WorkloadRef:
        """Return the key of an object: its owner if it is a revision of it, or if that is included."""
        reference = self._owners.get(key)
        if reference is None or not (key.kind in _REVISIONS or reference.key in self._texts):
            return key
        return reference.key

    def known_by(self) -> set[WorkloadRef]:
        """Return the keys of the workloads."""
        return {self.controller(key) for key in self._texts}

    def revisions(self) -> dict[WorkloadRef, list[WorkloadRef]]:
        """Return the keys of the objects that are known by their owner, by its key."""
        found: dict[WorkloadRef, list[WorkloadRef]] = {}
        for key in self._owners:
            found.setdefault(self.controller(key), []).append(key)
        return found

    def find(
        self, key: WorkloadRef, revisions: Mapping[WorkloadRef, Sequence[WorkloadRef]] | None = None
    ) -> Workload | None:
        """Return the object of a key, or the ReplicaSet with most replicas of those that are known by it.

        Args:
            key: The key.
            revisions: What ``revisions`` returns, for who looks for many.
        """
        known = revisions or {}
        if revisions is None and key not in self._texts:
            known = self.revisions()
        keys = [key] if key in self._texts else known.get(key, ())
        found = [self._read(each) for each in keys if each in self._texts]
        return max(found, key=lambda workload: workload.replicas or 0, default=None)

    def _read(self, key: WorkloadRef) -> Workload:
        kind, *texts = self._texts[key]
        obj, spec = (orjson.loads(zlib.decompress(text)) for text in texts)
        return Workload.read({**obj, "spec": spec}, kind, key.namespace, stored=True)

    def _identity(self, key: WorkloadRef, workload: Workload) -> tuple[str, str]:
        """Return the apiVersion and the uid of what a workload is known by."""
        reference = self._owners.get(key)
        if reference is not None and self.controller(key) == reference.key:
            return reference.api_version, reference.uid
        return text_member(workload.obj, "apiVersion"), text_member(workload.metadata, "uid")


def _text(value: object) -> bytes:
    """Return a value as compressed JSON."""
    try:
        text = orjson.dumps(value)
    except TypeError:
        # An integer beyond 64 bits, which is read again as a float, or more levels than orjson writes.
        text = json.dumps(value, ensure_ascii=False).encode()
        try:
            orjson.loads(text)
        except orjson.JSONDecodeError:
            # From Python 3.12 on json writes more levels than orjson reads.
            raise RecursionError from None
    return zlib.compress(text, _LEVEL)


def _owner_reference(metadata: Mapping[str, Any], namespace: str) -> _OwnerReference | None:
    """Return the owner that controls an object, as its metadata names it; None if there is none."""
    owner = controller_reference(metadata)
    if owner is None:
        return None
    key = WorkloadRef(namespace, owner["kind"], owner["name"])
    return _OwnerReference(key, owner["apiVersion"], text_member(owner, "uid"))

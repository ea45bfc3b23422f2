"""The objects of a case as a real API server takes them: in namespaces of their own, labeled, complete.

A case has objects as kube-scheduler saw them. What only an API server or a controller writes is left out, and
what kube-scheduler does not look at, but an API server demands, is added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from policies.model.cluster_kinds import (
    BUDGET,
    CLAIM,
    CLUSTER_SCOPED,
    CSI_NODE,
    LISTS,
    NAMESPACE,
    NODE,
    POD,
    PRIORITY_CLASS,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    SERVICE,
    STATEFUL_SET,
    VOLUME,
    Kind,
)
from policies.model.workload import DEFAULT_NAMESPACE

#: The label of everything that is made, by which leftovers are found, and its value.
LABEL: Final = "conformance.evenkeel.dev/made-by"
MADE_BY: Final = "evenkeel"
#: Keeps an object whose deletion has begun: controllers leave such alone, and kube-scheduler still sees it.
FINALIZER: Final = "conformance.evenkeel.dev/keep"
#: Holds a pod back until its status is written.
GATE: Final = "conformance.evenkeel.dev/status"
#: The scheduler that is tested.
SCHEDULER: Final = "default-scheduler"
#: Of the pods that are bound without a scheduler.
_NO_SCHEDULER: Final = "conformance.evenkeel.dev/none"
#: Phases of pods that have ended.
ENDED: Final = frozenset({"Succeeded", "Failed"})
#: The priority of a pod that says nothing of it, and whether it preempts others.
_USUAL: Final = (0, "PreemptLowerPriority")
#: Fields whose labels the API server merges into the selector beside them.
_MERGED: Final = ("matchLabelKeys", "mismatchLabelKeys")
#: The label of a namespace with its name.
_NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"

RUNTIME_CLASS: Final = ("node.k8s.io/v1", "RuntimeClass")
SERVICE_ACCOUNT: Final = ("v1", "ServiceAccount")
#: Whose controllers would make and delete pods.
_OWNERS: Final = frozenset({REPLICATION_CONTROLLER, REPLICA_SET, STATEFUL_SET})
#: The kinds in the order in which they are made: what is referred to comes first.
KINDS: Final[tuple[Kind, ...]] = (
    NAMESPACE,
    SERVICE_ACCOUNT,
    PRIORITY_CLASS,
    RUNTIME_CLASS,
    *(kind for kind in LISTS.values() if kind not in (NAMESPACE, PRIORITY_CLASS, VOLUME, POD)),
    VOLUME,
    POD,
)
#: The kinds without a namespace.
GLOBAL: Final = CLUSTER_SCOPED | {RUNTIME_CLASS}
_FIELDS: Final = {kind: name for name, kind in LISTS.items()}
#: What an API server takes of the metadata of an object.
_METADATA: Final = ("name", "generateName", "namespace", "labels", "annotations")


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedObject:
    """An object to be made."""

    kind: Kind  #: Its kind.
    manifest: dict[str, Any]  #: What is created.
    status: dict[str, Any] | None = None  #: What is written to its status then; None for nothing.
    taints: list[dict[str, Any]] | None = None  #: The taints of a node, which the API server adds one to.
    claims: tuple[str, ...] = ()  #: The claims that a pod owns.
    node: str = ""  #: The node that a pod is bound to after that; empty for none.
    deleted: bool = False  #: Whether its deletion is begun after that.


@dataclass(slots=True)
class CaseObjects:
    """The objects of one request."""

    cluster: Mapping[str, list[dict[str, Any]]]  #: The cluster of the request.
    pods: list[dict[str, Any]]  #: The pods that are to be scheduled.
    prefix: str  #: What the names of its namespaces begin with in the real cluster.
    #: The uid of each object that was made, by its kind, namespace and name in the case.
    uids: dict[tuple[str, str, str], str] = field(default_factory=dict)

    def of_kind(self, kind: Kind) -> Iterator[WantedObject]:
        """Yield the objects of a kind; those of the kinds before it in ``KINDS`` have been made."""
        if kind == SERVICE_ACCOUNT:
            for name in self.namespaces():
                yield self._wanted(kind, {"metadata": {"name": "default", "namespace": name}})
        elif kind == PRIORITY_CLASS:
            yield from self._priority_classes()
        elif kind == RUNTIME_CLASS:
            yield from self._runtime_classes()
        elif kind == NAMESPACE:
            yield from self._labeled_namespaces()
        else:
            for manifest in self.cluster.get(_FIELDS[kind]) or ():
                if kind != POD:
                    yield self._wanted(kind, manifest)
                elif _is_seen(manifest):
                    yield self._pod(_stored(manifest))

    def incoming(self, pod: Mapping[str, Any]) -> WantedObject:
        """Return a pod that is to be scheduled."""
        return self._pod(pod)

    def namespaces(self) -> list[str]:
        """Return the namespaces of the case by their own names, with those that only objects name."""
        named = {entry["metadata"]["name"] for entry in self.cluster.get("namespaces") or ()}
        for kind, name in _FIELDS.items():
            if kind not in GLOBAL:
                named.update(map(_namespace, self.cluster.get(name) or ()))
        return sorted(named.union(map(_namespace, self.pods)))

    def original(self, text: str) -> str:
        """Return a text of the cluster with the namespaces as the case calls them."""
        return text.replace(self.prefix, "")

    def keep_uid(self, kind: Kind, made: Mapping[str, Any]) -> None:
        """Remember the uid of an object that was made."""
        metadata = made["metadata"]
        namespace = self.original(metadata.get("namespace", ""))
        self.uids[kind[1], namespace, metadata["name"]] = metadata["uid"]

    def _all_pods(self) -> Iterator[dict[str, Any]]:
        yield from self.cluster.get("pods") or ()
        yield from self.pods

    def _wanted(self, kind: Kind, source: Mapping[str, Any]) -> WantedObject:
        """Return an object of any kind but pods."""
        manifest = {
            name: self._renamed(value)
            for name, value in source.items()
            if name not in ("apiVersion", "kind", "metadata", "status")
        }
        metadata = {name: source["metadata"][name] for name in _METADATA if source["metadata"].get(name)}
        metadata["labels"] = {**metadata.get("labels", {}), LABEL: MADE_BY}
        if kind not in GLOBAL:
            metadata["namespace"] = self.prefix + _namespace(source)
        deleted = kind in _OWNERS or "deletionTimestamp" in source["metadata"]
        if deleted and kind != POD:
            metadata["finalizers"] = [FINALIZER]
        manifest |= {"apiVersion": kind[0], "kind": kind[1], "metadata": metadata}
        spec: dict[str, Any] = manifest.get("spec") or {}
        status = source.get("status")
        taints = None
        if kind == NODE:
            # The API server taints every new node until it is ready.
            taints = spec.pop("taints", None) or []
            capacity = {"capacity": (status or {}).get("allocatable") or {}}
            manifest["status"], status = {**capacity, **(status or {}), "conditions": [ready()]}, None
        elif kind == SERVICE:
            manifest["spec"] = {"clusterIP": "None", **spec}
        elif kind in _OWNERS:
            manifest["spec"] = {**spec, "replicas": 0, "template": _template(spec.get("selector") or {})}
        elif kind == CSI_NODE:
            for driver in spec.get("drivers") or ():
                driver.setdefault("nodeID", metadata["name"])
        elif kind == VOLUME:
            self._refer(spec.get("claimRef"), source)
        elif kind == BUDGET:
            counts = dict.fromkeys(
                ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"), 0
            )
            status = {**counts, **(status or {})}
        return WantedObject(
            kind=kind,
            manifest=manifest,
            status=status if kind in (POD, CLAIM, VOLUME, BUDGET) else None,
            taints=taints,
            deleted=deleted,
        )

    def _refer(self, reference: dict[str, Any] | None, source: Mapping[str, Any]) -> None:
        """Give the reference of a volume the uid of its claim in the cluster, if the case means that one."""
        if not reference or not reference.get("uid"):
            return
        meant = source["spec"]["claimRef"]
        key = CLAIM[1], meant.get("namespace") or DEFAULT_NAMESPACE, meant["name"]
        uids = {
            claim["metadata"].get("uid")
            for claim in self.cluster.get("persistentVolumeClaims") or ()
            if (claim["metadata"]["name"], _namespace(claim)) == (key[2], key[1])
        }
        if meant["uid"] in uids and key in self.uids:
            reference["uid"] = self.uids[key]

    def _pod(self, source: Mapping[str, Any]) -> WantedObject:
        wanted = self._wanted(POD, source)
        spec, metadata = wanted.manifest["spec"], wanted.manifest["metadata"]
        priority = self._priority(source)
        for name in ("priority", "preemptionPolicy", "priorityClassName"):
            spec.pop(name, None)
        if priority != _USUAL:
            spec["priorityClassName"] = self._class_name(priority)
        # A garbage collector deletes a pod whose owner is missing, and of such an owner nothing is known.
        owners = [
            {**entry, "uid": uid}
            for entry in source["metadata"].get("ownerReferences") or ()
            if (uid := self.uids.get((entry["kind"], _namespace(source), entry["name"])))
        ]
        if owners:
            metadata["ownerReferences"] = owners
        claims = tuple(
            claim["metadata"]["name"]
            for claim in self.cluster.get("persistentVolumeClaims") or ()
            for owner in claim["metadata"].get("ownerReferences") or ()
            if owner["uid"] == source["metadata"].get("uid")
        )
        status = dict(source.get("status") or {})
        node = spec.pop("nodeName", "")
        spec["schedulerName"] = _NO_SCHEDULER if node else SCHEDULER
        if node:
            status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], **status}
        elif _nominated(source) or claims:
            spec["schedulingGates"] = [*(spec.get("schedulingGates") or ()), {"name": GATE}]
        else:
            status = {}
        return replace(wanted, status=status or None, claims=claims, node=node)

    def _priority(self, pod: Mapping[str, Any]) -> tuple[int, str]:
        """Return the priority of a pod and whether it preempts others, as its class and the defaults say."""
        spec = pod["spec"]
        classes = {entry["metadata"]["name"]: entry for entry in self.cluster.get("priorityClasses") or ()}
        default = next((entry for entry in classes.values() if entry.get("globalDefault")), {})
        own = classes.get(spec.get("priorityClassName"), default)
        value = spec.get("priority")
        policy = spec.get("preemptionPolicy") or own.get("preemptionPolicy") or _USUAL[1]
        return own.get("value", 0) if value is None else value, policy

    def _class_name(self, priority: tuple[int, str]) -> str:
        value, policy = priority
        return f"{self.prefix}{policy.lower()}{value}"

    def _priority_classes(self) -> Iterator[WantedObject]:
        """Yield a class for each priority of a pod: the API server takes no number but its class's."""
        for value, policy in sorted({*map(self._priority, self._all_pods())} - {_USUAL}):
            name = {"name": self._class_name((value, policy))}
            yield self._wanted(PRIORITY_CLASS, {"metadata": name, "value": value, "preemptionPolicy": policy})

    def _runtime_classes(self) -> Iterator[WantedObject]:
        """Yield a class for each that a pod names: the API server takes no overhead but its class's."""
        named = {
            pod["spec"]["runtimeClassName"]: pod["spec"].get("overhead")
            for pod in self._all_pods()
            if pod["spec"].get("runtimeClassName")
        }
        for name, overhead in named.items():
            room = {"overhead": {"podFixed": overhead}} if overhead else {}
            yield self._wanted(RUNTIME_CLASS, {"metadata": {"name": name}, "handler": "none", **room})

    def _labeled_namespaces(self) -> Iterator[WantedObject]:
        listed = {entry["metadata"]["name"]: entry for entry in self.cluster.get("namespaces") or ()}
        for name in self.namespaces():
            labels = (listed[name]["metadata"].get("labels") or {}) if name in listed else {}
            own = {key: value for key, value in labels.items() if key != _NAMESPACE_NAME}
            yield self._wanted(NAMESPACE, {"metadata": {"name": self.prefix + name, "labels": own}})

    def _renamed(self, value: Any, name: str = "") -> Any:  # JSON
        """Return a part of an object with the names of namespaces changed in what refers to them."""
        if isinstance(value, list):
            if name == "namespaces":
                return [self.prefix + entry if isinstance(entry, str) else entry for entry in value]
            return [self._renamed(entry, name) for entry in value]
        if not isinstance(value, dict):
            return self.prefix + value if name == _NAMESPACE_NAME and isinstance(value, str) else value
        if value.get("key") == _NAMESPACE_NAME and value.get("values"):
            return {**value, "values": self._renamed(value["values"], "namespaces")}
        if name == "claimRef":
            return {**value, "namespace": self.prefix + (value.get("namespace") or DEFAULT_NAMESPACE)}
        return {key: self._renamed(entry, key) for key, entry in value.items()}


def ready() -> dict[str, Any]:
    """Return the condition of a node with which a kubelet says at this moment that it is ready."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now}


def _stored(value: Any) -> Any:
    """Return a stored pod as it can be sent: an API server has merged these keys into selectors already."""
    if isinstance(value, list):
        return [_stored(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    return {name: _stored(entry) for name, entry in value.items() if name not in _MERGED}


def _is_seen(pod: Mapping[str, Any]) -> bool:
    """Return whether a scheduler looks at a pod while it places another: a pending one would be placed."""
    ended = (pod.get("status") or {}).get("phase") in ENDED
    return not ended and bool(pod["spec"].get("nodeName") or _nominated(pod))


def _nominated(pod: Mapping[str, Any]) -> str:
    return str((pod.get("status") or {}).get("nominatedNodeName") or "")


def _namespace(manifest: Mapping[str, Any]) -> str:
    return manifest["metadata"].get("namespace") or DEFAULT_NAMESPACE


def _template(selector: Mapping[str, Any]) -> dict[str, Any]:
    """Return the template of pods that nobody makes: it must have labels that the selector selects."""
    whole = "matchLabels" in selector or "matchExpressions" in selector
    labels = dict((selector.get("matchLabels") or {}) if whole else selector)
    for entry in (selector.get("matchExpressions") or ()) if whole else ():
        if entry["operator"] in ("In", "Exists"):
            labels.setdefault(entry["key"], (entry.get("values") or ["x"])[0])
    container = {"name": "none", "image": "registry.example/none"}
    return {"metadata": {"labels": labels}, "spec": {"containers": [container]}}

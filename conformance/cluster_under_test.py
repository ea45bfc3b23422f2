"""A real kube-scheduler, asked through its API server: a case's objects are made, and the pod is watched.

This plays the parts that a cluster without machines lacks: the kubelets, which say that nodes are ready and
end the pods that are evicted, and the provisioner and the binder of volumes. Everything that is made carries
a label; what carries it is removed after each case, and before the first one what an earlier run left.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

import orjson

from conformance.case import Operation
from conformance.cluster_objects import (
    GATE,
    GLOBAL,
    KINDS,
    LABEL,
    MADE_BY,
    RUNTIME_CLASS,
    SERVICE_ACCOUNT,
    CaseObjects,
    WantedObject,
    ready,
)
from conformance.engine import Engine
from conformance.implementation import DeclinedError, ImplementationError, NoAnswerError
from policies.manifests.words import IN_SENTENCE, listed
from policies.model.cluster_kinds import (
    BUDGET,
    CLAIM,
    CSI_DRIVER,
    CSI_NODE,
    NAMESPACE,
    NODE,
    POD,
    STORAGE_CLASS,
    VOLUME,
    Kind,
)
from webhook.kube.api_server import ApiError, ApiServer, ClusterError
from webhook.kube.watched_resources import EVERYTHING

#: Where an API server lists each kind.
_PATHS: Final = {
    **{resource.key: resource.path for resource in EVERYTHING},
    RUNTIME_CLASS: "/apis/node.k8s.io/v1/runtimeclasses",
    SERVICE_ACCOUNT: "/api/v1/serviceaccounts",
}
#: Kinds of which a scheduler looks at every object: none may be there but those of a case.
_ALONE: Final = (NODE, POD, VOLUME, STORAGE_CLASS, CSI_NODE, CSI_DRIVER)
#: The annotation of a pod that a kubelet runs from a file, such as the control plane's: the API server's
#: copy of it, which is on no node that a case makes.
_MIRROR: Final = "kubernetes.io/config.mirror"
_SYSTEM: Final = "kube-system"
#: Seconds that kube-scheduler and the controllers have to see what was made: it watches each kind apart.
_SETTLE_S: Final = 0.25
#: Seconds between two looks at a pod.
_POLL_S: Final = 0.02
#: Seconds after which nodes say again that they are ready: controllers give them 40.
_HEARTBEAT_S: Final = 10.0
#: Seconds until a deletion that nobody finishes would be over: longer than any case.
_GRACE_S: Final = 3600
#: Requests at the same time.
_THREADS: Final = 4
#: What the API server says of an object that it does not take.
_REFUSED: Final = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY})
#: Annotations of claims: the node that kube-scheduler chose, and that the claim has its volume.
_SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
_BOUND: Final = "pv.kubernetes.io/bind-completed"


class ClusterUnderTest:
    """A cluster with a kube-scheduler and no node. See ``Implementation``."""

    operations = frozenset(Operation)

    def __init__(self, api: ApiServer, *, timeout_s: float, title: str) -> None:
        """Remove what an earlier run left.

        Args:
            api: Its API server.
            timeout_s: Seconds for each decision of the scheduler.
            title: How reports call it.

        Raises:
            ClusterError: It cannot be reached, or holds what is not its own.
        """
        self.title = title
        self._api = api
        self._timeout_s = timeout_s
        self._engine = Engine()
        self._pool = ThreadPoolExecutor(_THREADS)
        self._number = 0
        self._run = secrets.token_hex(3)
        self._objects = CaseObjects({}, [], "")
        #: What the scheduler looks at of each object, as it was made.
        self._made: dict[Kind, dict[str, tuple[object, ...]]] = {}
        self._beat = 0.0
        self._clean()
        self._refuse_others()

    def answer(self, operation: Operation, request: bytes) -> bytes:
        """Return where the scheduler put the pod, or what it said; see ``Implementation``."""
        asked = orjson.loads(request)
        self._number += 1
        pods = asked["queue"] if operation is Operation.SIMULATE else [asked["pod"]]
        self._objects = CaseObjects(asked["cluster"], pods, f"ek-{self._run}-{self._number}-")
        try:
            self._refuse_others()
            self._make()
            if operation is Operation.SCORE:
                return orjson.dumps(self._decision(self._objects.incoming(pods[0])))
            expected = orjson.loads(self._engine.answer(operation, request))
            return orjson.dumps({"steps": list(self._steps(pods, expected["steps"]))})
        except ApiError as error:
            raise NoAnswerError(str(error)) from error
        except ClusterError as error:
            raise ImplementationError(str(error)) from error
        finally:
            with suppress(ClusterError):
                self._clean()

    def close(self) -> None:
        """Remove what was made."""
        try:
            self._clean()
        except ClusterError as error:
            raise ImplementationError(f"{error}; the next run removes what is left") from error
        finally:
            self._pool.shutdown()

    def _refuse_others(self) -> None:
        """Make sure that the cluster has nothing but its own that the scheduler would look at.

        Raises:
            ClusterError: It has.
        """
        others = [
            f"{kind[1]} {found['metadata']['name']}"
            for kind in _ALONE
            for found in self._list(kind)
            if found["metadata"].get("labels", {}).get(LABEL) != MADE_BY and not _is_system(kind, found)
        ]
        if others:
            what = listed(others, IN_SENTENCE)
            raise ClusterError(f"{self._api.url}: the cluster is not empty: it has {what}")

    def _make(self) -> None:
        """Make the objects of the case, and wait until the scheduler has seen them.

        Raises:
            DeclinedError: The API server refuses one, or a controller changed one.
        """
        self._made, self._beat = {}, time.monotonic()
        for kind in KINDS:
            wanted = list(self._objects.of_kind(kind))
            made = list(self._pool.map(self._complete, wanted, self._pool.map(self._create, wanted)))
            # The scheduler keeps the pods of a node in the order in which they were bound.
            made = list(map(self._bind, wanted, made))
            self._made[kind] = {_key(found): _seen(kind, found) for found in made}
        time.sleep(_SETTLE_S)
        for kind in (NODE, POD, CLAIM, VOLUME, BUDGET):
            if self._made[kind] and self._made[kind] != {
                _key(found): _seen(kind, found) for found in self._ours(kind)
            }:
                raise DeclinedError(f"a controller of the cluster changed a {kind[1]} of the case")

    def _create(self, wanted: WantedObject) -> dict[str, Any]:
        """Create an object; return it as the API server has it.

        Raises:
            DeclinedError: The API server refuses it.
        """
        metadata = wanted.manifest["metadata"]
        try:
            made = self._api.call("POST", _path(wanted.kind, metadata.get("namespace")), body=wanted.manifest)
        except ApiError as error:
            if error.conflict and wanted.kind == SERVICE_ACCOUNT:
                return wanted.manifest
            if error.status in _REFUSED or error.conflict:
                raise _declined(wanted, error) from error
            raise
        self._objects.keep_uid(wanted.kind, made)
        return made

    def _complete(self, wanted: WantedObject, made: dict[str, Any]) -> dict[str, Any]:
        """Write what comes after the creation of an object; return it as it is then."""
        path = _path_of(wanted.kind, made)
        try:
            if wanted.taints is not None:
                made = self._patch(path, {"spec": {"taints": wanted.taints or None}})
            if wanted.status is not None:
                made = self._patch(f"{path}/status", {"status": wanted.status})
            if wanted.deleted and not wanted.node:
                made = self._api.call("DELETE", path)
        except ApiError as error:
            raise _declined(wanted, error) from error
        for claim in wanted.claims:
            owner = {"apiVersion": "v1", "kind": "Pod", **_named(made, "name", "uid"), "controller": True}
            path = f"{_path(CLAIM, made['metadata']['namespace'])}/{claim}"
            self._patch(path, {"metadata": {"ownerReferences": [owner]}})
        return made

    def _bind(self, wanted: WantedObject, made: dict[str, Any]) -> dict[str, Any]:
        """Bind a pod that has a node, and begin its deletion if that has begun; return it as it is then."""
        if not wanted.node:
            return made
        path = _path_of(POD, made)
        target = {"target": {"kind": "Node", "name": wanted.node}, "metadata": _named(made, "name")}
        self._api.call("POST", f"{path}/binding", body={"apiVersion": "v1", "kind": "Binding", **target})
        if wanted.deleted:
            self._api.call("DELETE", path, body={"gracePeriodSeconds": _GRACE_S})
        return self._api.call("GET", path)

    def _patch(self, path: str, change: object) -> dict[str, Any]:
        return self._api.call("PATCH", path, body=change)

    def _decision(self, wanted: WantedObject) -> dict[str, Any]:
        """Let the scheduler decide on a pod; return the answer to a score request."""
        pod = self._decided(wanted)
        if node := pod["spec"].get("nodeName"):
            return {"node": node, "condition": "", "preemption": {"node": "", "victims": {}}}
        chosen = pod["status"].get("nominatedNodeName") or ""
        answer = {"node": "", "condition": self._objects.original(_condition(pod)["message"])}
        if chosen and chosen == (wanted.status or {}).get("nominatedNodeName"):
            # Whether it is nominated again does not show.
            return {**answer, "preemption": {}}
        # Of a pod that was being ended before it does not show whether it is a victim, too.
        shown = all(seen[:2] != (chosen, True) for seen in self._made[POD].values())
        victims = {"victims": {chosen: self._victims(pod)} if chosen else {}} if shown else {}
        return {**answer, "preemption": {"node": chosen, **victims}}

    def _decided(self, wanted: WantedObject) -> dict[str, Any]:
        """Create a pod and return it once it has a node or the condition that says why it has none."""
        made = self._create(wanted)
        self._complete(wanted, made)
        path = _path_of(POD, made)
        if gates := [gate for gate in made["spec"].get("schedulingGates", ()) if gate["name"] == GATE]:
            rest = [gate for gate in made["spec"]["schedulingGates"] if gate not in gates]
            time.sleep(_SETTLE_S)
            self._patch(path, {"spec": {"schedulingGates": rest or None}})
        found = self._poll(path, lambda pod: bool(pod["spec"].get("nodeName") or _condition(pod)))
        if found is None:
            raise NoAnswerError(f"kube-scheduler did not decide on the pod within {self._timeout_s:g} s")
        return found

    def _poll(self, path: str, done: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
        """Return a pod as soon as it is so, None if it is not in time, playing the rest of the cluster."""
        start = time.monotonic()
        while time.monotonic() < start + self._timeout_s:
            pod = self._api.call("GET", path)
            if done(pod):
                return pod
            # Not while the scheduler may still write to claims.
            if pod["spec"].get("volumes") and time.monotonic() > start + _SETTLE_S:
                self._bind_claims()
            if time.monotonic() - self._beat > _HEARTBEAT_S:
                self._beat = time.monotonic()
                self._say_ready()
            time.sleep(_POLL_S)
        return None

    def _victims(self, pod: dict[str, Any]) -> list[str]:
        """End the pods that are evicted for a pod, until it has a node; return their names."""
        before = self._made[POD]

        def evicted() -> dict[str, dict[str, Any]]:
            """Return the pods that are not as they were made, by name; empty for those that are gone."""
            now = {_key(found): found for found in self._ours(POD)}
            return {
                key: now.get(key, {})
                for key in before
                if key not in now or _seen(POD, now[key]) != before[key]
            }

        def finish(now: dict[str, Any]) -> bool:
            for found in evicted().values():
                if found and "deletionTimestamp" in found["metadata"]:
                    self._delete(_path_of(POD, found))
            return bool(now["spec"].get("nodeName"))

        self._poll(_path_of(POD, pod), finish)
        return sorted(map(self._objects.original, evicted()))

    def _steps(
        self, pods: Iterable[dict[str, Any]], expected: Iterable[dict[str, Any]]
    ) -> Iterator[dict[str, Any]]:
        """Yield what became of each pod of a queue, the engine's answer to which says how a tie is resolved.

        kube-scheduler takes any node of those with the highest total. Where that is another one than the
        first by name, the pod is moved there, so that what follows is what was recorded.
        """
        for source, step in zip(pods, expected, strict=True):
            wanted = self._objects.incoming(source)
            pod = self._decided(wanted)
            names = {name: step[name] for name in ("name", "namespace")}
            node = pod["spec"].get("nodeName", "")
            if not node:
                self._delete(_path_of(POD, pod))
                yield {**names, "condition": self._objects.original(_condition(pod)["message"])}
                continue
            yield {**names, "node": node}
            if node == step.get("node"):
                continue
            if node not in step.get("tied", ()):
                return
            self._delete(_path_of(POD, pod))
            wanted.manifest["spec"]["nodeName"] = step["node"]
            self._create(wanted)
            time.sleep(_SETTLE_S)

    def _bind_claims(self) -> None:
        """Give claims the volume that kube-scheduler chose, or one for the node that it chose."""
        volumes = {
            found["spec"]["claimRef"].get("uid"): found
            for found in self._ours(VOLUME)
            if found["spec"].get("claimRef")
        }
        for claim in self._ours(CLAIM):
            metadata, spec = claim["metadata"], claim["spec"]
            if spec.get("volumeName"):
                continue
            # Another part of the cluster may be faster.
            with suppress(ApiError):
                volume = volumes.get(metadata["uid"])
                if metadata.get("annotations", {}).get(_SELECTED_NODE):
                    volume = self._api.call("POST", _PATHS[VOLUME], body=_provisioned(claim))
                if volume is not None:
                    bound = {"volumeName": volume["metadata"]["name"]}
                    path = _path_of(CLAIM, claim)
                    self._patch(path, {"metadata": {"annotations": {_BOUND: "yes"}}, "spec": bound})
                    self._patch(f"{path}/status", {"status": {"phase": "Bound"}})

    def _say_ready(self) -> None:
        """Say that the nodes are ready, as kubelets do."""
        for node in self._ours(NODE):
            self._patch(f"{_path_of(NODE, node)}/status", {"status": {"conditions": [ready()]}})

    def _clean(self) -> None:
        """Remove everything that carries the label."""
        for kind in reversed(KINDS):
            found = self._ours(kind)
            if kind == NAMESPACE:
                # Where no controller empties namespaces, events would be left.
                list(self._pool.map(self._remove_events, found))
            list(self._pool.map(self._remove, [kind] * len(found), found))

    def _remove(self, kind: Kind, found: dict[str, Any]) -> None:
        path = _path_of(kind, found)
        with suppress(ApiError):
            if found["metadata"].get("finalizers"):
                self._patch(path, {"metadata": {"finalizers": None}})
        self._delete(path)
        if kind == NAMESPACE:
            with suppress(ApiError):
                self._api.call("PUT", f"{path}/finalize", body={**found, "spec": {"finalizers": []}})

    def _remove_events(self, namespace: dict[str, Any]) -> None:
        with suppress(ApiError):
            self._api.call("DELETE", f"{_path_of(NAMESPACE, namespace)}/events")

    def _delete(self, path: str) -> None:
        try:
            self._api.call("DELETE", path, body={"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
        except ApiError as error:
            if not error.not_found and not error.conflict:
                raise

    def _ours(self, kind: Kind) -> list[dict[str, Any]]:
        return self._list(kind, {"labelSelector": f"{LABEL}={MADE_BY}"})

    def _list(self, kind: Kind, params: dict[str, str] | None = None) -> list[dict[str, Any]]:
        found = self._api.call("GET", _PATHS[kind], params=params).get("items") or []
        return [entry for entry in found if isinstance(entry, dict)]


def _declined(wanted: WantedObject, error: ApiError) -> DeclinedError:
    return DeclinedError(f"the API server refuses a {wanted.kind[1]} of the case: {error.reason}")


def _named(found: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return some of the metadata of an object."""
    return {name: found["metadata"][name] for name in names}


def _is_system(kind: Kind, found: dict[str, Any]) -> bool:
    """Return whether an object is the control plane's own."""
    metadata = found["metadata"]
    return (
        kind == POD
        and metadata.get("namespace") == _SYSTEM
        and _MIRROR in (metadata.get("annotations") or {})
    )


def _path(kind: Kind, namespace: str | None) -> str:
    """Return where the objects of a kind are, in their namespace."""
    head, _, plural = _PATHS[kind].rpartition("/")
    return _PATHS[kind] if kind in GLOBAL else f"{head}/namespaces/{namespace}/{plural}"


def _path_of(kind: Kind, found: dict[str, Any]) -> str:
    metadata = found["metadata"]
    return f"{_path(kind, metadata.get('namespace'))}/{metadata['name']}"


def _key(found: dict[str, Any]) -> str:
    """Return the name of an object as answers have it."""
    return f"{found['metadata'].get('namespace', '')}/{found['metadata']['name']}"


def _seen(kind: Kind, found: dict[str, Any]) -> tuple[object, ...]:
    """Return what the scheduler looks at of an object, as far as a controller may change it."""
    metadata, spec, status = found["metadata"], found.get("spec") or {}, found.get("status") or {}
    if kind == NODE:
        return (
            metadata.get("labels"),
            spec.get("taints"),
            spec.get("unschedulable"),
            status.get("allocatable"),
        )
    if kind == POD:
        conditions = {entry["type"] for entry in status.get("conditions") or ()}
        return spec.get("nodeName"), "deletionTimestamp" in metadata, "DisruptionTarget" in conditions
    if kind == VOLUME:
        return ((spec.get("claimRef") or {}).get("name"),)
    if kind == CLAIM:
        return spec.get("volumeName"), status.get("phase")
    return (status.get("disruptionsAllowed"),)


def _condition(pod: dict[str, Any]) -> dict[str, Any]:
    """Return the condition with which the scheduler says why a pod has no node; empty if it has not said."""
    conditions = pod["status"].get("conditions") or ()
    return next(
        (
            entry
            for entry in conditions
            if entry["type"] == "PodScheduled"
            and entry["status"] == "False"
            and entry.get("reason") != "SchedulingGated"
        ),
        {},
    )


def _provisioned(claim: dict[str, Any]) -> dict[str, Any]:
    """Return a volume for a claim, as a provisioner makes it."""
    metadata, spec = claim["metadata"], claim["spec"]
    reference = {name: metadata[name] for name in ("namespace", "name", "uid")}
    made = {
        "capacity": spec["resources"]["requests"],
        "claimRef": {"apiVersion": CLAIM[0], "kind": CLAIM[1], **reference},
        "csi": {"driver": "conformance.evenkeel.dev", "volumeHandle": metadata["uid"]},
        **{name: spec[name] for name in ("accessModes", "storageClassName", "volumeMode") if name in spec},
    }
    labels = {"name": f"pvc-{metadata['uid']}", "labels": {LABEL: MADE_BY}}
    return {"apiVersion": VOLUME[0], "kind": VOLUME[1], "metadata": labels, "spec": made}

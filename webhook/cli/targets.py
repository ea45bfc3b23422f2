"""Objects by kind and name, as kubectl has them: out of a snapshot, or from a live cluster."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from policies.manifests import documents
from policies.manifests.errors import DocumentError, UsageError
from policies.manifests.fields import member, shown, shown_name
from policies.manifests.words import IN_MESSAGE
from policies.model import cluster_kinds, revisions, snapshot, workload
from webhook.lint import files

if TYPE_CHECKING:
    from policies.model.workload_kinds import WorkloadKind, WorkloadKinds
    from webhook.kube import api_server


#: Short names, by group and kind: those of kubectl, and those that the custom resources register.
SHORT_NAMES: Final = {
    ("", "Pod"): "po",
    ("", "ReplicationController"): "rc",
    ("apps", "Deployment"): "deploy",
    ("apps", "ReplicaSet"): "rs",
    ("apps", "StatefulSet"): "sts",
    ("apps", "DaemonSet"): "ds",
    ("batch", "CronJob"): "cj",
    ("argoproj.io", "Rollout"): "ro",
    ("apps.kruise.io", "CloneSet"): "clone",
    ("serving.knative.dev", "Service"): "ksvc",
}
#: Groups whose resources need not be looked up: their version is v1, their plurals end in s.
_BUILT_IN: Final = {"": "/api/v1", "apps": "/apis/apps/v1", "batch": "/apis/batch/v1"}
#: What a snapshot is made of as a rule.
_USUAL_KINDS: Final = ("nodes", "pods", "services", "rc", "rs", "sts", "ns")


@dataclass(frozen=True, slots=True)
class ObjectTarget:
    """An object that is named on the command line."""

    kind: WorkloadKind  #: Its kind.
    name: str  #: Its name.

    def __str__(self) -> str:
        return f"{self.kind.kind.lower()}/{shown_name(self.name)}"


def parse_target(words: tuple[str, ...], kinds: WorkloadKinds) -> ObjectTarget | None:
    """Read ``KIND/NAME``, or the two as words of their own; nothing is no target.

    Raises:
        UsageError: It is not of that form, or no kind that makes pods.
    """
    if not words:
        return None
    for word in words:
        if Path(word).suffix in files.SUFFIXES and Path(word).is_file():
            raise UsageError(f"KIND/NAME: Invalid value: {shown(word)}: is a file: give it with -f {word}")
    typed, slash, name = "/".join(words).partition("/")
    if not slash or not name or "/" in name:
        raise UsageError(
            f"KIND/NAME: Invalid value: {shown(' '.join(words))}: must be one object such as deploy/web"
        )
    for kind in kinds.values():
        if typed.lower() in spellings(kind):
            return ObjectTarget(kind, name)
    known = ", ".join(SHORT_NAMES.get((kind.group, kind.kind), kind.name.lower()) for kind in kinds.values())
    raise UsageError(f"KIND/NAME: Unsupported value: {shown(typed)}: supported kinds: {known}")


def spellings(kind: WorkloadKind) -> set[str]:
    """Return the names of a kind on a command line, in lower case."""
    names = {kind.kind.lower(), f"{kind.kind.lower()}s"}
    if kind.group:
        names |= {f"{name}.{kind.group}" for name in names}
    return names | {SHORT_NAMES[kind.group, kind.kind]} if (kind.group, kind.kind) in SHORT_NAMES else names


@dataclass(slots=True)
class Finder:
    """Finds an object among those of a snapshot, which pass by once.

    Of a Deployment a snapshot may have the ReplicaSets alone: it is made from the largest then.
    """

    target: ObjectTarget  #: The object.
    namespace: str  #: Its namespace.
    value: dict[str, Any] | None = None  #: The object, once it was found.
    note: str = ""  #: What to say of the object that ``entry`` returns; empty for one that the snapshot has.
    _largest: tuple[workload.Owner, dict[str, Any]] | None = None
    _others: list[str] = field(default_factory=list)
    _kind_seen: bool = False

    def __call__(self, obj: dict[str, Any]) -> None:
        """Look at an object."""
        version, kind = snapshot.kind_of(obj)
        metadata = obj.get("metadata")
        names = metadata if isinstance(metadata, dict) else {}
        namespace = names.get("namespace") or workload.DEFAULT_NAMESPACE
        if (version, kind) == cluster_kinds.REPLICA_SET and namespace == self.namespace:
            self._see_replica_set(obj, names)
        if (version.rpartition("/")[0], kind) != (self.target.kind.group, self.target.kind.kind):
            return
        self._kind_seen = True
        alike = names.get("name") == self.target.name, namespace == self.namespace
        if all(alike):
            self.value = obj
        elif any(alike) and len(self._others) < IN_MESSAGE:
            self._others.append(f"{shown_name(str(namespace))}/{shown_name(str(names.get('name')))}")

    def entry(self, file: str) -> documents.ManifestObject:
        """Return the object that was found.

        Raises:
            DocumentError: None was; says what to do.
        """
        found = self.value or self._made_from_replica_set()
        if found is not None:
            return as_manifest(found, str(self.target))
        kind, where = self.target.kind, f"in namespace {shown_name(self.namespace)}"
        text = f"{file}: holds no {kind.kind} {shown(self.target.name)} {where}"
        if self._kind_seen:
            others = f"; it holds {', '.join(self._others)}" if self._others else ""
            raise DocumentError([f"{text}{others}; --namespace names another namespace"])
        short = SHORT_NAMES.get((kind.group, kind.kind), self.target.kind.typed)
        asked = ",".join(dict.fromkeys((*_USUAL_KINDS, short)))
        raise DocumentError([f"{text}, nor any other: add them with kubectl get {asked} -A -o json"])

    def _made_from_replica_set(self) -> dict[str, Any] | None:
        if self._largest is None:
            return None
        owner, replica_set = self._largest
        self.note = revisions.owner_note(owner.kind, str(member(replica_set, "metadata").get("name")))
        base = {"apiVersion": owner.api_version, "kind": owner.kind}
        kind, name = self.target.kind, self.target.name
        return revisions.owner_object(replica_set, base, kind, namespace=self.namespace, name=name)

    def _see_replica_set(self, obj: dict[str, Any], metadata: dict[str, Any]) -> None:
        owner = workload.controller_of(metadata)
        if owner is None or (owner.kind, owner.name) != (self.target.kind.kind, self.target.name):
            return
        if self._largest is None or _replicas(obj) > _replicas(self._largest[1]):
            self._largest = owner, obj


def _replicas(obj: dict[str, Any]) -> int:
    replicas = member(obj, "spec").get("replicas")
    return replicas if isinstance(replicas, int) else 0


def as_manifest(value: dict[str, Any], name: str) -> documents.ManifestObject:
    """Return an object of a cluster as if it stood in a file of its own."""
    (document,) = documents.load(json.dumps(value), name)
    (entry,) = documents.objects(document)
    return entry


def fetch(target: ObjectTarget, namespace: str, api: api_server.ApiServer) -> documents.ManifestObject:
    """Return an object of a live cluster, read with the rights of the user.

    Raises:
        ApiError: The API server refuses, or has no such object.
        UnreachableError: There is no answer.
    """
    from webhook.kube import api_server

    base, plural = _resource(target.kind, api)
    namespaced = f"{base}/namespaces/{quote(namespace, safe='')}/{plural}"
    try:
        value = api.call("GET", f"{namespaced}/{quote(target.name, safe='')}")
    except api_server.ApiError as error:
        text = f"cannot read {target} in namespace {namespace}: {error}"
        raise api_server.ApiError(error.status, text, reason=error.reason) from error
    return as_manifest(value, str(target))


def _resource(kind: WorkloadKind, api: api_server.ApiServer) -> tuple[str, str]:
    """Return the path of a kind's group and version, and its plural."""
    plural = f"{kind.kind.lower()}s"
    if kind.group in _BUILT_IN:
        return _BUILT_IN[kind.group], plural
    from webhook.kube import api_server

    try:
        group = api.call("GET", f"/apis/{kind.group}")
        base = f"/apis/{(group.get('preferredVersion') or {}).get('groupVersion')}"
        listed: Iterable[dict[str, Any]] = api.call("GET", base).get("resources") or ()
    except api_server.ApiError as error:
        text = f"cannot find {kind.name} in the cluster: {error}"
        raise api_server.ApiError(error.status, text, reason=error.reason) from error
    names = (str(entry.get("name")) for entry in listed if entry.get("kind") == kind.kind)
    # A name with a slash is a subresource.
    return base, next((name for name in names if "/" not in name), plural)

"""The objects of a cluster besides its nodes and pods: services, controllers of pods, namespaces.

What is kept of any object, also in a file, has nothing that may be secret.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from typing import Any, Final

from policies.manifests.fields import METADATA, NAME, SPEC, ErrorList, text_member, wrong_type
from policies.model.cluster_kinds import (
    NAMESPACE,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    SERVICE,
    STATEFUL_SET,
    STORAGE_CLASS,
    VOLUME,
    Kind,
)
from policies.model.labels import LabelSelector, read_label_selector
from policies.model.object_table import ALONE
from policies.model.pod_template import LAST_APPLIED
from policies.model.revisions import (
    REVISION_KINDS,
    TEMPLATE_DIGEST_ANNOTATION,
    Revision,
    read_revision,
    written_digest,
)
from policies.model.workload import DEFAULT_NAMESPACE, Owner

#: The controllers whose selector kube-scheduler adds, by apiVersion and kind; True for a plain label map.
#: Source: ``DefaultSelector``, ``pkg/scheduler/framework/plugins/helper/spread.go``, Kubernetes 1.36.
SELECTING_OWNERS = {
    REPLICATION_CONTROLLER: True,
    REPLICA_SET: False,
    STATEFUL_SET: False,
}
#: What a snapshot takes: apiVersion and kind.
SNAPSHOT_KINDS = frozenset({*SELECTING_OWNERS, SERVICE, NAMESPACE})

#: The annotations that are kept start so: ours. kubectl's copy of what was applied alone can take 256 KiB.
_KEPT_ANNOTATIONS = "evenkeel.dev/"

_SELECTOR = SPEC.child("selector")
#: What is kept of a container. The rest says how it is started (arguments, environment, probes), places
#: nothing, and is where people put passwords.
_CONTAINER_FIELDS: Final = frozenset({"name", "image", "ports", "resources", "restartPolicy"})
#: What is kept of a volume of a CSI driver, and what is not of a storage class: drivers may want secrets.
_CSI_FIELDS: Final = ("driver", "volumeHandle")
_CLASS_SECRETS: Final = frozenset({"parameters", "mountOptions"})
_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")


@dataclass(frozen=True, slots=True)
class PodController:
    """A controller that pods belong to."""

    selector: LabelSelector | None  #: Its selector; None if it has none.
    annotations: dict[str, str]  #: Evenkeel's annotations.
    revision: Revision | None = None  #: The revision of a workload that it holds, if that is known.


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace's labels and Evenkeel's annotations."""

    labels: dict[str, str]
    annotations: dict[str, str]


@dataclass(slots=True)
class Snapshot:
    """The objects of a cluster, added one after the other. Threads that share it need a lock.

    Services are stored under one pair of their selector, so that a pod finds those that match it without
    looking at every service of its namespace. An object without a namespace is in ``default``.
    """

    namespaces: dict[str, Namespace] = field(default_factory=dict)  #: The namespaces by name; look only.
    # By apiVersion and kind, and there by namespace and name.
    _controllers: dict[tuple[str, str], dict[tuple[str, str], PodController]] = field(
        default_factory=lambda: {kind: {} for kind in SELECTING_OWNERS}
    )
    # By the workload's kind, namespace and name, and there by the controller's name.
    _revisions: dict[tuple[str, str, str], dict[str, Revision]] = field(default_factory=dict)
    # By namespace, key and value, and there by the service's name.
    _selectors: dict[tuple[str, str, str], dict[str, dict[str, str]]] = field(default_factory=dict)
    # The place of a service among the selectors, by namespace and name.
    _services: dict[tuple[str, str], tuple[str, str, str]] = field(default_factory=dict)

    def apply(
        self, obj: Mapping[str, Any], found: ErrorList, lock: AbstractContextManager[object] = ALONE
    ) -> None:
        """Take an object in, in place of the one of its kind, namespace and name.

        An object with errors is left out, and what was in its place is gone as well: it is not known what
        became of it. Objects of other kinds are passed over. It may be large, and is read before the lock is
        taken.
        """
        kind = kind_of(obj)
        if kind not in SNAPSHOT_KINDS:
            return
        before = found.count
        metadata = found.mapping(obj.get("metadata"), METADATA)
        name = found.text(metadata.get("name"), NAME)
        namespace = found.text(metadata.get("namespace"), METADATA.child("namespace")) or DEFAULT_NAMESPACE
        if not name and found.count == before:
            found.add(wrong_type(NAME, "a name", metadata.get("name")))
        is_named = found.count == before
        entry = _read(kind, obj, metadata, found=found)
        is_broken = found.count > before
        with lock:
            place = self._services.get((namespace, name)) if kind == SERVICE else None
            if place is not None and not is_broken and entry == self._selectors[place][name]:
                return
            if is_named:
                self.remove(*kind, namespace, name)
            if not is_broken:
                self._add(kind, namespace, name, entry)

    def _add(
        self, kind: Kind, namespace: str, name: str, entry: Namespace | PodController | dict[str, str]
    ) -> None:
        match entry:
            case Namespace():
                self.namespaces[name] = entry
            case PodController():
                self._controllers[kind][namespace, name] = entry
                if (revision := entry.revision) is not None:
                    place = (revision.kind, namespace, revision.workload)
                    self._revisions.setdefault(place, {})[name] = revision
            case _:
                self._add_service(namespace, name, entry)

    def remove(self, api_version: str, kind: str, namespace: str, name: str) -> None:
        """Forget an object; one that was never there changes nothing."""
        namespace = namespace or DEFAULT_NAMESPACE
        match api_version, kind:
            case "v1", "Namespace":
                self.namespaces.pop(name, None)
            case "v1", "Service":
                self._remove_service(namespace, name)
            case _:
                self._remove_controller((api_version, kind), namespace, name)

    def count_services(self, namespace: str, labels: Mapping[str, str]) -> int:
        """Return how many services of a namespace ``service_selectors`` compares with labels."""
        places = ((namespace or DEFAULT_NAMESPACE, *pair) for pair in labels.items())
        return sum(len(self._selectors.get(place, ())) for place in places)

    def service_selectors(self, namespace: str, labels: Mapping[str, str]) -> list[dict[str, str]]:
        """Return the selectors of the namespace's services that match labels, in no particular order."""
        namespace = namespace or DEFAULT_NAMESPACE
        return [
            selector
            for pair in labels.items()
            for selector in self._selectors.get((namespace, *pair), {}).values()
            if selector.items() <= labels.items()
        ]

    def controller(self, owner: Owner, namespace: str) -> PodController | None:
        """Return the controller that an owner reference names, or None if the cluster has none such."""
        namespace = namespace or DEFAULT_NAMESPACE
        return self._controllers.get((owner.api_version, owner.kind), {}).get((namespace, owner.name))

    def revisions(self, kind: str, namespace: str, name: str) -> Collection[Revision]:
        """Return the revisions of a workload, by the name of its kind, in no particular order."""
        return self._revisions.get((kind, namespace or DEFAULT_NAMESPACE, name), {}).values()

    def names(self, kind: tuple[str, str]) -> Collection[tuple[str, str]]:
        """Return the namespace and name of each object of a kind; of services, those with a selector.

        A namespace has none itself. What is returned changes with the snapshot.
        """
        match kind:
            case "v1", "Namespace":
                return {("", name): None for name in self.namespaces}
            case "v1", "Service":
                return self._services.keys()
            case _:
                return self._controllers.get(kind, {}).keys()

    def copy(self) -> Snapshot:
        """Return a snapshot of its own of the same objects."""
        tables: dict[str, Any] = {
            entry.name: {
                key: dict(held) if isinstance(held, dict) else held
                for key, held in getattr(self, entry.name).items()
            }
            for entry in fields(self)
        }
        return Snapshot(**tables)

    def _remove_controller(self, kind: tuple[str, str], namespace: str, name: str) -> None:
        gone = self._controllers.get(kind, {}).pop((namespace, name), None)
        if gone is None or gone.revision is None:
            return
        place = (gone.revision.kind, namespace, gone.revision.workload)
        revisions = self._revisions[place]
        del revisions[name]
        if not revisions:
            del self._revisions[place]

    def _add_service(self, namespace: str, name: str, selector: dict[str, str]) -> None:
        # A service without a selector matches no pod; an empty one matches all and adds nothing.
        if not selector:
            return
        # The pair that the fewest share: one such as part-of=shop may are in every service.
        places = [(namespace, *pair) for pair in selector.items()]
        place = min(places, key=lambda place: len(self._selectors.get(place, ())))
        self._selectors.setdefault(place, {})[name] = selector
        self._services[namespace, name] = place

    def _remove_service(self, namespace: str, name: str) -> None:
        place = self._services.pop((namespace, name), None)
        if place is None:
            return
        selectors = self._selectors[place]
        del selectors[name]
        if not selectors:
            del self._selectors[place]


def kind_of(obj: Mapping[str, Any]) -> tuple[str, str]:
    """Return an object's apiVersion and kind, empty where they are no text."""
    return text_member(obj, "apiVersion"), text_member(obj, "kind")


def identity(obj: Mapping[str, Any]) -> tuple[str, str]:
    """Return the namespace and the name of an object, empty where they are no text."""
    metadata = obj.get("metadata")
    return text_member(metadata, "namespace"), text_member(metadata, "name")


def _read(
    kind: tuple[str, str], obj: Mapping[str, Any], metadata: Mapping[str, Any], *, found: ErrorList
) -> Namespace | PodController | dict[str, str]:
    """Read what is kept of an object: of a service, its selector."""
    annotations = found.labels(metadata.get("annotations"), METADATA.child("annotations"))
    annotations = {key: text for key, text in annotations.items() if key.startswith(_KEPT_ANNOTATIONS)}
    if kind == NAMESPACE:
        return Namespace(found.labels(metadata.get("labels"), METADATA.child("labels")), annotations)
    spec = found.mapping(obj.get("spec"), SPEC)
    raw = spec.get("selector")
    if raw is not None and SELECTING_OWNERS.get(kind, True):
        raw = {"matchLabels": found.labels(raw, _SELECTOR)}
    selector = found.once("selector", lambda: read_label_selector(raw, _SELECTOR, found))
    if kind == SERVICE:
        return {} if raw is None else raw["matchLabels"]
    annotations.pop(TEMPLATE_DIGEST_ANNOTATION, None)
    return PodController(selector, annotations, read_revision(obj, found) if kind in REVISION_KINDS else None)


def without_secrets(obj: Mapping[str, Any], found: ErrorList | None = None) -> dict[str, Any]:
    """Return an object without what only its managers need, and what its containers are started with.

    Args:
        obj: The object.
        found: Keeps what takes long to find out of a large one.
    """
    kept: dict[str, Any] = {name: obj[name] for name in ("apiVersion", "kind") if name in obj}
    kept |= {**obj, "metadata": _metadata(obj.get("metadata"))}
    spec = obj.get("spec")
    if kind_of(obj) == STORAGE_CLASS:
        return {name: value for name, value in kept.items() if name not in _CLASS_SECRETS}
    if kind_of(obj) == VOLUME and isinstance(spec, dict) and isinstance(spec.get("csi"), dict):
        csi = {name: spec["csi"][name] for name in _CSI_FIELDS if name in spec["csi"]}
        return kept | {"spec": {**spec, "csi": csi}}
    if isinstance(spec, dict):
        template = spec.get("template")
        kept["spec"] = _pod_spec(spec)
        if isinstance(template, dict):
            kept["metadata"] = _with_annotations(kept["metadata"], written_digest(obj, found))
            kept["spec"]["template"] = {
                **template,
                "metadata": _metadata(template.get("metadata")),
                "spec": _pod_spec(template.get("spec")),
            }
    return kept


def _with_annotations(metadata: object, more: dict[str, str]) -> object:
    if not isinstance(metadata, dict) or not more:
        return metadata
    return {**metadata, "annotations": {**(metadata.get("annotations") or {}), **more}}


def _metadata(metadata: object) -> object:
    if not isinstance(metadata, dict):
        return metadata
    kept = {name: value for name, value in metadata.items() if name != "managedFields"}
    annotations = kept.get("annotations")
    if isinstance(annotations, dict):
        kept["annotations"] = {name: text for name, text in annotations.items() if name != LAST_APPLIED}
    return kept


def _pod_spec(spec: object) -> Any:
    if not isinstance(spec, dict):
        return spec
    lists = {name: spec[name] for name in _CONTAINERS if isinstance(spec.get(name), list)}
    return {**spec} | {name: list(map(_container, listed)) for name, listed in lists.items()}


def _container(container: object) -> object:
    if not isinstance(container, dict):
        return container
    return {name: value for name, value in container.items() if name in _CONTAINER_FIELDS}

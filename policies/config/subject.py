"""The object under review, read once: what every later step asks of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from policies.manifests.fields import ErrorList, FieldError, FieldPath
from policies.model.labels import LabelSelector
from policies.model.match_label_keys import Merge
from policies.model.pod import Owner, PodPart, controller_of, read_pod_part
from policies.model.validation import constraint_errors
from policies.model.workload import REVISION_OWNERS, WorkloadKind
from policies.scheduler.defaults import PodIdentity


class Subject(NamedTuple):
    """One object, as far as spreading looks at it.

    Attributes:
        kind: Where its kind keeps things.
        namespace: Its namespace.
        obj: The object as it came.
        metadata: Its metadata, empty where that is of the wrong type.
        labels: Its own labels, which scopes select by.
        annotations: Its own annotations.
        pod: Its pod or pod template.
        owner: The controller it belongs to.
        owner_selector: That controller's selector, where it is known but not in the cluster.
        user: Who sends it to the API server; None where nobody does, as in a file.
        shape_errors: What is of the wrong type in the parts that were read.
    """

    kind: WorkloadKind
    namespace: str
    obj: Mapping[str, Any]
    metadata: Mapping[str, Any]
    labels: dict[str, str]
    annotations: dict[str, str]
    pod: PodPart
    owner: Owner | None
    shape_errors: tuple[FieldError, ...]
    owner_selector: LabelSelector | None = None
    user: str | None = None

    @classmethod
    def read(
        cls, obj: Mapping[str, Any], kind: WorkloadKind, namespace: str, *, user: str | None = None
    ) -> Subject:
        """Read an object; whatever is in it, this returns."""
        found = ErrorList()
        pod = read_pod_part(obj, kind, found)
        if kind.is_pod:
            # Its type was checked when the pod part was read.
            metadata = raw if isinstance(raw := obj.get("metadata"), dict) else {}
            labels, annotations = pod.labels, pod.annotations
        else:
            metadata = found.mapping(obj.get("metadata"), FieldPath(("metadata",)))
            labels = found.labels(metadata.get("labels"), FieldPath(("metadata", "labels")))
            annotations = found.labels(metadata.get("annotations"), FieldPath(("metadata", "annotations")))
        return cls(
            kind,
            namespace,
            obj,
            metadata,
            labels,
            annotations,
            pod,
            controller_of(metadata),
            tuple(found.errors),
            user=user,
        )

    @property
    def identity(self) -> PodIdentity:
        """What the selector of default constraints is deduced from, for a pod."""
        return PodIdentity(self.namespace, self.pod.labels, self.owner, self.owner_selector)

    @property
    def all_kinds(self) -> frozenset[str]:
        """The kinds it belongs to: its own, its owner's, and the owner's owner where a label tells it."""
        kinds = {self.kind.kind}
        if self.owner is not None:
            kinds.add(self.owner.kind)
            if self.owner.kind == "ReplicaSet":
                kinds.update(kind for label, kind in REVISION_OWNERS.items() if label in self.pod.labels)
        return frozenset(kinds)

    def merge_state(self, old: Subject | None) -> Merge:
        """Tell how far the API server's merge has come: it stamps a uid on an object before it merges.

        Args:
            old: What is stored, for an object that was there before.
        """
        if not self.kind.is_pod or not self.metadata.get("uid"):
            return Merge.BEFORE
        return Merge.CREATED if old is None else Merge.FROZEN

    def errors(self, merge: Merge, *, strict: bool) -> list[FieldError]:
        """Return everything wrong with its constraints, and with the shape of what surrounds them."""
        errors = list(self.shape_errors)
        if self.pod.constraints is not None:
            errors += constraint_errors(
                self.pod.constraints,
                self.kind.constraints_path,
                labels=self.pod.labels,
                merge=merge,
                of_template=not self.kind.is_pod,
                strict=strict,
            )
        return errors

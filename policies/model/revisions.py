"""The revisions of workloads that a cluster has, and which of them a workload's pods belong to.

Sources, Kubernetes 1.36: ``FindNewReplicaSet`` (``pkg/controller/deployment/util/deployment_util.go``) for
Deployments, which Argo Rollouts do alike, and for StatefulSets the API's description of
``status.updateRevision``. ControllerRevisions are not read: of a StatefulSet's other templates, and of
DaemonSets, no hash is known.

Where a cluster shows only a ReplicaSet, its owner, such as a Deployment, is made from that.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from policies.manifests.fields import ErrorList, descend, member, shown_name, text_member
from policies.model.pod_template import INJECTED_ANNOTATION, TemplateKey, template_key
from policies.model.workload import Workload, controller_reference
from policies.model.workload_kinds import KNOWN_KINDS, WorkloadKind

#: In a snapshot file: the digest of a template whose containers are not written in full.
TEMPLATE_DIGEST_ANNOTATION: Final = "evenkeel.dev/template-digest"
#: Where controllers number the revisions of a workload.
_NUMBERS: Final = ("deployment.kubernetes.io/revision", "rollout.argoproj.io/revision")
#: The workloads that make ReplicaSets: by group and kind their name, and the label that marks revisions.
_OWNERS: Final = {
    (kind.group, kind.kind): (kind.name, kind.revision_label)
    for kind in KNOWN_KINDS
    if kind.revision_label is not None
}
_STATEFUL_SET: Final = next(kind for kind in KNOWN_KINDS if kind.name == "StatefulSet.apps")
#: The kinds of objects that hold a revision, by apiVersion and kind.
REVISION_KINDS: Final = frozenset({("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet")})


class Revision(NamedTuple):
    """A revision of a workload: a ReplicaSet of it, or what a StatefulSet is to become."""

    kind: str  #: The name of the workload's kind, such as ``Deployment.apps``.
    workload: str  #: The workload's name.
    uid: str  #: The workload's uid; empty if unknown.
    name: str  #: The name of the ReplicaSet; a StatefulSet's is its own.
    hash: str  #: With which the pods are marked.
    template: TemplateKey  #: By what the template is compared with a workload's.
    created: str  #: When, as the API writes it.
    number: int  #: Counted by the controller; 0 if unknown.
    labels: dict[str, str] | None = None  #: Of the ReplicaSet; None if they equal those of the template.


def read_revision(obj: Mapping[str, Any], found: ErrorList | None = None) -> Revision | None:
    """Return the revision that a ReplicaSet or StatefulSet of the cluster holds; None if it has none.

    Args:
        obj: The object.
        found: Keeps by what its template is compared, where that takes long to find out.
    """
    metadata, spec = member(obj, "metadata"), member(obj, "spec")
    template, name = member(spec, "template"), text_member(metadata, "name")
    key = stored_template_key(metadata, template, found)
    if not key.digest:
        return None
    if obj.get("kind") == _STATEFUL_SET.kind:
        status = member(obj, "status")
        update = text_member(status, "updateRevision")
        # Until the controller has observed the template, this is the revision before it.
        if not update or status.get("observedGeneration") != metadata.get("generation"):
            return None
        return Revision(_STATEFUL_SET.name, name, text_member(metadata, "uid"), name, update, key, "", 0)
    owner = controller_reference(metadata)
    if (
        owner is None
        or (group_kind := (owner["apiVersion"].rpartition("/")[0], owner["kind"])) not in _OWNERS
    ):
        return None
    kind_name, revision_label = _OWNERS[group_kind]
    labels, own_labels = member(member(template, "metadata"), "labels"), member(metadata, "labels")
    marked = text_member(labels, revision_label)
    if not marked:
        return None
    return Revision(
        kind_name,
        owner["name"],
        # The same for all ReplicaSets of a Deployment, of which there are ten or more.
        sys.intern(text_member(owner, "uid")),
        name,
        marked,
        key,
        text_member(metadata, "creationTimestamp"),
        _number(member(metadata, "annotations")),
        None if own_labels == labels else {k: v for k, v in own_labels.items() if isinstance(v, str)},
    )


def find_revision(workload: Workload, revisions: Collection[Revision]) -> Revision | None:
    """Return the revision to which the next pod of a workload would belong; None if that is a new one.

    Args:
        workload: The workload, from the API server or from a file. A file is taken as ``kubectl apply``
            would: the time of the last restart, which it does not state, stays.
        revisions: Those that the cluster has of a workload of this name.
    """
    if not revisions:
        return None
    uid, selector = text_member(workload.metadata, "uid"), workload.selector
    own = [
        revision
        for revision in revisions
        if not (uid and revision.uid and revision.uid != uid)
        if revision.labels is None or selector is None or selector.matches(revision.labels)
    ]
    if not own:
        return None
    template = descend(workload.obj, workload.kind.template)
    wanted = template_key(template, injected=_is_injected(workload.metadata))
    if not uid and not wanted.restarted_at:
        wanted = wanted._replace(restarted_at=max(own, key=_newest).template.restarted_at)
    equal = [revision for revision in own if revision.template == wanted]
    return min(equal, key=lambda revision: (revision.created, revision.name), default=None)


def stored_template_key(
    metadata: Mapping[str, Any], template: Mapping[str, Any], found: ErrorList | None = None
) -> TemplateKey:
    """Return by what the template of an object is compared, which a snapshot file may have cut.

    Args:
        metadata: Of the object that holds the template.
        template: The template.
        found: Keeps what it was before an annotation changed it, where that takes long to find out.
    """
    injected = _is_injected(metadata)
    part = "template without constraints" if injected else "template"
    key = (found or ErrorList()).once(part, lambda: template_key(template, injected=injected))
    written = text_member(member(metadata, "annotations"), TEMPLATE_DIGEST_ANNOTATION)
    try:
        return key._replace(digest=bytes.fromhex(written)) if written else key
    except ValueError:
        return key


def written_digest(obj: Mapping[str, Any], found: ErrorList | None = None) -> dict[str, str]:
    """Return the annotation for an object of a snapshot file, which keeps only parts of its template."""
    key = stored_template_key(member(obj, "metadata"), member(member(obj, "spec"), "template"), found)
    return {TEMPLATE_DIGEST_ANNOTATION: key.digest.hex()} if key.digest else {}


def _is_injected(metadata: Mapping[str, Any]) -> bool:
    return INJECTED_ANNOTATION in member(metadata, "annotations")


def _newest(revision: Revision) -> tuple[int, str, str]:
    return revision.number, revision.created, revision.name


def _number(annotations: Mapping[str, Any]) -> int:
    for name in _NUMBERS:
        text = text_member(annotations, name)
        if text.isascii() and text.isdecimal():
            return int(text[:18])
    return 0


def owner_object(
    replica_set: Mapping[str, Any], base: Mapping[str, Any], kind: WorkloadKind, *, namespace: str, name: str
) -> dict[str, Any]:
    """Return the workload that owns a ReplicaSet, as far as that shows it.

    Args:
        replica_set: The ReplicaSet.
        base: The fields that it does not show: apiVersion and kind at least.
        kind: The kind of the owner.
        namespace: The namespace of both.
        name: The name of the owner.
    """
    spec, label = member(replica_set, "spec"), kind.revision_label
    template, selector = member(spec, "template"), member(spec, "selector")
    own, pod = member(replica_set, "metadata"), member(template, "metadata")
    metadata = {
        "name": name,
        "namespace": namespace,
        # Whether its constraints were injected, and the digest of a template that a snapshot has cut.
        "annotations": member(own, "annotations"),
    }
    return {
        **base,
        "metadata": metadata,
        "spec": {
            **member(base, "spec"),
            "replicas": spec.get("replicas"),
            "selector": {**selector, "matchLabels": _without(member(selector, "matchLabels"), label)},
            "template": {
                **template,
                "metadata": {**pod, "labels": _without(member(pod, "labels"), label)},
            },
        },
    }


def owner_note(kind: str, replica_set: str) -> str:
    """Return the note on such an object, by its kind and the name of the ReplicaSet."""
    return f"the snapshot has no {kind}s: this one is made from its ReplicaSet {shown_name(replica_set)}"


def _without(labels: Mapping[str, Any], key: str | None) -> dict[str, Any]:
    return {name: text for name, text in labels.items() if name != key}

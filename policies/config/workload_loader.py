"""The objects of manifests as rules look at them: workloads, and what goes with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from policies.config.context import AdmissionContext
from policies.config.subject import Subject
from policies.manifests.documents import ManifestObject
from policies.manifests.fields import WRONG_TYPE, ErrorList, FieldError, FieldPath, is_cut, wrong_type
from policies.model.constraint import Constraint
from policies.model.declared import DeclaredConstraint, Workload
from policies.model.labels import check_label_selector, is_usual_selector
from policies.model.node_affinity import read_node_affinity
from policies.model.partial_constraint import readable_constraint
from policies.model.placeholders import has_placeholder
from policies.model.repository import Repository
from policies.model.suggested_selector import is_patch
from policies.model.taints import read_tolerations
from policies.model.workload import descend
from policies.scheduler.releases import Behavior
from policies.scheduler.request import in_release

#: The fields that say which nodes a pod may go to, as far as rules read them.
_PLACING = frozenset({"affinity", "nodeSelector", "tolerations"})


@dataclass(frozen=True, slots=True)
class Declared:
    """A workload and where it stands."""

    workload: Workload
    subject: Subject
    manifest: ManifestObject


def declare(manifest: ManifestObject, context: AdmissionContext) -> Declared | None:
    """Return a manifest as a workload, None if it is none."""
    obj = manifest.value
    version, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return None
    group = version.rpartition("/")[0] if "/" in version else ""
    known = context.kinds.find(group, kind)
    if known is None:
        return None
    subject = Subject.read(obj, known, text_member(obj.get("metadata"), "namespace"))
    errors = subject.errors(subject.merge_state(subject), strict=context.strict)
    errors += _name_errors(subject.metadata)
    if more := list(_surrounding_errors(subject)):
        told = {error.path for error in errors}
        errors += [error for error in more if error.path not in told]
    workload = workload_of(subject, errors=errors, behavior=context.behavior, folder=folder_of(manifest))
    return Declared(_without_open(workload), subject, manifest)


def _name_errors(metadata: Mapping[str, Any]) -> list[FieldError]:
    """Return what YAML made no texts of: ``n`` is false and ``007`` a number."""
    found = ErrorList()
    for name in ("name", "namespace"):
        found.text(metadata.get(name), FieldPath(("metadata", name)))
    return found.errors


def _surrounding_errors(subject: Subject) -> Iterator[FieldError]:
    """Yield what is of the wrong type in the fields besides constraints that rules read."""
    obj, kind, found = subject.obj, subject.kind, ErrorList()
    spec = descend(obj, (*kind.template, "spec"), ErrorList())
    if not _PLACING.isdisjoint(spec):
        path = FieldPath(kind.template).child("spec")
        read_node_affinity(spec, path, found)
        read_tolerations(spec.get("tolerations"), path.child("tolerations"), found)
    if kind.replicas is not None:
        replicas = descend(obj, kind.replicas[:-1], ErrorList()).get(kind.replicas[-1])
        if replicas is not None and type(replicas) is not int:
            found.add(wrong_type(FieldPath(kind.replicas), "an integer", replicas))
    if kind.selector is not None:
        selector = descend(obj, kind.selector, found)
        if kind.selector_is_map:
            found.labels(selector, FieldPath(kind.selector))
        elif not is_usual_selector(selector):
            check_label_selector(selector, FieldPath(kind.selector), found)
    yield from (error for error in found.errors if error.rule == WRONG_TYPE)


def _without_open(workload: Workload) -> Workload:
    """Return a workload without what cannot be judged before another tool completes the manifest.

    That are constraints with placeholders, all of them where the pods' labels have some, and what a patch
    leaves to the manifest that it is merged into.
    """
    if has_placeholder(workload.labels):
        return replace(workload, constraints=(), errors=())
    if any(has_placeholder(declared.constraint.topology_key) for declared in workload.constraints):
        kept = (entry for entry in workload.constraints if not has_placeholder(entry.raw))
        workload = replace(workload, constraints=tuple(kept))
    if not workload.errors:
        return workload
    return replace(
        workload, errors=tuple(error for error in workload.errors if not _is_open(workload, error))
    )


def _is_open(workload: Workload, error: FieldError) -> bool:
    """Tell whether an error may be gone once the manifest is complete."""
    node: Any = workload.obj
    for name in error.path.segments:
        try:
            node = node[name]
        except (KeyError, IndexError, TypeError):
            return is_patch(workload)
    # Kustomize's directives, such as ``$patch: delete``.
    directive = str(error.path.segments[-1]).startswith("$") and is_patch(workload)
    return directive or has_placeholder(node)


def workload_of(
    subject: Subject, *, errors: Iterable[FieldError], behavior: Behavior, folder: str = ""
) -> Workload:
    """Return what rules look at of an object.

    Args:
        subject: The object.
        errors: What is wrong with its constraints (``Subject.errors``).
        behavior: What the release does; fields that it drops are at their defaults.
        folder: The folder of its file.
    """
    errors = tuple(errors)
    return Workload(
        obj=subject.obj,
        kind=subject.kind,
        namespace=subject.namespace,
        name=text_member(subject.metadata, "name"),
        labels=subject.pod.labels,
        constraints=tuple(
            replace(declared, constraint=in_release(declared.constraint, behavior))
            for declared in _constraints(subject, errors)
        ),
        errors=errors,
        folder=folder,
    )


def _constraints(subject: Subject, errors: tuple[FieldError, ...]) -> Iterator[DeclaredConstraint]:
    """Yield the constraints that can be read; of one with values of the wrong type, what is left of it."""
    path, raw = subject.kind.constraints_path, subject.pod.constraints
    # Where errors were left out, it is not known which entries are good.
    if not isinstance(raw, list) or is_cut(errors):
        return
    broken: dict[tuple[str | int, ...], set[str]] = {}
    for error in errors:
        broken.setdefault(error.path.segments[: len(path.segments) + 1], set()).add(error.rule)
    if path.segments in broken:
        return
    labels_path = (*subject.kind.template, "metadata", "labels")
    unreadable = {str(way[-1]) for way in broken if way[:-1] == labels_path}
    for position, entry in enumerate(raw):
        where = path.index(position)
        rules = broken.get(where.segments, set())
        if not rules and not unreadable:
            yield DeclaredConstraint(constraint=Constraint.parse(entry), path=where, raw=entry)
        elif rules <= {WRONG_TYPE} and isinstance(entry, dict):
            found = readable_constraint(entry, subject.pod.labels, unreadable)
            if found is not None:
                yield DeclaredConstraint(constraint=found[0], path=where, raw=found[1])


def folder_of(manifest: ManifestObject) -> str:
    """Return the folder of a manifest's file, empty where it has none."""
    return manifest.document.file.rpartition("/")[0]


@dataclass(slots=True)
class Gathered:
    """The objects of a repository, or of a part of it.

    Attributes:
        declared: The workloads, in their order.
        others: The other objects.
    """

    declared: list[Declared] = field(default_factory=list)
    others: list[ManifestObject] = field(default_factory=list)

    @property
    def repository(self) -> Repository:
        """The objects that are applied together, as rules look at them."""
        workloads = (entry.workload for entry in self.declared)
        others = (entry.value for entry in self.others)
        return Repository.of(workloads, others, map(folder_of, self.others))


def gather(manifests: Iterable[ManifestObject], context: AdmissionContext) -> Gathered:
    """Tell workloads from other objects."""
    gathered = Gathered()
    for manifest in manifests:
        found = declare(manifest, context)
        if found is None:
            gathered.others.append(manifest)
        else:
            gathered.declared.append(found)
    return gathered


def text_member(parent: object, name: str) -> str:
    """Return a field of an object, empty where there is none or it is no text."""
    value = parent.get(name) if isinstance(parent, dict) else None
    return value if isinstance(value, str) else ""

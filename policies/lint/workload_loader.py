"""The objects of manifests as rules look at them: workloads, and what is applied together with them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from policies.config.context import AdmissionContext
from policies.manifests.documents import ManifestObject, is_of_kubernetes
from policies.manifests.fields import (
    METADATA,
    SPEC,
    WRONG_TYPE,
    ErrorList,
    FieldError,
    FieldPath,
    cut_rules,
    descend,
    text_member,
)
from policies.manifests.origins import BuiltObject
from policies.manifests.scalars import has_placeholder, is_bare_placeholder
from policies.manifests.skipped import SkipReason
from policies.model.api_rules import API_RULES
from policies.model.labels import check_label_selector, is_usual_selector
from policies.model.node_affinity import read_node_affinity
from policies.model.repository import Repository
from policies.model.taints import read_tolerations
from policies.model.workload import ConstraintEntry, Workload, api_errors, constraint_entries

#: The rules by whose errors a constraint of a patch is read all the same.
_READ_OF_PATCHES = frozenset({WRONG_TYPE})
#: The fields that decide which nodes a pod may go to, as far as rules read them.
_PLACING = frozenset({"affinity", "nodeSelector", "tolerations"})


@dataclass(frozen=True, eq=False, kw_only=True)
class ManifestWorkload(Workload):
    """A workload of a manifest, of which another tool may have yet to complete parts.

    What is left to such a tool is not checked: constraints with placeholders, all of them where the labels of
    the pods have some, and what a patch leaves to the manifest that it is merged into.
    """

    manifest: ManifestObject  #: Where it is written.

    @cached_property
    def errors(self) -> tuple[FieldError, ...]:
        """The errors in the fields that rules read, also those that the API server alone would report."""
        found = self._found
        if not found or self._has_open_labels:
            return ()
        return tuple(error for error in found if not self._is_open(error))

    @cached_property
    def constraints(self) -> tuple[ConstraintEntry, ...]:
        """Its constraints; of one that the API server refuses, what can be read of it."""
        if self._has_open_labels:
            return ()
        # What a patch leaves out is elsewhere.
        despite = _READ_OF_PATCHES if self.is_patch else API_RULES
        entries = tuple(constraint_entries(self, self._found, despite=despite))
        if any(has_placeholder(entry.constraint.topology_key) for entry in entries):
            return tuple(entry for entry in entries if not has_placeholder(entry.raw))
        return entries

    @cached_property
    def source(self) -> Hashable:
        """The resource that kustomize built it from, which may give it another name in each overlay."""
        layers = self.manifest.origin.layers if isinstance(self.manifest, BuiltObject) else ()
        if not layers:
            return self.identity
        resource = layers[0]
        return resource.text, resource.document.index, resource.path.segments

    @property
    def cut_rules(self) -> list[str]:
        """The rules that have more errors than are listed: none of its constraints counts as valid then."""
        return cut_rules(self._found)

    @property
    def unjudged(self) -> SkipReason | None:
        """Why some of it is not judged, or all; None for a whole object, and for custom resources.

        These may refer to a template that is elsewhere.
        """
        if not is_of_kubernetes(self.kind.group):
            return None
        if self.template.spec:
            is_part = self.is_patch or "containers" not in self.template.spec
            return SkipReason.PATCH if is_part else None
        way = self.pod_path.segments
        told = any(error.path.segments == way[: len(error.path.segments)] for error in self.errors)
        return None if told else SkipReason.NO_POD_TEMPLATE

    @cached_property
    def _has_open_labels(self) -> bool:
        """Whether the labels of its pods have placeholders."""
        return has_placeholder(self.template.labels)

    @cached_property
    def _found(self) -> tuple[FieldError, ...]:
        """Everything that is wrong with the manifest as it is."""
        errors = (*api_errors(self), *_name_errors(self))
        if not (others := _other_errors(self)):
            return errors
        reported = {error.path for error in errors}
        return (*errors, *(error for error in others if error.path not in reported))

    def _is_open(self, error: FieldError) -> bool:
        """Return whether an error may be gone once the manifest is complete."""
        node: Any = self.obj
        for name in error.path.segments:
            try:
                node = node[name]
            except (KeyError, IndexError, TypeError):
                return self.is_patch
        # Kustomize's directives, such as ``$patch: delete``.
        directive = str(error.path.segments[-1]).startswith("$") and self.is_patch
        return directive or has_placeholder(node) or is_bare_placeholder(node)


@dataclass(slots=True)
class LoadedManifests:
    """The objects of a repository, or of a part of it."""

    workloads: list[ManifestWorkload] = field(default_factory=list)  #: The workloads, in their order.
    others: list[ManifestObject] = field(default_factory=list)  #: The other objects.

    def read_parts(self) -> None:
        """Read what every run of rules reads of each workload, its errors and constraints.

        Right after loading a workload is in the processor's cache yet, and this takes a third less time.
        """
        for workload in self.workloads:
            _ = workload.parts

    @property
    def manifests(self) -> Iterator[ManifestObject]:
        """All objects."""
        yield from (workload.manifest for workload in self.workloads)
        yield from self.others

    @property
    def repository(self) -> Repository:
        """The objects that are applied together, as rules look at them."""
        others = (entry.value for entry in self.others)
        return Repository.of(self.workloads, others, map(folder_of, self.others))


def load_manifests(manifests: Iterable[ManifestObject], context: AdmissionContext) -> LoadedManifests:
    """Tell workloads from other objects."""
    loaded = LoadedManifests()
    for manifest in manifests:
        workload = load_workload(manifest, context)
        if workload is None:
            loaded.others.append(manifest)
        else:
            loaded.workloads.append(workload)
    return loaded


def load_workload(manifest: ManifestObject, context: AdmissionContext) -> ManifestWorkload | None:
    """Return a manifest as a workload, None if it is none."""
    obj = manifest.value
    kind = context.kind_of(obj)
    if kind is None:
        return None
    return ManifestWorkload.read(
        obj,
        kind,
        text_member(obj.get("metadata"), "namespace"),
        release=context.release,
        folder=folder_of(manifest),
        manifest=manifest,
    )


def folder_of(manifest: ManifestObject) -> str:
    """Return the folder of a manifest's file, empty where it has none."""
    return manifest.document.file.rpartition("/")[0]


def _name_errors(workload: Workload) -> list[FieldError]:
    """Return the errors in names that YAML did not read as texts: ``n`` is false and ``007`` a number."""
    found = ErrorList()
    for name in ("name", "namespace"):
        value = workload.metadata.get(name)
        if value.__class__ is not str:
            found.text(value, METADATA.child(name))
    return found.errors


def _other_errors(workload: Workload) -> list[FieldError]:
    """Return the errors of type in the fields besides constraints that rules read."""
    obj, kind, spec, found = workload.obj, workload.kind, workload.template.spec, ErrorList()
    if not _PLACING.isdisjoint(spec):
        path = workload.pod_path.child("spec")
        read_node_affinity(spec, path, found)
        read_tolerations(spec.get("tolerations"), path.child("tolerations"), found)
    # An object without any spec may be a patch, of its metadata alone; what custom resources must have, their
    # own controllers say.
    for error in workload.controller_errors():
        if error.path != SPEC or ("spec" in obj and is_of_kubernetes(kind.group)):
            found.add(error)
    if kind.selector is not None:
        selector = descend(obj, kind.selector, found)
        if kind.selector_is_map:
            found.labels(selector, FieldPath(kind.selector))
        elif not is_usual_selector(selector):
            check_label_selector(selector, FieldPath(kind.selector), found)
    return [error for error in found.errors if error.rule == WRONG_TYPE]

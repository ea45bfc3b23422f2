"""The terms of pod affinity and anti-affinity: what the API server refuses, and which keep replicas apart.

Source: ``PodAffinityTerm`` of ``api/core/v1/types.go``, and ``validatePodAffinityTerm`` and
``validateWeightedPodAffinityTerms`` of ``pkg/apis/core/validation/validation.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from policies.manifests.fields import (
    UNKNOWN_FIELD,
    ErrorKind,
    ErrorList,
    FieldError,
    FieldPath,
    field_names,
    forbidden,
    invalid_value,
    required_value,
)
from policies.manifests.scalars import has_placeholder
from policies.model.interpod_terms import PREFERRED, REQUIRED
from policies.model.labels import LabelSelector, check_label_selector, is_usual_selector, label_key_errors

#: The rule that a term breaks which the API server refuses.
TERM_INVALID: Final = "affinity-term-invalid"
#: Every field of the API's PodAffinityTerm and WeightedPodAffinityTerm.
TERM_FIELDS: Final = field_names(
    "labelSelector", "namespaces", "topologyKey", "namespaceSelector", "matchLabelKeys", "mismatchLabelKeys"
)
#: Those that narrow the selector by labels of the pod.
_LABEL_KEYS: Final = ("matchLabelKeys", "mismatchLabelKeys")
WEIGHTED_FIELDS: Final = field_names("weight", "podAffinityTerm")
#: The least and the largest weight of a preferred term.
WEIGHTS: Final = (1, 100)
#: The two kinds of terms.
_KINDS: Final = ("podAffinity", "podAntiAffinity")


@dataclass(frozen=True, slots=True, kw_only=True)
class AffinityTerm:
    """A valid term."""

    anti: bool  #: Whether it keeps pods apart, and does not bring them together.
    required: bool  #: Whether a node that breaks it is refused.
    path: FieldPath  #: The term.
    topology_key: str  #: The node label whose values are the domains.
    selector: LabelSelector | None  #: Which pods it is about; None is about no pod.
    raw: Mapping[str, Any]  #: As it was written.

    @property
    def match_label_keys(self) -> tuple[str, ...]:
        """The labels whose value narrows it, such as that of the revision."""
        return tuple(self.raw.get("matchLabelKeys") or ())

    @property
    def excludes_own_value(self) -> bool:
        """Whether it is only about pods that differ from its own in some label."""
        return bool(self.raw.get("mismatchLabelKeys"))

    @property
    def needs_label(self) -> bool:
        """Whether a node without the topology key is refused; anti-affinity finds no pod to avoid there.

        Source: ``satisfyPodAffinity`` and ``satisfyPodAntiAffinity``, ``interpodaffinity/filtering.go``,
        Kubernetes 1.36.
        """
        return self.required and not self.anti

    def is_about(self, namespace: str) -> bool:
        """Return whether it is, as far as the term itself shows, about pods of a pod's own namespace."""
        namespaces = self.raw.get("namespaces")
        if not namespaces:
            return self.raw.get("namespaceSelector") is None
        return namespace in namespaces

    def separates(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Return whether it is certain to keep, or prefer to keep, pods of one namespace and labels apart."""
        if not self.anti or self.excludes_own_value or self.selector is None:
            return False
        return (
            self.is_about(namespace) and self.selector.keys <= labels.keys() and self.selector.matches(labels)
        )


class PodAffinity(NamedTuple):
    """The terms of a workload's pods."""

    terms: tuple[AffinityTerm, ...] = ()  #: The valid ones; what another tool has yet to fill in is left out.
    #: What the API server refuses in the others, up to ``fields.MAX_ERRORS`` of each rule.
    errors: tuple[FieldError, ...] = ()

    def separations(
        self, namespace: str, labels: Mapping[str, str], *, alike: AbstractSet[str] = frozenset()
    ) -> list[AffinityTerm]:
        """Return the required terms that are certain to keep pods apart, the first of each topology key.

        Args:
            namespace: The namespace of the pods.
            labels: The labels of the pods.
            alike: Labels of which all of the pods have one value; a term whose ``matchLabelKeys`` name
                another may keep only some of them apart.
        """
        found: dict[str, AffinityTerm] = {}
        for term in self.terms:
            if term.required and alike >= set(term.match_label_keys) and term.separates(namespace, labels):
                found.setdefault(term.topology_key, term)
        return list(found.values())


def read_pod_affinity(raw: object, path: FieldPath, *, label_keys: bool = True) -> PodAffinity:
    """Read ``affinity`` of a pod's spec, of any shape.

    Args:
        raw: It.
        path: Where it is.
        label_keys: Whether the release knows ``matchLabelKeys`` and ``mismatchLabelKeys``.
    """
    terms, found = [], ErrorList()
    for read in _entries(raw, path, found):
        entry = read if label_keys else read.without_label_keys()
        errors = _term_errors(entry)
        found.extend(errors)
        if all(error.rule == UNKNOWN_FIELD for error in errors):
            terms.append(_term(entry))
    return PodAffinity(tuple(terms), tuple(found.errors))


def _term(entry: _Entry) -> AffinityTerm:
    selector = entry.term.get("labelSelector")
    return AffinityTerm(
        anti=entry.anti,
        required=entry.required,
        path=entry.path,
        topology_key=entry.term["topologyKey"],
        selector=None if selector is None else LabelSelector.parse(selector),
        raw=entry.term,
    )


class _Entry(NamedTuple):
    """An entry of a list as it was read: a required term itself, or what holds a preferred one."""

    anti: bool
    required: bool
    where: FieldPath
    holder: dict[str, Any]

    @property
    def path(self) -> FieldPath:
        return self.where if self.required else self.where.child("podAffinityTerm")

    @property
    def term(self) -> dict[str, Any]:
        held = self.holder if self.required else self.holder.get("podAffinityTerm")
        return held if isinstance(held, dict) else {}

    def without_label_keys(self) -> _Entry:
        term = {name: value for name, value in self.term.items() if name not in _LABEL_KEYS}
        return self._replace(holder=term if self.required else {**self.holder, "podAffinityTerm": term})


def _entries(raw: object, path: FieldPath, found: ErrorList) -> Iterator[_Entry]:
    """Yield the entries of the four lists, and record what is no list or no object."""
    affinity = found.mapping(raw, path)
    for kind in _KINDS:
        lists = found.mapping(affinity.get(kind), path.child(kind))
        for name in (REQUIRED, PREFERRED):
            for where, holder in found.objects(lists.get(name), path.child(kind, name)):
                if not _is_open(holder):
                    yield _Entry(kind == "podAntiAffinity", name == REQUIRED, where, holder)


def _is_open(holder: dict[str, Any]) -> bool:
    """Return whether an entry has placeholders, or is one of Kustomize's directives."""
    return has_placeholder(holder) or any(str(name).startswith("$") for name in holder)


def _term_errors(entry: _Entry) -> list[FieldError]:
    nested = _nesting_error(entry)
    if nested is not None:
        return [nested]
    found = ErrorList()
    if not entry.required:
        found.unknown(entry.holder, entry.where, known=WEIGHTED_FIELDS)
        _check_weight(entry, found)
        found.mapping(entry.holder.get("podAffinityTerm"), entry.path)
    found.unknown(entry.term, entry.path, known=TERM_FIELDS)
    _check_topology_key(entry, found)
    for name in ("labelSelector", "namespaceSelector"):
        if entry.term.get(name) is not None and not is_usual_selector(entry.term[name]):
            check_label_selector(entry.term[name], entry.path.child(name), found)
    for position, name in enumerate(
        found.items(entry.term.get("namespaces"), entry.path.child("namespaces"))
    ):
        found.text(name, entry.path.child("namespaces").index(position))
    _check_label_keys(entry, found)
    return found.errors


def _nesting_error(entry: _Entry) -> FieldError | None:
    """Return the one mistake of an entry that has the form of the other list."""
    if entry.required:
        if "podAffinityTerm" not in entry.holder:
            return None
        text = "a required term has no podAffinityTerm and no weight: set its fields in the entry itself"
    else:
        fields = [name for name in TERM_FIELDS if name in entry.holder]
        if not fields or "podAffinityTerm" in entry.holder:
            return None
        text = f"a preferred term has {', '.join(fields)} in podAffinityTerm, next to a weight from 1 to 100"
    return FieldError(entry.where, text, ErrorKind.INVALID, TERM_INVALID)


def _check_weight(entry: _Entry, found: ErrorList) -> None:
    value, (least, most) = entry.holder.get("weight"), WEIGHTS
    if type(value) is int and least <= value <= most:
        return
    path = entry.where.child("weight")
    found.add(invalid_value(path, value, f"must be in the range {least}-{most}", TERM_INVALID))


def _check_topology_key(entry: _Entry, found: ErrorList) -> None:
    path, raw = entry.path.child("topologyKey"), entry.term.get("topologyKey")
    key = found.text(raw, path)
    if raw is None or raw == "":
        found.add(required_value(path, "can not be empty", TERM_INVALID))
    elif key:
        found.extend(label_key_errors(key, path, TERM_INVALID))


def _check_label_keys(entry: _Entry, found: ErrorList) -> None:
    listed: dict[str, list[Any]] = {}
    for name in _LABEL_KEYS:
        path = entry.path.child(name)
        listed[name] = found.items(entry.term.get(name), path)
        if listed[name] and entry.term.get("labelSelector") is None:
            text = "must not be specified when labelSelector is not set"
            found.add(forbidden(path, text, TERM_INVALID))
            continue
        for position, key in enumerate(listed[name]):
            if text := found.text(key, path.index(position)):
                found.extend(label_key_errors(text, path.index(position), TERM_INVALID))
    matched = {key for key in listed["matchLabelKeys"] if isinstance(key, str)}
    for position, key in enumerate(listed["mismatchLabelKeys"]):
        if isinstance(key, str) and key in matched:
            path = entry.path.child("mismatchLabelKeys").index(position)
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            found.add(invalid_value(path, key, text, TERM_INVALID))

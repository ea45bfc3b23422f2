"""Documents of other policy engines that inject spread constraints: what they would inject, and into what.

Kyverno's ClusterPolicy and Policy, its MutatingPolicy and Kubernetes' MutatingAdmissionPolicy, which are
written in CEL, and Gatekeeper's Assign. What cannot be read literally is left out, whatever else is wrong
with the document.

A key of Kyverno's patches may carry an anchor. ``+(key)`` adds what is absent, and is the usual one; any
other anchor makes the patch depend on what it meets, and what is below it is unknown here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from policies.manifests.documents import load
from policies.manifests.errors import DocumentError
from policies.manifests.fields import ErrorList, FieldPath, descend
from policies.model.foreign_policies import cel
from policies.model.foreign_policies.constraints import (
    CONSTRAINTS,
    ForeignInjection,
    of_operations,
    read_selector,
)

_ANCHOR = re.compile(r"[+=^<X]?\(.+\)")
#: The ways to the pod template of a patch, the longest first.
_TEMPLATES = (("spec", "jobTemplate", "spec", "template"), ("spec", "template"), ())
#: Fields of ``resources`` with which a match selects certain objects.
_NARROWING_A_MATCH = ("selector", "namespaceSelector", "namespaces", "names", "name", "annotations")
#: Fields of a match that select certain users.
_PEOPLE = ("subjects", "roles", "clusterRoles")
#: Fields of a condition that select certain objects; too many rather than too few.
_ASKING = re.compile("label|annotation|name", re.IGNORECASE)
#: The kinds of document that are read: group and kind.
KYVERNO = frozenset([("kyverno.io", "ClusterPolicy"), ("kyverno.io", "Policy")])
CEL = frozenset(
    [
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
        ("policies.kyverno.io", "MutatingPolicy"),
        ("policies.kyverno.io", "NamespacedMutatingPolicy"),
    ]
)
GATEKEEPER = ("mutations.gatekeeper.sh", "Assign")

#: ``spec.location`` of an Assign that sets the list, or one entry of it.
_LOCATION = re.compile(
    rf"spec\.(?:template\.spec\.|jobTemplate\.spec\.template\.spec\.)?{CONSTRAINTS}(\[.*\])?"
)
#: Fields of ``spec.match`` of an Assign that select certain objects.
_NARROWING = ("labelSelector", "namespaceSelector", "namespaces", "name")


def injections(obj: Mapping[str, Any]) -> Iterator[ForeignInjection]:
    """Yield the constraints that the rules of a policy inject."""
    found = ErrorList()
    rules = descend(obj, ("spec",), found).get("rules")
    for path, rule in found.objects(rules, FieldPath(("spec", "rules"))):
        mutate = descend(rule, ("mutate",), found)
        if not mutate:
            continue
        around = _matched(rule, path)
        targets = [target.get("kind") for _, target in found.objects(mutate.get("targets"), FieldPath())]
        if targets:
            # Other objects than those that are matched.
            kinds = frozenset(map(str, targets))
            around = ForeignInjection(path=path, constraints=(), kinds=kinds)
        yield from _patched(mutate, path.child("mutate"), around)
        for where, each in found.objects(mutate.get("foreach"), path.child("mutate", "foreach")):
            yield from _patched(each, where, around)


def _matched(rule: Mapping[str, Any], path: FieldPath) -> ForeignInjection:
    """Return an injection of nothing into what a rule matches."""
    found = ErrorList()
    match = descend(rule, ("match",), found)
    every = [entry for _, entry in found.objects(match.get("all"), FieldPath())]
    blocks = every or [entry for _, entry in found.objects(match.get("any"), FieldPath())] or [match]
    resources = [descend(block, ("resources",), found) for block in blocks]
    asked = [_is_narrowed(block, entry) for block, entry in zip(blocks, resources, strict=True)]
    names = [found.items(entry.get("kinds"), FieldPath()) for entry in resources]
    return ForeignInjection(
        path=path,
        constraints=(),
        kinds=_matched_kinds([str(name) for entry in names for name in entry]),
        selector=read_selector(resources[0].get("selector")) if len(blocks) == 1 else None,
        narrowed=(any(asked) if every else all(asked)) or _is_conditional(rule),
    )


def _is_narrowed(block: Mapping[str, Any], resources: Mapping[str, Any]) -> bool:
    return any(resources.get(name) for name in _NARROWING_A_MATCH) or any(block.get(name) for name in _PEOPLE)


def _is_conditional(rule: Mapping[str, Any]) -> bool:
    """Return whether a rule's preconditions look at labels, annotations or names."""
    conditions: list[Any] = [rule.get("preconditions")]
    while conditions:
        condition = conditions.pop()
        if isinstance(condition, dict):
            conditions += [value for key, value in condition.items() if key not in ("operator", "message")]
        elif isinstance(condition, list):
            conditions += condition
        elif isinstance(condition, str) and _ASKING.search(condition):
            return True
    return False


def _matched_kinds(names: list[str]) -> frozenset[str]:
    """Return kinds from ``Deployment``, ``apps/v1/Deployment`` and the like; none if one holds a wildcard."""
    kinds = frozenset(name.rpartition("/")[2] for name in names)
    return frozenset() if any("*" in kind or "." in kind for kind in kinds) else kinds


def _patched(
    holder: Mapping[str, Any], path: FieldPath, around: ForeignInjection
) -> Iterator[ForeignInjection]:
    merge = holder.get("patchStrategicMerge")
    if isinstance(merge, dict):
        yield from _merged(merge, path.child("patchStrategicMerge"), around)
    text = holder.get("patchesJson6902")
    if isinstance(text, str):
        where = path.child("patchesJson6902")
        held = ForeignInjection(
            path=where,
            constraints=(),
            readable=False,
            kinds=around.kinds,
            selector=around.selector,
            narrowed=around.narrowed,
        )
        yield from of_operations(_operations(text), held)


def _operations(text: str) -> list[object]:
    try:
        documents = load(text, "patchesJson6902")
    except DocumentError:
        return []  # Templates, say: no YAML until they are filled in.
    return [entry for document in documents if isinstance(document.value, list) for entry in document.value]


def _merged(merge: dict[str, Any], path: FieldPath, around: ForeignInjection) -> Iterator[ForeignInjection]:
    for way in _TEMPLATES:
        step = _descend(merge, (*way, "spec"))
        if step is None:
            continue
        names, spec = step
        for key in (CONSTRAINTS, f"+({CONSTRAINTS})"):
            entries = spec.get(key)
            if isinstance(entries, list):
                yield ForeignInjection(
                    path=FieldPath(path.segments + names).child(key),
                    constraints=tuple("{{ … }}" if _is_anchored(entry) else entry for entry in entries),
                    whole=key != CONSTRAINTS,
                    kinds=around.kinds,
                    selector=around.selector,
                    narrowed=around.narrowed,
                    labels=_labels(merge, way),
                )


def _labels(merge: dict[str, Any], way: tuple[str, ...]) -> dict[str, str] | None:
    step = _descend(merge, (*way, "metadata", "labels"))
    if step is None:
        return {}
    if _is_anchored(step[1]):
        return None
    return {str(key): str(value) for key, value in step[1].items()}


def _descend(node: Any, way: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, Any]] | None:
    """Follow names down, through anchors too; return the keys as they are, and what is there."""
    names: tuple[str, ...] = ()
    for name in way:
        keys = [key for key in node if _bare(key) == name]
        if not keys or not isinstance(node[keys[0]], dict):
            return None
        names, node = (*names, keys[0]), node[keys[0]]
    return names, node


def _bare(key: str) -> str:
    return key[key.index("(") + 1 : -1] if _ANCHOR.fullmatch(key) else key


def _is_anchored(value: object) -> bool:
    """Return whether there is an anchor anywhere within a value."""
    if isinstance(value, dict):
        return any(_ANCHOR.fullmatch(key) or _is_anchored(item) for key, item in value.items())
    return isinstance(value, list) and any(map(_is_anchored, value))


def extract(obj: Mapping[str, Any]) -> list[ForeignInjection]:
    """Return the constraints that an object injects; empty for one that is no such document."""
    version, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return []
    name = (version.rpartition("/")[0], kind)
    if name in KYVERNO:
        return list(injections(obj))
    if name in CEL:
        # Which objects a MutatingAdmissionPolicy is for, its binding decides too.
        return list(cel.injections(obj, has_binding=kind == "MutatingAdmissionPolicy"))
    return _assigned(obj) if name == GATEKEEPER else []


def _assigned(obj: Mapping[str, Any]) -> list[ForeignInjection]:
    found = ErrorList()
    spec = descend(obj, ("spec",), found)
    location = spec.get("location")
    match = _LOCATION.fullmatch(location) if isinstance(location, str) else None
    value = descend(spec, ("parameters", "assign"), found).get("value")
    single = match is not None and match[1] is not None
    if match is None or not isinstance(value, dict if single else list):
        return []
    asked = descend(spec, ("match",), found)
    return [
        ForeignInjection(
            path=FieldPath(("spec", "parameters", "assign", "value")),
            constraints=(value,) if single else tuple(value),
            single=single,
            kinds=_kinds(spec.get("applyTo")) & (_kinds(asked.get("kinds")) or _kinds(spec.get("applyTo"))),
            selector=read_selector(asked.get("labelSelector")),
            narrowed=any(asked.get(name) for name in _NARROWING),
        )
    ]


def _kinds(entries: object) -> frozenset[str]:
    """Return the kinds of a list of groups and kinds; none if it holds a wildcard."""
    listed: list[Iterable[Any]] = [
        ErrorList().items(entry.get("kinds"), FieldPath())
        for _, entry in ErrorList().objects(entries, FieldPath())
    ]
    kinds = frozenset(kind for entry in listed for kind in entry if isinstance(kind, str))
    return frozenset() if "*" in kinds else kinds

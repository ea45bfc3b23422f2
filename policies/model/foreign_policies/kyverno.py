"""Kyverno policies (ClusterPolicy, Policy) that inject spread constraints.

A key of a patch may carry an anchor. ``+(key)`` adds what is absent, and is the usual one; any other anchor
makes the patch depend on what it meets, and what is below it is unknown here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from policies.manifests.documents import load
from policies.manifests.errors import DocumentError
from policies.manifests.fields import ErrorList, FieldPath, descend
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
_NARROWING = ("selector", "namespaceSelector", "namespaces", "names", "name", "annotations")
#: Fields of a match that select certain users.
_PEOPLE = ("subjects", "roles", "clusterRoles")
#: Fields of a condition that select certain objects; too many rather than too few.
_ASKING = re.compile("label|annotation|name", re.IGNORECASE)


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
    asked = [_asks(block, entry) for block, entry in zip(blocks, resources, strict=True)]
    names = [found.items(entry.get("kinds"), FieldPath()) for entry in resources]
    return ForeignInjection(
        path=path,
        constraints=(),
        kinds=_kinds([str(name) for entry in names for name in entry]),
        selector=read_selector(resources[0].get("selector")) if len(blocks) == 1 else None,
        narrowed=(any(asked) if every else all(asked)) or _is_conditional(rule),
    )


def _asks(block: Mapping[str, Any], resources: Mapping[str, Any]) -> bool:
    return any(resources.get(name) for name in _NARROWING) or any(block.get(name) for name in _PEOPLE)


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


def _kinds(names: list[str]) -> frozenset[str]:
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

"""Patches that inject spread constraints: RFC 6902 operations of any policy engine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from policies.model.foreign_policies.constraints import CONSTRAINTS, ForeignInjection

_TEMPLATE = r"/(?:spec/template/|spec/jobTemplate/spec/template/)?"
_ADDED = re.compile(rf"{_TEMPLATE}spec/{CONSTRAINTS}(/-|/\d+)?")
_LABELS = re.compile(rf"{_TEMPLATE}metadata/labels(?:/([^/]+))?")


def of_operations(operations: Iterable[object], around: ForeignInjection) -> list[ForeignInjection]:
    """Return the constraints that operations inject.

    Args:
        operations: The operations, in their order; what is none is left out.
        around: Everything but the constraints and the labels.
    """
    added = [
        entry for entry in operations if isinstance(entry, dict) and entry.get("op") in ("add", "replace")
    ]
    labels = _labels(added)
    return [
        replace(around, constraints=tuple(constraints), labels=labels, whole=True)
        for constraints in map(_constraints, added)
        if constraints
    ]


def _constraints(operation: Mapping[str, Any]) -> list[Any]:
    path, value = operation.get("path"), operation.get("value")
    match = _ADDED.fullmatch(path) if isinstance(path, str) else None
    if match is None:
        return []
    if match[1] is not None:
        return [value] if isinstance(value, dict) else []
    return value if isinstance(value, list) else []


def _labels(operations: Iterable[Mapping[str, Any]]) -> dict[str, str] | None:
    """Return the labels that operations put on the pods; None if some are unknown."""
    labels: dict[str, str] = {}
    for operation in operations:
        path, value = operation.get("path"), operation.get("value")
        match = _LABELS.fullmatch(path) if isinstance(path, str) else None
        if match is None:
            continue
        given = {match[1].replace("~1", "/").replace("~0", "~"): value} if match[1] else value
        if not isinstance(given, dict):
            return None
        labels |= {str(key): str(item) for key, item in given.items()}
    return labels

"""The API server's own merge of ``matchLabelKeys`` into the selector, and the trap it sets.

Since 1.34 the API server appends ``{key, In, [the pod's value]}`` to the selector of a pod that carries the
label, and then refuses a key that occurs twice (``validateLabelKeysWithSelector``,
``pkg/apis/core/validation/validation.go``). A workload's template is never merged, so the same mistake there
is accepted and each of its pods is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from policies.manifests.fields import ErrorList, FieldPath, invalid_value, member, object_items
from policies.model.api_rules import ApiRule
from policies.model.labels import Operator


class Merge(Enum):
    """Whether the API server (since 1.34) has merged ``matchLabelKeys`` into the selector yet.

    BEFORE: a file, a workload's template, a pod in the mutating phase. A key in both is a conflict.
    CREATED: a pod in the validating phase of its creation. One ``{key, In, [the pod's value]}`` is the merge.
    FROZEN: a stored pod. Its label may have changed since, so the one value may be any.
    """

    BEFORE = "before"
    CREATED = "created"
    FROZEN = "frozen"


def check_merge(
    entry: Mapping[str, Any],
    path: FieldPath,
    found: ErrorList,
    *,
    labels: Mapping[str, str],
    merge: Merge,
    of_template: bool = False,
) -> None:
    """Record each match label key that the selector names besides the API server's own merge.

    The server appends once for every occurrence in ``matchLabelKeys``, so a key listed twice conflicts with
    itself. Each key is reported once, at its last position, as the API server does.
    """
    keys = entry["matchLabelKeys"]
    if not isinstance(keys, list) or not isinstance(entry.get("labelSelector"), dict):
        return
    uses = _selector_uses(entry["labelSelector"])
    last_position: dict[str, int] = {}
    repeated = set()
    for position, key in enumerate(keys):
        if isinstance(key, str):
            if key in last_position:
                repeated.add(key)
            last_position[key] = position
    for key, position in last_position.items():
        named = uses.get(key, [])
        if merge is Merge.BEFORE:
            conflict = bool(named) or (key in repeated and key in labels)
        else:
            conflict = len(named) > 1 or not all(
                _is_merged(values, labels.get(key), merge) for values in named
            )
        if conflict and not found.has_enough(ApiRule.MATCH_LABEL_KEY_IN_SELECTOR):
            text = "exists in both matchLabelKeys and labelSelector"
            if of_template:
                text += ": Kubernetes 1.34+ rejects every pod of this workload"
            rule = ApiRule.MATCH_LABEL_KEY_IN_SELECTOR
            found.add(invalid_value(path.index(position), key, text, rule))


def _selector_uses(selector: Mapping[str, Any]) -> dict[str, list[object]]:
    """Return, for every key a selector names, the values of each In expression and None for other uses."""
    uses: dict[str, list[object]] = {key: [None] for key in member(selector, "matchLabels")}
    for expression in object_items(selector.get("matchExpressions")):
        if isinstance(key := expression.get("key"), str):
            values = expression.get("values") if expression.get("operator") == Operator.IN else None
            uses.setdefault(key, []).append(values)
    return uses


def _is_merged(values: object, label: str | None, merge: Merge) -> bool:
    """Return whether an In expression's values are what the API server's merge writes."""
    return isinstance(values, list) and (values == [label] or (merge is Merge.FROZEN and len(values) == 1))


def repeated_match_label_keys(raw: object, path: FieldPath) -> list[tuple[FieldPath, str]]:
    """Return every match label key that repeats one before it, with its path.

    The API server takes such a workload, but since 1.34 refuses each of its pods that carries the label.
    """
    repeats = []
    for where, entry in ErrorList().objects(raw, path):
        keys_path, seen = where.child("matchLabelKeys"), set()
        for position, key in enumerate(ErrorList().items(entry.get("matchLabelKeys"), keys_path)):
            if isinstance(key, str) and key in seen:
                repeats.append((keys_path.index(position), key))
            elif isinstance(key, str):
                seen.add(key)
    return repeats

"""Lists of constraints in custom resources of which it is not known where they keep what.

The controller of such an object makes the pods, and completes the constraints as it sees fit: the labels of
the pods are not known, nor which selector a constraint will have. What the API server would refuse in the
pods holds wherever a constraint is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from policies.manifests.documents import is_of_kubernetes
from policies.manifests.fields import FieldError, FieldPath
from policies.manifests.scalars import has_placeholder
from policies.model.api_rules import ApiRule
from policies.model.validation import constraint_errors

#: The field, which every API took over from the pod.
FIELD: Final = "topologySpreadConstraints"
#: Lists of one object that are looked at. Operators of many components have some dozens.
MAX_LISTS: Final = 256

#: Groups whose objects describe other objects: patterns, schemas and patches.
_ABOUT_OTHERS: Final = (
    "kyverno.io",
    "gatekeeper.sh",
    "crossplane.io",
    "jspolicy.com",
    "kubewarden.io",
    "open-cluster-management.io",
    "kuttl.dev",
    "evenkeel.dev",
)
#: How fields start that hold a chart's values, of which only the chart knows what they mean, and parts of
#: other manifests.
_OF_OTHERS: Final = ("values", "patch", "overlay")
#: What shows that the entries of a list are constraints.
_OWN_FIELDS: Final = frozenset({"maxSkew", "topologyKey", "whenUnsatisfiable"})


def embedded_lists(obj: Mapping[str, Any]) -> Iterator[tuple[FieldPath, list[Any]]]:
    """Yield the lists of constraints in a custom resource with their paths, in the order of the text.

    >>> [str(path) for path, _ in embedded_lists({
    ...     "apiVersion": "monitoring.coreos.com/v1", "kind": "Prometheus",
    ...     "spec": {"topologySpreadConstraints": [{"maxSkew": 1}]}})]
    ['spec.topologySpreadConstraints']
    """
    if not _may_embed(obj):
        return
    found, seen = 0, set()
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), obj)]
    while waiting and found < MAX_LISTS:
        way, value = waiting.pop()
        if id(value) in seen:
            continue  # What an alias shares is written once.
        seen.add(id(value))
        if way and way[-1] == FIELD and _is_list_of_constraints(value):
            found += 1
            yield FieldPath(way), value
            continue
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        below = [((*way, name), child) for name, child in inner if _goes_on(name, child)]
        waiting += reversed(below)


def embedded_errors(path: FieldPath, entries: list[Any]) -> list[FieldError]:
    """Return the errors that the API server would report for such constraints of a pod, whatever its labels.

    Fields that Kubernetes does not have pass: the API of the custom resource may have them.

    Args:
        path: Where the list is in the object.
        entries: The list.
    """
    errors = constraint_errors(entries, path, labels={}, of_template=True, strict=False)
    return [error for error in errors if _holds(error, path, entries)]


def _may_embed(obj: Mapping[str, Any]) -> bool:
    """Return whether an object is a custom resource that is not about other objects."""
    group = str(obj.get("apiVersion")).rpartition("/")[0]
    if is_of_kubernetes(group):
        return False
    return not any(group == name or group.endswith(f".{name}") for name in _ABOUT_OTHERS)


def _goes_on(name: str | int, child: object) -> bool:
    """Return whether constraints may be below an entry."""
    if not isinstance(child, dict | list) or not child:
        return False
    return isinstance(name, int) or not name.lower().startswith(_OF_OTHERS)


def _is_list_of_constraints(value: object) -> bool:
    if not isinstance(value, list):
        return False
    return all(isinstance(entry, dict) and not _OWN_FIELDS.isdisjoint(entry) for entry in value)


def _holds(error: FieldError, path: FieldPath, entries: list[Any]) -> bool:
    """Return whether an error stays one, whatever the controller adds to the constraint."""
    if error.rule == ApiRule.MATCH_LABEL_KEYS_WITHOUT_SELECTOR:
        return False  # Many controllers add a selector of their own.
    position = error.path.segments[len(path.segments)]
    return not (isinstance(position, int) and has_placeholder(entries[position]))

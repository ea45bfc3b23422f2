"""The errors that the API server and kube-scheduler would report for a list of constraints.

The lists may hold values of any type: each is an error, never an exception. The texts and their order are
those of ``validateTopologySpreadConstraints`` (``pkg/apis/core/validation/validation.go``) and
``ValidatePodTopologySpreadArgs`` (``pkg/scheduler/apis/config/validation``), Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from policies.manifests.fields import (
    SHOWN_VALUE_LENGTH,
    ErrorKind,
    ErrorList,
    FieldError,
    FieldPath,
    duplicate_value,
    forbidden,
    invalid_value,
    required_value,
    shown,
    unsupported_value,
    wrong_type,
)
from policies.manifests.sanitize import one_line
from policies.model.api_rules import ApiRule
from policies.model.constraint import (
    ACTIONS,
    CONSTRAINT_FIELDS,
    INCLUSION_POLICIES,
    INT32_MAX,
    Merge,
    WhenUnsatisfiable,
    check_merge,
)
from policies.model.labels import (
    check_label_selector,
    is_usual_selector,
    label_key_errors,
    label_key_problems,
)

#: Characters that count as much as an entry: reading an entry costs what reading this many characters does.
CHARACTERS: Final = 256
#: Keys of an object up to which it does not count how long they are: nearly every review has many such.
FEW_KEYS: Final = 8
#: The size up to which a list of constraints, or a selector, is read: it bounds what each rule costs that
#: looks at it. People write 20 entries, and 200 constraints of the usual form fit.
MAX_SIZE: Final = 2000
#: The fields that decide which nodes take part.
INCLUSION_FIELDS = ("nodeAffinityPolicy", "nodeTaintsPolicy")
#: What ``defaultingType`` may be: ``PodTopologySpreadArgs``, Kubernetes 1.36.
DEFAULTING_TYPES = ("System", "List")


def size_of(value: Any, most: int) -> int:
    """Return how many entries a value has on all levels, and ``CHARACTERS`` characters count as one more.

    Args:
        value: Of JSON.
        most: Beyond this nothing more is looked at, and a number above it is returned.

    >>> size_of([{"key": "app", "values": ["a", "b"]}], 100), size_of(["a"] * 1_000_000, 100) > 100
    (5, True)
    """
    size = 0
    nodes = [value]
    for node in nodes:
        kind = type(node)
        if kind is str:
            if (length := len(node)) < CHARACTERS:
                continue
            size += length // CHARACTERS
        elif kind is dict or kind is list:
            size += len(node)
            # What a level brings is only looked at if there is room for it.
            if size <= most:
                nodes += node.values() if kind is dict else node
                if kind is dict and len(node) > FEW_KEYS:
                    size += sum(map(len, node)) // CHARACTERS
        if size > most:
            break
    return size


def constraint_errors(
    raw: object,
    path: FieldPath,
    *,
    labels: Mapping[str, str],
    merge: Merge = Merge.BEFORE,
    of_template: bool = False,
    strict: bool = True,
) -> list[FieldError]:
    """Return everything the API server would refuse in ``topologySpreadConstraints``.

    Args:
        raw: The list as it was read.
        path: Where it is.
        labels: The labels of the pod, or of the pod template, that carries it.
        merge: How far the API server's own merge has come.
        of_template: Whether it belongs to a workload's template, where a repeated match label key passes.
        strict: Whether a field that Kubernetes 1.36 does not have is an error.

    Returns:
        All errors, in the order of the fields, of each rule up to ``fields.MAX_ERRORS``.
    """
    if size_of(raw, MAX_SIZE) > MAX_SIZE:
        text = f"must have at most {MAX_SIZE} entries on all levels: a larger list is not checked"
        return [FieldError(path, text, ErrorKind.TOO_MANY, ApiRule.TOO_LARGE_TO_CHECK)]
    found = ErrorList()
    last_use = _last_uses(raw)
    for where, entry in found.objects(raw, path):
        if strict:
            found.unknown(entry, where, known=CONSTRAINT_FIELDS)
        _check_max_skew(entry, where, found)
        _check_topology_key(entry, where, found)
        _check_when_unsatisfiable(entry, where, found)
        if last_use and last_use.get(_pair(entry)) != where.segments[-1]:
            _report_repeat(entry, where.child("{topologyKey, whenUnsatisfiable}"), found)
        if entry.get("minDomains") is not None:
            _check_min_domains(entry, where, found)
        for name in INCLUSION_FIELDS:
            if entry.get(name) is not None:
                rule = ApiRule.NODE_INCLUSION_POLICY_UNKNOWN
                _check_choice(entry, where, name, INCLUSION_POLICIES, found, rule=rule)
        if entry.get("matchLabelKeys"):
            keys_path = where.child("matchLabelKeys")
            _check_match_label_keys(entry, keys_path, found)
            carried = {} if of_template else labels
            check_merge(entry, keys_path, found, labels=carried, merge=merge, of_template=of_template)
        _check_selector(entry.get("labelSelector"), where, found)
    return found.errors


def _check_selector(selector: object, where: FieldPath, found: ErrorList) -> None:
    if selector is not None and not is_usual_selector(selector):
        check_label_selector(selector, where.child("labelSelector"), found)


def default_constraint_errors(raw: object, path: FieldPath) -> list[FieldError]:
    """Return everything kube-scheduler would refuse in ``PodTopologySpreadArgs``.

    Args:
        raw: The plugin's ``args``, with ``defaultingType`` already filled in where its version has a default.
        path: Where they are.
    """
    found = ErrorList()
    args = found.mapping(raw, path)
    constraints_path = path.child("defaultConstraints")
    _check_defaulting_type(args, path, found)
    seen: set[object] = set()
    for where, entry in found.objects(args.get("defaultConstraints"), constraints_path):
        found.unknown(entry, where, known=CONSTRAINT_FIELDS)
        _check_max_skew(entry, where, found, detail="not in valid range (0, inf)")
        _check_default_topology_key(entry, where, found)
        _check_default_when_unsatisfiable(entry, where, found)
        if entry.get("labelSelector") is not None:
            text = "constraint must not define a selector, as they deduced for each pod"
            found.add(forbidden(where.child("labelSelector"), text, ApiRule.SELECTOR_IN_DEFAULT))
        if _pair(entry) in seen:
            _report_repeat(entry, where, found)
        seen.add(_pair(entry))
    return found.errors


def _last_uses(raw: object) -> dict[object, int]:
    """Return where each topologyKey with its whenUnsatisfiable is last in a list; empty if none repeats."""
    if not isinstance(raw, list) or len(raw) == 1:
        return {}
    entries = enumerate(raw)
    last = {_pair(entry or {}): position for position, entry in entries if isinstance(entry, dict | None)}
    return last if len(last) < len(raw) else {}


def _pair(entry: Mapping[str, object]) -> object:
    topology_key, action = entry.get("topologyKey") or "", entry.get("whenUnsatisfiable") or ""
    if isinstance(topology_key, str) and isinstance(action, str):
        return topology_key, action
    return id(entry)  # Of the wrong type, and so unlike every other.


def _check_max_skew(
    entry: Mapping[str, object],
    where: FieldPath,
    found: ErrorList,
    *,
    detail: str = "must be greater than zero",
) -> None:
    given = entry.get("maxSkew")
    if type(given) is int and 0 < given <= INT32_MAX:
        return
    path = where.child("maxSkew")
    value = found.integer(given, path)
    if value is not None and value < 1:
        found.add(invalid_value(path, value, detail, ApiRule.MAX_SKEW_NOT_POSITIVE))


def _check_topology_key(entry: Mapping[str, object], where: FieldPath, found: ErrorList) -> None:
    value = entry.get("topologyKey")
    if not value and not isinstance(value, bool | int | float | list | dict):
        found.add(
            required_value(where.child("topologyKey"), "can not be empty", ApiRule.TOPOLOGY_KEY_MISSING)
        )
    elif not isinstance(value, str):
        found.add(wrong_type(where.child("topologyKey"), "a string", value))


def _check_default_topology_key(entry: Mapping[str, object], where: FieldPath, found: ErrorList) -> None:
    _check_topology_key(entry, where, found)
    value = entry.get("topologyKey")
    if value and isinstance(value, str):
        found.extend(label_key_errors(value, where.child("topologyKey"), ApiRule.TOPOLOGY_KEY_INVALID))


def _check_choice(
    entry: Mapping[str, object],
    where: FieldPath,
    name: str,
    supported: Collection[str],
    found: ErrorList,
    *,
    rule: ApiRule,
) -> None:
    """Record a value that a field of an entry does not support; null is "", as in Go."""
    value = entry.get(name)
    if value is not None and not isinstance(value, str):
        found.add(wrong_type(where.child(name), "a string", value))
    elif value not in supported:
        found.add(unsupported_value(where.child(name), value or "", supported, rule))


def _check_when_unsatisfiable(entry: Mapping[str, object], where: FieldPath, found: ErrorList) -> None:
    rule = ApiRule.WHEN_UNSATISFIABLE_UNKNOWN
    _check_choice(entry, where, "whenUnsatisfiable", ACTIONS, found, rule=rule)


def _check_default_when_unsatisfiable(
    entry: Mapping[str, object], where: FieldPath, found: ErrorList
) -> None:
    if entry.get("whenUnsatisfiable") not in (None, ""):
        _check_when_unsatisfiable(entry, where, found)
        return
    path = where.child("whenUnsatisfiable")
    found.add(required_value(path, "can not be empty", ApiRule.WHEN_UNSATISFIABLE_UNKNOWN))


def _report_repeat(entry: Mapping[str, object], where: FieldPath, found: ErrorList) -> None:
    pair = f"{{{entry.get('topologyKey') or ''}, {entry.get('whenUnsatisfiable') or ''}}}"
    found.add(duplicate_value(where, pair, ApiRule.CONSTRAINT_REPEATED))


def _check_min_domains(entry: Mapping[str, object], where: FieldPath, found: ErrorList) -> None:
    path = where.child("minDomains")
    value = found.integer(entry["minDomains"], path)
    if value is not None and value < 1:
        text = "must be greater than zero"
        found.add(invalid_value(path, value, text, ApiRule.MIN_DOMAINS_NOT_POSITIVE))
    action = entry.get("whenUnsatisfiable") or ""
    if action != WhenUnsatisfiable.DO_NOT_SCHEDULE:
        given = one_line(action, SHOWN_VALUE_LENGTH) if isinstance(action, str) else shown(action)
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {given}"
        found.add(invalid_value(path, value, text, ApiRule.MIN_DOMAINS_WITH_SCHEDULE_ANYWAY))


def _check_match_label_keys(entry: Mapping[str, object], path: FieldPath, found: ErrorList) -> None:
    keys = found.items(entry["matchLabelKeys"], path)
    if keys and entry.get("labelSelector") is None:
        text = "must not be specified when labelSelector is not set"
        found.add(forbidden(path, text, ApiRule.MATCH_LABEL_KEYS_WITHOUT_SELECTOR))
        return
    for position, key in enumerate(keys):
        if isinstance(key, str) and not label_key_problems(key):
            continue
        where = path.index(position)
        text = found.text(key, where)
        if isinstance(key, str | None) and not found.has_enough(ApiRule.MATCH_LABEL_KEY_INVALID):
            found.extend(label_key_errors(text, where, ApiRule.MATCH_LABEL_KEY_INVALID))


def _check_defaulting_type(args: Mapping[str, object], path: FieldPath, found: ErrorList) -> None:
    where = path.child("defaultingType")
    value = found.text(args.get("defaultingType"), where)
    if value not in DEFAULTING_TYPES:
        if isinstance(args.get("defaultingType"), str | None):
            found.add(unsupported_value(where, value, DEFAULTING_TYPES, ApiRule.DEFAULTING_TYPE_UNKNOWN))
    elif value == "System" and args.get("defaultConstraints"):
        text = "when .defaultConstraints are not empty"
        found.add(invalid_value(where, value, text, ApiRule.SYSTEM_DEFAULTS_WITH_LIST))

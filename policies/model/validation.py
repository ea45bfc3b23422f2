"""What the API server and kube-scheduler would refuse in a list of constraints, as field errors.

The lists are read as they came: a value of any type is an answer, never an exception. The checks stand in
the order of ``validateTopologySpreadConstraints`` (``pkg/apis/core/validation/validation.go``) and
``ValidatePodTopologySpreadArgs`` (``pkg/scheduler/apis/config/validation``), Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping

from policies.manifests.fields import ErrorKind, ErrorList, FieldError, FieldPath, shown, wrong_type
from policies.model.api_rules import ApiRule
from policies.model.constraint import ACTIONS, CONSTRAINT_FIELDS, INCLUSION_POLICIES, WhenUnsatisfiable
from policies.model.json_size import MAX_SIZE, size_of
from policies.model.labels import (
    check_label_selector,
    is_usual_selector,
    label_key_errors,
    label_key_problems,
)
from policies.model.match_label_keys import Merge, check_merge

#: The largest value of the API's int32 fields.
INT32_MAX = 2**31 - 1
#: The smallest value of the API's int32 fields.
INT32_MIN = -(2**31)
#: The fields that say which nodes take part.
INCLUSION_FIELDS = ("nodeAffinityPolicy", "nodeTaintsPolicy")
#: What ``defaultingType`` may be: ``PodTopologySpreadArgs``, Kubernetes 1.36.
DEFAULTING_TYPES = ("System", "List")


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
        path: Where it stands.
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
    may_repeat = isinstance(raw, list) and len(last_use) < len(raw)
    for where, entry in found.objects(raw, path):
        if strict:
            found.unknown(entry, where, known=CONSTRAINT_FIELDS)
        _check_max_skew(entry, where, found)
        _check_topology_key(entry, where, found)
        _check_when_unsatisfiable(entry, where, found)
        if may_repeat and last_use.get(_pair(entry)) != where.segments[-1]:
            _report_repeat(entry, where.child("{topologyKey, whenUnsatisfiable}"), found)
        if entry.get("minDomains") is not None:
            _check_min_domains(entry, where, found)
        for name in INCLUSION_FIELDS:
            if entry.get(name) is not None:
                _check_inclusion_policy(entry, name, where, found)
        if entry.get("matchLabelKeys"):
            _check_match_label_keys(entry, where.child("matchLabelKeys"), found)
            carried = {} if of_template else labels
            check_merge(entry, where.child("matchLabelKeys"), found, labels=carried, merge=merge)
        if entry.get("labelSelector") is not None and not is_usual_selector(entry["labelSelector"]):
            check_label_selector(entry["labelSelector"], where.child("labelSelector"), found)
    return found.errors


def default_constraint_errors(raw: object, path: FieldPath) -> list[FieldError]:
    """Return everything kube-scheduler would refuse in ``PodTopologySpreadArgs``.

    Args:
        raw: The plugin's ``args``, with ``defaultingType`` already filled in where its version has a default.
        path: Where they stand.
    """
    found = ErrorList()
    args = found.mapping(raw, path)
    constraints_path = path.child("defaultConstraints")
    _check_defaulting_type(args, path, found)
    seen: set[object] = set()
    for where, entry in found.objects(args.get("defaultConstraints"), constraints_path):
        found.unknown(entry, where, known=CONSTRAINT_FIELDS)
        _check_max_skew(entry, where, found)
        _check_default_topology_key(entry, where, found)
        _check_default_when_unsatisfiable(entry, where, found)
        if entry.get("labelSelector") is not None:
            text = "must be left out: the scheduler deduces it from the pod's Services and owner"
            found.add(
                FieldError(
                    where.child("labelSelector"), text, ErrorKind.FORBIDDEN, ApiRule.SELECTOR_IN_DEFAULT
                )
            )
        if _pair(entry) in seen:
            _report_repeat(entry, where, found)
        seen.add(_pair(entry))
    return found.errors


def _last_uses(raw: object) -> dict[object, int]:
    """Return where each pair of topologyKey and whenUnsatisfiable stands last in a list."""
    entries = enumerate(raw) if isinstance(raw, list) else ()
    return {_pair(entry or {}): position for position, entry in entries if isinstance(entry, dict | None)}


def _pair(entry: Mapping[str, object]) -> object:
    topology_key, action = entry.get("topologyKey") or "", entry.get("whenUnsatisfiable") or ""
    if isinstance(topology_key, str) and isinstance(action, str):
        return topology_key, action
    return id(entry)  # Of the wrong type, and so unlike every other.


def _int32(entry: Mapping[str, object], name: str, where: FieldPath, found: ErrorList) -> int | None:
    """Return an integer field; None, with its error recorded, for anything that Go cannot decode to int32."""
    value = entry[name]
    if type(value) is int and INT32_MIN <= value <= INT32_MAX:
        return value
    if type(value) is int:
        text = f"must be an integer from {INT32_MIN} to {INT32_MAX}, got {shown(value)}"
        found.add(FieldError(where.child(name), text, ErrorKind.INVALID, ApiRule.WRONG_TYPE))
    else:
        found.add(wrong_type(where.child(name), "an integer", value))
    return None


def _check_max_skew(entry: Mapping[str, object], where: FieldPath, found: ErrorList) -> None:
    missing = entry.get("maxSkew") is None
    value = 0 if missing else _int32(entry, "maxSkew", where, found)
    if value is not None and value < 1:
        text = (
            "is required and must be greater than zero"
            if missing
            else f"must be greater than zero, got {value}"
        )
        found.add(FieldError(where.child("maxSkew"), text, ErrorKind.INVALID, ApiRule.MAX_SKEW_NOT_POSITIVE))


def _check_topology_key(entry: Mapping[str, object], where: FieldPath, found: ErrorList) -> None:
    value = entry.get("topologyKey")
    if not value and not isinstance(value, bool | int | float | list | dict):
        text = "is required: the node label whose values are the domains"
        found.add(
            FieldError(where.child("topologyKey"), text, ErrorKind.REQUIRED, ApiRule.TOPOLOGY_KEY_MISSING)
        )
    elif not isinstance(value, str):
        found.add(wrong_type(where.child("topologyKey"), "a string", value))


def _check_default_topology_key(entry: Mapping[str, object], where: FieldPath, found: ErrorList) -> None:
    _check_topology_key(entry, where, found)
    value = entry.get("topologyKey")
    if value and isinstance(value, str):
        found.extend(label_key_errors(value, where.child("topologyKey"), ApiRule.TOPOLOGY_KEY_INVALID))


def _check_when_unsatisfiable(entry: Mapping[str, object], where: FieldPath, found: ErrorList) -> None:
    value = entry.get("whenUnsatisfiable")
    if isinstance(value, str) and value in ACTIONS:
        return
    if value is not None and not isinstance(value, str):
        found.add(wrong_type(where.child("whenUnsatisfiable"), "a string", value))
        return
    given = f", got {shown(value)}" if value else " and is missing"
    text = f"must be DoNotSchedule or ScheduleAnyway{given}"
    found.add(
        FieldError(
            where.child("whenUnsatisfiable"),
            text,
            ErrorKind.NOT_SUPPORTED,
            ApiRule.WHEN_UNSATISFIABLE_UNKNOWN,
        )
    )


def _check_default_when_unsatisfiable(
    entry: Mapping[str, object], where: FieldPath, found: ErrorList
) -> None:
    if entry.get("whenUnsatisfiable") not in (None, ""):
        _check_when_unsatisfiable(entry, where, found)
        return
    text = "is required: DoNotSchedule or ScheduleAnyway"
    found.add(
        FieldError(
            where.child("whenUnsatisfiable"), text, ErrorKind.REQUIRED, ApiRule.WHEN_UNSATISFIABLE_UNKNOWN
        )
    )


def _report_repeat(entry: Mapping[str, object], where: FieldPath, found: ErrorList) -> None:
    pair = shown([entry.get("topologyKey") or "", entry.get("whenUnsatisfiable") or ""])
    text = f"may stand once in the list, found {pair} again"
    found.add(FieldError(where, text, ErrorKind.DUPLICATE, ApiRule.CONSTRAINT_REPEATED))


def _check_min_domains(entry: Mapping[str, object], where: FieldPath, found: ErrorList) -> None:
    value = _int32(entry, "minDomains", where, found)
    if value is None:
        return
    path = where.child("minDomains")
    if value < 1:
        text = f"must be greater than zero, got {value}"
        found.add(FieldError(path, text, ErrorKind.INVALID, ApiRule.MIN_DOMAINS_NOT_POSITIVE))
    action = entry.get("whenUnsatisfiable") or ""
    if action != WhenUnsatisfiable.DO_NOT_SCHEDULE:
        given = f"got {shown(action)}" if action else "which is missing"
        text = f"goes with whenUnsatisfiable DoNotSchedule only, {given}"
        found.add(FieldError(path, text, ErrorKind.INVALID, ApiRule.MIN_DOMAINS_WITH_SCHEDULE_ANYWAY))


def _check_inclusion_policy(
    entry: Mapping[str, object], name: str, where: FieldPath, found: ErrorList
) -> None:
    value = entry[name]
    if isinstance(value, str) and value in INCLUSION_POLICIES:
        return
    if not isinstance(value, str):
        found.add(wrong_type(where.child(name), "a string", value))
        return
    text = f"must be Honor or Ignore, got {shown(value)}"
    found.add(
        FieldError(where.child(name), text, ErrorKind.NOT_SUPPORTED, ApiRule.NODE_INCLUSION_POLICY_UNKNOWN)
    )


def _check_match_label_keys(entry: Mapping[str, object], path: FieldPath, found: ErrorList) -> None:
    keys = found.items(entry["matchLabelKeys"], path)
    if keys and entry.get("labelSelector") is None:
        text = "must be left out when labelSelector is not set: there is nothing for the keys to narrow"
        found.add(FieldError(path, text, ErrorKind.FORBIDDEN, ApiRule.MATCH_LABEL_KEYS_WITHOUT_SELECTOR))
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
            text = f"must be System or List, got {shown(value)}"
            found.add(FieldError(where, text, ErrorKind.NOT_SUPPORTED, ApiRule.DEFAULTING_TYPE_UNKNOWN))
    elif value == "System" and args.get("defaultConstraints"):
        text = "System brings its own constraints: leave defaultConstraints out, or write List"
        found.add(FieldError(where, text, ErrorKind.INVALID, ApiRule.SYSTEM_DEFAULTS_WITH_LIST))

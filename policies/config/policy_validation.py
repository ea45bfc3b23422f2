"""The errors in a SpreadPolicy document: too many entries, a wrong shape, and what no schema can say.

Entries are counted before anything else looks at them: checking a policy takes some 20 µs an entry, in the
command line, in the server beside its reviews, and in every replica that it comes to. The
CustomResourceDefinition has no such limits: API servers before 1.30 would refuse every change of a longer
policy that they have stored, also of its status, which says what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from policies.config.form import form_errors
from policies.config.spread_policy import API_VERSION, KIND, DefaultsSource, SpreadPolicyDocument
from policies.manifests.fields import (
    FIELD_MISSING,
    SPEC,
    VALUE_INVALID,
    ErrorKind,
    FieldError,
    FieldPath,
    Key,
    forbidden,
    invalid_value,
    required_value,
    shown,
    shown_name,
    type_name,
    unknown_field,
    unsupported_value,
)
from policies.model.api_rules import ApiRule
from policies.model.labels import (
    label_key_errors,
    label_selector_errors,
    label_value_errors,
)
from policies.model.validation import constraint_errors
from policies.rules.base import all_rules
from policies.scheduler.configuration import KIND as SCHEDULER_CONFIG_KIND

#: The rule that a document breaks which is no SpreadPolicy.
KIND_UNKNOWN = "kind-unknown"
#: The rule that ``spec.defaults`` breaks when its source and its constraints do not go together.
DEFAULTS_CONTRADICT = "defaults-contradict"
#: The rule that a topology key or value breaks which no node label can have.
TOPOLOGY_INVALID = "topology-invalid"

_CONSTRAINTS = SPEC.child("defaults", "constraints")
#: What a path shows as a plain field; any other key is in brackets, cut short.
_FIELD_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}")
#: Deduced for each workload, so a default has none.
_DEDUCED = ("labelSelector", "matchLabelKeys")

#: Entries of one list or map: more namespaces than people list one by one.
MAX_ITEMS: Final = 1_000
#: Entries of all lists and maps of a document together: to check this many takes 0.2 s where most are wrong.
MAX_ENTRIES: Final = 10_000

#: What is not counted, as nothing looks into it: the API server and Evenkeel write it.
_NOT_COUNTED: Final = frozenset({("status",), ("metadata", "managedFields")})


def policy_errors(value: object) -> list[FieldError]:
    """Return everything wrong with a SpreadPolicy document, in the order of the paths.

    Of one with more entries than may be checked, only that.
    """
    foreign = kind_error(value)
    if foreign is not None:
        return [foreign]
    if too_many := limit_errors(value):
        return too_many
    by_model = [
        *_selector_errors(value),
        *_constraint_errors(value),
        *_topology_errors(value),
        *_params_errors(value),
    ]
    paths = [error.path.segments for error in by_model]
    by_form = [
        error
        for error in form_errors(SpreadPolicyDocument, value)
        if not any(_nested(error.path.segments, path) for path in paths)
    ]
    return [*by_form, *by_model, *_defaults_errors(value)]


def scheduler_errors(value: Mapping[str, Any]) -> list[FieldError]:
    """Return why a policy without errors has no effect on a server without the scheduler's configuration."""
    source = _at(value, "spec", "defaults", "source")
    if source != DefaultsSource.SCHEDULER:
        return []
    detail = "the server was started without the scheduler's configuration (--scheduler-config)"
    return [invalid_value(SPEC.child("defaults", "source"), source, detail, VALUE_INVALID)]


def kind_error(value: object) -> FieldError | None:
    """Return why a document is no SpreadPolicy that can be read, or None."""
    if not isinstance(value, dict):
        problem = f"must be a {KIND} document, got {type_name(value)}"
        return FieldError(FieldPath(), problem, ErrorKind.INVALID, KIND_UNKNOWN)
    kind, version = value.get("kind"), value.get("apiVersion")
    if kind == SCHEDULER_CONFIG_KIND:
        supported = f'supported values: "{KIND}"; pass a {SCHEDULER_CONFIG_KIND} with --scheduler-config'
        problem = f"Unsupported value: {shown(kind)}: {supported}"
        return FieldError(FieldPath().child("kind"), problem, ErrorKind.NOT_SUPPORTED, KIND_UNKNOWN)
    if kind != KIND:
        return unsupported_value(FieldPath().child("kind"), kind, [KIND], KIND_UNKNOWN)
    if version != API_VERSION:
        return unsupported_value(FieldPath().child("apiVersion"), version, [API_VERSION], KIND_UNKNOWN)
    return None


def _nested(path: tuple[str | int, ...], other: tuple[str | int, ...]) -> bool:
    """Return whether one path is the other or leads to it: then both say the same of a value."""
    length = min(len(path), len(other))
    return path[:length] == other[:length]


def _at(value: object, *names: str) -> Any:
    """Return a nested field, None where there is none or an object is missing on the way."""
    for name in names:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def _selector_errors(value: object) -> Iterator[FieldError]:
    for name in ("namespaceSelector", "objectSelector"):
        yield from label_selector_errors(_at(value, "spec", "scope", name), SPEC.child("scope", name))


def _constraint_errors(value: object) -> Iterator[FieldError]:
    raw = _at(value, "spec", "defaults", "constraints")
    if not isinstance(raw, list):
        return
    # What is deduced is forbidden whatever it holds, so the model does not check it.
    judged = [_without_deduced(entry) for entry in raw]
    yield from constraint_errors(judged, _CONSTRAINTS, labels={}, strict=False)
    for position, entry in enumerate(raw):
        if not isinstance(entry, dict):
            continue
        path = _CONSTRAINTS.index(position)
        for name in _DEDUCED:
            if name in entry:
                detail = "constraint must not define it, as it is deduced for each workload"
                yield forbidden(path.child(name), detail, ApiRule.SELECTOR_IN_DEFAULT)
        key = entry.get("topologyKey")
        if isinstance(key, str) and key:
            yield from label_key_errors(key, path.child("topologyKey"), TOPOLOGY_INVALID)


def _without_deduced(entry: object) -> object:
    if not isinstance(entry, dict):
        return entry
    return {name: value for name, value in entry.items() if name not in _DEDUCED}


def _topology_errors(value: object) -> Iterator[FieldError]:
    domains = _at(value, "spec", "topology", "domains")
    if not isinstance(domains, dict):
        return
    path = SPEC.child("topology", "domains")
    for key, values in domains.items():
        yield from label_key_errors(key, path.key(shown_name(key)), TOPOLOGY_INVALID)
        for position, name in enumerate(values if isinstance(values, list) else ()):
            if isinstance(name, str):
                where = path.key(shown_name(key)).index(position)
                yield from label_value_errors(name, where, TOPOLOGY_INVALID)


def _params_errors(value: object) -> Iterator[FieldError]:
    """Yield the settings of rules that have none; the schema has those of the others."""
    rules = _at(value, "spec", "rules")
    for name, raw in rules.items() if isinstance(rules, dict) else ():
        params = _at(raw, "params")
        if params and isinstance(params, dict) and (rule := all_rules().get(name)) and rule.params is None:
            path = SPEC.child("rules").key(shown_name(name)).child("params")
            yield from (unknown_field(path, each, ()) for each in params)


def _defaults_errors(value: object) -> Iterator[FieldError]:
    defaults = _at(value, "spec", "defaults")
    if not isinstance(defaults, dict):
        return
    source, constraints = defaults.get("source", "policy"), defaults.get("constraints")
    if source == DefaultsSource.SCHEDULER and constraints:
        detail = "may only be set when source is policy: the scheduler's configuration has its own"
        yield forbidden(_CONSTRAINTS, detail, DEFAULTS_CONTRADICT)
    if source == DefaultsSource.POLICY and (constraints == [] or "constraints" not in defaults):
        yield required_value(_CONSTRAINTS, "must not be empty when source is policy", FIELD_MISSING)


def limit_errors(document: object) -> list[FieldError]:
    """Return which lists and maps of a document have too many entries; the limits bound its own cost."""
    errors: list[FieldError] = []
    count = 0
    waiting: list[tuple[tuple[str | int, ...], object]] = [((), document)]
    while waiting:
        path, value = waiting.pop()
        if path in _NOT_COUNTED or not isinstance(value, dict | list):
            continue
        if len(value) > MAX_ITEMS:
            text = f"Too many: {len(value)}: must have at most {MAX_ITEMS} entries"
            where = FieldPath(tuple(map(_segment, path)))
            errors.append(FieldError(where, text, ErrorKind.TOO_MANY, VALUE_INVALID))
            continue
        count += len(value)
        if count > MAX_ENTRIES:
            text = f"Too many: must have at most {MAX_ENTRIES} entries in all of its lists and maps"
            errors.append(FieldError(FieldPath(), text, ErrorKind.TOO_MANY, VALUE_INVALID))
            break
        members = value.items() if isinstance(value, dict) else enumerate(value)
        waiting += (((*path, name), entry) for name, entry in members)
    return sorted(errors, key=lambda error: str(error.path))


def _segment(key: str | int) -> str | int:
    return key if isinstance(key, int) or _FIELD_NAME.fullmatch(key) else Key(shown_name(key))

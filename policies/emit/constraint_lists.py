"""Lists of constraints as variables: which are too large, what is of the wrong type, and the rest as records.

A record has every field, with the API's default where it is missing or null, so that checks look for none.
"""

from __future__ import annotations

from policies.emit.cel import LIMITS, MAX_CHARACTERS, literal, record
from policies.model.constraint import INT32_MAX

_TEXTS = ("topologyKey", "whenUnsatisfiable", "nodeAffinityPolicy", "nodeTaintsPolicy")


def variables() -> dict[str, str]:
    """Return the variables, by name, in the order of evaluation; they need ``specs`` and ``path``."""
    every = literal(list(range(LIMITS["topologySpreadConstraints"])))
    spec = "variables.specs[n]"
    return {
        "lists": (
            "variables.specs.map(s, has(s.topologySpreadConstraints) "
            "&& type(s.topologySpreadConstraints) == list ? s.topologySpreadConstraints : dyn([]))"
        ),
        "tooLarge": f"variables.lists.map(entries, {_too_large()})",
        # A list that is too large is not read at all.
        "positions": (
            f"[0, 1].map(n, {every}.filter(i, !variables.tooLarge[n] && i < variables.lists[n].size()))"
        ),
        "problems": (
            "[0, 1].map(n, variables.positions[n].map(i, [variables.lists[n][i]].map(e, type(e) == map "
            f"? {_problems()} : [': Invalid value: must be an object'])[0]))"
        ),
        "mistyped": (
            f"[0, 1].map(n, (has({spec}.topologySpreadConstraints) "
            f"&& !{_is(f'{spec}.topologySpreadConstraints', 'list')} "
            "? [': Invalid value: must be a list'] : []) "
            "+ variables.positions[n].filter(i, variables.problems[n][i].size() > 0)"
            ".map(i, '[' + string(i) + ']' + variables.problems[n][i].join('; ')))"
        ),
        "constraints": (
            "[0, 1].map(n, variables.positions[n].filter(i, variables.problems[n][i].size() == 0)"
            f".map(i, [variables.lists[n][i]].map(e, [{_selector()}].map(s, {_record()})[0])[0]))"
        ),
    }


def _too_large() -> str:
    """Whether a list has more of anything than is read."""
    selector, requirements = "e.labelSelector", "e.labelSelector.matchExpressions"
    labels = f"{selector}.matchLabels"
    long_label = (
        f"(has({labels}) && type({labels}) == map "
        f"&& {labels}.exists(key, {_long('key')} || {_long(f'{labels}[key]')}))"
    )
    large_requirement = (
        f"(has({requirements}) && type({requirements}) == list && {requirements}.exists(r, type(r) == map "
        f"&& ({_longer('r.values', 'list', 'values')} || {_any_long('r.values')} || {_long_member('r.key')} "
        f"|| {_long_member('r.operator')})))"
    )
    in_selector = [
        _longer(labels, "map", "matchLabels"),
        long_label,
        _longer(requirements, "list", "matchExpressions"),
        large_requirement,
    ]
    in_entry = [
        *(_long_member(f"e.{name}") for name in _TEXTS),
        _longer("e.matchLabelKeys", "list", "matchLabelKeys"),
        _any_long("e.matchLabelKeys"),
        f"(has({selector}) && type({selector}) == map && ({' || '.join(in_selector)}))",
    ]
    return (
        f"entries.size() > {LIMITS['topologySpreadConstraints']} "
        f"|| entries.exists(e, type(e) == map && ({' || '.join(in_entry)}))"
    )


def _longer(value: str, kind: str, name: str) -> str:
    """Whether a member has more entries than are read."""
    return f"(has({value}) && type({value}) == {kind} && {value}.size() > {LIMITS[name]})"


def _long(value: str) -> str:
    """Whether a value is a text that is too long."""
    return f"(type({value}) == string && {value}.size() > {MAX_CHARACTERS})"


def _long_member(value: str) -> str:
    return f"(has({value}) && {_long(value)})"


def _any_long(value: str) -> str:
    """Whether a member is a list with a text that is too long."""
    return f"(has({value}) && type({value}) == list && {value}.exists(x, {_long('x')}))"


def _is(value: str, kind: str) -> str:
    """Whether a value has a type or is null."""
    return f"(type({value}) == {kind} || type({value}) == null_type)"


def _has(value: str, kind: str, holds: str) -> str:
    """Whether a member is missing or null, or has a type for which an expression holds."""
    return f"(!has({value}) || type({value}) == null_type || (type({value}) == {kind} && {holds}))"


def _problems() -> str:
    """The texts for the members of an entry ``e`` that have the wrong types."""
    in_range = f"{{0}} <= {INT32_MAX} && {{0}} >= -{INT32_MAX + 1}"
    found = [
        (name, _has(f"e.{name}", "int", in_range.format(f"e.{name}")), "an integer of 32 bits")
        for name in ("maxSkew", "minDomains")
    ]
    found += [(name, _has(f"e.{name}", "string", "true"), "a string") for name in _TEXTS]
    found += [
        ("matchLabelKeys", _texts_fit("e.matchLabelKeys"), "a list of strings"),
        (
            "labelSelector",
            _has("e.labelSelector", "map", _selector_fits("e.labelSelector")),
            "a label selector",
        ),
    ]
    return " + ".join(
        f"({fits} ? [] : [{literal(f'.{name}: Invalid value: must be {wanted}')}])"
        for name, fits, wanted in found
    )


def _texts_fit(value: str) -> str:
    """Whether a member is missing or null, or a list of texts, in which null is an empty one."""
    return _has(value, "list", f"{value}.all(x, {_is('x', 'string')})")


def _selector_fits(value: str) -> str:
    """Whether the parts of a selector have the right types."""
    labels, requirements = f"{value}.matchLabels", f"{value}.matchExpressions"
    requirement = (
        f"type(r) == map && {_has('r.key', 'string', 'true')} && {_has('r.operator', 'string', 'true')} "
        f"&& {_texts_fit('r.values')}"
    )
    return (
        f"{_has(labels, 'map', f'{labels}.all(key, ' + _is(f'{labels}[key]', 'string') + ')')} "
        f"&& {_has(requirements, 'list', f'{requirements}.all(r, {requirement})')}"
    )


def _value(parent: str, member: str, default: str) -> str:
    """A member, or its default where it is missing or null."""
    value = f"{parent}.{member}"
    return f"(has({value}) && type({value}) != null_type ? {value} : dyn({default}))"


def _listed(parent: str, member: str) -> str:
    return f"{_value(parent, member, '[]')}.map(x, type(x) == string ? string(x) : '')"


def _selector() -> str:
    return _value("e", "labelSelector", "{}")


def _record() -> str:
    """An entry ``e``, at position ``i``, with its selector ``s``."""
    requirement = {
        "key": _value("r", "key", "''"),
        "operator": _value("r", "operator", "''"),
        "values": _listed("r", "values"),
        "raw": "r",
    }
    fields = {
        "index": "i",
        "path": "variables.path + '.topologySpreadConstraints[' + string(i) + ']'",
        "raw": "e",
        "maxSkew": _value("e", "maxSkew", "0"),
        "topologyKey": _value("e", "topologyKey", "''"),
        "whenUnsatisfiable": _value("e", "whenUnsatisfiable", "''"),
        "hasMinDomains": "has(e.minDomains) && type(e.minDomains) == int",
        "minDomains": _value("e", "minDomains", "1"),
        "nodeAffinityPolicy": _value("e", "nodeAffinityPolicy", "'Honor'"),
        "nodeTaintsPolicy": _value("e", "nodeTaintsPolicy", "'Ignore'"),
        "matchLabelKeys": _listed("e", "matchLabelKeys"),
        "hasSelector": "has(e.labelSelector) && type(e.labelSelector) == map",
        "selector": "s",
        "matchLabels": _value("s", "matchLabels", "{}"),
        "matchExpressions": f"{_value('s', 'matchExpressions', '[]')}.map(r, {record(requirement)})",
    }
    return record(fields)

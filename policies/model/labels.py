"""Labels and label selectors: their syntax, and which labels a selector matches.

Source: ``apimachinery/pkg/util/validation`` and ``apimachinery/pkg/apis/meta/v1/validation``,
Kubernetes 1.36.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import lru_cache
from operator import itemgetter
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

from policies.manifests.fields import (
    ErrorList,
    FieldError,
    FieldPath,
    field_names,
    forbidden,
    invalid_value,
    required_value,
    shown_name,
)
from policies.manifests.wire import Form
from policies.manifests.words import IN_MESSAGE, listed
from policies.model.api_rules import ApiRule

#: Longest name part of a label key, and longest label value, in bytes: ``LabelValueMaxLength``.
NAME_LENGTH = 63
#: Longest DNS subdomain, as names of objects and prefixes of label keys are, in bytes:
#: ``DNS1123SubdomainMaxLength``.
SUBDOMAIN_LENGTH = 253
#: Longest label key: prefix, slash and name. Verdicts on longer texts are not kept, which are refused anyway:
#: that would let a client fill the memory.
KEY_LENGTH = SUBDOMAIN_LENGTH + 1 + NAME_LENGTH
#: How many verdicts on label texts are kept: a cluster uses a few hundred keys.
CACHED_TEXTS = 4096

#: Unsatisfied requirements that a message lists, and characters of each: what keeps it a few lines.
TOLD_LENGTH = 200
#: Every field of the API's LabelSelector.
SELECTOR_FIELDS = field_names("matchLabels", "matchExpressions")
#: Every field of the API's LabelSelectorRequirement.
REQUIREMENT_FIELDS = field_names("key", "operator", "values")

#: Values in the list of a requirement that cost as much as another requirement.
VALUES_A_COMPARISON: Final = 16
#: A label that an object must have: its key, and its value, None if any will do.
RequiredLabel: TypeAlias = tuple[str, str | None]

_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
#: A DNS subdomain, as names of objects are.
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
# The API server's own sentences, word by word: ``apimachinery/pkg/util/validation``.
_REGEX = "regex used for validation is "
_ENDS = "and must start and end with an alphanumeric character"
_NAME_FORM = (
    f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
    f" (e.g. 'MyName',  or 'my.name',  or '123-abc', {_REGEX}'{_NAME.pattern}')"
)
_KEY_FORM = (
    f"a valid label key {_NAME_FORM}"
    " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
_VALUE_FORM = (
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
    f" (e.g. 'MyValue',  or 'my_value',  or '12345', {_REGEX}'({_NAME.pattern})?')"
)
_SUBDOMAIN_FORM = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS}"
    f" (e.g. 'example.com', {_REGEX}'{SUBDOMAIN.pattern}')"
)


class Operator(StrEnum):
    """The operators of a label selector requirement."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


class Requirement(NamedTuple):
    """A condition on a label."""

    key: str  #: The label's key.
    operator: Operator  #: How the label is compared.
    values: tuple[str, ...] = ()  #: Required with In and NotIn, left out with the others.

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Requirement:
        """Build a condition from a valid API object."""
        values = tuple(value or "" for value in raw.get("values") or ())
        return cls(raw["key"], Operator(raw["operator"]), values)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether labels satisfy the condition; NotIn and DoesNotExist do where the key is absent."""
        match self.operator:
            case Operator.IN:
                return labels.get(self.key) in self.values
            case Operator.NOT_IN:
                return self.key not in labels or labels[self.key] not in self.values
            case Operator.EXISTS:
                return self.key in labels
            case Operator.DOES_NOT_EXIST:
                return self.key not in labels

    def __str__(self) -> str:
        match self.operator:
            case Operator.IN:
                return f"{self.key} in ({','.join(sorted(self.values))})"
            case Operator.NOT_IN:
                return f"{self.key} notin ({','.join(sorted(self.values))})"
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"

    def to_dict(self) -> dict[str, Any]:
        """Return the requirement as the API writes it."""
        entry: dict[str, Any] = {"key": self.key, "operator": str(self.operator)}
        if self.values:
            entry["values"] = list(self.values)
        return entry


class LabelSelector(NamedTuple):
    """A label selector: every requirement must hold, so one without any matches everything.

    ``match_labels`` and ``match_expressions`` stay apart so that ``to_dict`` writes what was read. As text it
    is what kubectl prints, by key; empty for one without requirements.

    >>> str(LabelSelector((("app", "web"),), (Requirement("tier", Operator.IN, ("b", "a")),)))
    'app=web,tier in (a,b)'
    """

    #: Labels that must be there with these values.
    match_labels: Annotated[tuple[tuple[str, str], ...], Form(Mapping[str, str])] = ()
    match_expressions: tuple[Requirement, ...] = ()  #: Conditions that must all hold.

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> LabelSelector:
        """Build a selector from a valid API object; see ``label_selector_errors``."""
        labels = [(key, value or "") for key, value in (raw.get("matchLabels") or {}).items()]
        return cls(tuple(labels), tuple(map(Requirement.parse, raw.get("matchExpressions") or ())))

    @property
    def empty(self) -> bool:
        """Whether the selector has no requirement."""
        return not self.match_labels and not self.match_expressions

    def narrowed(self, *more: Requirement) -> LabelSelector:
        """Return a selector that has further requirements."""
        return LabelSelector(self.match_labels, (*self.match_expressions, *more))

    @property
    def size(self) -> int:
        """How many things are compared with labels at most."""
        if not self.match_expressions:
            return len(self.match_labels)
        values = sum(1 + len(entry.values) // VALUES_A_COMPARISON for entry in self.match_expressions)
        return len(self.match_labels) + values

    def required_labels(self) -> list[tuple[RequiredLabel, ...]]:
        """Return labels that an object must have, for each requirement: one of several.

        There are none if it requires nothing, or just that labels are missing or others.

        >>> LabelSelector((("app", "web"),), (Requirement("tier", Operator.EXISTS),)).required_labels()
        [(('app', 'web'),), (('tier', None),)]
        """
        required: list[tuple[RequiredLabel, ...]] = [(pair,) for pair in self.match_labels]
        for entry in self.match_expressions:
            if entry.operator is Operator.IN:
                required.append(tuple((entry.key, value) for value in dict.fromkeys(entry.values)))
            elif entry.operator is Operator.EXISTS:
                required.append(((entry.key, None),))
        return required

    @property
    def keys(self) -> frozenset[str]:
        """The label keys that the selector looks at."""
        return frozenset(
            [*(key for key, _ in self.match_labels), *(entry.key for entry in self.match_expressions)]
        )

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether labels satisfy every requirement.

        >>> LabelSelector((("app", "web"),)).matches({"app": "web", "tier": "front"})
        True
        """
        for key, value in self.match_labels:
            if labels.get(key) != value:
                return False
        return not self.match_expressions or all(
            requirement.matches(labels) for requirement in self.match_expressions
        )

    def mismatch(self, labels: Mapping[str, str]) -> str:
        """Return which requirements labels do not satisfy, in words; empty if they satisfy all.

        >>> LabelSelector((("app", "web"),)).mismatch({"app": "api"})
        'it requires app=web, the labels have app=api'
        """
        unmet = [(key, f"{key}={value}") for key, value in self.match_labels if labels.get(key) != value]
        unmet += [(entry.key, str(entry)) for entry in self.match_expressions if not entry.matches(labels)]
        texts = (
            f"it requires {_brief(asked)}, the labels have "
            + _brief(f"{key}={labels[key]}" if key in labels else f"no {key}")
            for key, asked in unmet
        )
        return listed(texts, IN_MESSAGE, between="; ")

    def __str__(self) -> str:
        # LabelSelectorAsSelector and Requirement.String, apimachinery, Kubernetes 1.36.
        parts = [(key, f"{key}={value}") for key, value in self.match_labels]
        parts += [(entry.key, str(entry)) for entry in self.match_expressions]
        return ",".join(text for _, text in sorted(parts, key=itemgetter(0)))

    def to_dict(self) -> dict[str, Any]:
        """Return the selector as the API writes it, without empty members."""
        selector: dict[str, Any] = {}
        if self.match_labels:
            selector["matchLabels"] = dict(self.match_labels)
        if self.match_expressions:
            selector["matchExpressions"] = [entry.to_dict() for entry in self.match_expressions]
        return selector


def _brief(text: str) -> str:
    return text if len(text) <= TOLD_LENGTH else f"{text[:TOLD_LENGTH]}…"


def label_key_problems(key: str) -> tuple[str, ...]:
    """Return the problems of a label key; empty when it is valid.

    >>> label_key_problems("example.com/rev")
    ()
    >>> label_key_problems("example.com/")[0]
    'name part must be non-empty'
    """
    return _cached_key_problems(key) if len(key) <= KEY_LENGTH else _key_problems(key)


def label_value_problems(value: str) -> tuple[str, ...]:
    """Return the problems of a label value; empty when it is valid.

    >>> label_value_problems("")
    ()
    """
    return _cached_value_problems(value) if len(value) <= KEY_LENGTH else _value_problems(value)


def _key_problems(key: str) -> tuple[str, ...]:
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return (_KEY_FORM,)
    problems = []
    if slash:
        problems += _prefix_problems(prefix)
    if not name:
        problems.append("name part must be non-empty")
    elif len(name.encode(errors="surrogatepass")) > NAME_LENGTH:
        problems.append(f"name part must be no more than {NAME_LENGTH} bytes")
    if not _NAME.fullmatch(name):
        problems.append(f"name part {_NAME_FORM}")
    return tuple(problems)


def _prefix_problems(prefix: str) -> list[str]:
    if not prefix:
        return ["prefix part must be non-empty"]
    problems = []
    if len(prefix.encode(errors="surrogatepass")) > SUBDOMAIN_LENGTH:
        problems.append(f"prefix part must be no more than {SUBDOMAIN_LENGTH} bytes")
    if not SUBDOMAIN.fullmatch(prefix):
        problems.append(f"prefix part {_SUBDOMAIN_FORM}")
    return problems


def _value_problems(value: str) -> tuple[str, ...]:
    problems = []
    if len(value.encode(errors="surrogatepass")) > NAME_LENGTH:
        problems.append(f"must be no more than {NAME_LENGTH} bytes")
    if value and not _NAME.fullmatch(value):
        problems.append(_VALUE_FORM)
    return tuple(problems)


_cached_key_problems: Callable[[str], tuple[str, ...]] = lru_cache(CACHED_TEXTS)(_key_problems)
_cached_value_problems: Callable[[str], tuple[str, ...]] = lru_cache(CACHED_TEXTS)(_value_problems)


def label_key_errors(key: str, path: FieldPath, rule: str) -> list[FieldError]:
    """Return an error of a rule for each thing wrong with a label key."""
    return [invalid_value(path, key, problem, rule) for problem in label_key_problems(key)]


def label_value_errors(value: str, path: FieldPath, rule: str) -> list[FieldError]:
    """Return an error of a rule for each thing wrong with a label value."""
    return [invalid_value(path, value, problem, rule) for problem in label_value_problems(value)]


def label_selector_errors(raw: object, path: FieldPath) -> list[FieldError]:
    """Return the API server's errors for a label selector; none for null, which is no selector."""
    found = ErrorList()
    if raw is not None and not is_usual_selector(raw):
        check_label_selector(raw, path, found)
    return found.errors


def is_usual_selector(raw: object, *, most: float = math.inf) -> bool:
    """Return whether a selector is valid and has the usual form: some ``matchLabels`` and nothing else.

    Answers without building a path for anything, which is most of what ``check_label_selector`` costs.
    """
    if not isinstance(raw, dict) or len(raw) != 1 or not isinstance(labels := raw.get("matchLabels"), dict):
        return False
    if len(labels) > most:
        return False
    for key, value in labels.items():
        if not isinstance(value, str) or label_key_problems(key) or label_value_problems(value):
            return False
    return True


def read_label_selector(raw: object, path: FieldPath, found: ErrorList) -> LabelSelector | None:
    """Read a label selector; None for null, and for one that the API server refuses, which is recorded."""
    before = found.count
    if raw is not None and not is_usual_selector(raw):
        check_label_selector(raw, path, found)
    return LabelSelector.parse(raw) if isinstance(raw, dict) and found.count == before else None


def check_label_selector(raw: object, path: FieldPath, found: ErrorList) -> None:
    """Record what the API server would refuse in a label selector that is not null."""
    selector = found.mapping(raw, path)
    found.unknown(selector, path, known=SELECTOR_FIELDS)
    if selector.get("matchLabels") is not None:
        _check_match_labels(selector["matchLabels"], path.child("matchLabels"), found)
    if selector.get("matchExpressions") is not None:
        for where, entry in found.objects(selector["matchExpressions"], path.child("matchExpressions")):
            _check_requirement(entry, where, found)


def _check_match_labels(raw: object, path: FieldPath, found: ErrorList) -> None:
    for key, item in found.mapping(raw, path).items():
        value = item if isinstance(item, str) else found.text(item, path.key(shown_name(key)))
        if found.has_enough(ApiRule.LABEL_SELECTOR_INVALID):
            break
        found.extend(label_key_errors(key, path, ApiRule.LABEL_SELECTOR_INVALID))
        found.extend(label_value_errors(value, path, ApiRule.LABEL_SELECTOR_INVALID))


def _check_requirement(entry: dict[str, Any], path: FieldPath, found: ErrorList) -> None:
    found.unknown(entry, path, known=REQUIREMENT_FIELDS)
    # One that is missing may be the one that is not known.
    is_whole = entry.keys() <= REQUIREMENT_FIELDS
    key, operator, values = entry.get("key"), entry.get("operator"), entry.get("values")
    key_path, values_path = path.child("key"), path.child("values")
    name, named = found.text(key, key_path), found.text(operator, path.child("operator"))
    listed = found.items(values, values_path)
    if isinstance(operator, str) or (operator is None and is_whole):
        is_read = isinstance(values, list) or (values is None and is_whole)
        _check_operator(named, listed if is_read else None, path, found)
    if isinstance(key, str) or (key is None and is_whole):
        found.extend(label_key_errors(name, key_path, ApiRule.LABEL_SELECTOR_INVALID))
    for position, item in enumerate(listed):
        value = item if isinstance(item, str) else found.text(item, values_path.index(position))
        if not found.has_enough(ApiRule.LABEL_SELECTOR_INVALID):
            where = values_path.index(position)
            found.extend(label_value_errors(value, where, ApiRule.LABEL_SELECTOR_INVALID))


def _check_operator(operator: str, values: list[object] | None, path: FieldPath, found: ErrorList) -> None:
    """Record an operator that is none, or that does not go with the values; None where these are unknown."""
    rule = ApiRule.LABEL_SELECTOR_INVALID
    match operator:
        case Operator.IN | Operator.NOT_IN:
            if values == []:
                text = "must be specified when `operator` is 'In' or 'NotIn'"
                found.add(required_value(path.child("values"), text, rule))
        case Operator.EXISTS | Operator.DOES_NOT_EXIST:
            if values:
                text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                found.add(forbidden(path.child("values"), text, rule))
        case _:
            text = "not a valid selector operator"
            found.add(invalid_value(path.child("operator"), operator, text, rule))

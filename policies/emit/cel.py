"""A rule in the Common Expression Language (CEL), or why there is none, and literals. Evaluates nothing.

A check may name what ``policies/emit/variables`` reads of an object under review:

- ``workload``: ``kind`` (``apps/Deployment``), ``group``, ``isPod``, ``isPatch``, ``path`` (of the pod's
  spec), ``labels`` (of its pods), ``made`` (the labels that its controller adds; a value is a space where it
  is not known), ``isOpen`` (whether others may add labels), ``replicas`` (0 where there are none), ``pods``
  (how many differ in labels), ``antiAffinity``, ``declares``, ``isTooLarge``, ``mistyped``, and the
  ``constraints`` whose values have the right types.
- ``constraint``: its fields under the API's names, each with its default, ``index``, ``path``, ``raw``,
  ``hasMinDomains``, ``hasSelector``, ``selector``, and ``matchLabels`` and ``matchExpressions`` of that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from policies.model.labels import KEY_LENGTH
from policies.model.version import KNOWN_VERSION, KubernetesVersion


class Over(StrEnum):
    """The unit that a check is evaluated for."""

    #: Once for the workload.
    WORKLOAD = "workload"
    #: For each constraint whose values have the right types.
    CONSTRAINTS = "constraints"
    #: For each constraint that no rule of the API is broken by.
    VALID = "valid"


@dataclass(frozen=True, slots=True, kw_only=True)
class CelContext:
    """The inputs that a check may depend on when it is written."""

    version: KubernetesVersion = KNOWN_VERSION  #: The release of Kubernetes that it is for.
    params: Any = None  #: The rule's own settings, a ``Params`` of its module; None for a rule without.
    #: The keys whose domains the policy lists.
    topology_keys: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True, slots=True, kw_only=True)
class CelCheck:
    """A rule as CEL."""

    broken: str  #: An expression that is true where the rule is broken.
    message: str  #: An expression for the text that follows the path of the constraint, or of the pod's spec.
    over: Over = Over.VALID  #: What it is evaluated for.
    lacks: str = ""  #: What the rule in Python does and this does not, as a clause; empty for nothing.


@dataclass(frozen=True, slots=True)
class NoCel:
    """Why a rule cannot be written in CEL, or need not be."""

    reason: str


#: A check, or how to write it for a release and the settings of a policy.
Cel: TypeAlias = CelCheck | NoCel | Callable[[CelContext], CelCheck | NoCel]

#: The most that is read of each list. The API server ends an expression that costs too much, and this bounds
#: what each costs; few people write a quarter of it.
LIMITS: Mapping[str, int] = {
    "topologySpreadConstraints": 10,
    "matchLabelKeys": 5,
    "matchLabels": 12,
    "matchExpressions": 5,
    "values": 16,
}
#: Characters of each text that are read: as many as a label key can have. What comparing costs grows with it.
MAX_CHARACTERS = KEY_LENGTH
#: The same as text.
LIMITS_TEXT = (
    ", ".join(f"{most} {name}" for name, most in LIMITS.items()) + f", {MAX_CHARACTERS} characters of a text"
)


def literal(value: Any) -> str:
    r"""Return a value as CEL writes it; the values of a map may have different types.

    >>> literal(["it's", 1, True, None]), literal({"maxSkew": 1})
    ("['it\\'s', 1, true, null]", "{'maxSkew': dyn(1)}")
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(key)}: dyn({literal(item)})" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value) if isinstance(value, set | frozenset) else value
        return "[" + ", ".join(map(literal, items)) + "]"
    if isinstance(value, bool | None):
        return {True: "true", False: "false", None: "null"}[value]
    return str(value) if isinstance(value, int) else _text(str(value))


def strings(value: Mapping[str, str]) -> str:
    """Return a map of texts, in which every value has the same type.

    >>> strings({"zone": "topology.kubernetes.io/zone"})
    "{'zone': 'topology.kubernetes.io/zone'}"
    """
    return "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"


def record(fields: Mapping[str, str]) -> str:
    """Return a map of expressions of different types.

    >>> record({"index": "i", "labels": "{}"})
    "{'index': dyn(i), 'labels': dyn({})}"
    """
    return "{" + ", ".join(f"'{name}': dyn({value})" for name, value in fields.items()) + "}"


def _text(text: str) -> str:
    """Return a text in single quotes; what is not printable ASCII is escaped."""
    return "'" + "".join(map(_escaped, text)) + "'"


def _escaped(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if " " <= character <= "~":
        return character
    return f"\\U{ord(character):08x}"

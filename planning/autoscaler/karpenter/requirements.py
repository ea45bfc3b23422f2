"""Possible labels, as NodePools, instance types, nodes and pods require them.

Source: ``pkg/scheduling/requirement.go`` and ``requirements.go``, Karpenter 1.9.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from policies.model.node_affinity import NodeRequirement, parse_int64
from policies.model.topology_keys import RENAMED


class LabelRequirement(NamedTuple):
    """Possible values of one label."""

    complement: bool  #: Whether it may be all but the values, else one of them.
    #: The values; without any and no complement, the label must be missing.
    values: frozenset[str] = frozenset()
    least: int | None = None  #: The least number that it may be; None for any.
    most: int | None = None  #: The greatest number that it may be; None for any.
    #: How many different values the instance types of a node must have; None for any.
    min_values: int | None = None

    @property
    def is_listed(self) -> bool:
        """Whether the values that it may have are listed, as by ``In``."""
        return not self.complement and bool(self.values)

    @property
    def may_be_missing(self) -> bool:
        """Whether the label may be missing, as by ``NotIn`` and ``DoesNotExist``."""
        return bool(self.values) if self.complement else not self.values

    def allows(self, value: str) -> bool:
        """Return whether the label may have a value."""
        return (value in self.values) is not self.complement and _within(value, self.least, self.most)

    def meet(self, other: LabelRequirement) -> LabelRequirement:
        """Return the intersection of both.

        >>> sorted(one_of("a", "b").meet(LabelRequirement(complement=True, values=frozenset("a"))).values)
        ['b']
        """
        least = max((each for each in (self.least, other.least) if each is not None), default=None)
        most = min((each for each in (self.most, other.most) if each is not None), default=None)
        wanted = max((each for each in (self.min_values, other.min_values) if each is not None), default=None)
        if least is not None and most is not None and least > most:
            return NONE._replace(min_values=wanted)
        if self.complement and other.complement:
            values = self.values | other.values
        elif self.complement:
            values = other.values - self.values
        else:
            values = self.values - other.values if other.complement else self.values & other.values
        values = frozenset(value for value in values if _within(value, least, most))
        if self.complement and other.complement:
            return LabelRequirement(complement=True, values=values, least=least, most=most, min_values=wanted)
        return LabelRequirement(complement=False, values=values, min_values=wanted)

    def meets(self, other: LabelRequirement) -> bool:
        """Return whether there is a value that both allow."""
        found = self.meet(other)
        return found.complement or bool(found.values)

    def __str__(self) -> str:
        """Return it as Kubernetes writes it, without its limits.

        >>> str(one_of("b", "a"))
        'In [a, b]'
        """
        listed = f" [{', '.join(sorted(self.values))}]" if self.values else ""
        if self.complement:
            return f"NotIn{listed}" if listed else "Exists"
        return f"In{listed}" if listed else "DoesNotExist"


#: A label of any value, and a label that is missing.
ANY: Final = LabelRequirement(complement=True)
NONE: Final = LabelRequirement(complement=False)
#: Requirements by label.
Requirements: TypeAlias = Mapping[str, LabelRequirement]


def one_of(*values: str) -> LabelRequirement:
    """Return the requirement of one of some values."""
    return LabelRequirement(complement=False, values=frozenset(values))


def required(
    key: str, operator: str, values: Collection[str], min_values: int | None = None
) -> tuple[str, LabelRequirement]:
    """Return a requirement by its operator, with the label by its newer name.

    >>> required("generation", "Gt", ["4"])[1].allows("5")
    True
    """
    number = next((parse_int64(value) for value in values), None) or 0
    found = {
        "In": one_of(*values),
        "NotIn": ANY._replace(values=frozenset(values)),
        "Exists": ANY,
        "DoesNotExist": NONE,
        "Gt": ANY._replace(least=number + 1),
        "Gte": ANY._replace(least=number),
        "Lt": ANY._replace(most=number - 1),
        "Lte": ANY._replace(most=number),
    }[operator]
    return RENAMED.get(key, key), found._replace(min_values=min_values)


def combine(*several: Iterable[tuple[str, LabelRequirement]]) -> dict[str, LabelRequirement]:
    """Return requirements that all hold."""
    found: dict[str, LabelRequirement] = {}
    for each in several:
        for key, requirement in each:
            had = found.get(key)
            found[key] = requirement if had is None else requirement.meet(had)
    return found


def of_labels(labels: Mapping[str, str]) -> dict[str, LabelRequirement]:
    """Return the requirements of labels as they are."""
    return combine((RENAMED.get(key, key), one_of(value)) for key, value in labels.items())


def of_expressions(expressions: Iterable[NodeRequirement]) -> list[tuple[str, LabelRequirement]]:
    """Return the requirements of expressions of a node affinity."""
    return [required(each.key, each.operator, each.values) for each in expressions]


def conflict(
    having: Requirements, wanted: Requirements, known: Callable[[str], bool] = lambda _: False
) -> str:
    """Return why requirements do not hold of something, in words; empty if they do.

    Args:
        having: Those of the thing.
        wanted: The requirements.
        known: Whether a label that the thing says nothing of may come to have any value.
    """
    for key, requirement in wanted.items():
        had = having.get(key)
        if had is None:
            if not (known(key) or requirement.may_be_missing):
                return f"has no label {key}"
        elif not had.meets(requirement) and not (requirement.may_be_missing and had.may_be_missing):
            return f"{key} {requirement}, not {had}"
    return ""


def _within(value: str, least: int | None, most: int | None) -> bool:
    if least is None and most is None:
        return True
    number = parse_int64(value)
    return number is not None and (least is None or number >= least) and (most is None or number <= most)

"""Exceptions in a SpreadPolicy: rules that an administrator does not enforce for some objects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date

from policies.config.scope import Names


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyException:
    """Objects for which some rules are not enforced.

    Attributes:
        rules: The rules that are not enforced.
        namespaces: Namespaces of the objects; empty means all. `*` matches any characters.
        kinds: Kinds of the objects; empty means all. What a controller creates also has the kinds of its
            owners.
        names: Names of the objects; empty means all. `*` matches any characters. What a controller creates
            also has the names of its owners.
        reason: The reason; the audit log repeats it.
        until: The last day of the exception, such as 2027-01-31; default: no end.
    """

    rules: tuple[str, ...] = field(metadata={"items": "rule", "examples": [["selector-missing"]]})
    namespaces: tuple[str, ...] = field(
        default=(), metadata={"items": "namespace", "examples": [["legacy", "team-*"]]}
    )
    kinds: tuple[str, ...] = field(default=(), metadata={"items": "kind", "examples": [["Deployment"]]})
    names: tuple[str, ...] = field(default=(), metadata={"items": "names", "examples": [["checkout-*"]]})
    reason: str
    until: date | None = None
    _namespaces: Names = field(init=False, repr=False, compare=False)
    _names: Names = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_namespaces", Names.compile(self.namespaces))
        object.__setattr__(self, "_names", Names.compile(self.names))

    def selects(
        self, namespace: str, kinds: frozenset[str], names: Iterable[str], *, today: date | None
    ) -> bool:
        """Return whether its rules are not enforced for an object.

        Args:
            namespace: The object's namespace.
            kinds: The kinds that it belongs to.
            names: The names that it goes by.
            today: The day for the last day of an exception; None lets every exception hold.
        """
        if today is not None and self.until is not None and today > self.until:
            return False
        if (self.namespaces and namespace not in self._namespaces) or (
            self.kinds and kinds.isdisjoint(self.kinds)
        ):
            return False
        return not self.names or any(name in self._names for name in names)

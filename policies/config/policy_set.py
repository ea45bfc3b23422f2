"""The policies in force, in order, and an index that finds those that select an object.

A set never changes: a change of policies makes a new set, and whoever holds the old one decides by that to
the end. What the index finds for a namespace is kept until the labels of the namespace are others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, Self

from policies.config.scope import with_name_label
from policies.config.spread_policy import SpreadPolicy
from policies.model.labels import LabelSelector, Operator

#: Namespaces, each with kinds, for which is kept what was found; a large cluster has 10,000 namespaces.
MAX_KEPT: Final = 100_000

#: A label that an object has.
_Pair = tuple[str, str]


class PolicySet(tuple[SpreadPolicy, ...]):  # noqa: SLOT001  # its index needs an attribute
    """Policies in order: those of files as they were given, then those of the cluster by name."""

    _index: _ScopeIndex

    def __new__(cls, policies: Iterable[SpreadPolicy] = ()) -> Self:
        """Index the policies now, so that no review waits for it."""
        made = super().__new__(cls, policies)
        made._index = _ScopeIndex(made)
        return made

    def selecting(
        self,
        namespace: str,
        namespace_labels: Mapping[str, str] | None,
        object_labels: Mapping[str, str],
        kinds: frozenset[str],
    ) -> list[SpreadPolicy]:
        """Return the policies whose scope matches an object, in order; see ``Scope.matches``."""
        return self._index.find(namespace, namespace_labels, kinds).matching(object_labels)


class _Numbered(NamedTuple):
    """A policy with its place in the order."""

    number: int
    policy: SpreadPolicy


class _ByLabel:
    """Policies by a label that a selector of theirs requires, so that most are never looked at.

    Attributes:
        always: Those without the selector.
        others: Those whose selector requires no label with a certain value.
    """

    def __init__(self, entries: Iterable[tuple[_Numbered, LabelSelector | None]]) -> None:
        self.always: list[_Numbered] = []
        self.others: list[_Numbered] = []
        self._by_pair: dict[_Pair, list[_Numbered]] = {}
        for entry, selector in entries:
            if selector is None or selector.empty:
                self.always.append(entry)
                continue
            pairs = _required(selector)
            for pair in pairs:
                self._by_pair.setdefault(pair, []).append(entry)
            if not pairs:
                self.others.append(entry)

    @property
    def unconditional(self) -> bool:
        """Whether every policy matches every object."""
        return not self._by_pair and not self.others

    def candidates(self, labels: Mapping[str, str]) -> Iterator[_Numbered]:
        """Yield those whose selector may match labels, but for those without one."""
        for pair in labels.items():
            yield from self._by_pair.get(pair, ())
        yield from self.others


class _Selected:
    """The policies that select objects of some kinds in a namespace, but for their own labels."""

    def __init__(self, entries: tuple[_Numbered, ...]) -> None:
        self._all = [entry.policy for entry in entries]
        self._by_label = _ByLabel((entry, entry.policy.scope.object_selector) for entry in entries)

    def matching(self, labels: Mapping[str, str]) -> list[SpreadPolicy]:
        """Return those that select an object with these labels, in order."""
        index = self._by_label
        if index.unconditional:
            return self._all.copy()
        found = [
            entry
            for entry in index.candidates(labels)
            if (selector := entry.policy.scope.object_selector) is not None and selector.matches(labels)
        ]
        return [policy for _, policy in sorted([*index.always, *found], key=_number)]


class _Kept(NamedTuple):
    """What was found for a namespace while it had these labels."""

    labels: Mapping[str, str] | None
    selected: _Selected


class _ScopeIndex:
    """Finds the policies for a namespace. Any number of threads may use it."""

    def __init__(self, policies: PolicySet) -> None:
        entries = list(map(_Numbered, range(len(policies)), policies))
        self._by_name: dict[str, list[_Numbered]] = {}
        rest: list[_Numbered] = []
        for entry in entries:
            names = entry.policy.scope.namespaces
            if not names or any("*" in name for name in names):
                rest.append(entry)
                continue
            for name in dict.fromkeys(names):
                self._by_name.setdefault(name, []).append(entry)
        self._by_label = _ByLabel((entry, entry.policy.scope.namespace_selector) for entry in rest)
        self._kept: dict[tuple[str, frozenset[str]], _Kept] = {}
        # Most namespaces are selected by the same policies as many others.
        self._shared: dict[tuple[int, ...], _Selected] = {}

    def find(self, namespace: str, labels: Mapping[str, str] | None, kinds: frozenset[str]) -> _Selected:
        """Return what selects objects of some kinds in a namespace."""
        key = (namespace, kinds)
        kept = self._kept.get(key)
        if kept is not None and (kept.labels is labels or kept.labels == labels):
            return kept.selected
        selected = self._search(namespace, labels, kinds)
        if len(self._kept) >= MAX_KEPT:
            self._kept.clear()
        self._kept[key] = _Kept(labels, selected)
        return selected

    def _search(self, namespace: str, labels: Mapping[str, str] | None, kinds: frozenset[str]) -> _Selected:
        scope_labels = with_name_label(namespace, labels)
        candidates = [
            *self._by_name.get(namespace, ()),
            *self._by_label.always,
            *self._by_label.candidates(scope_labels),
        ]
        found = tuple(
            sorted(
                (entry for entry in candidates if entry.policy.scope.covers(namespace, scope_labels, kinds)),
                key=_number,
            )
        )
        return self._shared.setdefault(tuple(entry.number for entry in found), _Selected(found))


def _number(entry: _Numbered) -> int:
    return entry.number


def _required(selector: LabelSelector) -> list[_Pair]:
    """Return labels of which an object must have one; none if the selector requires no certain value."""
    for pair in selector.match_labels:
        return [pair]
    for entry in selector.match_expressions:
        if entry.operator is Operator.IN:
            return [(entry.key, value) for value in dict.fromkeys(entry.values)]
    return []

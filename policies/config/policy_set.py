"""The policies in force, in order, and an index that finds those that select an object.

A set never changes: a change of policies makes a new set, and a review that began with the old one ends with
it. What the index finds for a namespace is kept until the labels of the namespace are others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final, Generic, NamedTuple, Self, TypeVar

from policies.config.scope import Scope, with_name_label
from policies.config.spread_policy import SpreadPolicy
from policies.model.labels import LabelSelector, RequiredLabel

#: Policies in all that is kept of namespaces: some 50 MB; 10,000 namespaces with 20 policies keep a tenth.
MAX_KEPT: Final = 2_000_000

_Entry = TypeVar("_Entry")


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


class _Group(NamedTuple):
    """Policies that select the same namespaces and kinds, which many do: they are compared once."""

    number: int  #: Its place among the groups.
    scope: Scope  #: The scope of one of them.
    members: list[_Numbered]  #: The policies.


class _ByLabel(Generic[_Entry]):
    """Entries by a label that a selector of theirs requires, so that most are never looked at.

    Attributes:
        always: Those without the selector.
        others: Those whose selector requires no label.
    """

    def __init__(self, entries: Iterable[tuple[_Entry, LabelSelector | None]]) -> None:
        self.always: list[_Entry] = []
        self.others: list[_Entry] = []
        self._by_label: dict[RequiredLabel, list[_Entry]] = {}
        for entry, selector in entries:
            if selector is None or selector.empty:
                self.always.append(entry)
                continue
            required = selector.required_labels()
            for label in required[0] if required else ():
                self._by_label.setdefault(label, []).append(entry)
            if not required:
                self.others.append(entry)

    @property
    def unconditional(self) -> bool:
        """Whether no entry has the selector."""
        return not self._by_label and not self.others

    def candidates(self, labels: Mapping[str, str]) -> Iterator[_Entry]:
        """Yield those whose selector may match labels, but for those without one."""
        for key, value in labels.items():
            yield from self._by_label.get((key, value), ())
            yield from self._by_label.get((key, None), ())
        yield from self.others


class _Selected:
    """The policies that select objects of some kinds in a namespace, but for their own labels."""

    def __init__(self, groups: Iterable[_Group]) -> None:
        entries = sorted(chain.from_iterable(group.members for group in groups), key=_number)
        self._all = [entry.policy for entry in entries]
        self._by_label = _ByLabel((entry, entry.policy.scope.object_selector) for entry in entries)

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self._all)

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
    """The policies found for a namespace while it had these labels."""

    labels: Mapping[str, str] | None
    selected: _Selected


class _ScopeIndex:
    """Finds the policies for a namespace. Any number of threads may use it."""

    def __init__(self, policies: PolicySet) -> None:
        self._by_name: dict[str, list[_Group]] = {}
        rest: list[_Group] = []
        for group in _groups(policies):
            names = group.scope.namespaces
            if not names or any("*" in name for name in names):
                rest.append(group)
                continue
            for name in dict.fromkeys(names):
                self._by_name.setdefault(name, []).append(group)
        self._by_label = _ByLabel((group, group.scope.namespace_selector) for group in rest)
        self._kept: dict[tuple[str, frozenset[str]], _Kept] = {}
        self._size = 0
        # Most namespaces are selected by the same groups as many others.
        self._shared: dict[tuple[int, ...], _Selected] = {}

    def find(self, namespace: str, labels: Mapping[str, str] | None, kinds: frozenset[str]) -> _Selected:
        """Return the policies that select objects of some kinds in a namespace."""
        key = (namespace, kinds)
        kept = self._kept.get(key)
        if kept is not None and (kept.labels is labels or kept.labels == labels):
            return kept.selected
        selected = self._search(namespace, labels, kinds)
        self._make_room(1)
        self._kept[key] = _Kept(labels, selected)
        return selected

    def _make_room(self, size: int) -> None:
        """Forget what was found once it is too much."""
        self._size += size
        if self._size > MAX_KEPT:
            self._kept.clear()
            self._shared.clear()
            self._size = size

    def _search(self, namespace: str, labels: Mapping[str, str] | None, kinds: frozenset[str]) -> _Selected:
        scope_labels = with_name_label(namespace, labels)
        candidates = chain(
            self._by_name.get(namespace, ()),
            self._by_label.always,
            self._by_label.candidates(scope_labels),
        )
        groups = [group for group in candidates if group.scope.covers(namespace, scope_labels, kinds)]
        key = tuple(group.number for group in groups)
        selected = self._shared.get(key)
        if selected is None:
            selected = _Selected(groups)
            self._make_room(1 + selected.size)
            self._shared[key] = selected
        return selected


def _groups(policies: PolicySet) -> Iterable[_Group]:
    """Return policies in groups, each of which selects namespaces and kinds in a way of its own."""
    groups: dict[tuple[object, ...], _Group] = {}
    for number, policy in enumerate(policies):
        scope = policy.scope
        key = (scope.exclude_namespaces, scope.namespaces, scope.namespace_selector, scope.kinds)
        group = groups.setdefault(key, _Group(len(groups), scope, []))
        group.members.append(_Numbered(number, policy))
    return groups.values()


def _number(entry: _Numbered) -> int:
    return entry.number

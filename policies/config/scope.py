"""Which objects a policy is for. Decides from names, labels and kinds; knows no cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from policies.config.document_fields import KindName, NamespacePattern
from policies.manifests.wire import INTERNAL, DocumentFields, Keywords
from policies.model.labels import SUBDOMAIN_LENGTH, LabelSelector

#: The label that every namespace carries with its own name, so it is known without a cluster.
NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"


@dataclass(frozen=True, slots=True)
class Names:
    """Exact names and patterns with ``*``, ready to be matched.

    One regular expression of many patterns takes longer to compile than all of them to be tried.
    """

    exact: frozenset[str]  #: The names without ``*``.
    #: What is around each ``*`` of the patterns, by what is before the first.
    patterns: Mapping[str, list[tuple[str, ...]]]

    @classmethod
    def compile(cls, names: Iterable[str]) -> Names:
        """Prepare names, in which ``*`` stands for any characters."""
        exact: set[str] = set()
        patterns: dict[str, list[tuple[str, ...]]] = {}
        for name in names:
            first, *rest = name.split("*")
            if rest:
                patterns.setdefault(first, []).append(tuple(rest))
            else:
                exact.add(name)
        return cls(frozenset(exact), patterns)

    def __contains__(self, name: str) -> bool:
        if name in self.exact:
            return True
        if not self.patterns or len(name) > SUBDOMAIN_LENGTH:
            return False
        starts = (name[:length] for length in range(len(name) + 1))
        return any(
            _matches(rest, name, len(start)) for start in starts for rest in self.patterns.get(start, ())
        )


def _matches(rest: tuple[str, ...], name: str, position: int) -> bool:
    """Return whether a name has some texts in order from a position on, and ends with the last of them."""
    *middle, last = rest
    for part in middle:
        # The first place is the best: what is left for the others is longest.
        found = name.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return len(name) - position >= len(last) and name.endswith(last)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope(DocumentFields):
    """Which objects the policy applies to; without any field, to all."""

    #: Namespaces that are excluded; `*` matches any characters.
    exclude_namespaces: Annotated[
        tuple[NamespacePattern, ...], Keywords(examples=[["kube-system", "team-*-sandbox"]])
    ] = ()
    #: Namespaces that are selected; empty means all. `*` matches any characters.
    namespaces: Annotated[tuple[NamespacePattern, ...], Keywords(examples=[["production", "team-*"]])] = ()
    #: Selects namespaces by their labels. Labels other than kubernetes.io/metadata.name are only known when a
    #: cluster is connected.
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None  #: Selects objects by their own labels.
    #: Kinds that are selected; empty means all. A pod also has the kinds of its owners.
    kinds: Annotated[tuple[KindName, ...], Keywords(examples=[["Deployment", "StatefulSet"]])] = ()
    _excluded: Annotated[Names, INTERNAL] = field(init=False, repr=False, compare=False)
    _included: Annotated[Names, INTERNAL] = field(init=False, repr=False, compare=False)
    _kinds: Annotated[frozenset[str], INTERNAL] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_excluded", Names.compile(self.exclude_namespaces))
        object.__setattr__(self, "_included", Names.compile(self.namespaces))
        object.__setattr__(self, "_kinds", frozenset(self.kinds))

    def matches(
        self,
        namespace: str,
        namespace_labels: Mapping[str, str] | None,
        object_labels: Mapping[str, str],
        kinds: frozenset[str],
    ) -> bool:
        """Return whether an object is in scope.

        Args:
            namespace: The object's namespace.
            namespace_labels: The namespace's labels; None if no cluster knows them, then only the label
                with its name counts.
            object_labels: The object's own labels.
            kinds: Every kind the object belongs to: a Deployment's pod is Pod, ReplicaSet and Deployment.

        >>> scope = Scope(exclude_namespaces=("kube-*",), kinds=("Deployment",))
        >>> scope.matches("web", None, {}, frozenset({"Pod", "ReplicaSet", "Deployment"}))
        True
        >>> scope.matches("kube-system", None, {}, frozenset({"Deployment"}))
        False
        """
        labels = with_name_label(namespace, namespace_labels)
        return self.covers(namespace, labels, kinds) and self._selects(object_labels)

    def covers(self, namespace: str, namespace_labels: Mapping[str, str], kinds: frozenset[str]) -> bool:
        """Return whether an object is in scope but for its own labels, see ``matches``.

        Args:
            namespace: The object's namespace.
            namespace_labels: The namespace's labels, with the one that has its name.
            kinds: Every kind the object belongs to.
        """
        if not self._may_cover(namespace, kinds):
            return False
        return self.namespace_selector is None or self.namespace_selector.matches(namespace_labels)

    def may_match(self, namespace: str, object_labels: Mapping[str, str], kinds: frozenset[str]) -> bool:
        """Return whether an object is in scope but for the labels of its namespace, see ``matches``."""
        return self._may_cover(namespace, kinds) and self._selects(object_labels)

    def may_select(self, namespace: str, namespace_labels: Mapping[str, str] | None) -> bool:
        """Return whether some object of a namespace may be in scope, see ``matches``.

        Args:
            namespace: The namespace.
            namespace_labels: Its labels; None if they are not known, and may be any.

        >>> Scope(exclude_namespaces=("kube-*",), kinds=("Job",)).may_select("web", None)
        True
        """
        if not self._may_cover(namespace, self._kinds):
            return False
        if namespace_labels is None and self.needs_namespace_labels:
            return True
        labels = with_name_label(namespace, namespace_labels)
        return self.namespace_selector is None or self.namespace_selector.matches(labels)

    def _may_cover(self, namespace: str, kinds: frozenset[str]) -> bool:
        if self._kinds and self._kinds.isdisjoint(kinds):
            return False
        return namespace not in self._excluded and (not self.namespaces or namespace in self._included)

    def _selects(self, object_labels: Mapping[str, str]) -> bool:
        return self.object_selector is None or self.object_selector.matches(object_labels)

    @property
    def needs_namespace_labels(self) -> bool:
        """Whether labels of a namespace decide that are not known by its name."""
        selector = self.namespace_selector
        return selector is not None and not selector.keys <= {NAMESPACE_NAME_LABEL}


def with_name_label(namespace: str, labels: Mapping[str, str] | None) -> dict[str, str]:
    """Return the labels of a namespace with the one that has its name.

    The API server sets it since 1.21; older clusters and snapshots made by hand lack it.
    """
    return {NAMESPACE_NAME_LABEL: namespace, **(labels or {})}

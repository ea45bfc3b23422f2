"""A workload as a manifest declares it: what rules look at."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from policies.manifests.fields import ErrorList, FieldError, FieldPath
from policies.model.constraint import Constraint, WhenUnsatisfiable
from policies.model.labels import LabelSelector
from policies.model.node_affinity import NodeAffinity, read_node_affinity
from policies.model.taints import Toleration, read_tolerations
from policies.model.workload import WorkloadKind, descend

#: Folders that a message names of workloads with one name. Arbitrary; keeps one line readable.
MAX_FOLDERS = 3


@dataclass(frozen=True, eq=False, kw_only=True)
class DeclaredConstraint:
    """A constraint without errors, and where it stands.

    Attributes:
        constraint: The constraint, with every field that the release drops at its default.
        path: Its path in the object.
        raw: As it was written.
    """

    constraint: Constraint
    path: FieldPath
    raw: Mapping[str, Any]

    @property
    def is_hard(self) -> bool:
        """Whether it keeps pods pending (DoNotSchedule)."""
        return self.constraint.when_unsatisfiable is WhenUnsatisfiable.DO_NOT_SCHEDULE


@dataclass(frozen=True, eq=False, kw_only=True)
class Workload:
    """A pod or workload of a manifest.

    Attributes:
        obj: The object.
        kind: Where its kind keeps things.
        namespace: Its namespace; empty where the manifest says none.
        name: Its name; empty where the manifest says none.
        labels: The labels of its pods, as the template has them.
        constraints: Its constraints that have no errors.
        errors: What the API server, or its pods' admission, would refuse.
        folder: The folder of the file that it stands in.
    """

    obj: Mapping[str, Any]
    kind: WorkloadKind
    namespace: str
    name: str
    labels: Mapping[str, str]
    constraints: tuple[DeclaredConstraint, ...]
    errors: tuple[FieldError, ...]
    folder: str = ""

    @property
    def title(self) -> str:
        """Kind and name, as messages use them."""
        return f"{self.kind.kind} {self.name}" if self.name else self.kind.kind

    @cached_property
    def identity(self) -> Hashable:
        """What two declarations of one object have in common: namespace, kind and name.

        In whatever folder or build a second one is, it is another copy of the same object and never another
        application. Without a name each is an object of its own.
        """
        return (self.namespace, self.kind.kind, self.name or id(self))

    @cached_property
    def pod_path(self) -> FieldPath:
        """The path of its pod template, empty for a pod."""
        return FieldPath(self.kind.template)

    @cached_property
    def spec(self) -> Mapping[str, Any]:
        """The spec of its pods."""
        return descend(self.obj, (*self.kind.template, "spec"), ErrorList())

    @cached_property
    def selector(self) -> LabelSelector | None:
        """The selector of its own pods; None where it has none that is valid."""
        return self.kind.read_selector(self.obj)

    @cached_property
    def replicas(self) -> int | None:
        """How many pods it asks for, 1 where it does not say; None for kinds without, and for no number."""
        way = self.kind.replicas
        if way is None:
            return None
        value = descend(self.obj, way[:-1], ErrorList()).get(way[-1])
        if value is None:
            return 1
        return value if type(value) is int else None

    @cached_property
    def affinity(self) -> NodeAffinity:
        """Which nodes its pods ask for."""
        return read_node_affinity(self.spec, FieldPath(), ErrorList())

    @cached_property
    def tolerations(self) -> tuple[Toleration, ...]:
        """Which taints its pods put up with."""
        return read_tolerations(self.spec.get("tolerations"), FieldPath(), ErrorList())


def titles(workloads: Iterable[Workload]) -> list[str]:
    """Return the kinds and names of workloads, each once, with the folders of those that share theirs."""
    folders: dict[str, dict[str, None]] = {}
    for workload in workloads:
        folders.setdefault(workload.title, {})[workload.folder or "."] = None
    return [
        title if len(places) == 1 else f"{title} in {' and '.join([*places][:MAX_FOLDERS])}"
        for title, places in folders.items()
    ]

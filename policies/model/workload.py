"""Workload kinds: where each keeps its pod template, its selector and its replicas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from policies.manifests.errors import UsageError
from policies.manifests.fields import ErrorList, FieldPath, shown
from policies.model.json_size import MAX_SIZE, size_of
from policies.model.labels import LabelSelector, label_selector_errors

_PATH = re.compile(r"[A-Za-z][A-Za-z0-9]*(\.[A-Za-z][A-Za-z0-9]*)*")
_GROUP_KIND = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?)/([A-Z][A-Za-z0-9]*)")


@dataclass(frozen=True, slots=True)
class WorkloadKind:
    """One kind of object that is a pod or holds a pod template.

    Attributes:
        group: The API group, empty for the core group.
        kind: The kind's name.
        template: The way to the pod template; empty for a pod, which is its own.
        selector: The way to the selector of the workload's pods; None where it has none of its own.
        selector_is_map: Whether that selector is a plain map of labels, as a ReplicationController's.
        replicas: The way to the number of replicas; None where there is none.
        revision_label: The label with which its controller tells revisions apart.
        spreads: Whether default constraints make sense for its pods.
    """

    group: str
    kind: str
    template: tuple[str, ...]
    selector: tuple[str, ...] | None = None
    selector_is_map: bool = False
    replicas: tuple[str, ...] | None = None
    revision_label: str | None = None
    spreads: bool = True
    constraints_path: FieldPath = field(init=False, compare=False)

    def __post_init__(self) -> None:
        path = FieldPath(self.template).child("spec", "topologySpreadConstraints")
        object.__setattr__(self, "constraints_path", path)

    @property
    def is_pod(self) -> bool:
        """Whether objects of this kind are pods themselves."""
        return not self.template

    @property
    def name(self) -> str:
        """The kind with its group, as kubectl writes it.

        >>> WorkloadKind("apps", "Deployment", ("spec", "template")).name
        'Deployment.apps'
        """
        return f"{self.kind}.{self.group}" if self.group else self.kind

    def read_selector(self, obj: Mapping[str, Any]) -> LabelSelector | None:
        """Return the selector of the workload's own pods; None where there is none, or none that is valid.

        One that is too large to be checked is none: nobody waits until it has been matched with anything.
        """
        if self.selector is None:
            return None
        raw = descend(obj, self.selector, ErrorList())
        if self.selector_is_map:
            raw = {"matchLabels": raw} if raw else {}
        if not raw or size_of(raw, MAX_SIZE) > MAX_SIZE or label_selector_errors(raw, FieldPath()):
            return None
        return LabelSelector.parse(raw)


def descend(obj: Mapping[str, Any], way: tuple[str, ...], found: ErrorList) -> dict[str, Any]:
    """Follow names down to an object; anything of another type on the way is recorded and read as empty."""
    node: Any = obj
    for depth, name in enumerate(way):
        value = node.get(name)
        node = value if isinstance(value, dict) else found.mapping(value, FieldPath(way[: depth + 1]))
    return node  # type: ignore[no-any-return]  # a dict: obj, or what the loop left


_TEMPLATE, _SELECTOR, _REPLICAS = ("spec", "template"), ("spec", "selector"), ("spec", "replicas")

#: Every kind that Evenkeel knows without being told: Kubernetes' own, then the custom resources that embed
#: a pod template most often.
KNOWN_KINDS = (
    WorkloadKind("", "Pod", ()),
    WorkloadKind("", "PodTemplate", ("template",), spreads=False),
    WorkloadKind("", "ReplicationController", _TEMPLATE, _SELECTOR, selector_is_map=True, replicas=_REPLICAS),
    WorkloadKind(
        "apps", "Deployment", _TEMPLATE, _SELECTOR, replicas=_REPLICAS, revision_label="pod-template-hash"
    ),
    WorkloadKind("apps", "ReplicaSet", _TEMPLATE, _SELECTOR, replicas=_REPLICAS),
    WorkloadKind("apps", "StatefulSet", _TEMPLATE, _SELECTOR, replicas=_REPLICAS),
    WorkloadKind("apps", "DaemonSet", _TEMPLATE, _SELECTOR, spreads=False),
    WorkloadKind("batch", "Job", _TEMPLATE, spreads=False),
    WorkloadKind("batch", "CronJob", ("spec", "jobTemplate", "spec", "template"), spreads=False),
    WorkloadKind(
        "argoproj.io",
        "Rollout",
        _TEMPLATE,
        _SELECTOR,
        replicas=_REPLICAS,
        revision_label="rollouts-pod-template-hash",
    ),
    WorkloadKind("apps.kruise.io", "CloneSet", _TEMPLATE, _SELECTOR, replicas=_REPLICAS),
    WorkloadKind("apps.kruise.io", "StatefulSet", _TEMPLATE, _SELECTOR, replicas=_REPLICAS),
    WorkloadKind("apps.kruise.io", "DaemonSet", _TEMPLATE, _SELECTOR, spreads=False),
    WorkloadKind("serving.knative.dev", "Service", _TEMPLATE),
)

#: The labels with which a ReplicaSet's owner marks the pods, and the kind of that owner.
REVISION_OWNERS = {kind.revision_label: kind.kind for kind in KNOWN_KINDS if kind.revision_label is not None}


class WorkloadKinds:
    """The kinds that are looked at, by group and name; versions share their layout."""

    def __init__(self, extra: Iterable[WorkloadKind] = ()) -> None:
        self._by_name = {(kind.group, kind.kind): kind for kind in (*KNOWN_KINDS, *extra)}

    def find(self, group: str, kind: str) -> WorkloadKind | None:
        """Return a kind, or None for one that holds no pod template as far as is known."""
        return self._by_name.get((group, kind))

    def known(self) -> Iterable[WorkloadKind]:
        """Return every kind that is looked at."""
        return self._by_name.values()


def parse_workload_kind(text: str) -> WorkloadKind:
    """Read the setting that adds a kind: ``GROUP/KIND=TEMPLATE[,SELECTOR[,REPLICAS]]``, paths with dots.

    Raises:
        UsageError: The text is not of that form.

    >>> parse_workload_kind("acme.io/Widget=spec.pod,spec.selector").template
    ('spec', 'pod')
    """
    name, equals, rest = text.partition("=")
    group_kind = _GROUP_KIND.fullmatch(name)
    paths = rest.split(",")
    if not equals or group_kind is None or len(paths) > 3 or not all(map(_PATH.fullmatch, paths)):
        raise UsageError(
            f"Invalid value: {shown(text)}: must be GROUP/KIND=TEMPLATE[,SELECTOR[,REPLICAS]], "
            "such as acme.io/Widget=spec.template,spec.selector"
        )
    ways = [tuple(path.split(".")) for path in paths]
    return WorkloadKind(
        group_kind[1],
        group_kind[3],
        ways[0],
        ways[1] if len(ways) > 1 else None,
        replicas=ways[2] if len(ways) > 2 else None,
    )

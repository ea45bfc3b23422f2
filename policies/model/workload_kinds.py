"""Workload kinds: where each keeps its pod template, its selector and its replicas."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from policies.manifests.errors import UsageError
from policies.manifests.fields import FieldPath, shown

_PATH = re.compile(r"[A-Za-z][A-Za-z0-9]*(\.[A-Za-z][A-Za-z0-9]*)*")
_GROUP_KIND = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?)/([A-Z][A-Za-z0-9]*)")


@dataclass(frozen=True, slots=True)
class WorkloadKind:
    """One kind of object that is a pod or holds a pod template."""

    group: str  #: The API group, empty for the core group.
    kind: str  #: The kind's name.
    template: tuple[str, ...]  #: The way to the pod template; empty for a pod, which is its own.
    #: The way to the selector of the workload's pods; None where it has none of its own.
    selector: tuple[str, ...] | None = None
    #: Whether that selector is a plain map of labels, as a ReplicationController's.
    selector_is_map: bool = False
    replicas: tuple[str, ...] | None = None  #: The way to the number of replicas; None where there is none.
    revision_label: str | None = None  #: The label with which its controller tells revisions apart.
    spreads: bool = True  #: Whether default constraints make sense for its pods.
    is_pod: bool = field(init=False, compare=False)  #: Whether objects of this kind are pods themselves.
    constraints_path: FieldPath = field(init=False, compare=False)  #: The path of the constraints.
    labels_path: FieldPath = field(init=False, compare=False)  #: The path of the labels of its pods.
    annotations_path: FieldPath = field(init=False, compare=False)  #: The path of their annotations.
    #: The kind's name, as the kinds that an object without an owner belongs to.
    only_itself: frozenset[str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        pod, metadata = FieldPath(self.template), FieldPath(self.template).child("metadata")
        object.__setattr__(self, "is_pod", not self.template)
        object.__setattr__(self, "constraints_path", pod.child("spec", "topologySpreadConstraints"))
        object.__setattr__(self, "labels_path", metadata.child("labels"))
        object.__setattr__(self, "annotations_path", metadata.child("annotations"))
        object.__setattr__(self, "only_itself", frozenset({self.kind}))

    @property
    def name(self) -> str:
        """The kind with its group, as kubectl writes it.

        >>> WorkloadKind("apps", "Deployment", ("spec", "template")).name
        'Deployment.apps'
        """
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @property
    def typed(self) -> str:
        """The kind as kubectl takes it, with its group."""
        return self.name.lower()


_TEMPLATE, _SELECTOR, _REPLICAS = ("spec", "template"), ("spec", "selector"), ("spec", "replicas")

#: Every kind that Evenkeel knows without an option: Kubernetes' own, then the custom resources that embed
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

#: The groups of Kubernetes' own kinds among them. What a controller of another group fills in, and where its
#: resource may have fields, is not known.
BUILT_IN_GROUPS = frozenset({"", "apps", "batch"})

#: A pod is its own template.
POD_KIND = KNOWN_KINDS[0]

#: The labels with which a ReplicaSet's owner marks the pods, and the kind of that owner.
REVISION_OWNERS = {kind.revision_label: kind.kind for kind in KNOWN_KINDS if kind.revision_label is not None}


class WorkloadKinds(dict[tuple[str, str], WorkloadKind]):
    """The kinds that are looked at, by group and name; versions share their layout."""

    def __init__(self, extra: Iterable[WorkloadKind] = ()) -> None:
        super().__init__(((kind.group, kind.kind), kind) for kind in (*KNOWN_KINDS, *extra))


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

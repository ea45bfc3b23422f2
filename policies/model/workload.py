"""A pod, or an object whose controller makes pods of a template: read once, and passed on from there."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, reduce
from typing import Any, Final, NamedTuple, Self

from policies.manifests.fields import (
    LABELS,
    METADATA,
    SPEC,
    WRONG_TYPE,
    ErrorList,
    FieldError,
    FieldPath,
    descend,
    is_cut,
    member,
    required_value,
    text_member,
    wrong_type,
)
from policies.model.api_rules import API_RULES, ApiRule
from policies.model.cluster_kinds import REPLICA_SET, STATEFUL_SET
from policies.model.constraint import (
    EVERY_FIELD,
    INT32_MAX,
    Constraint,
    Merge,
    ReleaseFields,
    WhenUnsatisfiable,
    without_fields,
)
from policies.model.labels import LabelSelector, Operator, Requirement, label_selector_errors
from policies.model.node_affinity import NodeAffinity, read_node_affinity
from policies.model.partial_constraint import readable_constraint
from policies.model.pod_affinity import PodAffinity, read_pod_affinity
from policies.model.replica_number import ONE_REPLICA, ReplicaNumber, ReplicaOrigin
from policies.model.taints import Toleration, read_tolerations
from policies.model.validation import MAX_SIZE, constraint_errors, size_of
from policies.model.workload_kinds import KNOWN_KINDS, REVISION_OWNERS, WorkloadKind

#: The namespace of an object that names none, as kubectl has it.
DEFAULT_NAMESPACE = "default"

#: The key that a pod's controller has among its labels for those who look for pods: no label is named so.
OWNER_KEY: Final = ""

#: What a reference to an owner is recognized by.
_REFERENCE = ("apiVersion", "kind", "name")
#: What most pods have.
NO_POD_AFFINITY, NO_NODE_AFFINITY = PodAffinity(), NodeAffinity()
#: The annotation that defines when Helm runs an object, and its values for tests (Helm 3; others of Helm 2).
_HOOK: Final = "helm.sh/hook"
_TEST_HOOKS: Final = frozenset({"test", "test-success", "test-failure"})
_ANNOTATIONS = METADATA.child("annotations")


class WorkloadPart(StrEnum):
    """A part that some workloads have and others lack: a rule about it finds nothing without it."""

    #: Constraints that keep pods pending, and those that do not.
    HARD = "hard constraint"
    SOFT = "soft constraint"
    #: A hard constraint with ``minDomains`` above 1.
    MIN_DOMAINS = "minDomains"
    MATCH_LABEL_KEYS = "matchLabelKeys"
    #: Constraints whose selector selects some pods, all, or is missing.
    SELECTOR = "labelSelector"
    EMPTY_SELECTOR = "empty labelSelector"
    NO_SELECTOR = "no labelSelector"
    NODE_AFFINITY = "node affinity or nodeSelector"
    POD_AFFINITY = "pod affinity or anti-affinity"
    #: What its kind is.
    DAEMON_SET = "DaemonSet"
    #: The claim templates of a StatefulSet.
    CLAIM_TEMPLATES = "volumeClaimTemplates"


class Owner(NamedTuple):
    """The controller that an object belongs to."""

    api_version: str
    kind: str
    name: str


class NamedWorkload(NamedTuple):
    """A workload by kind, namespace and name."""

    kind: str  #: Its kind, with its group.
    namespace: str  #: Its namespace.
    name: str  #: Its name; empty if it has none.


class PodTemplate(NamedTuple):
    """The pod template of a workload; a pod is its own."""

    labels: dict[str, str]  #: The labels of its pods.
    annotations: dict[str, str]  #: Their annotations.
    spec: dict[str, Any]  #: Their spec; empty if there is none, as in a Rollout that refers to a Deployment.
    constraints: object  #: ``topologySpreadConstraints`` of any type, as it came; None if absent or null.

    @property
    def scheduler_name(self) -> str:
        """Which profile schedules its pods; empty for the default."""
        return text_member(self.spec, "schedulerName")


@dataclass(frozen=True, eq=False, kw_only=True)
class ConstraintEntry:
    """An entry of ``topologySpreadConstraints``."""

    constraint: Constraint  #: The constraint, with every field that the release drops at its default.
    path: FieldPath  #: Its path in the object.
    raw: Mapping[str, Any]  #: As it was written, without what is wrong with it.

    @cached_property
    def is_hard(self) -> bool:
        """Whether it keeps pods pending (DoNotSchedule)."""
        return self.constraint.when_unsatisfiable is WhenUnsatisfiable.DO_NOT_SCHEDULE


@dataclass(frozen=True, eq=False, kw_only=True)
class Workload:
    """A pod or workload as it was read; what is not needed by everything is read when it is requested."""

    obj: Mapping[str, Any]  #: The object as it came.
    kind: WorkloadKind  #: Where its kind keeps things.
    namespace: str  #: Its namespace; empty where a manifest names none.
    metadata: Mapping[str, Any]  #: Its metadata, empty where that is of the wrong type.
    labels: dict[str, str]  #: Its own labels, which scopes select by.
    annotations: dict[str, str]  #: Its own annotations.
    template: PodTemplate  #: Its pod template, or the pod itself.
    owner: Owner | None  #: The controller that it belongs to.
    shape_errors: tuple[FieldError, ...]  #: What is of the wrong type in the parts above.
    #: What the release of Kubernetes does with the fields of constraints.
    release: ReleaseFields = EVERY_FIELD
    #: Whether the API server has stored it before; False for what is being created. It is read off the uid
    #: that the API server gives, unless the reader knows better.
    stored: bool = False
    user: str | None = None  #: Who sends it to the API server; None for an object of a file.
    #: Returns the owner's selector, where it is known but the owner is not in the cluster.
    read_owner_selector: Callable[[], LabelSelector | None] | None = None
    folder: str = ""  #: The folder of its file; empty where it has none.
    unstated: ReplicaNumber = ONE_REPLICA  #: How many replicas are meant where it leaves it out.

    @classmethod
    def read(cls, obj: Mapping[str, Any], kind: WorkloadKind, namespace: str, **fields: Any) -> Self:
        """Read an object of any shape.

        Args:
            obj: The object.
            kind: Its kind.
            namespace: The namespace that it belongs to.
            **fields: What else is known of it, by the names of the attributes.
        """
        found = ErrorList()
        template = _read_template(obj, kind, found)
        if kind.is_pod:
            # Its type was checked when the template was read.
            metadata, labels, annotations = member(obj, "metadata"), template.labels, template.annotations
        else:
            metadata = found.mapping(obj.get("metadata"), METADATA)
            labels = found.labels(metadata.get("labels"), LABELS)
            annotations = found.labels(metadata.get("annotations"), _ANNOTATIONS)
        if "stored" not in fields:
            fields["stored"] = bool(metadata.get("uid"))
        workload = object.__new__(cls)
        # At once: a frozen dataclass sets one field after the other, which took a microsecond of each review.
        vars(workload).update(
            obj=obj,
            kind=kind,
            namespace=namespace,
            metadata=metadata,
            labels=labels,
            annotations=annotations,
            template=template,
            owner=controller_of(metadata),
            shape_errors=tuple(found.errors),
            **fields,
        )
        return workload

    @property
    def name(self) -> str:
        """Its name; empty where it has none."""
        return text_member(self.metadata, "name")

    def wire_form(self) -> NamedWorkload:
        """Return which object it is, as it is sent."""
        return NamedWorkload(self.kind.name, self.namespace, self.name)

    @property
    def title(self) -> str:
        """Kind and name, as messages use them."""
        return f"{self.kind.kind} {self.name}" if self.name else self.kind.kind

    @cached_property
    def identity(self) -> Hashable:
        """The key that manifests of one object share: namespace, kind and name.

        In whatever folder or build a second one is, it is another copy of the same object and never another
        application. Without a name each is an object of its own.
        """
        return (self.namespace, self.kind.kind, self.name or id(self))

    @property
    def source(self) -> Hashable:
        """The object that it was made from: objects with one source are builds of one, under any names."""
        return self.identity

    @property
    def is_test(self) -> bool:
        """Whether Helm runs it for ``helm test`` alone: it is not there while the release runs."""
        hooks = self.annotations.get(_HOOK, "").split(",")
        return any(hook.strip() in _TEST_HOOKS for hook in hooks)

    @property
    def all_kinds(self) -> frozenset[str]:
        """The kinds that it belongs to: its own, its owner's, and the owner's owner's if a label names it."""
        if self.owner is None:
            return self.kind.only_itself
        kinds = {self.kind.kind, self.owner.kind}
        if self.owner.kind == "ReplicaSet":
            kinds.update([kind for label, kind in REVISION_OWNERS.items() if label in self.template.labels])
        return frozenset(kinds)

    @cached_property
    def pod_path(self) -> FieldPath:
        """The path of its pod template, empty for a pod."""
        return FieldPath(self.kind.template)

    @cached_property
    def selector(self) -> LabelSelector | None:
        """The selector of its own pods; None where it has none that is valid, or one too large to check."""
        way = self.kind.selector
        if way is None:
            return None
        raw = descend(self.obj, way)
        if self.kind.selector_is_map:
            raw = {"matchLabels": raw} if raw else {}
        if not raw or size_of(raw, MAX_SIZE) > MAX_SIZE or label_selector_errors(raw, FieldPath()):
            return None
        return LabelSelector.parse(raw)

    @cached_property
    def owner_selector(self) -> LabelSelector | None:
        """The selector of its owner, where it is known but the owner is not in the cluster."""
        return None if self.read_owner_selector is None else self.read_owner_selector()

    @cached_property
    def own_pods(self) -> LabelSelector | None:
        """The selector of its own pods, with which the cluster is asked for them: see ``owner_of_pod``.

        A pod that it selects and that names another controller is that one's. What makes the pods of a kind
        of others is not known, so there the selector alone decides.
        """
        selector = self.selector
        if selector is None or not self.name or self.kind not in KNOWN_KINDS:
            return selector
        key = _owner_key(self.kind.kind, self.name, self.template.labels)
        return selector.narrowed(Requirement(OWNER_KEY, Operator.IN, ("", key)))

    @cached_property
    def replicas(self) -> int | None:
        """How many replicas are meant; None for kinds without, and for what is no number."""
        if self.kind.replicas is None:
            return None
        value = self.stated_replicas
        if value is None:
            return self.unstated.replicas
        return value if type(value) is int else None

    @property
    def states_replicas(self) -> bool:
        """Whether it states itself how many replicas it wants."""
        return self.stated_replicas is not None

    @property
    def replica_number(self) -> ReplicaNumber | None:
        """How many replicas are meant, and where the number comes from; None as for the number."""
        if self.replicas is None or not self.states_replicas:
            return None if self.replicas is None else self.unstated
        return ReplicaNumber(self.replicas, ReplicaOrigin.MANIFEST)

    @property
    def stated_replicas(self) -> object:
        """The number of replicas that it states, of any type; None if it states none."""
        way = self.kind.replicas
        return None if way is None else reduce(member, way[:-1], self.obj).get(way[-1])

    def controller_errors(self) -> Iterator[FieldError]:
        """Yield the errors outside of the pod template: of the number of replicas, and of a missing spec."""
        kind, replicas = self.kind, self.stated_replicas
        if replicas is not None and (type(replicas) is not int or not 0 <= replicas <= INT32_MAX):
            yield wrong_type(FieldPath(kind.replicas or ()), f"an integer from 0 to {INT32_MAX}", replicas)
        if kind.template[:1] == SPEC.segments and self.obj.get("spec") in (None, {}):
            yield required_value(SPEC, f"must have the pod template of the {kind.kind}", WRONG_TYPE)

    @cached_property
    def affinity(self) -> NodeAffinity:
        """Which nodes its pods require."""
        if not (self.template.spec.get("nodeSelector") or self.template.spec.get("affinity")):
            return NO_NODE_AFFINITY
        return read_node_affinity(self.template.spec, FieldPath(), ErrorList())

    @cached_property
    def tolerations(self) -> tuple[Toleration, ...]:
        """Which taints its pods tolerate."""
        return read_tolerations(self.template.spec.get("tolerations"), FieldPath(), ErrorList())

    @cached_property
    def pod_affinity(self) -> PodAffinity:
        """The terms of pod affinity and anti-affinity of its pods."""
        raw = self.template.spec.get("affinity")
        if not raw:
            return NO_POD_AFFINITY
        path = self.pod_path.child("spec", "affinity")
        return read_pod_affinity(raw, path, label_keys=self.release.affinity_label_keys)

    def lists_pair(self, topology_key: str, action: str) -> bool:
        """Return whether a constraint, be it broken, has a topology key and a ``whenUnsatisfiable``."""
        entries = ErrorList().objects(self.template.constraints, FieldPath())
        pair = (topology_key, str(action))
        return any((entry.get("topologyKey"), entry.get("whenUnsatisfiable")) == pair for _, entry in entries)

    @property
    def is_parallel(self) -> bool:
        """Whether the pods of a StatefulSet need not wait for each other (``podManagementPolicy``)."""
        return is_parallel(self.obj)

    @property
    def is_ordered(self) -> bool:
        """Whether it is a StatefulSet that creates a pod once all before it are ready."""
        return self.kind.kind == STATEFUL_SET[1] and not self.is_parallel

    @property
    def is_patch(self) -> bool:
        """Whether it is only a part of a workload, as Kustomize's patches are.

        It says nothing of the labels of the pods then: the API demands labels where a kind has a selector,
        and containers of every pod.
        """
        template = self.template
        return not template.labels and (self.kind.selector is not None or "containers" not in template.spec)

    @cached_property
    def errors(self) -> tuple[FieldError, ...]:
        """The errors in its constraints, and in the shape of the fields around them."""
        return api_errors(self)

    @cached_property
    def constraints(self) -> tuple[ConstraintEntry, ...]:
        """Its constraints; of one with errors, what can be read of it: a kept error hides nothing else."""
        return tuple(constraint_entries(self, self.errors))

    @property
    def broken_rules(self) -> frozenset[str]:
        """The rules that its errors break: those that the API server has."""
        return frozenset([error.rule for error in self.errors])

    @cached_property
    def parts(self) -> frozenset[WorkloadPart]:
        """The parts that it has of those that rules are about."""
        found: set[WorkloadPart] = set()
        for entry in self.constraints:
            constraint = entry.constraint
            found.add(WorkloadPart.HARD if entry.is_hard else WorkloadPart.SOFT)
            if constraint.min_domains > 1:
                found.add(WorkloadPart.MIN_DOMAINS)
            if constraint.match_label_keys:
                found.add(WorkloadPart.MATCH_LABEL_KEYS)
            if constraint.selector is None:
                found.add(WorkloadPart.NO_SELECTOR)
            else:
                is_empty = constraint.selector.empty
                found.add(WorkloadPart.EMPTY_SELECTOR if is_empty else WorkloadPart.SELECTOR)
        affinity = self.template.spec.get("affinity")
        of_nodes = isinstance(affinity, dict) and "nodeAffinity" in affinity
        if of_nodes or self.template.spec.get("nodeSelector"):
            found.add(WorkloadPart.NODE_AFFINITY)
        if affinity and not (of_nodes and len(affinity) == 1):
            found.add(WorkloadPart.POD_AFFINITY)
        if self.kind.kind == WorkloadPart.DAEMON_SET:
            found.add(WorkloadPart.DAEMON_SET)
        if self.kind.kind == STATEFUL_SET[1] and member(self.obj, "spec").get("volumeClaimTemplates"):
            found.add(WorkloadPart.CLAIM_TEMPLATES)
        return frozenset(found)


def is_parallel(obj: Mapping[str, Any]) -> bool:
    """Return whether the pods of a StatefulSet need not wait for each other."""
    return member(obj, "spec").get("podManagementPolicy") == "Parallel"


def owner_of_pod(labels: Mapping[str, str], metadata: Mapping[str, Any]) -> str:
    """Return what a pod's controller is found by, or the owner of its ReplicaSet; empty without one.

    >>> owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7d9f", "controller": True}
    >>> owner_of_pod({"pod-template-hash": "7d9f"}, {"ownerReferences": [owner]})
    'Deployment/web'
    """
    owner = controller_reference(metadata)
    return "" if owner is None else _owner_key(owner["kind"], owner["name"], labels)


def _owner_key(kind: str, name: str, labels: Mapping[str, str]) -> str:
    """Return what a controller is found by; of the ReplicaSet of a revision, what its owner is found by."""
    if kind == REPLICA_SET[1]:
        for label, owner in REVISION_OWNERS.items():
            if label in labels:
                return f"{owner}/{name.rpartition('-')[0]}"
    return f"{kind}/{name}"


def controller_of(metadata: Mapping[str, Any]) -> Owner | None:
    """Return the owner that controls an object; None if none does or the references are no such list."""
    reference = controller_reference(metadata)
    return None if reference is None else Owner(*map(reference.__getitem__, _REFERENCE))


def controller_reference(metadata: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the reference to the owner that controls an object; its type, kind and name are texts."""
    references = metadata.get("ownerReferences")
    for reference in references if isinstance(references, list) else ():
        if not isinstance(reference, dict) or reference.get("controller") is not True:
            continue
        named = [value for key in _REFERENCE if isinstance(value := reference.get(key), str)]
        if len(named) == len(_REFERENCE):
            return reference
    return None


def api_errors(workload: Workload) -> tuple[FieldError, ...]:
    """Return the errors that the API server would report in the constraints of a workload and around them."""
    template, kind = workload.template, workload.kind
    if template.constraints is None:
        return workload.shape_errors
    merge = Merge.BEFORE
    # The API server stamps a uid on an object before it merges.
    if kind.is_pod and workload.metadata.get("uid"):
        merge = Merge.FROZEN if workload.stored else Merge.CREATED
    found = constraint_errors(
        template.constraints,
        kind.constraints_path,
        labels=template.labels,
        merge=merge,
        of_template=not kind.is_pod,
        strict=workload.release.strict,
    )
    return (*workload.shape_errors, *(_in_release(found, workload) if found else ()))


#: What is added to what a release does not refuse.
_NOT_REFUSED: Final = ": the API server of this release takes it, and kube-scheduler then fails on the pod"


def _in_release(found: list[FieldError], workload: Workload) -> Iterator[FieldError]:
    """Yield the errors of constraints as the workload's release has them.

    It drops fields before it looks at their values. Source: ``dropDisabledFields``, ``pkg/api/pod/util.go``.
    """
    release, of_field = workload.release, len(workload.kind.constraints_path.segments) + 1
    for error in found:
        name = error.path.segments[of_field] if len(error.path.segments) > of_field else ""
        if name in release.dropped and error.rule != WRONG_TYPE:
            continue
        if error.rule == ApiRule.LABEL_SELECTOR_INVALID and not release.checks_selectors:
            yield replace(error, problem=f"{error.problem}{_NOT_REFUSED}")
        else:
            yield error


def constraint_entries(
    workload: Workload, errors: tuple[FieldError, ...], *, despite: AbstractSet[str] = API_RULES
) -> Iterator[ConstraintEntry]:
    """Yield the constraints of a workload that can be read.

    Args:
        workload: The workload.
        errors: Everything that is wrong with them.
        despite: The rules by whose errors a constraint is read all the same, as far as it can be.
    """
    path, raw, labels = (
        workload.kind.constraints_path,
        workload.template.constraints,
        workload.template.labels,
    )
    # Where errors were left out, it is not known which entries are good.
    if not isinstance(raw, list) or is_cut(errors):
        return
    broken: dict[tuple[str | int, ...], set[str]] = {}
    for error in errors:
        broken.setdefault(error.path.segments[: len(path.segments) + 1], set()).add(error.rule)
    if path.segments in broken:
        return
    unreadable = {str(way[-1]) for way in broken if way[:-1] == workload.kind.labels_path.segments}
    # Another constraint with the same effect takes nothing from this one.
    harmless = {ApiRule.CONSTRAINT_REPEATED} & despite
    for position, entry in enumerate(raw):
        where = path.index(position)
        rules = broken.get(where.segments, set())
        constraint, readable = None, entry
        if rules <= harmless and not unreadable:
            constraint = Constraint.parse(without_fields(entry, workload.release.dropped))
        elif rules <= despite and isinstance(entry, dict):
            constraint, readable = readable_constraint(entry, labels, unreadable) or (None, entry)
        if constraint is not None:
            if workload.release.dropped:
                constraint = constraint.without(workload.release.dropped)
            yield ConstraintEntry(constraint=constraint, path=where, raw=readable)


def _read_template(obj: Mapping[str, Any], kind: WorkloadKind, found: ErrorList) -> PodTemplate:
    """Read the pod template of an object, recording what is of the wrong type."""
    template = descend(obj, kind.template, found)
    metadata, spec = template.get("metadata"), template.get("spec")
    # Most are objects; a path is built for the others alone.
    if type(metadata) is not dict:
        metadata = found.mapping(metadata, FieldPath(kind.template).child("metadata"))
    if type(spec) is not dict:
        spec = found.mapping(spec, FieldPath(kind.template).child("spec"))
    labels, annotations = metadata.get("labels"), metadata.get("annotations")
    return PodTemplate(
        {} if labels is None else found.labels(labels, kind.labels_path),
        {} if annotations is None else found.labels(annotations, kind.annotations_path),
        spec,
        spec.get("topologySpreadConstraints"),
    )

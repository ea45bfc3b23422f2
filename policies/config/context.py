"""The context of decisions besides the object: policies, scheduler and cluster, and how files give it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from policies.config.controllers import BUILT_IN_CONTROLLERS, NODE, OWN_GROUPS, TRUSTED_CONTROLLERS
from policies.config.policy_set import PolicySet
from policies.config.spread_policy import DefaultsMode, SpreadPolicy
from policies.manifests.file_name import shown_file
from policies.model.constraint import ReleaseFields
from policies.model.replica_sources import ReplicaSources
from policies.model.repository import Repository
from policies.model.scaling import KARPENTER_NODE_LABEL, Tool
from policies.model.snapshot import Namespace, Snapshot
from policies.model.topology import ClusterTopology, KnownStorage
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from policies.model.workload import Workload
from policies.model.workload_kinds import WorkloadKind, WorkloadKinds, parse_workload_kind
from policies.rules.base import Context
from policies.scheduler.configuration import SchedulerConfig, load_scheduler_config
from policies.scheduler.release_changes import Behavior
from policies.scheduler.releases import behavior_of, fields_in, parse_release, release_fields

if TYPE_CHECKING:
    from policies.model.node import Node
    from policies.scheduler.index import ClusterIndex

#: Why a caller that may be anyone learns nothing of the cluster.
STRANGER: Final = "the request has neither the secret path of the webhooks nor a client certificate"
#: Constraints for which is kept what was derived from the nodes: the next workload may have the same. With
#: 5,000 nodes it can be a megabyte for each.
MAX_KEPT: Final = 64


@dataclass(slots=True)
class _Derived:
    """The rule context derived from the cluster, until a node changes."""

    #: The nodes, None without a cluster, and what rules are given of them.
    last: tuple[tuple[Node, ...] | None, Context] | None = None
    #: What was compared with them: constraints, each with what decides about its nodes.
    compared: set[Hashable] = field(default_factory=set)
    stranger: AdmissionContext | None = None  #: The context of strangers; None until one calls.


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionContext:
    """Everything a decision looks at, gathered once."""

    policies: tuple[SpreadPolicy, ...]  #: In their order; a ``PolicySet``, whatever it was made of.
    defaults: DefaultsMode = DefaultsMode.POLICY  #: Which default constraints are injected.
    scheduler: SchedulerConfig | None = None  #: kube-scheduler's configuration; None if it was not given.
    #: The cluster; None if none is connected, or its cache cannot be used.
    cluster: ClusterIndex | None = None
    live: bool = False  #: Whether that cluster is followed, so that what is missing there may come.
    withheld: str = ""  #: Why the cache of a connected cluster cannot be used; empty if it can, or none is.
    kubernetes_version: KubernetesVersion = KNOWN_VERSION  #: The cluster's release.
    #: What that release does, in place of the table of releases; None for the table.
    judged_as: Behavior | None = None
    kinds: WorkloadKinds = field(default_factory=WorkloadKinds)  #: The kinds of workload that are looked at.
    #: The users that are believed if they name an owner of a custom kind.
    trusted_controllers: frozenset[str] = frozenset(TRUSTED_CONTROLLERS)
    #: The number of replicas of a workload that leaves it out, from other objects.
    replica_sources: ReplicaSources = field(default_factory=ReplicaSources, repr=False, compare=False)
    reads_stored: bool = False  #: Whether objects that are read are those of the cluster, also without a uid.
    #: Rules of the API server that an object may break and is placed all the same.
    tolerated: frozenset[str] = frozenset()
    #: What that release does with the fields of constraints.
    release: ReleaseFields = field(init=False, repr=False, compare=False)
    #: The cluster's services, namespaces and owners; None if none is connected.
    snapshot: Snapshot | None = field(init=False, repr=False, compare=False)
    #: The namespaces, by which policies select objects; empty if none is connected.
    namespaces: Mapping[str, Namespace] = field(init=False, repr=False, compare=False)
    _derived: _Derived = field(default_factory=_Derived, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.policies, PolicySet):
            object.__setattr__(self, "policies", PolicySet(self.policies))
        fields = release_fields(self.kubernetes_version)
        if self.judged_as is not None:
            fields = fields_in(self.judged_as, strict=fields.strict)
        object.__setattr__(self, "release", fields)
        snapshot = None if self.cluster is None else self.cluster.snapshot
        object.__setattr__(self, "snapshot", snapshot)
        object.__setattr__(self, "namespaces", {} if snapshot is None else snapshot.namespaces)

    def with_policies(self, policies: tuple[SpreadPolicy, ...]) -> AdmissionContext:
        """Return the same with other policies in force."""
        return replace(self, policies=policies)

    def with_namespace(self, name: str, namespace: Namespace) -> AdmissionContext:
        """Return the same with a namespace as it would be."""
        changed = replace(self)
        if self.snapshot is not None:
            namespaces = self.snapshot.namespaces | {name: namespace}
            object.__setattr__(changed, "snapshot", replace(self.snapshot, namespaces=namespaces))
            object.__setattr__(changed, "namespaces", namespaces)
        return changed

    def without_cluster(self, why: str) -> AdmissionContext:
        """Return the same without the cache of the cluster, for a reason that is reported."""
        return replace(self, cluster=None, withheld=why)

    def for_stranger(self) -> AdmissionContext:
        """Return the same for a caller that may be anyone: nothing of the cluster can be told.

        What remains is which policies select its namespace, and whether that opts out of injection: who is
        taken for a stranger by mistake must not get past a policy.
        """
        if self._derived.stranger is None:
            stranger = self.without_cluster(STRANGER)
            object.__setattr__(stranger, "namespaces", self.namespaces)
            self._derived.stranger = stranger
        return self._derived.stranger

    def reading(self) -> AbstractContextManager[object]:
        """Keep events away while something is decided, so that all of it is of one state of the cluster."""
        return nullcontext() if self.cluster is None else self.cluster.reading()

    @property
    def behavior(self) -> Behavior:
        """The behavior of that release."""
        return self.judged_as or behavior_of(self.kubernetes_version)

    def kind_of(self, obj: Mapping[str, Any]) -> WorkloadKind | None:
        """Return the kind of a pod or workload; None for any other object."""
        version, name = obj.get("apiVersion"), obj.get("kind")
        if not isinstance(version, str) or not isinstance(name, str):
            return None
        return self.kinds.get((version.rpartition("/")[0], name))

    def policies_for(self, workload: Workload) -> list[SpreadPolicy]:
        """Return the policies whose scope matches an object, in order."""
        if not self.policies:
            return []
        namespace = self.namespaces.get(workload.namespace)
        labels = None if namespace is None else namespace.labels
        policies: PolicySet = self.policies  # type: ignore[assignment]  # see __post_init__
        return policies.selecting(workload.namespace, labels, workload.labels, self.kinds_of(workload))

    def possible_policies(self, workload: Workload) -> list[SpreadPolicy]:
        """Return the policies whose scope matches an object, or may while its namespace is not known."""
        if workload.namespace in self.namespaces:
            return self.policies_for(workload)
        where = workload.namespace, workload.labels, self.kinds_of(workload)
        return [policy for policy in self.policies if policy.scope.may_match(*where)]

    def kinds_of(self, workload: Workload) -> frozenset[str]:
        """Return the kinds that policies select an object by: its owner's only if a controller made it."""
        return workload.all_kinds if self.made_by_controller(workload) else workload.kind.only_itself

    def made_by_controller(self, workload: Workload) -> bool:
        """Return whether it is proved that a controller made an object of a template that was reviewed.

        An owner is believed if the request is from the account of a built-in controller, and one of a custom
        kind whose template is reviewed if it is from a trusted controller. In a file, which no user sends,
        any owner with a template is believed.
        """
        owner, user = workload.owner, workload.user
        if owner is None:
            return False
        if user in BUILT_IN_CONTROLLERS:
            return True
        if user is not None and user.startswith(NODE):
            return (owner.api_version, owner.kind) == ("v1", "Node")
        group = owner.api_version.rpartition("/")[0]
        known = self.kinds.get((group, owner.kind))
        if known is None or known.is_pod:
            return False
        return user is None or (user in self.trusted_controllers and group not in OWN_GROUPS)

    def for_rules(self) -> Context:
        """Return the context that rules run with besides the object, the same one until a node changes.

        There is no other workload, autoscaler of pods or disruption budget in it: those of the cluster are
        not followed, so rules run as on a single object.
        """
        nodes = None
        if self.cluster is not None:
            with self.cluster.reading():
                nodes = self.cluster.nodes.listed()
        last = self._derived.last
        if last is None or last[0] is not nodes:
            # At once, since threads share it.
            last = self._derived.last = nodes, _rule_context(nodes, self)
        return last[1]

    def make_room(self, workload: Workload) -> None:
        """Forget what was derived from the nodes, once with one workload more that is too much."""
        of_pod, compared = (workload.affinity, workload.tolerations), self._derived.compared
        more: set[Hashable] = {
            of_pod,
            *((of_pod, entry.constraint.of_domains) for entry in workload.constraints),
        }
        compared |= more
        inventory = self.for_rules().inventory
        if inventory is not None and len(compared) > MAX_KEPT:
            inventory.memo.clear()
            self._derived.compared = more


def _rule_context(nodes: tuple[Node, ...] | None, context: AdmissionContext) -> Context:
    domains = listed_domains(context.policies) if context.withheld != STRANGER else {}
    known = bool(nodes) or bool(domains)
    karpenter = any(KARPENTER_NODE_LABEL in node.labels for node in nodes or ())
    cluster = context.cluster
    storage = None if cluster is None else KnownStorage(cluster.storage, cluster.reading)
    return Context(
        version=context.kubernetes_version,
        repository=Repository(tools={Tool.KARPENTER} if karpenter else set()),
        # A cluster without nodes has yet to get some: of those nothing is known.
        inventory=ClusterTopology(nodes or None, domains, storage) if known else None,
        scheduler=context.scheduler,
    )


def listed_domains(policies: Iterable[SpreadPolicy]) -> dict[str, tuple[str, ...]]:
    """Return the domains that policies list, those of one key together."""
    merged: dict[str, tuple[str, ...]] = {}
    for policy in policies:
        for key, values in policy.topology.domains.items():
            merged[key] = tuple(dict.fromkeys((*merged.get(key, ()), *values)))
    return merged


def load_context(
    read: Callable[[str], bytes],
    *,
    policies: Iterable[str] = (),
    scheduler_config: str | None = None,
    kubernetes_version: str | None = None,
    workload_kinds: Iterable[str] = (),
    default_version: KubernetesVersion = KNOWN_VERSION,
) -> AdmissionContext:
    """Load everything but the cluster.

    Args:
        read: Returns the content of a file.
        policies: SpreadPolicy files, or ``builtin:NAME``.
        scheduler_config: A KubeSchedulerConfiguration file; empty for none.
        kubernetes_version: The cluster's release; empty for the default.
        workload_kinds: Descriptions of further kinds with a pod template.
        default_version: The release where none is named.

    Raises:
        DocumentError: A file is not what it should be.
        UsageError: The release or a kind is none.
    """
    kinds = WorkloadKinds(map(parse_workload_kind, workload_kinds))
    return AdmissionContext(
        policies=_load_policies(tuple(policies), read),
        scheduler=load_scheduler_config(read(scheduler_config), shown_file(scheduler_config))
        if scheduler_config
        else None,
        kubernetes_version=parse_release(kubernetes_version) if kubernetes_version else default_version,
        kinds=kinds,
    )


def _load_policies(names: tuple[str, ...], read: Callable[[str], bytes]) -> tuple[SpreadPolicy, ...]:
    if not names:
        return ()
    # Only a program with policies pays for reading them.
    from policies.config.loader import load_policies  # noqa: PLC0415

    return load_policies(names, read)

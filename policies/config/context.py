"""What decisions depend on besides the object: policies, the scheduler's configuration, the cluster."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from policies.config.rule_context import RuleContexts
from policies.config.spread_policy import SpreadPolicy
from policies.config.subject import Subject
from policies.model.snapshot import Snapshot
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from policies.model.workload import WorkloadKinds
from policies.scheduler.configuration import SchedulerConfig
from policies.scheduler.releases import Behavior, behavior_of

if TYPE_CHECKING:
    # Only who has a cluster pays for numpy.
    from policies.scheduler.index import ClusterIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionContext:
    """Everything a decision looks at, gathered once.

    Attributes:
        policies: In the order they were given.
        scheduler: kube-scheduler's configuration; None if it was not given.
        cluster: The cluster; None if none is connected, or its picture cannot be used.
        live: Whether that cluster is followed, so that what is missing there may come.
        withheld: Why the picture of a connected cluster cannot be used; empty if it can, or none is.
        kubernetes_version: The cluster's release.
        kinds: The kinds of workload that are looked at.
        known_cluster: What rules are given of it all.
    """

    policies: tuple[SpreadPolicy, ...]
    scheduler: SchedulerConfig | None = None
    cluster: ClusterIndex | None = None
    live: bool = False
    withheld: str = ""
    kubernetes_version: KubernetesVersion = KNOWN_VERSION
    kinds: WorkloadKinds = field(default_factory=WorkloadKinds)
    known_cluster: RuleContexts = field(default_factory=RuleContexts, init=False, repr=False, compare=False)

    def without_cluster(self, why: str) -> AdmissionContext:
        """Return the same without the picture of the cluster, for a reason that is told."""
        return replace(self, cluster=None, withheld=why)

    def reading(self) -> AbstractContextManager[object]:
        """Keep events away while something is decided, so that all of it is of one picture."""
        return nullcontext() if self.cluster is None else self.cluster.reading()

    @property
    def snapshot(self) -> Snapshot | None:
        """The cluster's services, namespaces and owners; None if none is connected."""
        return None if self.cluster is None else self.cluster.snapshot

    @property
    def behavior(self) -> Behavior:
        """What that release does."""
        return behavior_of(self.kubernetes_version)

    @property
    def strict(self) -> bool:
        """Whether a field that the rules do not know is an error: a newer release may have brought it."""
        return self.kubernetes_version <= KNOWN_VERSION

    def policies_for(self, subject: Subject) -> list[SpreadPolicy]:
        """Return the policies whose scope holds an object, in order."""
        namespace = self.snapshot.namespaces.get(subject.namespace) if self.snapshot else None
        labels = None if namespace is None else namespace.labels
        kinds = subject.all_kinds
        return [
            policy
            for policy in self.policies
            if policy.scope.matches(subject.namespace, labels, subject.labels, kinds)
        ]

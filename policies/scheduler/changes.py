"""Changes of a pod, of a constraint in force for it, or of the cluster, with which it could fit.

And what they give up, by which they are ordered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, NamedTuple

from policies.model.constraint import NodeInclusionPolicy, WhenUnsatisfiable
from policies.model.resources import Requests
from policies.model.taints import Taint
from policies.scheduler.request import SchedulingRequest


class ChangeKind(StrEnum):
    """The kinds of change, ordered by how little each gives up.

    Removing a gate gives up nothing. Then come mistakes: a misspelled key, and pods that should not count.
    Then nodes that will be free anyway; the inclusion policies, with which nodes that the pod cannot use no
    longer count; further nodes; what the pod requests; then nodes that are reserved. Only then come the
    guarantees: a number, then all of it, which becomes soft; then what the pod requires and would no longer
    get. Last are the data of volumes, and with them the class that their claims are made in.
    """

    SCHEDULING_GATES = "schedulingGates"
    TOPOLOGY_KEY = "topologyKey"
    LABEL_SELECTOR = "labelSelector"
    MATCH_LABEL_KEYS = "matchLabelKeys"
    TERMINATION = "termination"
    CORDON = "cordon"
    NODE_TAINTS_POLICY = "nodeTaintsPolicy"
    NODE_AFFINITY_POLICY = "nodeAffinityPolicy"
    NODE_LABEL = "nodeLabel"
    NEW_NODE = "newNode"
    REQUESTS = "requests"
    TOLERATIONS = "tolerations"
    MIN_DOMAINS = "minDomains"
    MAX_SKEW = "maxSkew"
    WHEN_UNSATISFIABLE = "whenUnsatisfiable"
    NODE_SELECTOR = "nodeSelector"
    NODE_AFFINITY = "nodeAffinity"
    NODE_NAME = "nodeName"
    CONSTRAINT = "topologySpreadConstraints"
    CLAIM = "persistentVolumeClaim"
    STORAGE_CLASS = "storageClass"


#: What loses the data of volumes, unless they are restored from a backup.
LOSES_DATA: Final = frozenset({ChangeKind.CLAIM, ChangeKind.STORAGE_CLASS})
#: What is changed in the cluster; all else is in the manifest, or where a constraint comes from.
IN_CLUSTER: Final = LOSES_DATA | {
    ChangeKind.TERMINATION,
    ChangeKind.CORDON,
    ChangeKind.NODE_LABEL,
    ChangeKind.NEW_NODE,
}

_RANK: Final = {what: rank for rank, what in enumerate(ChangeKind)}


class RemadeClaims(NamedTuple):
    """Claims that are deleted with their data and made again, for volumes where the pod may go."""

    namespace: str  #: Their namespace.
    pod: str  #: The pod that uses them.
    names: tuple[str, ...]  #: Their names.
    storage_class: str = ""  #: The class that they are made in; empty for their own.
    #: The class that this one is like but for waiting for the pod; empty for a class that exists.
    like: str = ""


#: Of changes that leave claims alone.
NOTHING_REMADE: Final = RemadeClaims("", "", ())


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterChange:
    """One change of the cluster."""

    what: ChangeKind  #: What is changed, one of ``IN_CLUSTER``.
    nodes: tuple[str, ...] = ()  #: The names of the nodes that change, of new nodes those that they are like.
    count: int = 1  #: How many nodes, or claims, change.
    #: The label that nodes get; the topology key whose domain new nodes are in, empty for any domain.
    key: str = ""
    value: str | None = None  #: The value of the label; None for a domain that there is not yet.
    #: The keys of taints that new nodes must not have, though those that they are like have them.
    without: tuple[str, ...] = ()
    remade: RemadeClaims = NOTHING_REMADE  #: The claims that are made again, none where nodes change.

    @property
    def cost(self) -> tuple[float, float]:
        """The sort key of changes: the least given up first."""
        return _RANK[self.what], self.count


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change; without any of the values below ``constraint`` it removes what is named."""

    what: ChangeKind  #: What is changed.
    #: Which constraint, by its position among those in force; None for the pod.
    constraint: int | None = None
    value: int | str | None = None  #: The new value of the constraint's field.
    taints: tuple[Taint, ...] = ()  #: The taints to tolerate.
    #: The most that the pod may request, of the resources of which it must request less.
    requests: Requests = ()
    given_up: float = 0  #: How much of a number is given up; compares changes of one kind.
    #: Whether so little is left of what the field is for that the next kind of change, or even removing it,
    #: is better: a maxSkew that allows nearly everything, a node that runs the cluster.
    hollow: bool = False

    @property
    def cost(self) -> tuple[float, float]:
        """The sort key of changes: the least given up first."""
        if self.hollow:
            # Softened, the constraint still spreads where it can; the control plane comes after everything.
            behind = (
                ChangeKind.WHEN_UNSATISFIABLE if self.what is ChangeKind.MAX_SKEW else ChangeKind.CONSTRAINT
            )
            return _RANK[behind] + 0.5, self.given_up
        # Nodes that the pod cannot use count towards minDomains then: it is minDomains that is given up.
        what = ChangeKind.MAX_SKEW if self.value == NodeInclusionPolicy.IGNORE else self.what
        return _RANK[what], self.given_up

    def apply(self, request: SchedulingRequest) -> SchedulingRequest:
        """Return a request with the constraint changed, as if its source had been."""
        if self.constraint is None:
            raise ValueError(f"{self.what} is not a field of a constraint")
        before, after = request.constraints[: self.constraint], request.constraints[self.constraint + 1 :]
        if self.what is ChangeKind.CONSTRAINT:
            return replace(request, constraints=(*before, *after))
        applied = request.constraints[self.constraint]
        changed = applied._replace(constraint=replace(applied.constraint, **self._fields()))
        return replace(request, constraints=(*before, changed, *after))

    def _fields(self) -> dict[str, Any]:
        match self.what:
            case ChangeKind.TOPOLOGY_KEY:
                return {"topology_key": str(self.value)}
            case ChangeKind.NODE_TAINTS_POLICY:
                return {"node_taints_policy": NodeInclusionPolicy(str(self.value))}
            case ChangeKind.NODE_AFFINITY_POLICY:
                return {"node_affinity_policy": NodeInclusionPolicy(str(self.value))}
            case ChangeKind.WHEN_UNSATISFIABLE:
                # minDomains goes with DoNotSchedule only.
                return {"when_unsatisfiable": WhenUnsatisfiable(str(self.value)), "min_domains": 1}
            case ChangeKind.MIN_DOMAINS:
                return {"min_domains": self.value}
            case _:
                return {"max_skew": self.value}

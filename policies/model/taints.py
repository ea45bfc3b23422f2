"""Taints of nodes and tolerations of pods: which taint keeps which pod away.

Source: ``api/core/v1/toleration.go`` and ``FindMatchingUntoleratedTaint``
(``component-helpers/scheduling/corev1/helpers.go``), Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from policies.manifests.fields import ErrorList, FieldPath, unsupported_value


class TaintEffect(StrEnum):
    """The effect of a taint on pods that do not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


#: The effects that keep a pod off a node; PreferNoSchedule never does.
SCHEDULING_EFFECTS: frozenset[str] = frozenset({TaintEffect.NO_SCHEDULE, TaintEffect.NO_EXECUTE})
#: Every operator of a toleration. Gt and Lt wait behind the gate ``TaintTolerationComparisonOperators``, off
#: by default from 1.35, where they came, to 1.37: with it off they tolerate nothing.
TOLERATION_OPERATORS = ("Exists", "Equal", "Gt", "Lt")
#: The rule that a toleration with another operator breaks.
TOLERATION_OPERATOR_UNKNOWN = "toleration-operator-unknown"


class Taint(NamedTuple):
    """A mark on a node that keeps away the pods that do not tolerate it."""

    key: str  #: Its key.
    value: str  #: Its value.
    effect: str  #: Its effect.

    def __str__(self) -> str:
        """Return it as kubectl writes it.

        >>> str(Taint("team", "data", "NoSchedule")), str(Taint("team", "", "NoSchedule"))
        ('team=data:NoSchedule', 'team:NoSchedule')
        """
        return f"{self.key}{'=' if self.value else ''}{self.value}:{self.effect}"


#: What a pod must tolerate to go to a cordoned node.
CORDON_TAINT = Taint("node.kubernetes.io/unschedulable", "", TaintEffect.NO_SCHEDULE.value)


#: The keys of taints for a node's current condition: those of the node controllers and of ``kubectl
#: cordon`` (``well_known_taints.go``, Kubernetes 1.36), of cloud controllers while a node starts, and of
#: Cluster Autoscaler and Karpenter while one starts or ends.
TRANSIENT_TAINTS = frozenset(
    {
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/memory-pressure",
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/pid-pressure",
        "node.kubernetes.io/network-unavailable",
        "node.kubernetes.io/out-of-service",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node.cloudprovider.kubernetes.io/shutdown",
        "ToBeDeletedByClusterAutoscaler",
        "DeletionCandidateOfClusterAutoscaler",
        "karpenter.sh/disrupted",
        "karpenter.sh/unregistered",
    }
)


class Toleration(NamedTuple):
    """A set of taints that a pod tolerates; an empty key or effect matches every one."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        """Return whether the taint does not keep the pod away.

        >>> Toleration("gpu", "Exists").tolerates(Taint("gpu", "a100", "NoSchedule"))
        True
        """
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        return self.operator == "Exists" or (self.operator == "Equal" and self.value == taint.value)


def read_taints(raw: object, path: FieldPath, found: ErrorList) -> tuple[Taint, ...]:
    """Read ``spec.taints`` of a node, in its order."""
    return tuple(
        Taint(
            found.text(entry.get("key"), where.child("key")),
            found.text(entry.get("value"), where.child("value")),
            found.text(entry.get("effect"), where.child("effect")),
        )
        for where, entry in found.objects(raw, path)
    )


def read_tolerations(raw: object, path: FieldPath, found: ErrorList) -> tuple[Toleration, ...]:
    """Read ``spec.tolerations`` of a pod, in its order."""
    tolerations = []
    for where, entry in found.objects(raw, path):
        operator = found.text_of(entry, "operator", where) or "Equal"
        if operator not in TOLERATION_OPERATORS:
            path, supported = where.child("operator"), TOLERATION_OPERATORS
            found.add(unsupported_value(path, operator, supported, TOLERATION_OPERATOR_UNKNOWN))
        tolerations.append(
            Toleration(
                found.text_of(entry, "key", where),
                operator,
                found.text_of(entry, "value", where),
                found.text_of(entry, "effect", where),
            )
        )
    return tuple(tolerations)


def first_untolerated(
    taints: Iterable[Taint], tolerations: Iterable[Toleration], effects: frozenset[str]
) -> Taint | None:
    """Return the first taint of the given effects that nothing tolerates; None if all are tolerated."""
    for taint in taints:
        if taint.effect in effects and not any(toleration.tolerates(taint) for toleration in tolerations):
            return taint
    return None

"""Whether a change of an object makes a pod, and whether pods that run now may be gone by then.

Sources, Kubernetes 1.36: ``sync.go``, ``rolling.go`` and ``util/deployment_util.go`` below
``pkg/controller/deployment``, and the API's descriptions of the fields that are read here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from policies.config.subject import Subject
from policies.manifests.fields import ErrorList
from policies.model.workload import descend

#: The kinds whose next pod cannot be placed like others: a DaemonSet's pods each have their own node and are
#: not made where it is not suitable, and nobody makes pods of a PodTemplate.
NOT_PLACED = frozenset({"DaemonSet", "PodTemplate"})
#: The kinds that change a running pod for nobody: a new template waits for pods that are made anyway.
WITHOUT_ROLLOUT = frozenset({"ReplicaSet", "ReplicationController", "Job", "CronJob"})
#: What Deployment's ``maxUnavailable`` and ``maxSurge`` are where they are absent:
#: ``SetDefaults_Deployment``, ``pkg/apis/apps/v1/defaults.go``.
DEFAULT_SHARE = "25%"


class NextPodTiming(Enum):
    """When the next pod of an object is made."""

    #: No pod is made.
    NONE = "none"
    #: At once, beside all pods that run.
    NOW = "now"
    #: At another time, or only after some of the pods that run have gone.
    LATER = "later"


def next_pod_timing(subject: Subject, old: Subject | None) -> NextPodTiming:
    """Tell when a change makes a pod.

    Args:
        subject: The object as it would be stored.
        old: What is stored now, for an update.
    """
    if subject.kind.kind in NOT_PLACED or not subject.pod.exists or _is_idle(subject) or _is_paused(subject):
        return NextPodTiming.NONE
    if subject.kind.is_pod:
        return NextPodTiming.NOW if old is None else NextPodTiming.NONE
    if old is None or _is_idle(old):
        return NextPodTiming.LATER if subject.kind.kind == "CronJob" else NextPodTiming.NOW
    # A Deployment may have got its template while it was paused.
    if _template(subject) != _template(old) or _is_paused(old):
        return NextPodTiming.NOW if _must_surge(subject, old) else NextPodTiming.LATER
    if _replicas(subject) <= _replicas(old):
        return NextPodTiming.NONE
    return NextPodTiming.LATER if _is_rolling(old) else NextPodTiming.NOW


def _is_idle(subject: Subject) -> bool:
    """Tell whether an object keeps no pods at all."""
    spec = _spec(subject)
    return _replicas(subject) == 0 or spec.get("suspend") is True or spec.get("parallelism") == 0


def _is_paused(subject: Subject) -> bool:
    """Tell whether no pod is made of a Deployment's or Rollout's present template."""
    return _spec(subject).get("paused") is True


def _must_surge(subject: Subject, old: Subject) -> bool:
    """Tell whether a new template's first pod must run before any pod of the old one may go.

    With the default of 25 % that is so up to three replicas, for ``maxUnavailable`` is rounded down. Only
    Deployments are known well enough to say.
    """
    if (subject.kind.group, subject.kind.kind) != ("apps", "Deployment"):
        return False
    replicas = _replicas(subject)
    if replicas < _replicas(old) or _is_rolling(old):
        return False
    strategy = _member(_spec(subject), "strategy")
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return False
    limits = _member(strategy, "rollingUpdate")
    # Where both are 0, the controller takes one pod away: ResolveFenceposts.
    return (
        _share(limits.get("maxUnavailable", DEFAULT_SHARE), replicas) == 0
        and _share(limits.get("maxSurge", DEFAULT_SHARE), 100) > 0
    )


def _is_rolling(subject: Subject) -> bool:
    """Tell whether pods of an earlier template run, which will go."""
    if subject.kind.kind in WITHOUT_ROLLOUT:
        return False
    status = _member(subject.obj, "status")
    # The API leaves out zeros.
    return bool(status.get("replicas", 0) != status.get("updatedReplicas", 0))


def _share(value: object, replicas: int) -> int:
    """Return a number or a percentage of some replicas, rounded down; 1 for what is neither.

    >>> _share("25%", 3), _share("25%", 4), _share(2, 3)
    (0, 1, 2)
    """
    if type(value) is int:
        return value
    if isinstance(value, str) and value.endswith("%") and value[:-1].isdecimal() and len(value) < 8:
        return int(value[:-1]) * replicas // 100
    return 1


def _replicas(subject: Subject) -> int:
    """Return how many pods a workload keeps; 1 where it does not say, 0 where that is no number."""
    way = subject.kind.replicas
    if way is None:
        return 1
    value = descend(subject.obj, way[:-1], ErrorList()).get(way[-1])
    if value is None:
        return 1
    return value if type(value) is int else 0


def _template(subject: Subject) -> dict[str, Any]:
    return descend(subject.obj, subject.kind.template, ErrorList())


def _spec(subject: Subject) -> dict[str, Any]:
    return _member(subject.obj, "spec")


def _member(parent: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = parent.get(name)
    return value if isinstance(value, dict) else {}

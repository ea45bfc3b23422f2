"""Equivalence groups: pending pods of one controller that are alike to the scheduler.

Source: ``core/scaleup/equivalence/groups.go``, Cluster Autoscaler 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from planning.simulation.cluster_simulation import QueuedPod
from policies.scheduler.profile import DEFAULT_PROFILE
from policies.scheduler.request import ConstraintOrigin, SchedulingRequest

#: Different pods of one controller that make groups; each further one is a group of its own.
MOST_GROUPS: Final = 10
#: The lowest priority for which nodes are added: the default of ``--expendable-pods-priority-cutoff``.
LOWEST_PRIORITY: Final = -10
#: Constraints that the pod has itself, whoever wrote them.
OF_POD: Final = frozenset({ConstraintOrigin.POD, ConstraintOrigin.POLICY})


@dataclass(slots=True, eq=False)
class PodGroup:
    """Pods that are alike."""

    request: SchedulingRequest  #: What each of them asks for, as the filters see it.
    owner: str = ""  #: What identifies their controller; empty without one.
    pods: list[QueuedPod] = field(default_factory=list)  #: The pods.


def group_pods(pods: Iterable[QueuedPod]) -> list[PodGroup]:
    """Return the groups of pods, in the order of their first pods.

    Cluster Autoscaler takes the groups in a random order where they are equally large.
    """
    groups: list[PodGroup] = []
    of_owner: dict[tuple[str, str], list[PodGroup]] = {}
    seen: dict[int, SchedulingRequest] = {}
    for pod in pods:
        # Replicas share one request.
        request = seen.setdefault(id(pod.request), filtered_request(pod.request))
        siblings = of_owner.setdefault((request.pod.namespace, pod.owner), []) if pod.owner else []
        group = next((each for each in siblings if each.request is request or each.request == request), None)
        if group is None:
            group = PodGroup(request, pod.owner)
            groups.append(group)
            if len(siblings) < MOST_GROUPS:
                siblings.append(group)
        group.pods.append(pod)
    return groups


def filtered_request(request: SchedulingRequest) -> SchedulingRequest:
    """Return a request as Cluster Autoscaler sees it: it runs the filters of the default profile.

    ScheduleAnyway constraints filter nothing, and the scheduler's default constraints are not known to it.
    """
    pod = request.pod._replace(name="", uid="", nominated_node="")
    constraints = tuple(each for each in request.constraints if each.is_hard and each.origin in OF_POD)
    return replace(request, pod=pod, constraints=constraints, profile=DEFAULT_PROFILE)

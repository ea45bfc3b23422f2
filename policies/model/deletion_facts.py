"""The facts by which controllers rank pods for deletion, and for which autoscalers leave them where they are.

Sources: ``ActivePodsWithRanks`` (``pkg/controller/controller_utils.go``) and
``GetDeletionCostFromPodAnnotations`` (``pkg/apis/core/helper/helpers.go``), Kubernetes 1.36;
``utils/drain/drain.go``, Cluster Autoscaler 1.36; ``pkg/utils/pod/scheduling.go``, Karpenter 1.9.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from policies.manifests.fields import member, object_items, text_member
from policies.model.workload import DEFAULT_NAMESPACE

#: The annotation with the cost of a pod's deletion.
DELETION_COST_ANNOTATION: Final = "controller.kubernetes.io/pod-deletion-cost"
#: What the annotation may hold, but for its size; anything else counts as 0.
_COST: Final = re.compile(r"-\d{1,10}|0|[1-9]\d{0,9}", re.ASCII)
#: The bounds of the annotation's value.
COSTS: Final = range(-(2**31), 2**31)
#: The phases, those whose pods are deleted first in front.
PHASES: Final = ("Pending", "Unknown", "Running")
_PREFIX: Final = "cluster-autoscaler.kubernetes.io"
_SAFE_TO_EVICT: Final = f"{_PREFIX}/safe-to-evict"
_LOCAL_VOLUMES: Final = f"{_PREFIX}/safe-to-evict-local-volumes"
_DAEMON: Final = f"{_PREFIX}/daemonset-pod"
#: The annotation with which Cluster Autoscaler keeps a node.
SCALE_DOWN_DISABLED: Final = f"{_PREFIX}/scale-down-disabled"
#: The annotation with which Karpenter keeps a node, or that of a pod.
DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"


class DeletionFacts(NamedTuple):
    """The facts about a pod of the cluster that decide when it is deleted."""

    phase: int  #: The position of its phase in ``PHASES``.
    ready: bool  #: Whether its condition Ready is true.
    cost: int  #: Its deletion cost.
    ready_since: float  #: When it became ready, in seconds since 1970; 0 if it is not ready or unknown.
    restarts: tuple[int, int]  #: The most restarts of one of its containers, then of one of its sidecars.
    created: float  #: When it was created, in seconds since 1970; 0 if unknown.
    uid: str  #: Its uid.


def read_deletion_facts(pod: Mapping[str, Any]) -> DeletionFacts:
    """Read a pod of any shape; what is of the wrong type is read as absent."""
    metadata, status = member(pod, "metadata"), member(pod, "status")
    conditions = object_items(status.get("conditions"))
    # A pod that was written by hand has none.
    phase = text_member(status, "phase") or ("" if conditions else "Running")
    ready = next((entry for entry in conditions if entry.get("type") == "Ready"), {})
    is_ready = ready.get("status") == "True" if conditions else phase == "Running"
    return DeletionFacts(
        phase=PHASES.index(phase) if phase in PHASES else 0,
        ready=is_ready,
        cost=deletion_cost(text_member(member(metadata, "annotations"), DELETION_COST_ANNOTATION)),
        ready_since=seconds_of(ready.get("lastTransitionTime")) if is_ready else 0.0,
        restarts=_restarts(pod, status),
        created=seconds_of(metadata.get("creationTimestamp")),
        uid=text_member(metadata, "uid"),
    )


def read_known_pod(obj: Mapping[str, Any]) -> tuple[tuple[str, str], DeletionFacts]:
    """Return the namespace and name of a pod of any shape, and what is known of it."""
    metadata = member(obj, "metadata")
    name = text_member(metadata, "namespace") or DEFAULT_NAMESPACE, text_member(metadata, "name")
    return name, read_deletion_facts(obj)


def deletion_cost(text: str) -> int:
    """Return a deletion cost as Kubernetes reads it.

    >>> [deletion_cost(text) for text in ("-5", "0", "007", "+1", "5000000000")]
    [-5, 0, 0, 0, 0]
    """
    cost = int(text) if _COST.fullmatch(text) else 0
    return cost if cost in COSTS else 0


def _restarts(pod: Mapping[str, Any], status: Mapping[str, Any]) -> tuple[int, int]:
    containers = object_items(member(pod, "spec").get("initContainers"))
    sidecars = {entry.get("name") for entry in containers if entry.get("restartPolicy") == "Always"}
    regular = max(_counts(status.get("containerStatuses")), default=(0, None))[0]
    of_sidecars = (count for count, name in _counts(status.get("initContainerStatuses")) if name in sidecars)
    return regular, max(of_sidecars, default=0)


def _counts(statuses: object) -> Iterator[tuple[int, str]]:
    for entry in object_items(statuses):
        count = entry.get("restartCount")
        if type(count) is int:
            yield count, text_member(entry, "name")


def seconds_of(value: object) -> float:
    """Return a time of the API in seconds since 1970; 0 for what is none.

    >>> seconds_of("1970-01-02T00:00:00Z"), seconds_of("yesterday")
    (86400.0, 0.0)
    """
    if not isinstance(value, str):
        return 0.0
    try:
        when = datetime.fromisoformat(value)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0.0


class DisruptionFacts(NamedTuple):
    """Facts about a pod that autoscalers and ``kubectl drain`` read before they evict it."""

    #: The annotation that says so: true, false, on-completion, anything else; empty without.
    safe_to_evict: str = ""
    local_storage: bool = False  #: Whether it has a volume of its node that no annotation gives up.
    as_daemon: bool = False  #: Whether it counts as a pod of a DaemonSet without being one.
    do_not_disrupt: bool = False  #: Whether Karpenter's annotation keeps its node.
    cost: int = 0  #: Its deletion cost.
    empty_dir: bool = False  #: Whether it has an emptyDir volume, which goes with it.


#: Those of most pods.
_PLAIN: Final = DisruptionFacts()


def read_disruption_facts(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> DisruptionFacts:
    """Return the facts that autoscalers read of a pod; a value of the wrong type counts as absent."""
    annotations = member(metadata, "annotations")
    given_up = text_member(annotations, _LOCAL_VOLUMES).split(",")
    found = DisruptionFacts(
        safe_to_evict=text_member(annotations, _SAFE_TO_EVICT),
        local_storage=any(
            _is_local(volume) and text_member(volume, "name") not in given_up
            for volume in object_items(spec.get("volumes"))
        ),
        as_daemon=annotations.get(_DAEMON) == "true",
        do_not_disrupt=annotations.get(DO_NOT_DISRUPT) == "true",
        cost=deletion_cost(text_member(annotations, DELETION_COST_ANNOTATION)),
        empty_dir=any(volume.get("emptyDir") is not None for volume in object_items(spec.get("volumes"))),
    )
    return _PLAIN if found == _PLAIN else found


def _is_local(volume: Mapping[str, Any]) -> bool:
    empty_dir = volume.get("emptyDir")
    in_memory = isinstance(empty_dir, dict) and empty_dir.get("medium") == "Memory"
    return volume.get("hostPath") is not None or (empty_dir is not None and not in_memory)


def kept_by(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the annotations for which autoscalers leave a node where it is."""
    annotations = member(metadata, "annotations")
    return tuple(key for key in (SCALE_DOWN_DISABLED, DO_NOT_DISRUPT) if annotations.get(key) == "true")

"""The annotations and volumes for which autoscalers leave a pod, or a node, where it is.

Source: ``utils/drain/drain.go``, Cluster Autoscaler 1.36; ``pkg/utils/pod/scheduling.go``, Karpenter 1.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from policies.manifests.fields import member, object_items, text_member
from policies.model.deletion_facts import DELETION_COST_ANNOTATION, deletion_cost

_PREFIX: Final = "cluster-autoscaler.kubernetes.io"
_SAFE_TO_EVICT: Final = f"{_PREFIX}/safe-to-evict"
_LOCAL_VOLUMES: Final = f"{_PREFIX}/safe-to-evict-local-volumes"
_DAEMON: Final = f"{_PREFIX}/daemonset-pod"
#: The annotation with which Cluster Autoscaler keeps a node.
SCALE_DOWN_DISABLED: Final = f"{_PREFIX}/scale-down-disabled"
#: The annotation with which Karpenter keeps a node, or that of a pod.
DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"


class DisruptionFacts(NamedTuple):
    """Facts about a pod that autoscalers read before they evict it.

    Attributes:
        safe_to_evict: The annotation that says so: true, false, on-completion, anything else; empty without.
        local_storage: Whether it has a volume of its node that no annotation gives up.
        as_daemon: Whether it counts as a pod of a DaemonSet without being one.
        do_not_disrupt: Whether Karpenter's annotation keeps its node.
        cost: Its deletion cost.
    """

    safe_to_evict: str = ""
    local_storage: bool = False
    as_daemon: bool = False
    do_not_disrupt: bool = False
    cost: int = 0


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

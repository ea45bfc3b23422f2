"""Counts the pods of each controller by whether defaults were injected into them, page by page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.workload_ref import WorkloadRef
from webhook.doctor.observations import InjectionCounts
from webhook.kube.api_server import ApiServer
from webhook.kube.list import Listing
from webhook.kube.watched_resources import ListedResource

#: Pods that run or will.
_PODS: Final = ListedResource("v1", "Pod", "/api/v1/pods", "status.phase!=Succeeded,status.phase!=Failed")
#: Controllers whose pods are all alike and are created again and again.
_KINDS: Final = frozenset({"ReplicaSet", "ReplicationController", "StatefulSet", "CloneSet"})


def count_injected(api: ApiServer) -> InjectionCounts:
    """Count every pod of the cluster.

    Raises:
        ClusterError: The pods cannot be listed.
    """
    listing, pods, counts = Listing(api, _PODS), 0, Counter[tuple[WorkloadRef, bool]]()
    while page := listing.next():
        if page.first:
            # A list that begins again repeats itself.
            pods, counts = 0, Counter()
        pods += len(page.items)
        counts.update(_controlled(page.items))
    partly = [
        (controller, missed, counts[controller, True])
        for (controller, injected), missed in counts.items()
        if not injected and counts[controller, True]
    ]
    return InjectionCounts(pods, tuple(sorted(partly, key=lambda entry: (-entry[1], entry[0]))))


def _controlled(pods: Iterable[Mapping[str, Any]]) -> Iterator[tuple[WorkloadRef, bool]]:
    """Yield the controller of each pod that has one and does not terminate, and whether it was injected."""
    for pod in pods:
        metadata = pod["metadata"]
        owners = () if metadata.get("deletionTimestamp") else metadata.get("ownerReferences") or ()
        for owner in owners:
            if owner.get("controller") and owner["kind"] in _KINDS:
                injected = INJECTED_ANNOTATION in (metadata.get("annotations") or {})
                yield WorkloadRef(metadata["namespace"], owner["kind"], owner["name"]), injected

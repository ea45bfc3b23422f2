"""The facts about each pod that may lose its node: its workload, what keeps it, and what replaces it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from policies.manifests.fields import ErrorList, FieldPath, object_items
from policies.model.taints import Taint, read_tolerations
from policies.pods.placement import DAEMON_SET, PreparedPod
from policies.pods.pod_objects import PodObject, PodObjects
from policies.scheduler.index import ClusterIndex, PodOnNode

_TOLERATIONS = FieldPath(("spec", "tolerations"))


class PodFacts:
    """The pods of a cluster, some of which belong to workloads that were given.

    Attributes:
        workloads: The given workloads.
        complete: Whether everything that was looked up is known; without the objects of pods it is not.
    """

    def __init__(
        self,
        cluster: ClusterIndex,
        workloads: Sequence[PreparedPod],
        running: PodObjects,
        own: Mapping[tuple[str, str], int] | None = None,
    ) -> None:
        """Find the pods of the workloads, as they are now.

        Args:
            cluster: The cluster.
            workloads: The given workloads.
            running: The objects of the pods.
            own: The number of the workload that each of their pods belongs to, by namespace and name; by
                default the last one whose selector selects it.
        """
        self.complete = True
        self.workloads = workloads
        self._running = running
        self._own = _selected(cluster, workloads) if own is None else own

    def own(self, namespace: str, name: str) -> int | None:
        """Return the number of the given workload that a pod belongs to, None for any other pod."""
        return self._own.get((namespace, name))

    @property
    def own_count(self) -> int:
        """How many pods belong to the given workloads."""
        return len(self._own)

    def object_of(self, pod: PodOnNode) -> PodObject | None:
        """Return the object of a pod, or None if it is not known."""
        found = self._running.find(pod.namespace, pod.name)
        if found is None:
            self.complete = False
        return found

    def is_tied(self, pod: PodOnNode) -> bool:
        """Return whether a pod belongs to its node and is not evicted from it; one not known does not."""
        number = self.own(pod.namespace, pod.name)
        if number is not None:
            return self.workloads[number].workload.kind.kind == DAEMON_SET
        known = self.object_of(pod)
        return known is not None and known.is_tied

    def is_ordered(self, pod: PodOnNode) -> bool:
        """Return whether a pod is created once those of its controller before it are ready."""
        number = self.own(pod.namespace, pod.name)
        if number is not None:
            return self.workloads[number].workload.is_ordered
        known = self.object_of(pod)
        return known is not None and self._running.is_ordered(pod.namespace, known)

    def tolerates(self, pod: PodOnNode, taint: Taint) -> bool:
        """Return whether a pod stays on a node with a NoExecute taint for good; one not known does."""
        number = self.own(pod.namespace, pod.name)
        if number is not None:
            return _stays(self.workloads[number].pod.template.spec, taint)
        known = self.object_of(pod)
        return known is None or _stays(known.to_dict(pod.name)["spec"], taint)


def _selected(cluster: ClusterIndex, workloads: Sequence[PreparedPod]) -> dict[tuple[str, str], int]:
    own: dict[tuple[str, str], int] = {}
    for number, prepared in enumerate(workloads):
        namespace, selector = prepared.workload.namespace, prepared.workload.own_pods
        names = () if selector is None else cluster.selected_names(namespace, selector)
        own |= {(namespace, name): number for name in names}
    return own


def _stays(spec: Mapping[str, Any], taint: Taint) -> bool:
    lasting = [
        entry
        for entry in object_items(spec.get("tolerations"))
        # With tolerationSeconds a pod is evicted after them.
        if entry.get("tolerationSeconds") is None
    ]
    return any(
        toleration.tolerates(taint) for toleration in read_tolerations(lasting, _TOLERATIONS, ErrorList())
    )

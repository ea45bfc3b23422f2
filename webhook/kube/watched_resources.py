"""The kinds that make up a cluster, and where an API server lists each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from policies.config import spread_policy


@dataclass(frozen=True, slots=True)
class ListedResource:
    """A kind of object, and where an API server lists all of them.

    Attributes:
        api_version: Of the objects.
        kind: Of the objects.
        path: Of the list.
        field_selector: Which of them are wanted; empty for all.
    """

    api_version: str
    kind: str
    path: str
    field_selector: str = ""

    @property
    def group(self) -> str:
        """The group of the objects, as rules of a role name it; empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def plural(self) -> str:
        """The kind as rules of a role name it."""
        return self.path.rpartition("/")[2]

    @property
    def params(self) -> dict[str, str]:
        """The query that selects the wanted ones."""
        return {"fieldSelector": self.field_selector} if self.field_selector else {}


#: Selects the pods that have not finished.
_UNFINISHED: Final = "status.phase!=Succeeded,status.phase!=Failed"
#: What a cluster is made of, small kinds first. Of the pods, those that take room on a node: kube-scheduler
#: does not count the others, and a watch shows when one becomes such a pod, or ceases to be.
WATCHED_RESOURCES: Final = (
    ListedResource("v1", "Namespace", "/api/v1/namespaces"),
    ListedResource("v1", "Node", "/api/v1/nodes"),
    ListedResource("v1", "Service", "/api/v1/services"),
    ListedResource("v1", "ReplicationController", "/api/v1/replicationcontrollers"),
    ListedResource("apps/v1", "StatefulSet", "/apis/apps/v1/statefulsets"),
    ListedResource("apps/v1", "ReplicaSet", "/apis/apps/v1/replicasets"),
    ListedResource("v1", "Pod", "/api/v1/pods", f"spec.nodeName!=,{_UNFINISHED}"),
)
#: The same, and the pods that wait for a node.
WITH_PENDING_PODS: Final = tuple(
    replace(resource, field_selector=resource.field_selector and _UNFINISHED)
    for resource in WATCHED_RESOURCES
)
#: Lists of objects that a webhook is sent, of those that a server may list.
LABELED_OBJECTS: Final = tuple(
    resource.path
    for resource in WATCHED_RESOURCES
    if resource.kind in {"Pod", "ReplicaSet", "StatefulSet", "ReplicationController"}
)
#: The policies of a cluster, which a server follows besides what the cluster is made of.
SPREAD_POLICIES: Final = ListedResource(
    spread_policy.API_VERSION,
    spread_policy.KIND,
    f"/apis/{spread_policy.API_VERSION}/{spread_policy.PLURAL}",
)
#: What a rule of the linter looks at in a cluster.
NODES: Final = tuple(resource for resource in WATCHED_RESOURCES if resource.kind == "Node")
#: What a snapshot holds: also the pods that have finished or wait for a node.
EVERYTHING: Final = tuple(replace(resource, field_selector="") for resource in WATCHED_RESOURCES)

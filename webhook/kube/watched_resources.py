"""The kinds that make up a cluster, and where an API server lists each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from policies.config import spread_policy
from policies.model.cluster_kinds import (
    LIST_NAMES,
    NAMESPACE,
    NODE,
    OPTIONAL_KINDS,
    POD,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    SERVICE,
    STATEFUL_SET,
    Kind,
)


@dataclass(frozen=True, slots=True)
class ListedResource:
    """A kind of object, and where an API server lists all of them."""

    api_version: str  #: Of the objects.
    kind: str  #: Of the objects.
    path: str  #: Of the list.
    field_selector: str = ""  #: Which of them are wanted; empty for all.
    #: Whether a cluster is read without them where that is refused, or it does not serve them.
    optional: bool = False

    @property
    def key(self) -> Kind:
        """Their apiVersion and kind."""
        return self.api_version, self.kind

    @property
    def group(self) -> str:
        """The group of the objects, as rules of a role name it; empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def plural(self) -> str:
        """The kind as rules of a role name it."""
        return self.path.rpartition("/")[2]

    @property
    def title(self) -> str:
        """The resource as roles and ``kubectl auth can-i`` name it, such as ``csinodes.storage.k8s.io``."""
        return f"{self.plural}.{self.group}".rstrip(".")

    @property
    def params(self) -> dict[str, str]:
        """The query that selects the wanted ones."""
        return {"fieldSelector": self.field_selector} if self.field_selector else {}


#: Selects the pods that have not finished.
_UNFINISHED: Final = "status.phase!=Succeeded,status.phase!=Failed"


def _resource(kind: Kind, field_selector: str = "") -> ListedResource:
    """Return where all objects of a kind are listed."""
    prefix = "/apis" if "/" in kind[0] else "/api"
    path = f"{prefix}/{kind[0]}/{LIST_NAMES[kind].lower()}"
    return ListedResource(*kind, path, field_selector, optional=kind in OPTIONAL_KINDS)


#: What a cluster is made of, small kinds first. Of the pods, those that take room on a node: kube-scheduler
#: does not count the others, and a watch shows when one becomes such a pod, or ceases to be.
WATCHED_RESOURCES: Final = (
    *map(_resource, (NAMESPACE, NODE, SERVICE, REPLICATION_CONTROLLER, STATEFUL_SET, REPLICA_SET)),
    *map(_resource, OPTIONAL_KINDS),
    _resource(POD, f"spec.nodeName!=,{_UNFINISHED}"),
)
#: The same, and the pods that wait for a node.
WITH_PENDING_PODS: Final = tuple(
    replace(resource, field_selector=resource.field_selector and _UNFINISHED)
    for resource in WATCHED_RESOURCES
)
#: Lists of objects that a webhook is sent, of those that a server may list.
LABELED_OBJECTS: Final = tuple(
    _resource(kind).path for kind in (POD, REPLICA_SET, STATEFUL_SET, REPLICATION_CONTROLLER)
)
#: The policies of a cluster, which a server follows besides what the cluster is made of.
SPREAD_POLICIES: Final = ListedResource(
    spread_policy.API_VERSION,
    spread_policy.KIND,
    f"/apis/{spread_policy.API_VERSION}/{spread_policy.PLURAL}",
)
#: What a rule of the linter looks at in a cluster.
NODES: Final = (_resource(NODE),)
#: What a snapshot holds: also the pods that have finished or wait for a node.
EVERYTHING: Final = tuple(replace(resource, field_selector="") for resource in WATCHED_RESOURCES)

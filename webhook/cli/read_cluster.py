"""Reads a cluster as it is now from an API server, once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from policies.model.snapshot import identity
from policies.scheduler.index import ClusterIndex
from policies.scheduler.indexed_objects import unread_warning
from webhook.kube.api_server import ApiError, ApiServer
from webhook.kube.kind_record import LeftOutObject
from webhook.kube.list import list_objects, unread_reason
from webhook.kube.watched_resources import WATCHED_RESOURCES, ListedResource


def read_objects(
    api: ApiServer,
    resources: tuple[ListedResource, ...],
    *,
    left_out: Callable[[LeftOutObject], None],
    listed: Callable[[ListedResource, str], None],
) -> Iterator[dict[str, Any]]:
    """Yield the objects of a cluster.

    Args:
        api: Its API server.
        resources: What of it.
        left_out: Called with each object that cannot be read.
        listed: Called with each kind whose objects were all read, or, if it is optional, with the reason why
            they cannot be: those that it yielded do not count then.

    Raises:
        ApiError: The API server refuses; says what to have granted.
        UnreachableError: There is no answer.
    """
    for resource in resources:
        try:
            yield from list_objects(api, resource, left_out=left_out)
            listed(resource, "")
        except ApiError as error:
            if why := unread_reason(resource, error):
                listed(resource, why)
                continue
            if not error.forbidden:
                raise
            text = (
                "have list granted on it in all namespaces, as the ClusterRole view and a right to nodes do"
            )
            raise ApiError(error.status, f"{error}; {text}", reason=error.reason) from error


def read_index(
    api: ApiServer,
    resources: tuple[ListedResource, ...] = WATCHED_RESOURCES,
    *,
    warn: Callable[[str], None],
    seen: Callable[[dict[str, Any]], None] = lambda _obj: None,
) -> ClusterIndex:
    """Return the cluster as it is now.

    Args:
        api: Its API server.
        resources: What of it.
        warn: Called with a line for each object that is left out because it is broken, and with one that
            says what cannot be read.
        seen: Called with every object that was read.

    Raises:
        ApiError: The API server refuses; says what to have granted.
        UnreachableError: There is no answer.
    """
    index = ClusterIndex()

    def listed(resource: ListedResource, why: str) -> None:
        index.set_unread(resource.key, why)

    for obj in read_objects(api, resources, left_out=lambda broken: warn(str(broken)), listed=listed):
        seen(obj)
        for error in index.apply(obj)[:1]:
            namespace, name = identity(obj)
            found = LeftOutObject(kind=obj["kind"], namespace=namespace, name=name, reason=str(error))
            warn(str(found))
    if unread := index.unread:
        warn(unread_warning(unread))
    return index

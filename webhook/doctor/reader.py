"""Reads objects of a cluster by their paths; ``observe`` makes of a read a value or why it is missing."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from webhook.doctor.observations import Missing, MissingError, Observation, Observed
from webhook.doctor.permissions import review_attributes
from webhook.kube.api_server import ApiError, ApiServer, ClusterError
from webhook.kube.list import list_objects
from webhook.kube.watched_resources import ListedResource

T = TypeVar("T")

#: Where a permission is reviewed.
ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
#: Reviews that are sent at the same time. Each takes some milliseconds, or a round trip to a far cluster.
_REVIEWS_AT_ONCE: Final = 8


def observe(read: Callable[[], T]) -> Observation[T]:
    """Return the value that is read, or why it is missing: mostly the API server's own words."""
    try:
        return Observed(read())
    except (ClusterError, MissingError) as error:
        return Missing(str(error))


class Reader:
    """Reads with the credentials of the caller; what it cannot read raises ClusterError."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api

    def get(self, path: str) -> dict[str, Any] | None:
        """Return an object; None if it does not exist."""
        try:
            return self._api.call("GET", path)
        except ApiError as error:
            if error.not_found:
                return None
            raise _located(error, path) from error

    def list(self, path: str) -> list[dict[str, Any]]:
        """Return all objects of a list."""
        try:
            return list(list_objects(self._api, ListedResource("", "", path)))
        except ApiError as error:
            raise _located(error, path) from error

    def permissions(self, account: str, wanted: Collection[str]) -> dict[str, bool]:
        """Return which permissions a ServiceAccount, NAMESPACE/NAME, has."""
        with ThreadPoolExecutor(_REVIEWS_AT_ONCE) as pool:
            answers = pool.map(lambda permission: self._has(account, permission), wanted)
            return dict(zip(wanted, answers, strict=True))

    def _has(self, account: str, permission: str) -> bool:
        namespace, _, name = account.partition("/")
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]
        spec = {"user": f"system:serviceaccount:{namespace}:{name}", "groups": groups}
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": spec | review_attributes(permission),
        }
        return bool(self._api.call("POST", ACCESS_REVIEWS, body=body)["status"]["allowed"])


def _located(error: ApiError, path: str) -> ApiError:
    """Return an error that names what could not be read, as the API server's refusals do by themselves."""
    return error if error.forbidden else ApiError(error.status, f"cannot read {path}: {error}")

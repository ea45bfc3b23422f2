"""Asks an API server for its release, and says which release to judge by."""

from __future__ import annotations

from collections.abc import Callable

from policies.manifests.errors import UsageError
from policies.model.version import KubernetesVersion
from policies.scheduler.releases import OLDEST_VERSION
from webhook.kube.api_server import ApiServer, UnreachableError


def kubernetes_version(api: ApiServer) -> KubernetesVersion:
    """Ask an API server for its version.

    Raises:
        ApiError: The API server refuses.
        UnreachableError: There is no answer, or none with a version.
    """
    told = api.call("GET", "/version")
    try:
        return KubernetesVersion.parse(str(told.get("gitVersion", "")))
    except UsageError as error:
        raise UnreachableError(f"{api.url}/version: {error}") from error


def known_version(api: ApiServer, warn: Callable[[str], None]) -> KubernetesVersion:
    """Return the release of a cluster, or the oldest that is known where it is older; fails as asking does.

    Args:
        api: The cluster's API server.
        warn: Told, on a line, that it is older.
    """
    version = kubernetes_version(api)
    if version >= OLDEST_VERSION:
        return version
    warn(f"Kubernetes {version} is older than any release that is known: judged as {OLDEST_VERSION}")
    return OLDEST_VERSION

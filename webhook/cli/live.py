"""The parts that commands on a live cluster share: which one, and the connection to it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from policies.manifests.errors import UsageError

if TYPE_CHECKING:
    from webhook.kube import client

#: What a command says that needs a cluster and is given none.
NO_CLUSTER: Final = (
    "either --live or --cluster FILE is required; create a file with: evenkeel snapshot -o cluster.json"
)


def check_cluster(*, live: bool, context: str, cluster: str | None) -> None:
    """Make sure that no more than one cluster is given, of those commands that take a file or a live one.

    Raises:
        UsageError: It is not so.
    """
    if live and cluster:
        raise UsageError("--live and --cluster are mutually exclusive")
    if context and not live:
        raise UsageError("--context may only be set with --live")


@cache
def api_server(context: str) -> client.KubernetesApiServer:
    """Return the connection to a cluster, made once: making it may run a credential plugin.

    Raises:
        KubeconfigError: There is none.
    """
    from webhook.kube import client

    return client.connect(context)


def list_objects(
    context: str, api_version: str, kind: str, namespace: str, note: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Return the objects of a kind in a namespace of the live cluster; none where they may not be read.

    Args:
        context: The context of the kubeconfig.
        api_version: The group and version of the kind.
        kind: The kind, whose plural ends in s.
        namespace: The namespace.
        note: Called with the reason why they cannot be read.
    """
    from webhook.kube import api_server as cluster_api

    path = f"/apis/{api_version}/namespaces/{quote(namespace, safe='')}/{kind.lower()}s"
    try:
        listed = api_server(context).call("GET", path).get("items") or ()
    except cluster_api.ApiError as error:
        note(f"{kind}s are left out, since they cannot be read: {error}")
        return []
    return [{"apiVersion": api_version, "kind": kind, **obj} for obj in listed]

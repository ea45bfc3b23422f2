"""The cluster that the page shows: a snapshot, a live one, or what a person may see of that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from policies.manifests.errors import DocumentError
from policies.manifests.file_name import STDIN, without_folder
from policies.manifests.sanitize import one_line
from policies.model import version as model_version
from policies.model import workload
from policies.scheduler import index as scheduler_index
from webhook.cli import placement, targets
from webhook.cli.placement_options import PlacementOptions
from webhook.cli.terminal import note

if TYPE_CHECKING:
    from policies.config.context import AdmissionContext
    from policies.model.workload_kinds import WorkloadKinds
    from policies.model.workload_ref import WorkloadRef
    from webhook.cli import service_proxy
    from webhook.kube import api_server as kube_api_server
    from webhook.ui import cluster


#: Lines that the page is sent of what was left out; the terminal has them all.
_MOST_NOTES: Final = 100
#: What is read of a namespace: the workloads that people name, and their pods.
_NAMESPACED: Final = (
    ("apps/v1", "Deployment", "/apis/apps/v1/namespaces/{}/deployments"),
    ("apps/v1", "StatefulSet", "/apis/apps/v1/namespaces/{}/statefulsets"),
    ("apps/v1", "ReplicaSet", "/apis/apps/v1/namespaces/{}/replicasets"),
    ("v1", "Pod", "/api/v1/namespaces/{}/pods"),
)


def read_page_cluster(
    options: PlacementOptions,
    seen: Callable[[dict[str, Any]], None] | None = None,
    *,
    tell: Callable[[str], None] = note,
) -> cluster.PageCluster:
    """Read a cluster; of a live one that may not be listed, a namespace of it, if it has an Evenkeel.

    Args:
        options: The options.
        seen: Is shown every object, too; None for nothing.
        tell: Is given what was left out, which the page shows, too; prints it by default.

    Raises:
        OSError: A file cannot be opened.
        DocumentError: A file is not what it should be.
        UsageError: Options that do not go together.
        ClusterError: The live cluster cannot be read.
    """
    from webhook.kube import api_server as kube_api_server

    kinds, notes = options.kinds(), list[str]()
    objects = cluster_objects(options)

    def look(obj: dict[str, Any]) -> None:
        objects(obj)
        if seen is not None:
            seen(obj)

    try:
        context = placement.read_context(options, look, everything=True, warn=partial(_warn, notes, tell))
    except kube_api_server.ApiError as error:
        if options.live and error.forbidden:
            return _read_namespace(options, error, tell)
        raise
    from webhook.cli import live

    found = page_cluster(options, context, objects, notes)
    return (
        replace(found, fetch=partial(_fetch, live.api_server(options.context), kinds))
        if options.live
        else found
    )


def cluster_objects(options: PlacementOptions) -> cluster.ClusterObjects:
    """Return what keeps the objects of a cluster that is read."""
    from webhook.ui import cluster

    return cluster.ClusterObjects(options.kinds(), datetime.now(UTC).timestamp() if options.live else 0.0)


def page_cluster(
    options: PlacementOptions,
    context: AdmissionContext,
    objects: cluster.ClusterObjects,
    notes: Iterable[str],
) -> cluster.PageCluster:
    """Return the cluster of the page, of what a command read.

    Args:
        options: The options.
        context: What was read, with its cluster.
        objects: What was shown every object of it.
        notes: What was left out, a line each.
    """
    if context.cluster is None:
        raise ValueError("a cluster was read")
    from webhook.ui import cluster

    return cluster.PageCluster(
        context=context,
        index=context.cluster,
        objects=objects,
        live=options.live,
        name=options.context if options.live else without_folder(options.cluster),
        read_at=_read_at(options),
        namespace=options.namespace or _default_namespace(options),
        notes=tuple(notes),
    )


def _default_namespace(options: PlacementOptions) -> str:
    from webhook.cli import live

    return live.api_server(options.context).namespace if options.live else workload.DEFAULT_NAMESPACE


def _read_namespace(
    options: PlacementOptions, error: kube_api_server.ApiError, tell: Callable[[str], None]
) -> cluster.PageCluster:
    """Return the part of a cluster that a user may see of a namespace, and its Evenkeel to answer about it.

    Args:
        options: The options.
        error: Why the whole cluster cannot be read.
        tell: Is given what was left out.

    Raises:
        ClusterError: There is no Evenkeel.
    """
    from webhook.admission import context as admission_context
    from webhook.cli import live, service_proxy
    from webhook.kube import api_server as kube_api_server
    from webhook.kube import list as kube_list
    from webhook.kube import watched_resources
    from webhook.ui import cluster

    api, kinds, notes = live.api_server(options.context), options.kinds(), list[str]()
    warn = partial(_warn, notes, tell)
    namespace = options.namespace or api.namespace
    answer = _answers(
        service_proxy.Installation(api, options.evenkeel_namespace, service=options.evenkeel_service), error
    )
    warn(f"{error}; Evenkeel in namespace {options.evenkeel_namespace} answers where pods would go instead")
    ours = {
        "--policy": options.policy,
        "--scheduler-config": options.scheduler_config,
        "--kubernetes-version": options.kubernetes_version,
    }
    for option in (option for option, given in ours.items() if given):
        warn(f"{option} does not count: Evenkeel uses its own")
    objects = cluster.ClusterObjects(kinds, datetime.now(UTC).timestamp())
    for version, kind, path in _NAMESPACED:
        try:
            resource = watched_resources.ListedResource(version, kind, path.format(namespace))
            for obj in kube_list.list_objects(api, resource, left_out=lambda broken: warn(str(broken))):
                objects(obj)
        except kube_api_server.ApiError as refused:
            warn(f"{kind}s of namespace {namespace} are not shown: {refused}")
    release = (
        model_version.KNOWN_VERSION
        if options.kubernetes_version
        else kube_api_server.known_version(api, warn)
    )
    index = scheduler_index.ClusterIndex()
    return cluster.PageCluster(
        context=admission_context.build_context(options, warn, live=index, live_version=release),
        index=index,
        objects=objects,
        live=True,
        name=options.context,
        read_at=datetime.now(UTC),
        namespace=namespace,
        notes=tuple(notes),
        remote=answer,
        fetch=partial(_fetch, api, kinds),
    )


def _answers(
    installation: service_proxy.Installation, error: kube_api_server.ApiError
) -> Callable[[str, bytes], bytes]:
    """Return the function that sends requests to the Evenkeel of a cluster.

    Raises:
        ClusterError: There is none; says why the cluster cannot be read either.
    """
    from webhook.cli import service_proxy
    from webhook.http import problems

    def send(route: str, request: bytes) -> bytes:
        return installation.post(route, request, accept=problems.JSON).body

    try:
        # It has no pod, which only an Evenkeel can say.
        send("/v1/score", b"{}")
    except service_proxy.NotInstalledError:
        raise error from None
    except DocumentError:
        pass
    return send


def _fetch(
    api: kube_api_server.ApiServer, kinds: WorkloadKinds, key: WorkloadRef
) -> Mapping[str, Any] | None:
    """Return a workload of a live cluster; None if it has none, or its kind is not known."""
    kind = next((each for each in kinds.values() if each.kind == key.kind), None)
    if kind is None:
        return None
    from webhook.kube import api_server as kube_api_server

    try:
        return targets.fetch(targets.ObjectTarget(kind, key.name), key.namespace, api).value
    except kube_api_server.ApiError as error:
        if error.not_found:
            return None
        raise


def _read_at(options: PlacementOptions) -> datetime:
    if options.live or options.cluster == STDIN:
        return datetime.now(UTC)
    return datetime.fromtimestamp(Path(options.cluster).stat().st_mtime, UTC)


def _warn(notes: list[str], tell: Callable[[str], None], text: str) -> None:
    """Say in the terminal, and where the cluster is looked at, what was left out."""
    tell(text)
    if len(notes) < _MOST_NOTES:
        notes.append(one_line(text))

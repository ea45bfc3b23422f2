"""The cluster that the page shows: a snapshot, a live one, or what a person may see of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from policies.manifests.errors import DocumentError
from policies.manifests.sanitize import one_line
from policies.model.version import KNOWN_VERSION
from policies.model.workload import DEFAULT_NAMESPACE
from policies.model.workload_kinds import WorkloadKinds
from policies.model.workload_ref import WorkloadRef
from policies.scheduler.index import ClusterIndex
from webhook.admission.context import build_context
from webhook.cli.live import api_server
from webhook.cli.manifest import STDIN
from webhook.cli.placement import read_context
from webhook.cli.placement_options import PlacementOptions
from webhook.cli.targets import ObjectTarget, fetch
from webhook.cli.terminal import note
from webhook.http.problems import JSON
from webhook.kube.api_server import ApiError, ApiServer, known_version
from webhook.kube.list import list_objects
from webhook.kube.service_proxy import Installation, NotInstalledError
from webhook.kube.watched_resources import ListedResource
from webhook.lint.files import shown_file
from webhook.ui.cluster import ClusterObjects, PageCluster

#: Lines that the page is sent of what was left out; the terminal has them all.
_MOST_NOTES: Final = 100
#: What is read of a namespace: the workloads that people name, and their pods.
_NAMESPACED: Final = (
    ("apps/v1", "Deployment", "/apis/apps/v1/namespaces/{}/deployments"),
    ("apps/v1", "StatefulSet", "/apis/apps/v1/namespaces/{}/statefulsets"),
    ("apps/v1", "ReplicaSet", "/apis/apps/v1/namespaces/{}/replicasets"),
    ("v1", "Pod", "/api/v1/namespaces/{}/pods"),
)


def read_page_cluster(options: PlacementOptions) -> PageCluster:
    """Read a cluster; of a live one that may not be listed, a namespace of it, if it has an Evenkeel.

    Raises:
        OSError: A file cannot be opened.
        DocumentError: A file is not what it should be.
        UsageError: Options that do not go together.
        ClusterError: The live cluster cannot be read.
    """
    kinds, notes = options.kinds(), list[str]()
    objects = ClusterObjects(kinds, datetime.now(UTC).timestamp() if options.live else 0.0)
    try:
        context = read_context(options, objects, everything=True, warn=partial(_warn, notes))
    except ApiError as error:
        if options.live and error.forbidden:
            return _read_namespace(options, error)
        raise
    if context.cluster is None:
        raise ValueError("a cluster was read")
    return PageCluster(
        context=context,
        index=context.cluster,
        objects=objects,
        live=options.live,
        name=options.context if options.live else shown_file(options.cluster),
        read_at=_read_at(options),
        namespace=options.namespace or _default_namespace(options),
        notes=tuple(notes),
        fetch=partial(_fetch, api_server(options.context), kinds) if options.live else None,
    )


def _default_namespace(options: PlacementOptions) -> str:
    return api_server(options.context).namespace if options.live else DEFAULT_NAMESPACE


def _read_namespace(options: PlacementOptions, error: ApiError) -> PageCluster:
    """Return the part of a cluster that a user may see of a namespace, and its Evenkeel to answer about it.

    Args:
        options: The options.
        error: Why the whole cluster cannot be read.

    Raises:
        ClusterError: There is no Evenkeel.
    """
    api, kinds, notes = api_server(options.context), options.kinds(), list[str]()
    warn = partial(_warn, notes)
    namespace = options.namespace or api.namespace
    answer = _answers(Installation(api, options.evenkeel_namespace, service=options.evenkeel_service), error)
    warn(f"{error}; Evenkeel in namespace {options.evenkeel_namespace} answers where pods would go instead")
    ours = {
        "--policy": options.policy,
        "--scheduler-config": options.scheduler_config,
        "--kubernetes-version": options.kubernetes_version,
    }
    for option in (option for option, given in ours.items() if given):
        warn(f"{option} does not count: Evenkeel uses its own")
    objects = ClusterObjects(kinds, datetime.now(UTC).timestamp())
    for version, kind, path in _NAMESPACED:
        try:
            resource = ListedResource(version, kind, path.format(namespace))
            for obj in list_objects(api, resource, left_out=lambda broken: warn(str(broken))):
                objects(obj)
        except ApiError as refused:
            warn(f"{kind}s of namespace {namespace} are not shown: {refused}")
    release = KNOWN_VERSION if options.kubernetes_version else known_version(api, warn)
    index = ClusterIndex()
    return PageCluster(
        context=build_context(options, warn, live=index, live_version=release),
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


def _answers(installation: Installation, error: ApiError) -> Callable[[str, bytes], bytes]:
    """Return the function that sends requests to the Evenkeel of a cluster.

    Raises:
        ClusterError: There is none; says why the cluster cannot be read either.
    """

    def ask(route: str, request: bytes) -> bytes:
        return installation.post(route, request, accept=JSON).body

    try:
        # It has no pod, which only an Evenkeel can say.
        ask("/v1/score", b"{}")
    except NotInstalledError:
        raise error from None
    except DocumentError:
        pass
    return ask


def _fetch(api: ApiServer, kinds: WorkloadKinds, key: WorkloadRef) -> Mapping[str, Any] | None:
    """Return a workload of a live cluster; None if it has none, or its kind is not known."""
    kind = next((each for each in kinds.values() if each.kind == key.kind), None)
    if kind is None:
        return None
    try:
        return fetch(ObjectTarget(kind, key.name), key.namespace, api).value
    except ApiError as error:
        if error.not_found:
            return None
        raise


def _read_at(options: PlacementOptions) -> datetime:
    if options.live or options.cluster == STDIN:
        return datetime.now(UTC)
    return datetime.fromtimestamp(Path(options.cluster).stat().st_mtime, UTC)


def _warn(notes: list[str], text: str) -> None:
    """Say in the terminal, and where the cluster is looked at, what was left out."""
    note(text)
    if len(notes) < _MOST_NOTES:
        notes.append(one_line(text))

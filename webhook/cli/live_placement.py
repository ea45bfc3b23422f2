"""Where a pod would go in a live cluster: from the Evenkeel there, or by reading the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from policies.config import context as config_context
from policies.manifests.errors import DocumentError
from policies.manifests.fields import shown_name
from policies.manifests.wire import dumps
from policies.model import cluster_kinds, snapshot
from policies.model import version as model_version
from policies.pods import placement
from policies.scheduler import index as scheduler_index
from webhook.admission import context as admission_context
from webhook.cli import live, manifest, read_cluster, service_proxy, targets
from webhook.cli.placement_options import PlacementOptions, bound_to, choose_by
from webhook.cli.terminal import note, reading_progress, show
from webhook.http import problems
from webhook.kube import api_server as kube_api_server
from webhook.kube.watched_resources import WATCHED_RESOURCES, ListedResource
from webhook.requests import frame
from webhook.requests.score import ScoreRequest

if TYPE_CHECKING:
    from policies.config.context import AdmissionContext
    from policies.manifests.documents import ManifestObject
    from webhook.requests.placement import PlacementFields


@dataclass(frozen=True, slots=True)
class PlacementQuery:
    """The request to the Evenkeel of a cluster."""

    installation: service_proxy.Installation
    route: str
    body: bytes
    entry: ManifestObject
    wide: bool

    def text(self, columns: int, *, color: bool) -> kube_api_server.Answer:
        """Return the answer for a person.

        Raises:
            ClusterError: There is none.
            DocumentError: The question is none.
        """
        query = {"columns": str(max(1, min(columns, frame.MOST_COLUMNS))), "color": str(color).lower()}
        query |= self._query
        return self.installation.post(self.route, self.body, accept=frame.TEXT.partition(";")[0], query=query)

    def json(self) -> kube_api_server.Answer:
        """Return the answer for a program; fails as ``text``."""
        return self.installation.post(self.route, self.body, accept=problems.JSON, query=self._query)

    @property
    def _query(self) -> dict[str, str]:
        return {"wide": "true"} if self.wide else {}


def show_remote(
    options: PlacementOptions,
    route: str,
    *,
    piped: int,
    wide: bool = False,
    tell: Callable[[bytes, ManifestObject], None] | None = None,
    as_request: Callable[[dict[str, Any]], PlacementFields] = lambda obj: ScoreRequest(pod=obj),
) -> bool | None:
    """Print the answer of the cluster's Evenkeel for the given object.

    Args:
        options: The object, and the cluster.
        route: The route that answers.
        piped: Columns of the text where there is no terminal.
        wide: Whether the text leaves out nothing.
        tell: Prints the JSON of the answer, and is given the object, too; None for the text.
        as_request: Returns the request about an object.

    Returns:
        Whether the pod fits some node, or all pods got one; None if there is no Evenkeel, so that the cluster
        must be read.

    Raises:
        OSError: A file cannot be opened.
        DocumentError: A file is not what it should be.
        UsageError: Options that do not go together.
        ClusterError: There is no answer.
    """
    options.check()
    if local := _local_option(options):
        note(f"{local} applies to this command only, so the cluster is read with your own credentials")
        return None
    question = _question(options, route, as_request, wide=wide)
    if question is None:
        return None
    answers = []

    def render(columns: int, color: bool) -> str:  # noqa: FBT001  # show calls it
        answers.append(question.text(columns, color=color))
        return frame.harmless(answers[0].body.decode(errors="replace"))

    try:
        if tell is not None:
            answers.append(question.json())
            tell(answers[0].body, question.entry)
        else:
            show(render, piped=piped)
    except service_proxy.NotInstalledError as error:
        note(f"{error}; the cluster is read with your own credentials")
        return None
    return _fits(answers[0])


def _fits(answer: kube_api_server.Answer) -> bool:
    """Return whether every pod of the request got a node."""
    pending = answer.headers.get(frame.PENDING_PODS.lower())
    if pending is not None:
        return pending == "0"
    return answer.headers.get(frame.FEASIBLE_NODES.lower()) != "0"


def in_context(options: PlacementOptions) -> PlacementOptions:
    """Return the options with the namespace of the kubeconfig's context if they name none, as kubectl does.

    Raises:
        KubeconfigError: There is no way to the cluster.
    """
    return replace(options, namespace=options.namespace or live.api_server(options.context).namespace)


def read_live_context(
    options: PlacementOptions,
    *,
    resources: tuple[ListedResource, ...] = WATCHED_RESOURCES,
    seen: Callable[[dict[str, Any]], None] = lambda _obj: None,
    warn: Callable[[str], None] = note,
) -> AdmissionContext:
    """Return the context that the options describe, with the live cluster as it is now.

    Args:
        options: The options.
        resources: What is read of the cluster.
        seen: Shown every object that was read.
        warn: Is given what is left out, a line at a time; prints to stderr by default.

    Raises:
        OSError: A file cannot be opened.
        DocumentError: A file is not what it should be.
        UsageError: Options that do not go together.
        ClusterError: The cluster cannot be read.
    """
    api = live.api_server(options.context)
    version = (
        model_version.KNOWN_VERSION
        if options.kubernetes_version
        else kube_api_server.known_version(api, warn)
    )
    # Errors of the options are reported before a large cluster is read.
    admission_context.build_context(
        options, lambda _problem: None, live=scheduler_index.ClusterIndex(), live_version=version
    )
    with reading_progress() as advance:

        def look(obj: dict[str, Any]) -> None:
            advance(obj["kind"])
            seen(obj)

        index = read_cluster.read_index(api, resources, warn=warn, seen=look)
    return admission_context.build_context(options, warn, live=index, live_version=version)


def _local_option(options: PlacementOptions) -> str:
    """Return the option that the server cannot know about, empty if there is none."""
    given = {"--policy": options.policy, "--scheduler-config": options.scheduler_config}
    return next((name for name, value in given.items() if value), "")


def fetch_target(options: PlacementOptions) -> ManifestObject:
    """Return the given object of the cluster, read with the user's own rights.

    Raises:
        UsageError: It is named wrongly.
        ClusterError: It cannot be read, or is not there.
    """
    target = options.target(options.kinds())
    if target is None:
        raise ValueError("no object of the cluster is given")
    return targets.fetch(target, in_context(options).namespace, live.api_server(options.context))


def _question(
    options: PlacementOptions,
    route: str,
    as_request: Callable[[dict[str, Any]], PlacementFields],
    *,
    wide: bool,
) -> PlacementQuery | None:
    """Return the query about an object; None for a pod that has a node, which counts in the cluster.

    Raises:
        OSError: The file cannot be opened.
        DocumentError: It is not what it should be; every problem is ``file:line: field: problem``.
        UsageError: Options that do not go together.
    """
    kinds = options.kinds()
    found = manifest.read_objects(options.files)
    entry = choose_by(options, found, kinds) if options.files else fetch_target(options)
    if options.words and bound_to(entry.value):
        return None
    options = in_context(options)
    version = options.kubernetes_version
    without = config_context.load_context(
        manifest.read_content, kubernetes_version=version, workload_kinds=options.workload_kind
    )
    context = replace(without, cluster=scheduler_index.ClusterIndex())
    try:
        # What is wrong with the object has a line here, which Evenkeel would not know.
        placement.evaluate_manifest(entry.value, context, namespace=options.namespace)
        request = as_request(_named(entry.value, options.namespace))
        body = dumps(replace(request, kubernetes_version=version or None))
    except placement.PlacementError as error:
        raise DocumentError(manifest.told(entry, error.errors)) from error
    except TypeError as error:
        raise DocumentError([f"{entry.document.file}: cannot be sent as JSON: {error}"]) from error
    for other in _left_out(found):
        note(f"{other} in the manifests does not count: Evenkeel uses what is in the cluster")
    installation = service_proxy.Installation(
        live.api_server(options.context), options.evenkeel_namespace, service=options.evenkeel_service
    )
    return PlacementQuery(installation, route, body, entry, wide)


def _named(obj: dict[str, Any], namespace: str) -> dict[str, Any]:
    """Return an object with the namespace that it is in."""
    metadata = obj.get("metadata") or {}
    return obj | {"metadata": {**metadata, "namespace": metadata.get("namespace") or namespace}}


def _left_out(found: list[ManifestObject]) -> Iterator[str]:
    for entry in found:
        if snapshot.kind_of(entry.value) in cluster_kinds.APPLIED_ALONG:
            metadata = entry.value.get("metadata")
            name = metadata.get("name") if isinstance(metadata, dict) else ""
            yield f"{entry.value['kind']}/{shown_name(str(name))}"

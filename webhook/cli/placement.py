"""The parts that placement commands share: options, the cluster, the object in the file."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from planning.simulation import actions
from policies.manifests.errors import DocumentError, UsageError
from policies.manifests.fields import descend, shown, text_member
from policies.manifests.file_name import shown_file
from policies.manifests.words import IN_SENTENCE, listed
from policies.model import cluster_kinds, replica_sources, snapshot, workload, workload_ref
from policies.pods import placement
from policies.scheduler import index
from webhook import snapshot_file
from webhook.cli import manifest, targets
from webhook.cli.placement_options import PlacementOptions, bound_to, choose_all_by, choose_by
from webhook.cli.terminal import note

if TYPE_CHECKING:
    from policies.config.context import AdmissionContext
    from policies.manifests.documents import ManifestObject
    from policies.model.node import Node
    from policies.pods.known_pods import KnownPods


#: What is found out of an object.
_Found = TypeVar("_Found", covariant=True)  # noqa: PLC0105  # the usual suffix says less


def read_context(
    options: PlacementOptions,
    seen: Callable[[dict[str, Any]], None] = lambda _obj: None,
    *,
    everything: bool = False,
    warn: Callable[[str], None] = note,
) -> AdmissionContext:
    """Return the context that the options describe.

    Args:
        options: The options.
        seen: Shown every object of the snapshot file, or of the live cluster.
        everything: Whether ``seen`` is also shown the pods of a live cluster that have finished.
        warn: Is given what is left out of it, a line at a time; prints to stderr by default.

    Raises:
        OSError: A file cannot be opened.
        DocumentError: A file is not what it should be.
        UsageError: Options that do not go together.
        ClusterError: The live cluster cannot be read.
    """
    if options.live:
        from webhook.cli import live_placement
        from webhook.kube import watched_resources

        return live_placement.read_live_context(
            options,
            resources=watched_resources.EVERYTHING if everything else watched_resources.WITH_PENDING_PODS,
            seen=seen,
            warn=warn,
        )
    from webhook.admission import context as admission_context

    if not options.cluster:
        return admission_context.build_context(options, warn)
    with manifest.snapshot_progress(options.cluster) as advance:

        def look(obj: dict[str, Any]) -> None:
            advance(snapshot.kind_of(obj)[1])
            seen(obj)

        return admission_context.build_context(options, warn, seen=look)


def report_without_pods(cluster: index.ClusterIndex, warn: Callable[[str], None] = note) -> None:
    """Say so of a cluster in which no pod runs, and of which a snapshot may be of half a cluster."""
    if not cluster.pod_count:
        warn("there is no pod: the snapshot may lack them, so nothing is known of what runs")


class Evaluator(Protocol[_Found]):
    """Finds something out of an object, or fails as ``prepare`` does."""

    def __call__(
        self, obj: dict[str, Any], context: AdmissionContext, known: KnownPods, /, *, namespace: str
    ) -> _Found:
        """Evaluate an object by what is known of the cluster, in a namespace if it names none itself."""


class PlacementAnswer(NamedTuple, Generic[_Found]):
    """The result for an object."""

    found: _Found  #: What.
    entry: ManifestObject  #: The object.
    context: AdmissionContext  #: What it was placed by.
    #: The node that a pod is on, though it was placed as if it were scheduled again; empty for none.
    node: str = ""


class PlacementInput(NamedTuple):
    """The input of a command."""

    context: AdmissionContext  #: What pods are placed by, with what else is in the file.
    known: KnownPods  #: What is known of the pods of its cluster.
    entries: list[ManifestObject]  #: The objects: one, or all of the file that make pods.
    namespace: str  #: Where they go if they name no namespace themselves.
    problems: list[str]  #: What is wrong with what else is in the file, a line each.
    node: str = ""  #: The node that the object, a pod, was on; empty for none.


def evaluate_object(
    options: PlacementOptions,
    judge: Evaluator[_Found],
    seen: Callable[[dict[str, Any]], None] = lambda _obj: None,
    *,
    keeps: bool = False,
    tells_node: bool = False,
) -> PlacementAnswer[_Found]:
    """Return the result for the object in a file, or in the cluster.

    Args:
        options: The options.
        judge: Evaluates it.
        seen: Shown every object of the cluster first.
        keeps: Whether what is known of pods is needed in any case.
        tells_node: Whether the answer says on which node a pod is; otherwise stderr does.

    Raises:
        OSError: A file cannot be opened.
        DocumentError: A file is not what it should be, or the object cannot be placed; every problem is
            ``file:line: field: problem``.
        UsageError: Options that do not go together.
        ClusterError: The live cluster cannot be read.
    """
    context, known, (entry,), namespace, problems, node = read_input(
        options, seen, keeps=keeps, tells_node=tells_node
    )
    try:
        judged = judge(entry.value, context, known, namespace=namespace)
    except placement.PlacementError as error:
        problems += manifest.told(entry, error.errors)
        raise DocumentError(problems) from error
    if problems:
        raise DocumentError(problems)
    return PlacementAnswer(judged, entry, context, node)


def read_input(
    options: PlacementOptions,
    seen: Callable[[dict[str, Any]], None] = lambda _obj: None,
    *,
    every: bool = False,
    keeps: bool = False,
    described: Sequence[Node] | None = None,
    tells_node: bool = False,
    autoscalers: bool = False,
) -> PlacementInput:
    """Read the cluster, and the object or objects that a command is about.

    Args:
        options: The options.
        seen: Shown every object of the cluster.
        every: Whether all objects of a file are meant, unless the options name one.
        keeps: Whether what is known of pods is needed in any case.
        described: The nodes of the cluster, in place of one that the options name; None if they must.
        tells_node: Whether the command itself says on which node a pod is.
        autoscalers: Whether the autoscalers of a live cluster are wanted of objects that state their
            number of replicas, too.

    Raises:
        OSError: A file cannot be opened.
        DocumentError: A file is not what it should be.
        UsageError: Options that do not go together.
        ClusterError: The live cluster cannot be read.
    """
    options.check(needs_cluster=described is None)
    target = options.target(options.kinds())
    finder = None
    if target is not None and not options.live:
        finder = targets.Finder(target, options.namespace or workload.DEFAULT_NAMESPACE)

    sources, known = replica_sources.ReplicaSources(), known_pods(options, keeps=keeps)

    def show_all(obj: dict[str, Any]) -> None:
        known(obj)
        if finder is not None:
            finder(obj)
        sources(obj)
        seen(obj)

    context = read_context(options, show_all)
    context = replace(context, replica_sources=sources, reads_stored=target is not None)
    if context.cluster is not None:
        report_without_pods(context.cluster)
    if described is not None:
        context = replace(context, cluster=_cluster_of(described))
    entries, along, node = _objects(options, context, finder, every=every)
    for obj in [entry.value for entry in along] + live_autoscalers(
        options, [entry for entry in entries if autoscalers or leaves_replicas_out(entry, context)]
    ):
        sources.take_autoscaler(workload_ref.with_namespace(obj, options.namespace))
    if node and not tells_node:
        metadata = entries[0].value["metadata"]
        name = f"{metadata.get('namespace') or workload.DEFAULT_NAMESPACE}/{metadata.get('name')}"
        note(f"Pod {name} is on {node}: evaluated as if it were scheduled again")
    if options.live:
        from webhook.cli import live_placement

        options = live_placement.in_context(options)
    problems = apply_along(along, options, context)
    return PlacementInput(context, known, entries, options.namespace, problems, node)


def known_pods(options: PlacementOptions, *, keeps: bool) -> KnownPods:
    """Return the store for what is known of the cluster's pods: now is the clock for a live one.

    Args:
        options: The options.
        keeps: Whether it is needed in any case, so that a file is not to be read again for it.
    """
    now = time.time() if options.live else 0.0
    return snapshot_file.known_pods("" if keeps else options.cluster, now=now)


def check_key(given: PlacementInput, key: str, *, option: str = "KEY") -> None:
    """Check that some node has a topology key, which an option of the command says.

    Raises:
        UsageError: None has it; says which labels there are.
    """
    if given.context.cluster is None:
        raise ValueError("there is no cluster to lose anything of")
    check_domain(given.context.cluster, key, option=option)


def check_domain(
    cluster: index.ClusterIndex, key: str, domain: str | None = None, *, option: str = "KEY"
) -> None:
    """Check that some node has a topology key, and is in one domain of it; None for any.

    Raises:
        UsageError: None has it, or is; says which labels or domains there are.
    """
    domains = actions.domains_of(cluster, key)
    if domains and domain is not None and domain not in domains:
        raise UsageError(f"{option}: {actions.unknown_domain(key, domain, list(domains))}")
    if domains:
        return
    keys = sorted(cluster.nodes.label_keys())
    there = f"nodes have {listed(keys, IN_SENTENCE)}" if keys else "there are no labeled nodes"
    raise UsageError(f"{option}: Invalid value: {shown(key)}: no node has this label; {there}")


def leaves_replicas_out(entry: ManifestObject, context: AdmissionContext) -> bool:
    """Return whether an object of a kind with a number of replicas states none."""
    kind = context.kind_of(entry.value)
    way = None if kind is None else kind.replicas
    return way is not None and descend(entry.value, way[:-1]).get(way[-1]) is None


def live_autoscalers(options: PlacementOptions, entries: Sequence[ManifestObject]) -> list[dict[str, Any]]:
    """Return the autoscalers of the live cluster in the namespaces of some objects."""
    if not options.live:
        return []
    from webhook.cli import live

    metadata = [entry.value.get("metadata") for entry in entries]
    named = [text_member(each, "namespace") if isinstance(each, dict) else "" for each in metadata]
    namespaces = dict.fromkeys(name or options.namespace or workload.DEFAULT_NAMESPACE for name in named)
    return [
        obj
        for namespace in namespaces
        for obj in live.list_objects(
            options.context, "autoscaling/v2", "HorizontalPodAutoscaler", namespace, note
        )
    ]


def _cluster_of(nodes: Sequence[Node]) -> index.ClusterIndex:
    cluster = index.ClusterIndex()
    for node in nodes:
        cluster.nodes.put(node)
    return cluster


def _objects(
    options: PlacementOptions, context: AdmissionContext, finder: targets.Finder | None, *, every: bool
) -> tuple[list[ManifestObject], list[ManifestObject], str]:
    """Return the given objects, everything in their file, and the node that a pod was on."""
    if options.files:
        found = manifest.read_objects(options.files)
        kinds = context.kinds
        chosen = choose_all_by(options, found, kinds) if every else [choose_by(options, found, kinds)]
        return chosen, found, ""
    if finder is not None:
        entry = finder.entry(shown_file(options.cluster))
        if finder.note:
            note(finder.note)
    else:
        from webhook.cli import live_placement

        entry = live_placement.fetch_target(options)
    return [_without_itself(entry, context)], [], bound_to(entry.value)


def _without_itself(entry: ManifestObject, context: AdmissionContext) -> ManifestObject:
    """Return a pod as it was before it had a node, and take it out of the cluster; anything else as it is."""
    value = entry.value
    if not bound_to(value):
        return entry
    metadata, spec = value["metadata"], value["spec"]
    name, namespace = str(metadata.get("name")), metadata.get("namespace") or workload.DEFAULT_NAMESPACE
    if context.cluster is not None:
        context.cluster.remove("v1", "Pod", namespace, name)
    spec = {key: field for key, field in spec.items() if key != "nodeName"}
    return targets.as_manifest(value | {"spec": spec}, entry.document.file)


def apply_along(
    found: list[ManifestObject], options: PlacementOptions, context: AdmissionContext
) -> list[str]:
    """Add to the cluster what would be in it with the object; return what is wrong with it."""
    problems: list[str] = []
    for entry in found:
        if context.cluster is None or snapshot.kind_of(entry.value) not in cluster_kinds.APPLIED_ALONG:
            continue
        obj, metadata = entry.value, entry.value.get("metadata")
        if isinstance(metadata, dict) and not metadata.get("namespace"):
            obj = obj | {
                "metadata": metadata | {"namespace": options.namespace or workload.DEFAULT_NAMESPACE}
            }
        problems += manifest.told(entry, context.cluster.apply(obj))
    return problems

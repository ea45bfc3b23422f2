"""The input of ``evenkeel what-if``: objects of files and of the command line, and the whole cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from planning.simulation.events import TargetWorkload
from planning.simulation.outcome import Cause
from planning.simulation.scenario import ClusterState
from policies.manifests import edits as manifests_edits
from policies.manifests.errors import DocumentError, UsageError
from policies.manifests.fields import ErrorList, member, text_member
from policies.manifests.file_name import STDIN
from policies.manifests.words import IN_PHRASE, listed, object_title
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.replica_sources import ReplicaSources
from policies.model.workload import DEFAULT_NAMESPACE
from policies.model.workload_ref import WorkloadRef, with_namespace
from policies.pods.placement import PlacementError, prepare, read_workload
from webhook.cli import manifest, placement, targets
from webhook.cli import suggestion as cli_suggestion
from webhook.cli.event_options import AskedEvents, AskedObjects
from webhook.cli.placement_options import PlacementOptions, choose_all_by
from webhook.cli.terminal import MANY_NODES, interruptible, note, progress
from webhook.requests import what_if
from webhook.requests.frame import RequestError
from webhook.requests.placement import unread_kinds

if TYPE_CHECKING:
    from planning.simulation.outcome import Outcome
    from policies.manifests.documents import ManifestObject
    from webhook.cli.autoscale_option import Autoscale


@dataclass(slots=True)
class WhatIfInput:
    """What a command line is about."""

    options: PlacementOptions  #: The options, with the namespace of objects that name none.
    asked: AskedObjects  #: What events are about.
    applied: Sequence[ManifestObject]  #: The objects of the files that are applied.
    along: Sequence[ManifestObject]  #: Everything in the files.
    only_namespace: str = ""  #: The one namespace that is looked at; empty for all.
    state: ClusterState | None = field(default=None)  #: The cluster, once it was read.

    @property
    def title(self) -> str:
        """What it is about: the workloads that are named or applied, or the cluster."""
        names = (object_title(each.kind, each.namespace, each.name) for each in self.asked.targets)
        return listed(names, IN_PHRASE) or "Cluster"

    @property
    def source(self) -> str:
        """What the cluster is called, without the folder of its file."""
        return "live cluster" if self.options.live else PurePath(self.options.cluster).name


def read_objects(options: PlacementOptions) -> WhatIfInput:
    """Read the files, and which objects of the cluster are named.

    Raises:
        OSError: A file cannot be opened.
        DocumentError: A file is not what it should be.
        UsageError: Options that do not go together.
        ClusterError: The kubeconfig names no cluster.
    """
    only = "" if options.files or options.words else options.namespace
    options = options.with_default_cluster()
    options.require_cluster()
    if options.cluster == STDIN and STDIN in options.files:
        raise UsageError("only one of --file and --cluster may be standard input")
    if options.live:
        from webhook.cli import live_placement

        options = live_placement.in_context(options)
    namespace, kinds = options.namespace or DEFAULT_NAMESPACE, options.kinds()
    words = options.words
    pairs = (
        [words] if len(words) == 2 and not any("/" in word for word in words) else [(word,) for word in words]
    )
    parsed = [target for pair in pairs if (target := targets.parse_target(pair, kinds)) is not None]
    along = [manifest.read_objects((file,)) for file in options.files]
    every = [entry for entries in along for entry in entries]
    chosen = choose_all_by(options, every, kinds) if options.files else []
    applied = [[entry for entry in entries if entry in chosen] for entries in along]
    named = [
        TargetWorkload(kind=target.kind.name, namespace=namespace, name=target.name) for target in parsed
    ]
    return WhatIfInput(
        options=options,
        asked=AskedObjects(
            applied=[[_in(entry, namespace) for entry in entries] for entries in applied],
            targets=named or [_target(entry, namespace) for entry in chosen],
            namespace=namespace,
        ),
        applied=chosen,
        along=every,
        only_namespace=only,
    )


def _in(entry: ManifestObject, namespace: str) -> dict[str, Any]:
    return dict(with_namespace(entry.value, namespace))


def _target(entry: ManifestObject, namespace: str) -> TargetWorkload:
    metadata = member(entry.value, "metadata")
    return TargetWorkload(
        kind=text_member(entry.value, "kind"),
        namespace=text_member(metadata, "namespace") or namespace,
        name=text_member(metadata, "name"),
    )


def play(
    given: WhatIfInput, request: what_if.WhatIfRequest, asked: AskedEvents, autoscale: Autoscale
) -> tuple[Outcome, bool]:
    """Play what is asked, with progress on a terminal, until all is done or Ctrl-C is pressed.

    Returns:
        The outcome, and whether it was ended early.

    Raises:
        OSError: A file cannot be opened.
        DocumentError: A file is not what it should be.
        UsageError: An event names what the cluster does not have.
        ClusterError: The live cluster cannot be read.
    """
    state = given.state = _read_cluster(given)
    cluster = state.context.cluster
    if cluster is None:
        raise ValueError("a cluster was read")
    if given.only_namespace:
        refs = sorted(ref for ref in state.workloads.known_by() if ref.namespace == given.only_namespace)
        if not refs:
            raise UsageError(f"no workload in namespace {given.only_namespace}")
        request = replace(request, workloads=[TargetWorkload(**ref._asdict()) for ref in refs])
    autoscaler = autoscale.read(cluster)
    long = cluster.node_count >= MANY_NODES or request.each is not None
    with progress("Playing", long=long) as advance, interruptible() as stop:
        work = what_if.Work(stop, advance, autoscaler)
        try:
            outcome = what_if.run(request, state, ErrorList(), work)
        except RequestError as error:
            lines = (f"{asked.where(each.path)}: {each.problem}" for each in error.errors)
            raise UsageError("\n".join(lines) or error.message) from error
        stopped = stop()
    if outcome.verdict.cause is Cause.REFUSED:
        for line in _refusals(given, state):
            click.echo(line, err=True)
    return outcome, stopped


def _refusals(given: WhatIfInput, state: ClusterState) -> Iterator[str]:
    """Yield what the API server refuses of applied objects, each with its file and line."""
    for entry in given.applied:
        try:
            workload = read_workload(entry.value, state.context, namespace=given.asked.namespace)
            prepare(workload, state.context)
        except PlacementError as error:
            yield from manifest.told(entry, error.errors)


def _read_cluster(given: WhatIfInput) -> ClusterState:
    """Return the cluster of the options, with what is in the files besides what is applied."""
    options, unread = given.options, list[str]()
    known = placement.known_pods(options, keeps=True)
    workloads, sources = ClusterWorkloads(options.kinds(), every_kind=True), ReplicaSources()

    def see(obj: dict[str, Any]) -> None:
        for take in (known, workloads, sources):
            take(obj)

    context = placement.read_context(options, see, everything=True, warn=note)
    if context.cluster is None:
        raise ValueError("a cluster was read")
    if not context.cluster.node_count:
        raise DocumentError(["there is no node: the snapshot may lack them, so nothing is judged"])
    if not (context.cluster.pod_count or len(workloads) or given.applied):
        raise UsageError("there is no workload and no pod, or the snapshot lacks them: nothing is judged")
    placement.report_without_pods(context.cluster)
    leaves_out = [entry for entry in given.applied if placement.leaves_replicas_out(entry, context)]
    for obj in [entry.value for entry in given.along] + placement.live_autoscalers(options, leaves_out):
        sources.take_autoscaler(with_namespace(obj, options.namespace))
    problems = placement.apply_along(list(given.along), options, context)
    if problems:
        raise DocumentError(problems)
    return ClusterState(
        context=replace(context, replica_sources=sources),
        known=known,
        workloads=workloads,
        unread=(*unread_kinds(context.cluster), *unread),
    )


def suggestion(given: WhatIfInput, outcome: Outcome, number: int) -> str:
    """Return a suggestion to paste: a diff of a manifest, or a patch for kubectl.

    Raises:
        OSError: A file cannot be opened.
        DocumentError: The manifest cannot be edited; says why.
        UsageError: There is no such suggestion, or it is none of a manifest.
    """
    found = outcome.suggestions or ()
    if number > len(found):
        raise UsageError(f"no suggestion {number}: there {f'are {len(found)}' if found else 'is none'}")
    chosen = found[number - 1]
    if not chosen.edits or chosen.workload is None:
        raise UsageError(f"suggestion {number} changes no manifest: {chosen.text}")
    edits: tuple[manifests_edits.Edit, ...] = chosen.edits
    ref = chosen.workload
    for entry in given.applied:
        target = _target(entry, given.asked.namespace)
        if (target.namespace, target.name) == (ref.namespace, ref.name) and (
            target.kind == ref.kind.partition(".")[0]
        ):
            return cli_suggestion.manifest_diff(given.options.files, entry, edits).decode()
    return _patch(given, ref, edits)


def _patch(given: WhatIfInput, ref: WorkloadRef, edits: tuple[manifests_edits.Edit, ...]) -> str:
    if given.state is None:
        raise ValueError("the cluster was read")
    kind = ref.kind.partition(".")[0]
    workload = given.state.workloads.find(WorkloadRef(ref.namespace, kind, ref.name))
    target = targets.parse_target((f"{kind}/{ref.name}",), given.options.kinds())
    if workload is None or target is None:
        raise UsageError(f"the cluster has no {kind} {ref.namespace}/{ref.name} to patch")
    entry = targets.as_manifest(dict(workload.obj), str(target))
    return f"{cli_suggestion.kubectl_patch(target, entry, edits)}\n"

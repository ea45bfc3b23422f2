"""The parts that commands on every workload of a cluster share: reading and progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from policies.manifests.errors import DocumentError, UsageError
from policies.manifests.fields import shown_name
from policies.manifests.words import IN_SENTENCE, listed
from policies.model import cluster_workloads, label_query
from webhook.cli import placement
from webhook.cli.options import TEXTS
from webhook.cli.placement_options import PlacementOptions
from webhook.cli.terminal import interruptible, note_and_keep, progress

if TYPE_CHECKING:
    from policies.config.context import AdmissionContext
    from policies.scheduler.index import ClusterIndex


#: Workloads from which a bar is shown; they take about a second.
_MANY: Final = 500


class ReadCluster(NamedTuple):
    """A cluster with its workloads."""

    workloads: cluster_workloads.ClusterWorkloads  #: The workloads.
    context: AdmissionContext  #: What they are evaluated by.
    cluster: ClusterIndex  #: The cluster.
    unread: tuple[str, ...]  #: What could not be read of it, a line each.


def read_workloads(
    options: PlacementOptions,
    namespace: str,
    selector: str,
    *,
    form: str,
    every_kind: bool = False,
    seen: Callable[[dict[str, Any]], None] | None = None,
) -> ReadCluster:
    """Read a cluster.

    Args:
        options: The options.
        namespace: The only namespace that is looked at; empty for all.
        selector: What selects workloads, in kubectl's syntax; empty for all.
        form: The format of the report. Text has what could not be read; with others, stderr has it, too.
        every_kind: Whether workloads without a number of replicas are looked at, too.
        seen: Shown every object of the cluster, if there is one.

    Raises:
        OSError: A file cannot be opened.
        DocumentError: A file is not what it should be, or the cluster has no node.
        UsageError: Options that do not go together, or no cluster.
        ClusterError: The live cluster cannot be read.
    """
    options.require_cluster()
    selecting = label_query.parse_label_query(selector) if selector else None
    workloads = cluster_workloads.ClusterWorkloads(
        options.kinds(), namespace, selecting, every_kind=every_kind
    )
    unread: list[str] = []
    # A text ends with them.
    warn = unread.append if form in TEXTS else partial(note_and_keep, unread)

    def show(obj: dict[str, Any]) -> None:
        workloads(obj)
        if seen is not None:
            seen(obj)

    context = placement.read_context(options, show, everything=True, warn=warn)
    if context.cluster is None:
        raise ValueError("a cluster was read")
    if not context.cluster.node_count:
        left_out = unread if form in TEXTS else []
        raise DocumentError([*left_out, "there is no node: the snapshot may lack them, so nothing is judged"])
    if options.live:
        from webhook import workload_store

        unread.append(workload_store.UNWATCHED_KINDS)
    placement.report_without_pods(context.cluster, warn)
    return ReadCluster(workloads, context, context.cluster, (*workloads.unread, *unread))


class LookedAt:
    """The workloads of a cluster one after another, with a bar on a terminal while there are many.

    Attributes:
        left: How many objects were not looked at; after Ctrl-C there are some.
    """

    def __init__(self, workloads: cluster_workloads.ClusterWorkloads, doing: str) -> None:
        self._workloads = workloads
        self._doing = doing
        self.left = len(workloads)

    def __iter__(self) -> Iterator[cluster_workloads.ClusterWorkload]:
        """Yield each workload until Ctrl-C is pressed.

        Raises:
            UsageError: There is none: what looked at nothing found nothing wrong.
        """
        total, any_looked_at = len(self._workloads), False
        with progress(self._doing, long=total >= _MANY) as advance, interruptible() as stop:
            for entry in self._workloads.each():
                if stop():
                    return
                if entry is not None:
                    any_looked_at = True
                    yield entry
                self.left -= 1
                advance(1 - self.left / total)
        if not any_looked_at:
            raise UsageError(nothing_there(self._workloads))


def nothing_there(workloads: cluster_workloads.ClusterWorkloads) -> str:
    """Say where there is no workload, and where there are some."""
    where = f" in namespace {shown_name(workloads.namespace)}" if workloads.namespace else ""
    if len(workloads):
        return f"no workload{where} has the labels of --selector"
    others = sorted(map(shown_name, workloads.namespaces))
    if not others:
        return "no workload: the cluster, or its snapshot, has none with a number of replicas"
    return f"no workload{where}; there are some in {listed(others, IN_SENTENCE)}"

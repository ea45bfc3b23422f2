"""``-o html`` of commands on every workload of a cluster: the page as a file, opened at what they found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from planning.audit import words as audit_words
from policies.model import workload_ref
from webhook.cli.answers import print_answer, report_about
from webhook.cli.options import HTML
from webhook.cli.terminal import MANY_NODES, progress

if TYPE_CHECKING:
    from planning.audit.run import AuditRun
    from planning.audit.workload_audit import WorkloadAudit
    from webhook.cli.cluster_workloads import ReadCluster
    from webhook.cli.placement_options import PlacementOptions
    from webhook.ui import recording


class ClusterPage:
    """The page of a command, while that works.

    Attributes:
        objects: What must be shown every object of the cluster.
    """

    def __init__(self, options: PlacementOptions) -> None:
        """Begin, before the cluster is read."""
        from webhook.cli import ui_cluster

        self.objects = ui_cluster.cluster_objects(options)
        self._options = options

    def read(self, found: ReadCluster) -> RecordedCluster:
        """Return what answers are recorded of, once the cluster was read."""
        from webhook.cli import ui_cluster
        from webhook.ui import recording

        cluster = ui_cluster.page_cluster(self._options, found.context, self.objects, found.unread)
        return RecordedCluster(self._options, found, recording.Recording(cluster))


class RecordedCluster:
    """A cluster that was read, with what is recorded of it."""

    def __init__(self, options: PlacementOptions, read: ReadCluster, made: recording.Recording) -> None:
        """Record nothing yet but the map."""
        self._options, self._read, self._made = options, read, made

    def print_audit(self, run: AuditRun) -> None:
        """Print an audit, opened at the list of workloads."""
        from webhook.ui import recording

        audited = run.cluster
        whole = not (audited.namespace or audited.selector) and len(run.workloads) == run.total
        self._made.withheld += audit_words.notes(run)
        self._made.audit(run.workloads, left=run.left, total=len(self._read.workloads), whole=whole)
        title = f"Audit of {f'namespace {audited.namespace}' if audited.namespace else 'all namespaces'}"
        title += f", workloads with {audited.selector}" if audited.selector else ""
        self._print(
            recording.list_view(),
            map(_ref, run.workloads),
            title=title,
            verdict=next(audit_words.summary(run)),
        )

    def _print(
        self,
        fragment: str,
        opened: Iterable[workload_ref.WorkloadRef],
        *,
        title: str,
        verdict: str,
    ) -> None:
        with progress("Writing the page", long=self._is_long) as advance:
            self._made.details(opened, advance)
        about = report_about(self._options, title=title, verdict=verdict)
        print_answer(self._made.document(fragment), HTML, "page", about)

    @property
    def _is_long(self) -> bool:
        return self._read.cluster.node_count >= MANY_NODES


def _ref(found: WorkloadAudit) -> workload_ref.WorkloadRef:
    return workload_ref.WorkloadRef(found.namespace, found.kind, found.name)

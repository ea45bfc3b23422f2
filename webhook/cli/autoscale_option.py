"""The option that lets an autoscaler add nodes for pending pods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from policies.manifests.errors import DocumentError, UsageError
from policies.manifests.file_name import shown_file

if TYPE_CHECKING:
    from planning.simulation.node_source import NodeSource
    from planning.simulation.scale_ups import SimulatedScaleUps
    from policies.config.context import AdmissionContext
    from policies.manifests import documents as manifests_documents
    from policies.scheduler.index import ClusterIndex
    from webhook.ui import cluster as cluster_of_page


#: What stands for a file: node groups as the nodes of the cluster show them.
DEDUCED: Final = "deduced"

autoscale_option = click.option(
    "--autoscale",
    metavar=f"FILE|{DEDUCED}",
    help="Add nodes for pending pods as Cluster Autoscaler does, to the node groups of a file (NodeGroups), "
    "or those that the cluster's nodes show; or as Karpenter does, of the NodePools of a file, with "
    "InstanceTypes or those of the cluster's nodes.",
)


@dataclass(frozen=True, slots=True)
class Autoscale:
    """The value of the option."""

    source: str | None  #: A file, or ``deduced``; None without the option.

    def read(self, cluster: ClusterIndex) -> NodeSource | None:
        """Return the autoscaler; None without the option.

        Raises:
            DocumentError: The file cannot be read or is not what it should be, or there is no node group.
        """
        if self.source is None:
            return None
        from planning.autoscaler import sources

        try:
            if self.source == DEDUCED:
                return sources.deduce(cluster)
            return sources.read_autoscaler(self._objects(self.source), cluster)
        except DocumentError as error:
            # The others have their file and line.
            where = {
                sources.NONE_DEDUCED: f"--autoscale {DEDUCED}: ",
                sources.NO_GROUP: f"{shown_file(self.source)}: ",
            }
            raise DocumentError([f"{where.get(text, '')}{text}" for text in error.problems]) from error

    def for_page(self, cluster: ClusterIndex) -> cluster_of_page.PageAutoscaler | None:
        """Return what the page shows of it and requests with it; None without the option.

        Raises:
            DocumentError: As for ``read``.
        """
        if self.source is None:
            return None
        from webhook.ui import cluster as cluster_of_page

        self.read(cluster)
        if self.source == DEDUCED:
            return cluster_of_page.PageAutoscaler(self.source, DEDUCED)
        documents = [found.value for found in self._objects(self.source)]
        return cluster_of_page.PageAutoscaler(shown_file(self.source), documents)

    @staticmethod
    def _objects(file: str) -> list[manifests_documents.ManifestObject]:
        from policies.manifests import documents as manifests_documents
        from webhook.lint import files

        documents = manifests_documents.load_strictly(
            files.read_text(file, named=True).content, shown_file(file)
        )
        return [found for document in documents for found in manifests_documents.objects_or_itself(document)]


def scale_ups(source: str, context: AdmissionContext) -> SimulatedScaleUps:
    """Return the simulated scale-ups for the rules of the linter.

    Args:
        source: The value of the option.
        context: What pods are prepared by, with the cluster if there is one.

    Raises:
        UsageError: Groups are to be deduced, and there is no cluster.
        DocumentError: As for ``Autoscale.read``.
    """
    if context.cluster is None and source == DEDUCED:
        raise UsageError(f"--autoscale {DEDUCED} needs the cluster's nodes (--live or --cluster)")
    from policies.scheduler import index

    autoscaler = Autoscale(source).read(context.cluster or index.ClusterIndex())
    if autoscaler is None:
        raise ValueError("no autoscaler is given")
    from planning.simulation import autoscaled
    from planning.simulation import scale_ups as core_scale_ups

    groups = "NodePools" if autoscaler.name is autoscaled.AutoscalerName.KARPENTER else "node groups"
    given = "of the nodes" if source == DEDUCED else f"of {shown_file(source)}"
    return core_scale_ups.SimulatedScaleUps(autoscaler, f"the {groups} {given}", context)


#: Without the option.
NO_AUTOSCALE: Final = Autoscale(None)

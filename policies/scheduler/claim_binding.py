"""The volumes that the claims of a pod get once the pod has a node.

Source: ``AssumePodVolumes`` and ``BindPodVolumes``,
``pkg/scheduler/framework/plugins/volumebinding/binder.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from policies.model.node_affinity import NodeOperator, NodeRequirement, NodeSelectorTerm
from policies.model.pod import Pod
from policies.model.storage_objects import (
    PersistentVolume,
    PersistentVolumeClaim,
    VolumeSite,
)
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_view import NodeView
from policies.scheduler.plugins.volumebinding import find_bindings


def bind_claims(pod: Pod, node: str, cluster: ClusterIndex) -> None:
    """Bind the claims of a pod that wait for it to volumes on its node.

    Args:
        pod: The pod.
        node: Its node, on which it fits.
        cluster: The cluster, a fork, whose storage has the volumes afterwards.
    """
    if not pod.volumes.claims:
        return
    view = NodeView(cluster, pod)
    if not view.knows_claims or not view.claims.delayed:
        return
    position = view.index.nodes.positions()[node]
    chosen = {
        claim.name: volumes[int(of_node[position]) - 1]
        for claim, volumes, of_node in find_bindings(view).chosen
        if of_node[position]
    }
    for claim in view.claims.delayed:
        volume = chosen.get(claim.name) or _provisioned(claim, node, cluster)
        cluster.storage.volumes.put(_taken(volume, claim))
        bound = claim.with_state(bound=True, selected_node=None)
        cluster.storage.claims.put(bound._replace(volume=volume.name))


def _taken(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """Return a volume that a claim has."""
    return volume._replace(
        site=volume.site._replace(available=False, claimed=True),
        claim_namespace=claim.namespace,
        claim_name=claim.name,
        claim_uid=claim.uid,
    )


def _provisioned(claim: PersistentVolumeClaim, node: str, cluster: ClusterIndex) -> PersistentVolume:
    """Return the volume that a CSI driver makes for a claim: where its topology keys put it."""
    storage = cluster.storage
    found, csi_node = storage.storage_class(claim.shape.storage_class), storage.csi_node(node)
    provisioner = "" if found is None else found.provisioner
    keys = () if csi_node is None else csi_node.topology_keys.get(provisioner, ())
    placed = cluster.nodes.find(node)
    labels = {} if placed is None else placed.labels
    where = tuple(NodeRequirement(key, NodeOperator.IN, (labels[key],)) for key in keys if key in labels)
    csi = storage.csi_volume(claim)
    site = VolumeSite(
        shape=claim.shape,
        available=False,
        claimed=False,
        terminating=False,
        labels=(),
        terms=(NodeSelectorTerm(where),) if where else None,
        zones=(),
        driver="" if csi is None else csi.driver,
    )
    # No volume of the cluster is called so.
    return PersistentVolume(f"/{claim.namespace}/{claim.name}", site, "" if csi is None else csi.handle)

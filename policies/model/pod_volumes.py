"""The volumes of a pod that decide where it may run: claims, and disks that it names itself.

Source: ``volumerestrictions/volume_restrictions.go`` and ``nodevolumelimits/csi.go``,
``pkg/scheduler/framework/plugins``, and ``k8s.io/csi-translation-lib/plugins``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from policies.manifests.fields import object_items

#: What stands for a part of an in-tree disk's id that is not known: ``UnspecifiedValue``.
_UNSPECIFIED: Final = "UNSPECIFIED"


class ClaimVolume(NamedTuple):
    """A claim that a pod uses.

    Attributes:
        namespace: The namespace of both.
        name: The name of the PersistentVolumeClaim.
        ephemeral: Whether the claim is made for the pod, from the template of a generic ephemeral volume.
    """

    namespace: str
    name: str
    ephemeral: bool = False


class InlineDisk(NamedTuple):
    """A disk that a pod names itself, and that pods of one node cannot share freely.

    Attributes:
        identity: What two pods with the same disk have in common: its type, and its names.
        read_only: Whether it may be shared with others that only read it.
    """

    identity: tuple[str, ...]
    read_only: bool = False


class CsiVolume(NamedTuple):
    """A volume as its CSI driver knows it; a driver limits how many a node may have attached."""

    driver: str
    handle: str


class PodVolumes(NamedTuple):
    """The volumes of a pod that the scheduler looks at.

    Attributes:
        claims: The claims, in the order of the pod's volumes.
        disks: The disks that cannot be shared; a Ceph RBD image once for each of its monitors.
        inline: The disks of cloud providers, as the CSI drivers know them that took them over.
    """

    claims: tuple[ClaimVolume, ...] = ()
    disks: tuple[InlineDisk, ...] = ()
    inline: tuple[CsiVolume, ...] = ()


#: A pod without any.
NO_VOLUMES: Final = PodVolumes()


class InTreePlugin(NamedTuple):
    """A volume plugin of old that a CSI driver took over.

    Attributes:
        source: The field of a volume that names a disk of it.
        identifier: The field of that in which the disk is named.
        provisioner: What storage classes call it, and nodes on which it is migrated.
        driver: The CSI driver.
        topology_key: The label of nodes that the driver uses for zones; empty where zones stay as they are.
    """

    source: str
    identifier: str
    provisioner: str
    driver: str
    topology_key: str

    def handle(self, disk: str, zones: tuple[str, ...] = ()) -> str:
        """Return the id by which the CSI driver knows a disk.

        Args:
            disk: Its name in the volume.
            zones: The zones of its PersistentVolume.

        >>> IN_TREE["awsElasticBlockStore"].handle("aws://eu-1a/vol-1")
        'vol-1'
        >>> IN_TREE["gcePersistentDisk"].handle("d", ("b",))
        'projects/UNSPECIFIED/zones/b/disks/d'
        """
        match self.source:
            case "awsElasticBlockStore":
                return disk.rpartition("/")[2]
            case "gcePersistentDisk" if len(zones) > 1:
                region = zones[0].rpartition("-")[0]
                return f"projects/{_UNSPECIFIED}/regions/{region}/disks/{disk}"
            case "gcePersistentDisk":
                return f"projects/{_UNSPECIFIED}/zones/{zones[0] if zones else _UNSPECIFIED}/disks/{disk}"
        return disk


#: The plugins that CSI drivers took over and whose volumes count towards limits, by the field of a volume.
IN_TREE: Final = {
    plugin.source: plugin
    for plugin in (
        InTreePlugin(
            "awsElasticBlockStore",
            "volumeID",
            "kubernetes.io/aws-ebs",
            "ebs.csi.aws.com",
            "topology.ebs.csi.aws.com/zone",
        ),
        InTreePlugin(
            "gcePersistentDisk",
            "pdName",
            "kubernetes.io/gce-pd",
            "pd.csi.storage.gke.io",
            "topology.gke.io/zone",
        ),
        InTreePlugin(
            "azureDisk",
            "diskURI",
            "kubernetes.io/azure-disk",
            "disk.csi.azure.com",
            "",
        ),
        InTreePlugin(
            "cinder",
            "volumeID",
            "kubernetes.io/cinder",
            "cinder.csi.openstack.org",
            "topology.cinder.csi.openstack.org/zone",
        ),
        InTreePlugin("portworxVolume", "volumeID", "kubernetes.io/portworx-volume", "pxd.portworx.com", ""),
    )
}
#: The CSI driver of each provisioner that one took over.
MIGRATED_PROVISIONERS: Final = {plugin.provisioner: plugin.driver for plugin in IN_TREE.values()}


def read_pod_volumes(spec: Mapping[str, Any], namespace: str, pod: str) -> PodVolumes:
    """Return the volumes of a pod; what is of the wrong type is passed over.

    Args:
        spec: The spec of the pod.
        namespace: Its namespace.
        pod: The name of the pod: the claim of an ephemeral volume is called after both.
    """
    if not spec.get("volumes"):
        return NO_VOLUMES
    claims: list[ClaimVolume] = []
    disks: list[InlineDisk] = []
    inline: list[CsiVolume] = []
    for volume in object_items(spec["volumes"]):
        claim = _claim_of(volume, namespace, pod)
        if claim is not None:
            claims.append(claim)
            continue
        disks += _disks_of(volume)
        inline += csi_volumes(volume)
    if not (claims or disks or inline):
        return NO_VOLUMES
    return PodVolumes(tuple(claims), tuple(disks), tuple(inline))


def csi_volumes(volume: Mapping[str, Any], zones: tuple[str, ...] = ()) -> Iterator[CsiVolume]:
    """Yield the disk of a cloud provider that a volume names, as its CSI driver knows it.

    Args:
        volume: A volume of a pod, or the spec of a PersistentVolume.
        zones: The zones of the PersistentVolume.
    """
    for source in IN_TREE.keys() & volume.keys():
        plugin, disk = IN_TREE[source], volume[source]
        if isinstance(disk, dict) and isinstance(name := disk.get(plugin.identifier), str):
            yield CsiVolume(plugin.driver, plugin.handle(name, zones))


def _claim_of(volume: Mapping[str, Any], namespace: str, pod: str) -> ClaimVolume | None:
    source = volume.get("persistentVolumeClaim")
    if isinstance(source, dict) and isinstance(name := source.get("claimName"), str):
        return ClaimVolume(namespace, name)
    if isinstance(volume.get("ephemeral"), dict) and isinstance(name := volume.get("name"), str):
        return ClaimVolume(namespace, f"{pod}-{name}", ephemeral=True)
    return None


def _disks_of(volume: Mapping[str, Any]) -> Iterator[InlineDisk]:
    """Yield the disks of a volume that pods cannot share: ``isVolumeConflict``."""
    if isinstance(disk := volume.get("gcePersistentDisk"), dict):
        yield InlineDisk(("gcePersistentDisk", str(disk.get("pdName"))), disk.get("readOnly") is True)
    if isinstance(disk := volume.get("awsElasticBlockStore"), dict):
        yield InlineDisk(("awsElasticBlockStore", str(disk.get("volumeID"))))
    if isinstance(disk := volume.get("iscsi"), dict):
        yield InlineDisk(("iscsi", str(disk.get("iqn"))), disk.get("readOnly") is True)
    if isinstance(disk := volume.get("rbd"), dict):
        monitors = disk.get("monitors")
        for monitor in monitors if isinstance(monitors, list) else ():
            image = (str(monitor), str(disk.get("pool") or ""), str(disk.get("image")))
            yield InlineDisk(("rbd", *image), disk.get("readOnly") is True)

"""The volumes of a pod that decide where it may run: claims, and disks that it names itself.

Source: ``volumerestrictions/volume_restrictions.go`` and ``nodevolumelimits/csi.go``,
``pkg/scheduler/framework/plugins``, and ``k8s.io/csi-translation-lib/plugins``, Kubernetes 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, NamedTuple

from policies.manifests.fields import list_member, object_items
from policies.manifests.wire import INTERNAL

#: What stands for a part of an in-tree disk's id that is not known: ``UnspecifiedValue``.
_UNSPECIFIED: Final = "UNSPECIFIED"
#: The kind of Azure disks that a CSI driver mounts.
_MANAGED: Final = "managed"
#: An escape in a URL, a percent sign that no URL has, and what ends a path.
_ESCAPE: Final = re.compile("%([0-9A-Fa-f]{2})")
_NO_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2})")
_QUERY: Final = re.compile("[?#]")


@dataclass(frozen=True, slots=True, kw_only=True)
class LostVolume:
    """A volume of a pending pod that no node reaches: its zone is lost, or its node."""

    pod: str  #: The name of the pod.
    claim: str  #: The claim that is bound to the volume.
    volume: str  #: Its name.
    reached_from: str  #: Which nodes would reach it, as requirements of their labels.
    #: The label that alone decides it, and its value; None where it takes more than one.
    label: Annotated[tuple[str, str] | None, INTERNAL]


class ClaimVolume(NamedTuple):
    """A claim that a pod uses."""

    namespace: str  #: The namespace of both.
    name: str  #: The name of the PersistentVolumeClaim.
    #: Whether the claim is made for the pod, from the template of a generic ephemeral volume.
    ephemeral: bool = False


class InlineDisk(NamedTuple):
    """A disk that a pod names itself, and that pods of one node cannot share freely."""

    identity: tuple[str, ...]  #: What two pods with the same disk have in common: its type, and its names.
    read_only: bool = False  #: Whether it may be shared with others that only read it.


class CsiVolume(NamedTuple):
    """A volume as its CSI driver knows it; a driver limits how many a node may have attached."""

    driver: str
    handle: str


class PodVolumes(NamedTuple):
    """The volumes of a pod that the scheduler looks at."""

    claims: tuple[ClaimVolume, ...] = ()  #: The claims, in the order of the pod's volumes.
    #: The disks that cannot be shared; a Ceph RBD image once for each of its monitors.
    disks: tuple[InlineDisk, ...] = ()
    #: The disks of cloud providers, as the CSI drivers know them that took them over.
    inline: tuple[CsiVolume, ...] = ()


#: A pod without any.
NO_VOLUMES: Final = PodVolumes()


class InTreePlugin(NamedTuple):
    """A volume plugin of old that a CSI driver took over."""

    source: str  #: The field of a volume that names a disk of it.
    identifier: str  #: The field of that in which the disk is named.
    provisioner: str  #: What storage classes call it, and nodes on which it is migrated.
    driver: str  #: The CSI driver.
    #: The label of nodes that the driver uses for zones; empty where zones stay as they are.
    topology_key: str

    def handle(self, disk: str, zones: tuple[str, ...] = ()) -> str | None:
        """Return the id by which the CSI driver knows a disk; None if it is not translated.

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
                return _aws_volume(disk)
            case "gcePersistentDisk" if len(zones) > 1:
                region = _google_region(zones)
                return region and f"projects/{_UNSPECIFIED}/regions/{region}/disks/{disk}"
            case "gcePersistentDisk":
                zone = (zones[0] if zones else "") or _UNSPECIFIED
                return f"projects/{_UNSPECIFIED}/zones/{zone}/disks/{disk}"
        return disk


def _aws_volume(disk: str) -> str | None:
    """Return the id of an EBS volume: ``KubernetesVolumeIDToEBSVolumeID``.

    >>> _aws_volume("vol-1"), _aws_volume("aws:///vol-1"), _aws_volume("aws://eu-1a/disk")
    ('vol-1', 'vol-1', None)
    """
    if not disk.startswith("aws://"):
        return disk
    _, slash, path = _QUERY.split(disk.removeprefix("aws://"), maxsplit=1)[0].partition("/")
    # Few of those who write such ids escape anything in them; what an escape stands for is a part of the id.
    path = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), path).strip("/")
    is_id = bool(slash) and path.startswith("vol-") and "/" not in path
    return path if is_id and disk.isprintable() and not _NO_ESCAPE.search(disk) else None


def _google_region(zones: tuple[str, ...]) -> str | None:
    """Return the region of the zones of a disk: ``gceGetRegionFromZones``.

    >>> _google_region(("eu-west1-b", "eu-west1-c")), _google_region(("eu-west1-b", "b"))
    ('eu-west1', None)
    """
    regions = {zone.rpartition("-")[0] if zone.count("-") == 2 else None for zone in zones}
    return regions.pop() if len(regions) == 1 else None


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
        if not isinstance(disk, dict) or not isinstance(name := disk.get(plugin.identifier), str):
            continue
        # An Azure disk of the kind Dedicated or Shared is not translated.
        kind = disk.get("kind") if source == "azureDisk" else None
        handle = plugin.handle(name, zones)
        if handle and str(kind or _MANAGED).lower() == _MANAGED:
            yield CsiVolume(plugin.driver, handle)


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
        for monitor in list_member(disk, "monitors"):
            image = (str(monitor), str(disk.get("pool") or ""), str(disk.get("image")))
            yield InlineDisk(("rbd", *image), disk.get("readOnly") is True)

"""Volumes of in-tree plugins, on nodes where a CSI driver took the plugin over and on others.

Expected values: ``translateTopologyFromInTreeToCSI`` and the translators of ``csi-translation-lib/plugins``,
``isCSIMigrationOn`` of ``nodevolumelimits/utils.go`` and ``tryTranslatePVToCSI`` of
``volumebinding/binder.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Any

import pytest

from policies.manifests.fields import ErrorList
from policies.model.cluster_kinds import STORAGE_LISTS
from policies.model.storage_readers import read_volume
from policies.scheduler.evaluate import evaluate
from tests.policies.scheduler.clusters import a_node, a_pod, a_request, an_index, fitting
from tests.policies.scheduler.storage_objects import ZONE, a_claim, a_class, a_volume, using

BETA = "failure-domain.beta.kubernetes.io/zone"
EBS_ZONE = "topology.ebs.csi.aws.com/zone"


def _affinity(*requirements: tuple[str, str, tuple[str, ...]]) -> dict[str, Any]:
    expressions = [
        {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
        for key, operator, values in requirements
    ]
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}}


def _volume(source: dict[str, Any], labels: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    volume = a_volume("v", "data", **source, **fields)
    del volume["spec"]["csi"]
    volume["metadata"]["labels"] = labels or {}
    return volume


EBS = {"awsElasticBlockStore": {"volumeID": "aws://z/vol-1"}}


@pytest.mark.parametrize(
    ("source", "labels", "driver", "handle"),
    [
        pytest.param(EBS, {}, "ebs.csi.aws.com", "vol-1", id="EBS, with its zone"),
        pytest.param(
            {"awsElasticBlockStore": {"volumeID": "vol-2"}}, {}, "ebs.csi.aws.com", "vol-2", id="EBS, bare"
        ),
        pytest.param(
            {"gcePersistentDisk": {"pdName": "d"}},
            {ZONE: "europe-west1-b"},
            "pd.csi.storage.gke.io",
            "projects/UNSPECIFIED/zones/europe-west1-b/disks/d",
            id="GCE, of a zone",
        ),
        pytest.param(
            {"gcePersistentDisk": {"pdName": "d"}},
            {ZONE: "europe-west1-b__europe-west1-c", BETA: ""},
            "pd.csi.storage.gke.io",
            "projects/UNSPECIFIED/regions/europe-west1/disks/d",
            id="GCE, of a region",
        ),
        pytest.param(
            {"awsElasticBlockStore": {"volumeID": "disks/vol-3"}},
            {},
            "ebs.csi.aws.com",
            "disks/vol-3",
            id="EBS, taken as it is without aws://",
        ),
        pytest.param(
            {"awsElasticBlockStore": {"volumeID": "aws://z/%76ol-4?a=b"}},
            {},
            "ebs.csi.aws.com",
            "vol-4",
            id="EBS, the path of a URL",
        ),
        *(
            pytest.param(
                {"awsElasticBlockStore": {"volumeID": disk}}, {}, "", "", id=f"EBS, not counted: {disk}"
            )
            for disk in (
                "aws://z/disk-1",
                "aws://vol-1",
                "aws://z/a/vol-1",
                "aws://z/vol-%zz",
            )
        ),
        *(
            pytest.param(
                {"gcePersistentDisk": {"pdName": "d"}}, {ZONE: zones}, "", "", id=f"GCE, not counted: {zones}"
            )
            for zones in ("europe-west1-b__b", "europe-west1-b__europe-west2-b", "europe-west1-b__")
        ),
        *(
            pytest.param(
                {"azureDisk": {"diskName": "d", "diskURI": "/disks/d", "kind": kind}},
                {},
                "disk.csi.azure.com" if kind == "managed" else "",
                "/disks/d" if kind == "managed" else "",
                id=f"Azure, {kind}",
            )
            for kind in ("managed", "Shared", "Dedicated")
        ),
        pytest.param(
            {"gcePersistentDisk": {"pdName": "d"}},
            {},
            "pd.csi.storage.gke.io",
            "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d",
            id="GCE, anywhere",
        ),
        pytest.param(
            {"azureDisk": {"diskName": "d", "diskURI": "/disks/d"}},
            {},
            "disk.csi.azure.com",
            "/disks/d",
            id="Azure",
        ),
        pytest.param({"cinder": {"volumeID": "c"}}, {}, "cinder.csi.openstack.org", "c", id="Cinder"),
        pytest.param({"portworxVolume": {"volumeID": "p"}}, {}, "pxd.portworx.com", "p", id="Portworx"),
        pytest.param({"vsphereVolume": {"volumePath": "p"}}, {}, "", "", id="vSphere: not counted"),
        pytest.param({"azureFile": {"shareName": "p"}}, {}, "", "", id="Azure files: not counted"),
    ],
)
def test_what_counts_towards_limits(
    source: dict[str, Any], labels: dict[str, str], driver: str, handle: str
) -> None:
    """The disk is known by the CSI driver's name and the id that it gives it."""
    volume = read_volume(_volume(source, labels), ErrorList())

    assert (driver, handle) == (volume.site.driver, volume.handle)


@pytest.mark.parametrize(
    ("labels", "affinity", "migrated", "expected"),
    [
        pytest.param({}, _affinity((ZONE, "In", ("a",))), True, "a", id="its zone becomes the driver's"),
        pytest.param({}, _affinity((ZONE, "In", ("a",))), False, "ab", id="in-tree: the label of the node"),
        pytest.param(
            {}, _affinity((BETA, "In", ("a",))), True, "a", id="the former key becomes the driver's"
        ),
        pytest.param(
            {}, _affinity((BETA, "In", ("a",))), False, "", id="in-tree: no node has the former key"
        ),
        pytest.param({BETA: "a"}, {}, True, "a", id="the zone of its labels"),
        pytest.param(
            {ZONE: "a"},
            _affinity((ZONE, "Exists", ())),
            True,
            "a",
            id="Exists names no zone: that of its labels",
        ),
        pytest.param({}, _affinity((ZONE, "Exists", ())), True, "ab", id="Exists, no labels: as it is"),
    ],
)
def test_where_it_is_reached(
    labels: dict[str, str],
    affinity: dict[str, Any],
    migrated: bool,  # noqa: FBT001
    expected: str,
) -> None:
    """Node a and, with the zone label of a, node b, which the driver says is in zone b."""
    nodes = [
        a_node("a", {ZONE: "a", EBS_ZONE: "a"}),
        a_node("b", {ZONE: "a", EBS_ZONE: "b"}),
    ]
    csi_nodes: list[dict[str, Any]] = []
    for node in nodes:
        name = node["metadata"]["name"]
        plugins = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}
        csi_nodes.append(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSINode",
                "metadata": {"name": name, "annotations": plugins if migrated else {}},
                "spec": {"drivers": []},
            }
        )
    index = an_index([*nodes, *csi_nodes, a_class(), a_claim("data", "v"), _volume(EBS, labels, **affinity)])
    index.list_kinds(STORAGE_LISTS.values())

    request = a_request(a_pod("p", volumes=using("data")), {}, index)
    assert list(expected) == fitting(evaluate(request, index))

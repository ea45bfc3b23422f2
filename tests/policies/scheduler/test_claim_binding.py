"""Replicas with claims: existing claims keep their volume, new ones are bound where the replica goes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from policies.manifests.fields import ErrorList
from policies.model.storage_readers import read_claim_templates
from policies.scheduler.binding import schedule
from policies.scheduler.index import ClusterIndex
from policies.scheduler.request import SchedulingRequest
from tests.policies.scheduler.clusters import a_constraint, a_node, a_pod, a_request, with_storage
from tests.policies.scheduler.storage_objects import (
    ZONE,
    a_claim,
    a_class,
    a_csi_node,
    a_volume,
    an_attachment,
    using,
)

TEMPLATE = {"metadata": {"name": "data"}, "spec": a_claim("data")["spec"]}


def test_replicas_of_a_stateful_set() -> None:
    """The first goes to its volume, the others spread, and their volumes stay where they were made."""
    index = _cluster(a_claim("data-web-0", "v0"), a_volume("v0", "data-web-0", "b"))
    request = _replica(index)
    first = [schedule(request, index, f"web-{number}").node for number in range(3)]
    for number in range(3):
        index.remove("v1", "Pod", "shop", f"web-{number}")
    again = [schedule(request, index, f"web-{number}").node for number in (2, 1, 0)]

    assert "b" == first[0]
    assert {"a", "b", "c"} == set(first)
    assert first == again[::-1]


def test_two_volumes_in_one_zone_deadlock() -> None:
    """A hard constraint and volumes of one zone leave a replica pending; both are named."""
    claims = [a_claim(f"data-web-{number}", f"v{number}") for number in range(2)]
    volumes = [a_volume(f"v{number}", f"data-web-{number}", "a") for number in range(2)]
    index = _cluster(*claims, *volumes)
    steps = [schedule(_replica(index), index, f"web-{number}") for number in range(2)]

    assert "a" == steps[0].node
    assert steps[1].message == (
        "0/3 nodes are available: 1 node(s) didn't match pod topology spread constraints, "
        "2 node(s) didn't match PersistentVolume's node affinity."
    )


def test_a_volume_that_is_there_is_taken() -> None:
    """Before one is made, the smallest volume that fits is bound; it is gone for the next."""
    local = a_class(provisioner="kubernetes.io/no-provisioner")
    index = _cluster(a_volume("large", zone="a", capacity={"storage": "2Gi"}), a_volume("small", zone="b"))
    assert [] == index.apply(local)
    request = _replica(index)
    steps = [schedule(request, index, f"web-{number}") for number in range(3)]
    bound = [index.storage.claims.get(f"data-web-{number}", "shop") for number in range(2)]

    assert [{"a", "b"}, None] == [{step.node for step in steps[:2]}, steps[2].node]
    assert {"large", "small"} == {claim.volume for claim in bound if claim is not None}


def test_limits_count_attachments_and_pods_once() -> None:
    """A volume that a pod uses and that is attached is one; one that is only attached counts as well."""
    objects: list[dict[str, Any]] = [a_claim("c1", "v1"), a_volume("v1", "c1"), a_volume("v2", "gone")]
    objects += [an_attachment("v1", "a"), an_attachment("v2", "a"), a_pod("p", "a", volumes=using("c1"))]
    index = _cluster(*objects)
    attached = index.volumes.attached(index.storage, index.nodes)

    assert [2, 0, 0] == attached.count("disks.example.com", index.nodes.slots)[index.nodes.order()].tolist()


def _cluster(*objects: dict[str, Any]) -> ClusterIndex:
    nodes = [a_node(name, {ZONE: name}) for name in "abc"]
    return with_storage([*nodes, *map(a_csi_node, "abc"), a_class(), *objects]).fork("shop")


def _replica(index: ClusterIndex) -> SchedulingRequest:
    request = a_request(a_pod("web-0", spread=[a_constraint(ZONE)]), {}, index)
    found = ErrorList()
    workload = {"kind": "StatefulSet", "spec": {"volumeClaimTemplates": [TEMPLATE]}}
    templates = read_claim_templates(workload, found)

    assert [] == found.errors
    return replace(request, pod=request.pod._replace(claim_templates=templates))

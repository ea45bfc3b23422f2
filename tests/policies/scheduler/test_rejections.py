"""Why nodes are rejected for volumes: the claims, and where their volumes are."""

from __future__ import annotations

from typing import Any

import pytest

from policies.scheduler.evaluate import evaluate
from policies.scheduler.node_view import NodeView
from policies.scheduler.rejections import UnreachedVolume, rejected_nodes
from tests.policies.scheduler.clusters import a_node, a_pod, a_request, with_storage
from tests.policies.scheduler.storage_objects import ZONE, a_claim, a_class, a_csi_node, a_volume, using

LABELED = {**a_volume("v", "data"), "metadata": {"name": "v", "labels": {ZONE: "a__c"}}}


@pytest.mark.parametrize(
    ("volume", "plugin", "reached_from"),
    [
        pytest.param(a_volume("v", "data", "a"), "VolumeBinding", f"{ZONE} in (a)", id="node affinity"),
        pytest.param(LABELED, "VolumeZone", f"{ZONE} in (a,c)", id="zones in labels"),
    ],
)
def test_volumes_that_are_not_reached(volume: dict[str, Any], plugin: str, reached_from: str) -> None:
    """The claim, its volume, and the nodes that reach it are named."""
    nodes = [a_node(name, {ZONE: name}) for name in "ab"]
    index = with_storage([*nodes, a_class(), a_csi_node("a"), a_claim("data", "v"), volume])
    request = a_request(a_pod("p", volumes=using("data")), {}, index)
    result = evaluate(request, index)
    (group,) = rejected_nodes(result, NodeView(index, request.pod))
    (rejection,) = group.rejections

    assert (("b",), plugin) == (group.examples, str(rejection.plugin))
    assert (UnreachedVolume(claim="data", volume="v", reached_from=reached_from),) == rejection.volumes

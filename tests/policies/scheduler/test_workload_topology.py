"""Tests of a cluster's nodes as a workload's hard constraints see them."""

from __future__ import annotations

from typing import Any

import pytest

from policies.config.context import AdmissionContext
from policies.lint.workload_loader import load_workload
from policies.manifests.documents import load, objects
from policies.manifests.fields import ErrorList
from policies.model.node import read_node
from policies.model.repository import Repository
from policies.model.topology import ClusterTopology
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from policies.model.workload import Workload
from policies.scheduler.workload_topology import WorkloadTopology, counts_only_its_own
from tests.policies.rules.placing import a_workload
from tests.policies.scheduler.clusters import a_node

OWN = "topologyKey: zone, own"


def _workload(text: str) -> Workload:
    (entry,) = (found for document in load(text, "test.yaml") for found in objects(document))
    declared = load_workload(entry, AdmissionContext(policies=()))
    assert declared is not None
    return declared


@pytest.mark.parametrize(
    ("node", "pod", "tainted", "usable"),
    [
        pytest.param({}, "", False, True, id="any node"),
        pytest.param({"taints": ["gpu:NoSchedule"]}, "", True, False, id="a taint"),
        pytest.param({"taints": ["gpu:PreferNoSchedule"]}, "", False, True, id="a taint that only asks"),
        pytest.param({"unschedulable": True}, "", False, True, id="cordoned, which passes"),
        pytest.param(
            {"taints": ["node.kubernetes.io/not-ready:NoExecute"]}, "", False, True, id="not ready now"
        ),
        pytest.param({}, "nodeSelector: {zone: b}", False, False, id="outside the node selector"),
    ],
)
def test_usable(node: dict[str, Any], pod: str, tainted: bool, usable: bool) -> None:  # noqa: FBT001
    """A pod can go to the nodes that it selects and whose taints it tolerates."""
    workload = _workload(a_workload(OWN, replicas=2, pod=pod))
    read = read_node(a_node("n", {"zone": "a"}, **node), ErrorList())
    topology = WorkloadTopology.of(workload, ClusterTopology((read,)), KNOWN_VERSION)

    assert tainted == (topology.taint(read) is not None and read not in topology.usable)
    assert usable == bool(topology.usable)


@pytest.mark.parametrize(
    ("policies", "version", "expected"),
    [
        pytest.param("", "1.36", {"a": 1, "b": 0}, id="taints ignored, affinity honored"),
        pytest.param("nodeTaintsPolicy: Honor", "1.36", {"a": 1}, id="both honored"),
        pytest.param("nodeAffinityPolicy: Ignore", "1.36", {"a": 1, "b": 0, "c": 0}, id="both ignored"),
        pytest.param(
            "nodeTaintsPolicy: Honor, nodeAffinityPolicy: Ignore",
            "1.25",
            {"a": 1, "b": 0},
            id="1.25 has neither",
        ),
    ],
)
def test_domains(policies: str, version: str, expected: dict[str, int]) -> None:
    """The inclusion policies decide which domains count; a node without every hard key is in none."""
    affinity = "{key: zone, operator: In, values: [a, b, d]}"
    pod = (
        "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
        f"{{nodeSelectorTerms: [{{matchExpressions: [{affinity}]}}]}}}}}}"
    )
    workload = _workload(a_workload(f"{OWN}, {policies}", "topologyKey: rack, own", replicas=2, pod=pod))
    nodes = [
        a_node("a-1", {"zone": "a", "rack": "1"}),
        a_node("b-1", {"zone": "b", "rack": "1"}, taints=["gpu:NoSchedule"]),
        a_node("c-1", {"zone": "c", "rack": "1"}),
        a_node("d-1", {"zone": "d"}),
    ]
    inventory = ClusterTopology(tuple(read_node(node, ErrorList()) for node in nodes))
    topology = WorkloadTopology.of(workload, inventory, KubernetesVersion.parse(version))
    domains = topology.domains(workload.constraints[0].constraint)

    assert expected == {domain.value: len(domain.usable) for domain in domains}


@pytest.mark.parametrize(
    ("constraint", "spec", "kind", "expected"),
    [
        pytest.param(OWN, "", "Deployment", True, id="its own label"),
        pytest.param(f"{OWN}, matchLabelKeys: [pod-template-hash]", "", "Deployment", True, id="by revision"),
        pytest.param(
            f"{OWN}, matchLabelKeys: [shard]", "", "Deployment", False, id="by a label we do not know"
        ),
        pytest.param("topologyKey: zone", "", "Deployment", False, id="no selector"),
        pytest.param("topologyKey: zone, labelSelector: {}", "", "Deployment", False, id="an empty selector"),
        pytest.param(
            "topologyKey: zone, labelSelector: {matchExpressions: [{key: canary, operator: DoesNotExist}]}",
            "",
            "Deployment",
            False,
            id="a label that a controller may add",
        ),
        pytest.param(
            OWN,
            "updateStrategy: {rollingUpdate: {partition: 2}}",
            "StatefulSet",
            False,
            id="two revisions side by side",
        ),
    ],
)
def test_counts_only_its_own(constraint: str, spec: str, kind: str, expected: bool) -> None:  # noqa: FBT001
    """Only a selector that surely counts the replicas, all of them, is judged."""
    workload = _workload(a_workload(constraint, replicas=2, spec=spec, kind=kind))

    assert expected == counts_only_its_own(workload, workload.constraints[0], Repository())

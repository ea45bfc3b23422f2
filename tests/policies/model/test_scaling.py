"""Tests of telling tools from the manifests that run them."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.repository import Repository
from policies.model.scaling import Tool, reads_scheduler_config, tool_of_object
from tests.builders import a_workload
from tests.policies.model.workloads import workload_of

PLUGIN = "RemovePodsViolatingTopologySpreadConstraint"
POLICY = {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy"}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param({"apiVersion": "karpenter.sh/v1", "kind": "NodePool"}, Tool.KARPENTER, id="NodePool"),
        pytest.param(
            {"apiVersion": "karpenter.sh/v1alpha5", "kind": "Provisioner"}, Tool.KARPENTER, id="of old"
        ),
        pytest.param(
            {**POLICY, "profiles": [{"plugins": {"balance": {"enabled": [PLUGIN]}}}]},
            Tool.DESCHEDULER,
            id="v1alpha2",
        ),
        pytest.param({**POLICY, "strategies": {PLUGIN: {"enabled": True}}}, Tool.DESCHEDULER, id="v1alpha1"),
        pytest.param({**POLICY, "profiles": []}, None, id="a policy without the plugin"),
        pytest.param(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "data": {"policy.yaml": f"kind: DeschedulerPolicy\n- {PLUGIN}"},
            },
            Tool.DESCHEDULER,
            id="a policy in a ConfigMap",
        ),
        pytest.param(
            {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b", "c": 1}}, None, id="another one"
        ),
        pytest.param({"apiVersion": "v1", "kind": "ConfigMap", "data": [1]}, None, id="a broken one"),
        pytest.param({"apiVersion": "v1", "kind": "Service"}, None, id="anything else"),
        pytest.param({"apiVersion": 1}, None, id="no object"),
    ],
)
def test_tool_of_object(obj: dict[str, Any], expected: Tool | None) -> None:
    """A tool's own objects tell that it is there."""
    assert expected == tool_of_object(obj)


@pytest.mark.parametrize(
    ("container", "runs", "reads"),
    [
        pytest.param(
            {"image": "registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.2"}, True, False, id="tag"
        ),
        pytest.param(
            {"image": "localhost:5000/cluster-autoscaler@sha256:12"}, True, False, id="port and digest"
        ),
        pytest.param(
            {"image": "cluster-autoscaler", "command": ["./a", "--scheduler-config-file=/a"]},
            True,
            True,
            id="option",
        ),
        pytest.param(
            {"image": "cluster-autoscaler-exporter:1", "args": [7]}, False, False, id="another image"
        ),
        pytest.param({"image": 7, "args": 7}, False, False, id="broken"),
    ],
)
def test_cluster_autoscaler(container: dict[str, Any], runs: bool, reads: bool) -> None:  # noqa: FBT001
    """Cluster Autoscaler is known by its image, and the scheduler's configuration by its option."""
    workload = workload_of(a_workload(spec={"containers": [container, None]}))

    assert runs == Repository.of([workload], []).adds_nodes
    assert reads == reads_scheduler_config(workload)

"""Tests of what goes with workloads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policies.model.repository import Repository
from policies.model.scaling import ReplicaRange, Tool
from tests.builders import a_workload
from tests.policies.model.workloads import workload_of

WEB = {"matchLabels": {"app": "web"}}
CONFIG = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def _object(kind: str, group: str = "", *, namespace: str = "shop", **spec: Any) -> dict[str, Any]:
    metadata = {"name": "it", "namespace": namespace}
    return {"apiVersion": f"{group}/v1".lstrip("/"), "kind": kind, "metadata": metadata, "spec": spec}


def _scaler(**spec: Any) -> dict[str, Any]:
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, **spec}
    return _object("HorizontalPodAutoscaler", "autoscaling", **spec)


def _scaled_object(**spec: Any) -> dict[str, Any]:
    return _object("ScaledObject", "keda.sh", **{"scaleTargetRef": {"name": "web"}, **spec})


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        pytest.param([], ReplicaRange(1, 1), id="unsaid: one"),
        pytest.param([_scaler(minReplicas=2, maxReplicas=9)], ReplicaRange(2, 9), id="scaled 2 to 9"),
        pytest.param([_scaler(maxReplicas=9)], ReplicaRange(1, 9), id="scaled up to 9"),
        pytest.param([_scaler(minReplicas=9, maxReplicas=2)], ReplicaRange(9, 9), id="the wrong way round"),
        pytest.param([_scaler(maxReplicas="9")], ReplicaRange(1, 1), id="a broken autoscaler"),
        pytest.param([_scaler(scaleTargetRef=None, maxReplicas=9)], ReplicaRange(1, 1), id="of nothing"),
        pytest.param([_scaled_object(maxReplicaCount=9)], ReplicaRange(0, 9), id="a ScaledObject up to 9"),
        pytest.param([_scaled_object(minReplicaCount=2)], ReplicaRange(2, 100), id="a ScaledObject from 2"),
        pytest.param(
            [_scaler(maxReplicas=9), _scaler(maxReplicas=4)], ReplicaRange(1, 9), id="of two the larger"
        ),
    ],
)
def test_replicas(others: list[dict[str, Any]], expected: ReplicaRange) -> None:
    """An autoscaler's limits stand in for the number that the workload says."""
    workload = workload_of(a_workload())
    found = Repository.of([workload], others).replicas(workload)

    assert found is not None
    assert expected[:2] == found[:2]


@pytest.mark.parametrize(
    ("others", "folder", "expected"),
    [
        pytest.param([], "", "", id="the workload itself: nothing to say"),
        pytest.param([_scaler(maxReplicas=9)], "", " (HorizontalPodAutoscaler it)", id="beside it"),
        pytest.param(
            [_scaled_object()], "modules/keda", " (ScaledObject it in modules/keda)", id="elsewhere"
        ),
    ],
)
def test_where_replicas_come_from(others: list[dict[str, Any]], folder: str, expected: str) -> None:
    """Messages name the autoscaler, and its folder if that is another than the workload's."""
    workload = workload_of(a_workload())
    found = Repository.of([workload], others, [folder]).replicas(workload)

    assert found is not None
    assert expected == found.evidence


def test_replicas_of_a_daemon_set() -> None:
    """A kind without replicas has no number of them."""
    workload = workload_of(a_workload("DaemonSet"))

    assert Repository.of([workload], []).replicas(workload) is None


def test_what_selects_the_pods() -> None:
    """Budgets of the namespace count if their selectors match; broken ones do not."""
    others = [
        _object("PodDisruptionBudget", "policy", selector=WEB, minAvailable=1),
        _object("PodDisruptionBudget", "policy", selector={"matchLabels": {"app": "api"}}),
        _object("PodDisruptionBudget", "policy", selector={"matchLabels": 7}),
        _object("PodDisruptionBudget", "policy", selector=WEB, namespace="elsewhere"),
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": 7},
        {"kind": "PodDisruptionBudget"},
    ]
    workload = workload_of(a_workload())
    repository = Repository.of([workload], others)

    assert [1] == [budget.min_available for budget in repository.budgets(workload)]


@pytest.mark.parametrize(
    ("workload", "others", "tools", "adds_nodes"),
    [
        pytest.param({}, [], set(), False, id="none"),
        pytest.param({}, [_object("NodePool", "karpenter.sh")], {Tool.KARPENTER}, True, id="Karpenter"),
        pytest.param(
            {"containers": [{"image": "cluster-autoscaler:v1.34.2"}]},
            [],
            {Tool.CLUSTER_AUTOSCALER},
            True,
            id="Cluster Autoscaler",
        ),
        pytest.param(
            {},
            [
                {
                    **_object("DeschedulerPolicy", "descheduler"),
                    "a": "RemovePodsViolatingTopologySpreadConstraint",
                }
            ],
            {Tool.DESCHEDULER},
            False,
            id="descheduler",
        ),
    ],
)
def test_tools(
    workload: dict[str, Any],
    others: list[dict[str, Any]],
    tools: set[Tool],
    adds_nodes: bool,  # noqa: FBT001
) -> None:
    """Tools are known by their objects, and which of them add nodes."""
    repository = Repository.of([workload_of(a_workload(spec=workload))], others)

    assert tools == repository.tools
    assert adds_nodes == repository.adds_nodes


def test_keeps_scheduler_configurations() -> None:
    """They are kept as they came."""
    assert [CONFIG] == Repository.of([], [CONFIG, _object("Secret")]).scheduler_configs


@pytest.mark.parametrize(
    ("namespace", "folders", "expected"),
    [
        pytest.param("", ("test", "live"), (1, 9), id="a folder for each environment: their own"),
        pytest.param("", ("test",), (9,), id="one workload: what lies elsewhere goes with it"),
        pytest.param("shop", ("test", "live"), (1, 9), id="in one namespace, too"),
    ],
)
def test_folders_without_namespaces(
    namespace: str, folders: tuple[str, ...], expected: tuple[int, ...]
) -> None:
    """Two workloads of one name, both without a namespace, each have what lies in their own folder."""
    obj = a_workload()
    obj["metadata"]["namespace"] = namespace
    workloads = [replace(workload_of(obj), folder=folder) for folder in folders]
    others = [
        _scaler(maxReplicas=9),
        _object("PodDisruptionBudget", "policy", selector=WEB),
    ]
    for other in others:
        other["metadata"]["namespace"] = namespace
    repository = Repository.of(workloads, others, ["live"] * 2)
    most = [repository.replicas(workload) for workload in workloads]

    assert expected == tuple(found.most for found in most if found is not None)
    assert [count > 1 for count in expected] == [bool(repository.budgets(each)) for each in workloads]

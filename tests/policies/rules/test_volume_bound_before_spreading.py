"""Which classes, constraints and clusters make volumes that are bound too early."""

from __future__ import annotations

from typing import Any

import pytest

from policies.manifests.fields import ErrorList
from policies.model.node import read_node
from policies.model.topology import ClusterTopology, KnownStorage
from policies.scheduler.index import ClusterIndex
from tests.policies.rules.stateful_sets import EBS, ZONE, a_class, a_stateful_set, lint_by

RULE = "volume-bound-before-spreading"


def _run(*manifests: dict[str, Any], inventory: ClusterTopology | None = None) -> tuple[int, list[str]]:
    """Return how many findings there are, and the rules that could not run."""
    findings, skipped = lint_by(RULE, *manifests, inventory=inventory)
    return len(findings), skipped


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param(EBS, 1, id="unset: binds at once"),
        pytest.param(EBS | {"volumeBindingMode": "Immediate"}, 1, id="Immediate"),
        pytest.param(EBS | {"volumeBindingMode": "WaitForFirstConsumer"}, 0, id="WaitForFirstConsumer"),
        pytest.param({"provisioner": "efs.csi.aws.com"}, 0, id="a file system that every zone reaches"),
        pytest.param({"provisioner": "kubernetes.io/no-provisioner"}, 0, id="volumes made by hand"),
        pytest.param({"provisioner": "kubernetes.io/gce-pd"}, 1, id="the in-tree name of a zonal disk"),
        pytest.param(
            {"provisioner": "pd.csi.storage.gke.io", "parameters": {"replication-type": "regional-pd"}},
            0,
            id="a disk of several zones",
        ),
        pytest.param(
            {"provisioner": "disk.csi.azure.com", "parameters": {"skuName": "Premium_ZRS"}},
            0,
            id="a disk that Azure replicates over zones",
        ),
        pytest.param(
            {
                "provisioner": "disks.example.com",
                "allowedTopologies": [{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}],
            },
            1,
            id="an unknown driver, allowed in zones",
        ),
        pytest.param({"provisioner": "disks.example.com"}, 0, id="an unknown driver: nobody knows"),
    ],
)
def test_classes(fields: dict[str, Any], expected: int) -> None:
    """Only a class that is known to make zonal disks, before the pod has a node, is a problem."""
    assert (expected, []) == _run(a_class(**fields), a_stateful_set())


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"whenUnsatisfiable": "ScheduleAnyway"}, 0, id="soft"),
        pytest.param({"topologyKey": "kubernetes.io/hostname"}, 0, id="over hosts"),
        pytest.param({"topologyKey": "failure-domain.beta.kubernetes.io/zone"}, 1, id="the former key"),
        pytest.param({"maxSkew": 3}, 0, id="3 replicas, maxSkew 3: never binds"),
        pytest.param({"replicas": 1}, 0, id="1 replica"),
        pytest.param({"labelSelector": {"matchLabels": {"app": "other"}}}, 0, id="counts other pods"),
    ],
)
def test_constraints(fields: dict[str, Any], expected: int) -> None:
    """Only a constraint that can keep a replica out of a zone is a problem."""
    assert (expected, []) == _run(a_class(**EBS), a_stateful_set(**fields))


@pytest.mark.parametrize(
    ("classes", "storage_class", "expected"),
    [
        pytest.param([], "ssd", (0, [RULE]), id="no class: not judged, and said"),
        pytest.param([a_class("hdd", **EBS)], "ssd", (0, [RULE]), id="another class"),
        pytest.param([a_class(**EBS)], None, (0, [RULE]), id="no default known"),
        pytest.param([a_class(default=True, **EBS)], None, (1, []), id="the default class"),
        pytest.param(
            [a_class(**EBS), a_class(volumeBindingMode="WaitForFirstConsumer", **EBS)],
            "ssd",
            (0, []),
            id="two of that name, one waits: which is in force is not known",
        ),
    ],
)
def test_unknown_classes(
    classes: list[dict[str, Any]], storage_class: str | None, expected: tuple[int, list[str]]
) -> None:
    """The rule does not guess, and an object that it cannot judge is not green."""
    assert expected == _run(*classes, a_stateful_set(storage_class=storage_class))


@pytest.mark.parametrize(("zones", "expected"), [("a", 0), ("ab", 1)])
def test_the_class_of_a_cluster(zones: str, expected: int) -> None:
    """The cluster's classes count, and with one zone all volumes are there."""
    nodes = tuple(
        read_node({"metadata": {"name": zone, "labels": {ZONE: zone}}}, ErrorList()) for zone in zones
    )
    storage = ClusterIndex()
    storage.apply(a_class(**EBS))
    inventory = ClusterTopology(nodes, {}, KnownStorage(storage.storage))

    assert (expected, []) == _run(a_stateful_set(), inventory=inventory)

"""Which classes and claims keep a StatefulSet from the domains it asks for, and how many pods then run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pytest

from planning.simulation.scheduling_queue import queue_replicas
from planning.simulation.simulated_queue import simulate_queue
from policies.config.context import AdmissionContext
from policies.model.cluster_kinds import STORAGE_LISTS
from policies.model.topology import ClusterTopology, KnownStorage
from policies.pods.known_pods import UNREAD_PODS
from policies.scheduler.index import ClusterIndex
from tests.policies.rules.stateful_sets import EBS, ZONE, a_class, a_stateful_set, lint_by
from tests.policies.scheduler.clusters import a_node
from tests.policies.scheduler.storage_objects import a_claim, a_volume

RULE = "volumes-below-min-domains"
WAITS: dict[str, Any] = EBS | {"volumeBindingMode": "WaitForFirstConsumer"}


def _allowed(*zones: str, key: str = ZONE) -> dict[str, Any]:
    return {"allowedTopologies": [{"matchLabelExpressions": [{"key": key, "values": list(zones)}]}]}


def _cluster(
    claims: str, classes: Iterable[dict[str, Any]], more: Iterable[dict[str, Any]] = ()
) -> ClusterIndex:
    """Return a cluster of three zones, with a claim for each letter: its zone, or ``-`` for none bound."""
    index = ClusterIndex()
    index.list_kinds(STORAGE_LISTS.values())
    objects = [a_node(zone, {ZONE: zone, "topology.ebs.csi.aws.com/zone": zone}) for zone in "abc"]
    for number, zone in enumerate(claims):
        name, volume = f"data-db-{number}", "" if zone == "-" else f"v{number}"
        objects.append(a_claim(name, volume))
        if volume:
            objects.append(a_volume(volume, name, zone))
    for obj in (*objects, *classes, *more):
        assert not index.apply(obj)
    return index


def _room(*manifests: dict[str, Any], cluster: ClusterIndex | None = None) -> tuple[list[int], list[str]]:
    """Return how many replicas can run as findings say, and the rules that could not run."""
    inventory = None
    if cluster is not None:
        inventory = ClusterTopology(cluster.nodes.listed(), {}, KnownStorage(cluster.storage))
    findings, skipped = lint_by(RULE, *manifests, inventory=inventory)
    return [int(re.findall(r"at most (\d+) of", finding.message)[0]) for finding in findings], skipped


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param(WAITS | _allowed("a", "b"), [2], id="2 zones of 3, when a pod comes"),
        pytest.param(EBS | _allowed("a", "b"), [2], id="2 zones of 3, at once"),
        pytest.param(WAITS | _allowed("a", "b", "c"), [], id="3 zones"),
        pytest.param(WAITS, [], id="anywhere"),
        pytest.param(WAITS | _allowed("a", key="topology.ebs.csi.aws.com/zone"), [1], id="the driver's key"),
        pytest.param(WAITS | _allowed("a", key="example.com/rack"), [], id="another key"),
        pytest.param(
            WAITS
            | {
                "allowedTopologies": [
                    {"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]},
                    {"matchLabelExpressions": [{"key": "example.com/rack", "values": ["r"]}]},
                ]
            },
            [],
            id="a term without a zone",
        ),
        pytest.param(
            {"provisioner": "kubernetes.io/no-provisioner"} | _allowed("a"), [], id="volumes made by hand"
        ),
    ],
)
def test_classes(fields: dict[str, Any], expected: list[int]) -> None:
    """A class that makes volumes in fewer zones than ``minDomains`` is told by the files alone."""
    assert (expected, []) == _room(a_class(**fields), a_stateful_set(minDomains=3))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, [], id="no minDomains"),
        pytest.param({"minDomains": 2}, [], id="minDomains 2, 2 zones"),
        pytest.param({"minDomains": 3, "maxSkew": 2}, [], id="maxSkew 2: 4 fit, 3 replicas"),
        pytest.param({"minDomains": 3, "maxSkew": 2, "replicas": 5}, [4], id="maxSkew 2: 4 of 5"),
        pytest.param({"minDomains": 3, "topologyKey": "kubernetes.io/hostname"}, [], id="over hosts"),
        pytest.param({"minDomains": 3, "labelSelector": {"matchLabels": {"app": "x"}}}, [], id="other pods"),
    ],
)
def test_constraints(fields: dict[str, Any], expected: list[int]) -> None:
    """Only a constraint that leaves replicas pending is a problem."""
    assert (expected, []) == _room(a_class(**WAITS, **_allowed("a", "b")), a_stateful_set(**fields))


def test_an_unknown_class() -> None:
    """An object that the rule cannot judge is not green."""
    assert ([], [RULE]) == _room(a_stateful_set(minDomains=3))


@pytest.mark.parametrize(
    ("claims", "replicas", "fields", "expected"),
    [
        pytest.param("aba", 3, {}, [2], id="bound in 2 zones, 3 replicas"),
        pytest.param("aab", 3, {"maxSkew": 2}, [], id="2 in a, 1 in b, maxSkew 2"),
        pytest.param("aaab", 4, {"maxSkew": 2}, [3], id="3 in a, 1 in b, maxSkew 2: one of a waits"),
        pytest.param("abc", 3, {}, [], id="bound in 3 zones"),
        pytest.param("aba", 3, {"minDomains": 2}, [2], id="no volume in one of 3 zones, minDomains 2"),
        pytest.param("aba", 3, {"minDomains": None}, [2], id="no volume in one of 3 zones"),
        pytest.param("ab", 2, {"minDomains": None}, [], id="as many replicas as zones with a volume"),
        pytest.param("ab", 3, {}, [], id="the third is made anywhere"),
        pytest.param("ab-", 3, {}, [], id="the third waits for a pod"),
        pytest.param("abcab", 2, {}, [], id="2 replicas in 2 zones"),
    ],
)
def test_claims(claims: str, replicas: int, fields: dict[str, Any], expected: list[int]) -> None:
    """Volumes that exist pin their pods, and the simulation places as many as the rule says."""
    cluster = _cluster(claims, [a_class(**WAITS)])
    workload = a_stateful_set(replicas=replicas, **{"minDomains": 3} | fields)
    workload["metadata"]["namespace"] = "shop"
    # With OrderedReady none is created after one that waits, though it would fit.
    workload["spec"]["podManagementPolicy"] = "Parallel"

    queue = queue_replicas(
        workload, AdmissionContext(policies=(), cluster=cluster), UNREAD_PODS, count=replicas
    )
    simulated = simulate_queue(queue).simulation
    placed = sum(step.node is not None for step in simulated.steps)

    assert (expected, []) == _room(workload, cluster=cluster)
    assert placed == (expected[0] if expected else replicas)


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        pytest.param("a", [2], id="one bound in a, the class makes in b: 2 zones"),
        pytest.param("", [1], id="none bound, the class makes in b: 1 zone"),
        pytest.param("ac", [], id="bound in a and c, the class makes in b"),
    ],
)
def test_claims_and_a_class(claims: str, expected: list[int]) -> None:
    """Bound claims stay where they are; the others go where the class makes volumes."""
    cluster = _cluster(claims, [a_class(**WAITS, **_allowed("b"))])
    workload = a_stateful_set(minDomains=3)
    workload["metadata"]["namespace"] = "shop"

    assert (expected, []) == _room(workload, cluster=cluster)


def test_free_volumes() -> None:
    """A claim may be given a volume of its class that is there already, wherever it is."""
    cluster = _cluster("", [a_class(**WAITS, **_allowed("b"))], [a_volume("free", zone="c")])

    assert ([], []) == _room(a_stateful_set(minDomains=3), cluster=cluster)


def test_ordinals() -> None:
    """The claims of a StatefulSet that begins to count elsewhere are those of its ordinals."""
    cluster = _cluster("aabab", [a_class(**WAITS)])
    workload = a_stateful_set(minDomains=3)
    workload["metadata"]["namespace"] = "shop"
    workload["spec"]["ordinals"] = {"start": 2}

    assert ([2], []) == _room(workload, cluster=cluster)

"""Karpenter's rounds: cases of its own tests and its documentation, in data of ours."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from planning.autoscaler.karpenter.karpenter import Karpenter
from planning.autoscaler.karpenter.pending import Wishes
from planning.autoscaler.karpenter.provisioning import Provisioned, Provisioner
from planning.autoscaler.sources import read_autoscaler
from planning.simulation.cluster_simulation import QueuedPod
from planning.simulation.scheduling_queue import queue_pods
from policies.config.context import AdmissionContext
from policies.config.policy_set import PolicySet
from policies.manifests.documents import load_strictly, objects_or_itself
from policies.manifests.errors import DocumentError
from policies.manifests.fields import FieldPath
from policies.pods.known_pods import UNREAD_PODS
from policies.scheduler.index import ClusterIndex
from tests.builders import a_pod

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
CAPACITY, TYPE = "karpenter.sh/capacity-type", "node.kubernetes.io/instance-type"
ZONES = ("z1", "z2", "z3")
LABELS = {"app": "web"}


def a_type(
    name: str = "m", *, cpu: int = 4, pods: int = 5, price: float = 1.0, **labels: str
) -> dict[str, Any]:
    """Return an instance type of 4 GiB: on-demand in all zones, spot in two."""
    offerings = [
        {"zones": list(ZONES), "price": price},
        {"zones": list(ZONES[:2]), "capacityType": "spot", "price": price},
    ]
    amounts = {"cpu": str(cpu), "memory": "4Gi", "pods": str(pods)}
    return {"name": name, "labels": labels, "allocatable": amounts, "offerings": offerings}


def a_pool(name: str = "default", **spec: Any) -> dict[str, Any]:
    """Return a NodePool: ``requirements``, ``labels``, ``taints``, the rest of its spec."""
    of_nodes = {key: spec.pop(key) for key in ("requirements", "taints", "startupTaints") if key in spec}
    template = {"metadata": {"labels": spec.pop("labels", {})}, "spec": of_nodes}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": template, **spec},
    }


def within(key: str, *values: str, **rest: Any) -> dict[str, Any]:
    """Return a requirement of one of some values."""
    return {"key": key, "operator": "In", "values": list(values), **rest}


def spread(key: str = ZONE, *, most: int = 1, soft: bool = False, **rest: Any) -> dict[str, Any]:
    """Return a spread constraint over the pods of the application."""
    when = "ScheduleAnyway" if soft else "DoNotSchedule"
    return {
        "topologyKey": key,
        "maxSkew": most,
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": LABELS},
        **rest,
    }


def pods(count: int, *constraints: dict[str, Any], cpu: str = "1m", **spec: Any) -> list[dict[str, Any]]:
    """Return pods of the application that are alike."""
    containers = [{"name": "c", "image": "c", "resources": {"requests": {"cpu": cpu}}}]
    made = {"containers": containers, "topologySpreadConstraints": list(constraints), **spec}
    return [a_pod(labels=LABELS, spec=made)] * count


def present(name: str, zone: str, *, pods: int = 0, **labels: str) -> list[dict[str, Any]]:
    """Return a node that is full, with pods of the application."""
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, ZONE: zone, **labels}},
        "status": {"allocatable": {"cpu": "0", "memory": "0", "pods": str(pods)}},
    }
    running = [
        a_pod(name=f"{name}-{number}", labels=LABELS, spec={"nodeName": name})
        | {"status": {"phase": "Running"}}
        for number in range(pods)
    ]
    return [node, *running]


def read(documents: Sequence[dict[str, Any]], cluster: ClusterIndex) -> Karpenter:
    """Return Karpenter as documents describe it."""
    text = "".join(f"---\n{json.dumps(document)}\n" for document in documents)
    objects = [entry for document in load_strictly(text, "f.yaml") for entry in objects_or_itself(document)]
    found = read_autoscaler(objects, cluster)
    assert isinstance(found, Karpenter)
    return found


def provision(
    waiting: Sequence[dict[str, Any]],
    *pools: dict[str, Any],
    types: Sequence[dict[str, Any]] = (),
    cluster: Sequence[dict[str, Any]] = (),
) -> tuple[Provisioned, Karpenter]:
    """Return the result of one round, and Karpenter."""
    index = ClusterIndex()
    for obj in cluster:
        assert not index.apply(obj)
    document = {
        "apiVersion": "evenkeel.dev/v1alpha1",
        "kind": "InstanceTypes",
        "instanceTypes": list(types) or [a_type()],
    }
    karpenter = read([*(pools or [a_pool()]), document], index)
    context = AdmissionContext(cluster=index, policies=PolicySet(()))
    requests: dict[int, Any] = {}
    made = []
    for number, obj in enumerate(waiting):
        if id(obj) not in requests:
            requests[id(obj)] = queue_pods([(FieldPath(), obj)], context, UNREAD_PODS).pods[0].request
        made.append(QueuedPod(f"p{number}", requests[id(obj)]))
    provisioner = Provisioner(index, made, karpenter.pools, karpenter.types, min)
    return provisioner.run(lambda: False), karpenter


def by_domain(found: Provisioned, key: str) -> list[int]:
    """Return how many pods are put in each domain of new nodes, the fewest first."""
    counts = Counter[str]()
    for claim in found.claims:
        counts[str(claim.labels[key])] += len(claim.pods)
    return sorted(counts.values())


GOLD, SILVER = {"tier": "gold"}, {"tier": "silver"}
TAINT = {"key": "team", "value": "data", "effect": "NoSchedule"}
SOFT_TAINT = {"key": "team", "value": "data", "effect": "PreferNoSchedule"}
TOLERATES = {"key": "team", "operator": "Exists"}


def term(key: str, **labels: str) -> dict[str, Any]:
    """Return a term of pod affinity."""
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels or LABELS}}


def required(kind: str, *terms: dict[str, Any]) -> dict[str, Any]:
    """Return a required affinity of a kind."""
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def preferred(kind: str, *terms: dict[str, Any]) -> dict[str, Any]:
    """Return a preferred affinity to pods, of a kind, the first term the heaviest."""
    weighed = [{"weight": 50 - number, "podAffinityTerm": each} for number, each in enumerate(terms)]
    return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": weighed}}


def node_affinity(*required: dict[str, Any], preferred: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """Return a node affinity: each requirement is a term of its own."""
    terms = [{"matchExpressions": [each]} for each in required]
    weighed = [{"weight": 50 - at, "preference": {"matchExpressions": [e]}} for at, e in enumerate(preferred)]
    found: dict[str, Any] = {"preferredDuringSchedulingIgnoredDuringExecution": weighed}
    if terms:
        found["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    return {"nodeAffinity": found}


@pytest.mark.parametrize(
    ("waiting", "pools", "cluster", "expected"),
    [
        pytest.param(pods(1, spread("unknown")), [], [], (ZONE, [], 1), id="a key that no node has"),
        pytest.param(
            [*pods(2, {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"})],
            [],
            [],
            (HOST, [2], 0),
            id="no selector: both on one node",
        ),
        pytest.param(pods(4, spread()), [], [], (ZONE, [1, 1, 2], 0), id="4 over 3 zones"),
        pytest.param(
            pods(4, spread()),
            [a_pool(requirements=[within(ZONE, "z1", "z2")])],
            [],
            (ZONE, [2, 2], 0),
            id="4 over the 2 zones of the NodePool",
        ),
        pytest.param(
            pods(4, spread()),
            [a_pool(labels={ZONE: "z1"})],
            [],
            (ZONE, [4], 0),
            id="4 in the zone of the template's labels",
        ),
        pytest.param(
            pods(4, spread()),
            [
                a_pool("a", requirements=[within(ZONE, "z1", "z2")], labels={ZONE: "z1"}),
                a_pool("b", labels={ZONE: "z2"}),
            ],
            [],
            (ZONE, [2, 2], 0),
            id="4 over the zones of two NodePools",
        ),
        pytest.param(
            pods(6, spread(), cpu="2500m"),
            [a_pool(requirements=[within(ZONE, "z1", "z2")])],
            present("n", "z3", pods=1),
            (ZONE, [2, 2], 2),
            id="1 pod in z3 which the NodePool lacks: 2 and 2, 2 wait",
        ),
        pytest.param(
            pods(10, spread(most=5), cpu="2500m"),
            [a_pool(requirements=[within(ZONE, "z3")])],
            [*present("n1", "z1", pods=1), *present("n2", "z2", pods=1)],
            (ZONE, [6], 4),
            id="maxSkew 5 over 1, 1: 6 in z3, 4 wait",
        ),
        pytest.param(
            pods(3, spread(), cpu="2500m"),
            [],
            [*present("n1", "z1", pods=3), *present("n2", "z2", pods=1)],
            (ZONE, [1, 2], 0),
            id="3, 1, 0 with maxSkew 1: 1 and 2 in the lower",
        ),
        pytest.param(
            pods(4, spread(minDomains=3)),
            [a_pool(requirements=[within(ZONE, "z1", "z2")])],
            [],
            (ZONE, [1, 1], 2),
            id="minDomains 3 with 2 zones: 1 and 1, 2 wait",
        ),
        pytest.param(
            pods(11, spread(minDomains=3)), [], [], (ZONE, [3, 4, 4], 0), id="minDomains 3 of 3: 11"
        ),
        pytest.param(
            pods(11, spread(minDomains=2)), [], [], (ZONE, [3, 4, 4], 0), id="minDomains 2 of 3: 11"
        ),
        pytest.param(pods(4, spread(HOST)), [], [], (HOST, [1, 1, 1, 1], 0), id="hosts: 4 nodes"),
        pytest.param(
            pods(4, spread(HOST, most=4)), [], [], (HOST, [4], 0), id="hosts with maxSkew 4: 1 node"
        ),
        pytest.param(
            pods(3, spread(HOST)),
            [],
            present("n1", "z1", pods=0),
            (HOST, [1, 1, 1], 0),
            id="hosts: the minimum is 0 beside a node that is full",
        ),
        pytest.param(
            pods(4, spread(CAPACITY)),
            [a_pool(requirements=[within(CAPACITY, "spot", "on-demand")])],
            [],
            (CAPACITY, [2, 2], 0),
            id="capacity types: 2 and 2",
        ),
        pytest.param(
            pods(5, spread(), spread(HOST, most=3)),
            [],
            [],
            (ZONE, [1, 2, 2], 0),
            id="zones, and 3 pods a host",
        ),
        pytest.param(
            pods(4, spread(), nodeSelector={ZONE: "z1"}),
            [],
            [],
            (ZONE, [4], 0),
            id="a zone of the node selector is the only domain",
        ),
        pytest.param(
            pods(6, spread(), affinity=node_affinity(within(ZONE, "z1", "z2"))),
            [],
            [],
            (ZONE, [3, 3], 0),
            id="zones of the required node affinity",
        ),
        pytest.param(
            pods(6, spread(), affinity=node_affinity(preferred=[within(ZONE, "z1", "z2")])),
            [],
            [],
            (ZONE, [2, 2, 2], 0),
            id="a preferred node affinity limits no domain",
        ),
        pytest.param(
            pods(2, affinity=node_affinity(within(ZONE, "z9"), within(ZONE, "z2"))),
            [],
            [],
            (ZONE, [2], 0),
            id="the second term of the node affinity is tried",
        ),
        pytest.param(
            pods(6, spread(soft=True), cpu="2500m"),
            [a_pool(requirements=[within(ZONE, "z1")])],
            present("n", "z3"),
            (ZONE, [6], 0),
            id="ScheduleAnyway is given up where it cannot hold",
        ),
        pytest.param(
            pods(4, spread(soft=True)), [], [], (ZONE, [1, 1, 2], 0), id="ScheduleAnyway spreads as if hard"
        ),
        pytest.param(
            pods(3, spread("tier")),
            [a_pool("a", labels=GOLD, taints=[TAINT]), a_pool("b", labels=SILVER)],
            [],
            ("tier", [1], 2),
            id="nodeTaintsPolicy Ignore: a domain behind a taint counts, 2 wait",
        ),
        pytest.param(
            pods(3, spread("tier", nodeTaintsPolicy="Honor")),
            [a_pool("a", labels=GOLD, taints=[TAINT]), a_pool("b", labels=SILVER)],
            [],
            ("tier", [3], 0),
            id="nodeTaintsPolicy Honor: it does not",
        ),
        pytest.param(
            pods(3, spread("tier"), nodeSelector={"tier": "gold"}),
            [a_pool("a", labels=GOLD), a_pool("b", labels=SILVER)],
            [],
            ("tier", [3], 0),
            id="nodeAffinityPolicy Honor: the other domain does not count",
        ),
        pytest.param(
            pods(2, tolerations=[TOLERATES]),
            [a_pool(taints=[TAINT])],
            [],
            (HOST, [2], 0),
            id="a taint tolerated",
        ),
        pytest.param(pods(2), [a_pool(taints=[TAINT])], [], (HOST, [], 2), id="a taint not tolerated"),
        pytest.param(pods(2), [a_pool(startupTaints=[TAINT])], [], (HOST, [2], 0), id="a taint of startup"),
        pytest.param(
            pods(2), [a_pool(taints=[SOFT_TAINT])], [], (HOST, [2], 0), id="PreferNoSchedule, given up"
        ),
        pytest.param(
            pods(3, affinity=required("podAntiAffinity", term(HOST))),
            [],
            [],
            (HOST, [1, 1, 1], 0),
            id="anti-affinity over hosts",
        ),
        pytest.param(
            pods(3, affinity=required("podAntiAffinity", term(ZONE)), cpu="2500m"),
            [],
            [],
            (HOST, [1], 2),
            id="anti-affinity over zones of which none is known: the first blocks all",
        ),
        pytest.param(
            pods(3, affinity=required("podAffinity", term(HOST))),
            [],
            [],
            (HOST, [3], 0),
            id="affinity to itself over hosts",
        ),
        pytest.param(
            pods(7, affinity=required("podAffinity", term(HOST))),
            [],
            [],
            (HOST, [5], 2),
            id="affinity to itself: the first node alone, 2 wait",
        ),
        pytest.param(
            pods(6, affinity=required("podAffinity", term(ZONE)), cpu="2500m"),
            [],
            [],
            (ZONE, [6], 0),
            id="affinity to itself over zones",
        ),
        pytest.param(
            pods(2, affinity=required("podAffinity", term(HOST, app="none"))),
            [],
            [],
            (HOST, [], 2),
            id="affinity to pods that are not there",
        ),
        pytest.param(
            pods(2, affinity=preferred("podAffinity", term(HOST, app="none"))),
            [],
            [],
            (HOST, [2], 0),
            id="preferred affinity, given up",
        ),
        pytest.param(
            pods(3, affinity=preferred("podAntiAffinity", term(ZONE)), cpu="2500m"),
            [a_pool(requirements=[within(ZONE, "z1")])],
            [],
            (ZONE, [3], 0),
            id="preferred anti-affinity, given up by 2",
        ),
    ],
)
def test_rounds(
    waiting: list[dict[str, Any]],
    pools: list[dict[str, Any]],
    cluster: list[dict[str, Any]],
    expected: tuple[str, list[int], int],
) -> None:
    """Pods are put on new nodes as in Karpenter's tests: a key, how many by domain, how many wait."""
    found, _ = provision(waiting, *pools, cluster=cluster)
    key, counts, waits = expected

    assert counts == by_domain(found, key)
    assert waits == len(found.failed)
    assert not found.present


@pytest.mark.parametrize(
    ("pools", "types", "count", "expected"),
    [
        pytest.param(
            [a_pool("light"), a_pool("heavy", weight=10)], [], 1, {"heavy": 1}, id="the heaviest NodePool"
        ),
        pytest.param([a_pool("a"), a_pool("b")], [], 1, {"b": 1}, id="of equal weight the last by name"),
        pytest.param(
            [a_pool("light"), a_pool("heavy", weight=10, taints=[TAINT])], [], 1, {"light": 1},
            id="the next if the heaviest takes no such pod",
        ),
        pytest.param(
            [a_pool("light"), a_pool("heavy", weight=10, limits={"cpu": "4"})], [], 10,
            {"heavy": 1, "light": 1}, id="the next at the limit of CPU",
        ),
        pytest.param([a_pool(limits={"nodes": "1"})], [], 10, {"default": 1}, id="a limit of nodes"),
        pytest.param(
            [a_pool(limits={"cpu": "9"})], [a_type("m", cpu=4), a_type("l", cpu=8)], 10, {"default": 1},
            id="limits take the largest instance type that a node may get",
        ),
        pytest.param(
            [a_pool(requirements=[{"key": TYPE, "operator": "Exists", "minValues": 2}])],
            [a_type("m"), a_type("l", cpu=8)], 1, {"default": 1}, id="minValues met",
        ),
        pytest.param(
            [a_pool(requirements=[{"key": TYPE, "operator": "Exists", "minValues": 3}])],
            [a_type("m"), a_type("l", cpu=8)], 1, {}, id="minValues not met",
        ),
        pytest.param(
            [a_pool(requirements=[{"key": "gen", "operator": "Gt", "values": ["5"]}])],
            [a_type("m", gen="5")], 1, {}, id="Gt 5 of an instance type of 5",
        ),
        pytest.param(
            [a_pool(requirements=[{"key": "gen", "operator": "Gte", "values": ["5"]}])],
            [a_type("m", gen="5")], 1, {"default": 1}, id="Gte 5",
        ),
        pytest.param([a_pool(replicas=2), a_pool("b")], [], 1, {"b": 1}, id="a NodePool of a fixed number"),
    ],
)  # fmt: skip
def test_node_pools(
    pools: list[dict[str, Any]], types: list[dict[str, Any]], count: int, expected: dict[str, int]
) -> None:
    """NodePools are tried in their order, within their limits and requirements."""
    found, _ = provision(pods(count), *pools, types=types)

    assert expected == dict(Counter(claim.pool.name for claim in found.claims))


@pytest.mark.parametrize(
    ("types", "spec", "expected", "price"),
    [
        pytest.param(
            [a_type("dear", cpu=2, price=3), a_type("cheap", cpu=8, price=2)], {}, ("cheap", "spot", "z1"), 2,
            id="the cheapest",
        ),
        pytest.param(
            [a_type("dear", cpu=8, price=3), a_type("small", cpu=1, price=2)], {"cpu": "2"},
            ("dear", "spot", "z1"), 3, id="the cheapest with room for the pods",
        ),
        pytest.param(
            [{**a_type("large", cpu=8), "offerings": [{"zones": ["z2"]}]}, a_type("small", cpu=2)], {},
            ("small", "spot", "z1"), 1, id="the smallest if a price is missing",
        ),
        pytest.param(
            [a_type()], {"nodeSelector": {ZONE: "z3"}}, ("m", "on-demand", "z3"), 1, id="where it is offered"
        ),
    ],
)  # fmt: skip
def test_launched_nodes(
    types: list[dict[str, Any]], spec: dict[str, Any], expected: tuple[str, str, str], price: float
) -> None:
    """A node is of one instance type, with the labels of its NodePool, type and offering, and its price."""
    index, waiting = ClusterIndex(), pods(1, **spec)
    document = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "InstanceTypes", "instanceTypes": types}
    pool = a_pool(labels=GOLD, taints=[SOFT_TAINT])
    karpenter = read([pool, document], index)
    context = AdmissionContext(cluster=index, policies=PolicySet(()))
    request = queue_pods([(FieldPath(), waiting[0])], context, UNREAD_PODS).pods[0].request
    found = karpenter.nodes_for(index, [QueuedPod("p", request)], min)

    (new,) = found.nodes
    node = new.node
    assert expected == tuple(node.labels[key] for key in (TYPE, CAPACITY, ZONE))
    assert {
        "tier": "gold",
        HOST: "default-new-1",
        "karpenter.sh/nodepool": "default",
    }.items() <= node.labels.items()
    assert ("default", price) == (new.group, new.price)
    assert ["taints of PreferNoSchedule"] == [each.preference for each in found.given_up]


def test_preferences_are_given_up_one_by_one() -> None:
    """The order is Karpenter's, in each kind the heaviest first; the last term of a required one stays."""
    affinity = {
        **node_affinity(
            within(ZONE, "z9"), within(ZONE, "z8"), preferred=[within(ZONE, "z7"), within(ZONE, "z6")]
        ),
        **preferred("podAffinity", term(HOST, app="none"), term(ZONE, app="none")),
        **preferred("podAntiAffinity", term(ZONE)),
    }
    waiting = pods(1, spread(soft=True), spread(HOST, soft=True), spread(CAPACITY), affinity=affinity)
    context = AdmissionContext(cluster=ClusterIndex(), policies=PolicySet(()))
    wishes = Wishes.of(
        queue_pods([(FieldPath(), waiting[0])], context, UNREAD_PODS).pods[0].request, softens=True
    )
    given_up = []
    while wishes.relaxed is not None:
        wishes = wishes.relaxed
        given_up.append(wishes.given_up)

    assert given_up == [
        "a term of the required node affinity",
        f"preferred pod affinity over {HOST}",
        f"preferred pod affinity over {ZONE}",
        f"preferred pod anti-affinity over {ZONE}",
        "a term of the preferred node affinity",
        "a term of the preferred node affinity",
        f"ScheduleAnyway over {ZONE}",
        f"ScheduleAnyway over {HOST}",
        "taints of PreferNoSchedule",
    ]
    assert [CAPACITY] == [each.constraint.topology_key for each in wishes.constraints]


def test_pods_in_order_of_what_they_request() -> None:
    """The pod that requests most CPU is put first, then the others beside it as they fit."""
    waiting = [*pods(1, cpu="1"), *pods(1, cpu="3"), *pods(1, cpu="2")]
    found, _ = provision(waiting)

    assert [[1, 0], [2]] == [claim.pods for claim in found.claims]


def test_present_nodes_come_first() -> None:
    """A pod that fits a node of the cluster needs no other, unless the node is cordoned."""
    node = present("n1", "z1")[0]
    node["status"]["allocatable"] = {"cpu": "1", "memory": "1Gi", "pods": "9"}
    cordoned = {**node, "spec": {"unschedulable": True}}

    assert {0: "n1"} == provision(pods(1), cluster=[node])[0].present
    assert {} == provision(pods(1), cluster=[cordoned])[0].present


def test_instance_types_of_nodes() -> None:
    """Without a document the instance types are those of the nodes, in the zones where these are."""
    cluster = ClusterIndex()
    nodes: tuple[tuple[str, str, dict[str, str]], ...] = (
        ("n1", "z1", {TYPE: "m", "karpenter.k8s.aws/instance-family": "m", CAPACITY: "spot"}),
        ("n2", "z2", {TYPE: "m", "karpenter.k8s.aws/instance-family": "m", "own": "2"}),
        ("n3", "z2", {}),
    )
    for name, zone, labels in nodes:
        (node,) = present(name, zone)
        node["metadata"]["labels"] |= labels
        assert not cluster.apply(node)
    karpenter = read([a_pool()], cluster)
    (found,) = karpenter.types

    assert [("z1", "spot"), ("z2", "on-demand")] == [(o.zone, o.capacity_type) for o in found.offerings]
    assert "own" not in found.labels
    assert found.labels["karpenter.k8s.aws/instance-family"] == "m"
    assert "instance types that no node of the cluster has" in karpenter.not_modeled([])


def test_lost_zone() -> None:
    """Nothing can be had in a lost zone; a NodePool that lists it counts it even so."""
    listing = a_pool(requirements=[within(ZONE, *ZONES)])
    for pool, zones in ((a_pool(), {"z1", "z2"}), (listing, set(ZONES))):
        found, karpenter = provision(pods(1), pool)
        lost = karpenter.without(ZONE, "z3")
        counted = [domain for each in lost.pools for domain in each.domains(lost.types)]

        assert {"z1", "z2"} == {offering.zone for kind in lost.types for offering in kind.offerings}
        assert zones == {zone for key, zone in counted if key == ZONE}
        assert {"z1", "z2"} == lost.domains(ZONE, found.wishes[0].pod)


@pytest.mark.parametrize(
    ("requirement", "field"),
    [
        pytest.param({"key": "a", "operator": "Is"}, "operator", id="an unknown operator"),
        pytest.param({"key": "a", "operator": "In"}, "values", id="In without values"),
        pytest.param({"key": "a", "operator": "Gt", "values": ["x"]}, "values", id="Gt of no number"),
        pytest.param({"key": "a", "operator": "Exists", "values": ["x"]}, "values", id="Exists of a value"),
        pytest.param(
            {"key": "a", "operator": "Exists", "minValues": 51}, "minValues", id="minValues above 50"
        ),
    ],
)
def test_errors(requirement: dict[str, Any], field: str) -> None:
    """Errors of a requirement are reported with its field."""
    with pytest.raises(DocumentError) as caught:
        provision(pods(1), a_pool(requirements=[requirement]))

    assert f"spec.template.spec.requirements[0].{field}: " in caught.value.problems[0]

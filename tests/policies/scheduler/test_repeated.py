"""Pods that are alike: what is followed from one to the next is what a verdict on all nodes would be."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

import pytest

from planning.simulation.cluster_simulation import ClusterSimulation, QueuedPod
from policies.config.context import AdmissionContext
from policies.pods.placement import prepare, read_workload
from policies.scheduler import pod_table, repeated
from policies.scheduler.binding import SchedulingAttempt
from policies.scheduler.evaluate import evaluate
from policies.scheduler.index import ClusterIndex
from policies.scheduler.plugins.podtopologyspread import followed_scores
from policies.scheduler.repeated import BestNodes, RepeatedRequests
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import SchedulingResult
from tests.builders import a_constraint, a_node, a_pod
from tests.planning.clusters import ZONE_KEY
from tests.policies.scheduler.clusters import an_index

Object = dict[str, Any]

HOST = "kubernetes.io/hostname"


class _NothingKnown(RepeatedRequests):
    """Leaves every pod to the verdict on all nodes."""

    def best(self, request: SchedulingRequest, index: ClusterIndex) -> BestNodes | None:
        return None

    def evaluate(self, request: SchedulingRequest, index: ClusterIndex) -> SchedulingResult:
        return evaluate(request, index)


class _Counting(RepeatedRequests):
    """Counts the pods that it finds nodes for."""

    found = 0

    def best(self, request: SchedulingRequest, index: ClusterIndex) -> BestNodes | None:
        best = super().best(request, index)
        self.found += best is not None
        return best


def _nodes(random: Random) -> list[Object]:
    nodes = []
    for number in range(random.randrange(3, 14)):
        taints = [{"key": "team", "value": "a", "effect": random.choice(["NoSchedule", "PreferNoSchedule"])}]
        spec: dict[str, Any] = {"taints": taints} if random.random() < 0.2 else {}
        node = a_node(f"n{number:02}", random.choice("abc"), cpu=random.choice(["2", "4", "8"]), **spec)
        if random.random() < 0.1:
            del node["metadata"]["labels"][random.choice([ZONE_KEY, HOST])]
        if random.random() < 0.3:
            node["metadata"]["labels"]["disk"] = "ssd"
        if random.random() < 0.4:
            node["status"]["images"] = [{"names": ["registry.example/big:1"], "sizeBytes": 900 << 20}]
        nodes.append(node)
    return nodes


def _term(random: Random, app: str) -> Object:
    return {"topologyKey": random.choice([ZONE_KEY, HOST]), "labelSelector": {"matchLabels": {"app": app}}}


def _affinity(random: Random, apps: list[str]) -> Object:
    """Return preferences, and sometimes requirements, for nodes and pods."""
    found: Object = {}
    if random.random() < 0.3:
        match = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
        preferred = [{"weight": random.randrange(1, 100), "preference": match}]
        found["nodeAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    for kind in ("podAffinity", "podAntiAffinity"):
        if random.random() < 0.15:
            weighted = [{"weight": 50, "podAffinityTerm": _term(random, random.choice(apps))}]
            found[kind] = {"preferredDuringSchedulingIgnoredDuringExecution": weighted}
        elif random.random() < 0.08:
            terms = [_term(random, random.choice(apps))]
            found[kind] = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    return found


def _template(random: Random, app: str, apps: list[str]) -> Object:
    """Return the spec of the pods of an application."""
    constraints = [
        a_constraint(
            maxSkew=random.randrange(1, 4),
            topologyKey=key,
            whenUnsatisfiable=random.choice(["DoNotSchedule", "ScheduleAnyway", "ScheduleAnyway"]),
            labelSelector={"matchLabels": {"app": random.choice([app, random.choice(apps)])}},
        )
        for key in random.choice([(), (ZONE_KEY,), (HOST,), (ZONE_KEY, HOST), (HOST, ZONE_KEY)])
    ]
    requests = {"cpu": random.choice(["100m", "250m", "1"]), "memory": random.choice(["64Mi", "1Gi"])}
    container: Object = {"name": "c", "image": random.choice(["registry.example/big:1", "small:1"])}
    if random.random() < 0.9:
        container["resources"] = {"requests": requests}
    if random.random() < 0.1:
        container["ports"] = [{"containerPort": 80, "hostPort": 80}]
    spec: Object = {"containers": [container], "priority": random.choice([0, 0, 0, 10])}
    if constraints:
        spec["topologySpreadConstraints"] = constraints
    if random.random() < 0.2:
        spec["tolerations"] = [{"key": "team", "operator": "Exists"}]
    if affinity := _affinity(random, apps):
        spec["affinity"] = affinity
    return spec


def _requests(random: Random, index: ClusterIndex) -> list[SchedulingRequest]:
    context = AdmissionContext(policies=(), cluster=index)
    apps = [f"app-{number}" for number in range(random.randrange(1, 6))]
    pods = (
        a_pod(
            name=app,
            namespace=random.choice(["shop", "shop", "data"]),
            labels={"app": app},
            spec=_template(random, app, apps),
            owner=("apps/v1", "ReplicaSet", app),
        )
        for app in apps
    )
    return [prepare(read_workload(pod, context), context).request for pod in pods]


@cache
def _expected(seed: int) -> list[SchedulingAttempt]:
    return _run(seed, _NothingKnown())


def _run(seed: int, known: RepeatedRequests) -> list[SchedulingAttempt]:
    """Schedule a random queue on a random cluster, of which pods, nodes and taints come and go meanwhile."""
    random = Random(seed)
    services = [
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": app, "namespace": "shop"},
         "spec": {"selector": {"app": app}}}
        for app in ("app-0", "app-1")
    ]  # fmt: skip
    nodes = _nodes(random)
    index = an_index([*nodes, *services])
    requests = _requests(random, index)
    simulation = ClusterSimulation.of(index)
    simulation.preempts, simulation.repeated = random.random() < 0.5, known
    steps: list[SchedulingAttempt] = []
    names = iter(range(1_000))
    for _ in range(4):
        chosen = [random.choice(requests) for _ in range(random.randrange(1, 40))]
        if random.random() < 0.7:
            chosen.sort(key=requests.index)
        steps += simulation.schedule_all([QueuedPod(f"p{next(names)}", request) for request in chosen])
        for step in random.sample(steps, len(steps) // 3):
            simulation.delete(step.namespace, step.name)
        node = simulation.cluster.nodes.find(random.choice(nodes)["metadata"]["name"])
        if node is not None and random.random() < 0.3:
            simulation.cordon(node)
        elif node is not None and random.random() < 0.3:
            simulation.lose(node.name)
    return steps


@pytest.mark.parametrize("seed", range(40))
def test_as_the_whole_verdict(seed: int) -> None:
    """Node, score, feasible and tied nodes, messages and victims are the same pod for pod."""
    assert _expected(seed) == _run(seed, RepeatedRequests())


def test_most_pods_are_followed() -> None:
    """Most pods are followed: their results are not the evaluation of all nodes compared with itself."""
    known = _Counting()
    steps = [step for seed in range(20) for step in _run(seed, known) if step.node is not None]

    assert known.found > len(steps) / 2 > 50


def test_little_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where more requests and selectors come in turn than are kept, they are read again."""
    monkeypatch.setattr(repeated, "MOST_KNOWN", 2)
    monkeypatch.setattr(repeated, "MOST_PENDING", 1)
    monkeypatch.setattr(pod_table, "MOST_FOLLOWED", 1)

    for seed in range(20):
        assert _expected(seed) == _run(seed, RepeatedRequests())


@pytest.mark.parametrize("groups", [0, 12])
def test_many_groups(monkeypatch: pytest.MonkeyPatch, groups: int) -> None:
    """Nodes that are in too many groups, from the beginning or as pods come, are scored one by one."""
    monkeypatch.setattr(followed_scores, "MOST_GROUPS", groups)

    for seed in range(20):
        assert _expected(seed) == _run(seed, RepeatedRequests())

"""Clusters for rules that need one, and how many pods the engine really places there."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping
from typing import Any

from policies.manifests.documents import load
from policies.manifests.fields import ErrorList
from policies.model.node import read_node
from policies.model.topology import ClusterTopology
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from policies.rules.base import Context, Problem
from policies.scheduler.evaluate import evaluate
from policies.scheduler.release_changes import Behavior
from policies.scheduler.releases import behavior_of
from tests.policies.rules.run_rules import problems
from tests.policies.scheduler.clusters import a_node, a_pod, a_request, an_index, fitting

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
#: How often pods are placed, each time in another order.
TRIES = 20

_ROOM = re.compile(r"at most (\d+) of|allows (\d+) pods|(\d+) pods are allowed")


def nodes_of(*zones: str, taints: Mapping[str, Iterable[str]] | None = None) -> list[dict[str, Any]]:
    """Return a node for each zone given, named a-1, a-2, b-1; ``taints`` are of the nodes of a zone."""
    nodes: list[dict[str, Any]] = []
    for zone in zones:
        number = 1 + sum(node["metadata"]["labels"][ZONE] == zone for node in nodes)
        nodes.append(a_node(f"{zone}-{number}", {ZONE: zone}, taints=(taints or {}).get(zone, ())))
    return nodes


def a_context(
    nodes: Iterable[Mapping[str, Any]],
    *,
    domains: Mapping[str, tuple[str, ...]] | None = None,
    version: KubernetesVersion = KNOWN_VERSION,
) -> Context:
    """Return the context of a lint against a cluster, with the domains that a policy lists."""
    found = ErrorList()
    read = tuple(read_node(node, found) for node in nodes)
    assert [] == found.errors
    return Context(inventory=ClusterTopology(read, domains or {}), version=version)


def found(rule: str, manifests: str, context: Context) -> list[tuple[str, int | None]]:
    """Return the path of each problem and how many pods it says there is room for."""
    return [(str(problem.path), room(problem)) for problem in problems(rule, manifests, context)]


def room(problem: Problem) -> int | None:
    """Return how many pods a message says there is room for."""
    match = _ROOM.search(problem.message)
    return int(match[1] or match[2] or match[3]) if match else None


def most_placed(
    nodes: Iterable[Mapping[str, Any]],
    manifest: str,
    *,
    wanted: int,
    apart: str | None = None,
    version: KubernetesVersion = KNOWN_VERSION,
) -> int:
    """Return how many pods of a workload the engine places, one after another, in the best of many orders.

    Args:
        nodes: The cluster.
        manifest: The workload, as YAML.
        wanted: How many to place at most.
        apart: The topology key of a required anti-affinity against itself, which the engine does not judge.
        version: The release of the scheduler.
    """
    template = load(manifest, "test.yaml")[0].value["spec"]["template"]
    raw = list(nodes)
    behavior = behavior_of(version)
    return max(
        _placed(raw, template, wanted, apart, chance=random.Random(seed), behavior=behavior)
        for seed in range(TRIES)
    )


def _placed(
    nodes: list[Mapping[str, Any]],
    template: Mapping[str, Any],
    wanted: int,
    apart: str | None,
    *,
    chance: random.Random,
    behavior: Behavior,
) -> int:
    index = an_index(nodes)
    domain_of = {node["metadata"]["name"]: node["metadata"]["labels"].get(apart) for node in nodes}
    spec = {name: value for name, value in template["spec"].items() if name != "containers"}
    labels = {**template["metadata"]["labels"], "pod-template-hash": "r1"}
    taken: set[str | None] = set()
    for number in range(wanted):
        pod = a_pod(f"web-{number}", labels=labels, **_spread(spec))
        fits = fitting(evaluate(a_request(pod, {}, index, behavior), index))
        names = [name for name in fits if apart is None or domain_of[name] not in taken]
        if not names:
            return number
        chosen = chance.choice(names)
        taken.add(domain_of[chosen])
        assert [] == index.apply(a_pod(f"web-{number}", chosen, labels=labels, **_spread(spec)))
    return wanted


def _spread(spec: Mapping[str, Any]) -> dict[str, Any]:
    rest = dict(spec)
    return {"spread": rest.pop("topologySpreadConstraints", ()), **rest}


def a_workload(
    *constraints: str, replicas: int, spec: str = "", pod: str = "", kind: str = "Deployment"
) -> str:
    """Return a workload labeled ``app: web``, from flow YAML: constraints, and further fields of both specs.

    A constraint is hard, of the workload's own pods, and of ``maxSkew`` 1 unless it says otherwise.
    """
    entries = ""
    for entry in constraints:
        skew = "" if "maxSkew" in entry else "maxSkew: 1, "
        entries += f"\n        - {{{skew}whenUnsatisfiable: DoNotSchedule, {entry}}}"
    entries = entries.replace("own", "labelSelector: {matchLabels: {app: web}}")
    spread = f"\n      topologySpreadConstraints:{entries}" if constraints else ""
    return f"""
apiVersion: apps/v1
kind: {kind}
metadata: {{name: web}}
spec:
  replicas: {replicas}
  {spec}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      {pod}
      containers: [{{name: web, image: web}}]{spread}
"""

"""Which evictions break a budget, against pods and budgets that are looked at one by one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from policies.manifests.fields import ErrorList, FieldPath
from policies.model.pod import read_pod
from policies.model.scaling import EvictionBudget
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_view import NodeView
from policies.scheduler.preemption.victims import possible_victims
from tests.security.clusters import CLUSTER_CHOICES, a_cluster, stored_objects

#: Nodes of a cluster, and the priority of the pod that needs room.
NODES, PRIORITY = 12, 1_000
#: The labels of pods, by namespace and name.
Labels = Mapping[tuple[str, str], Mapping[str, str]]


@pytest.mark.parametrize("seed", range(12))
def test_broken_budgets(seed: int) -> None:
    """Budgets of many namespaces, also several of the same pods, take each eviction as if one by one."""
    source, index, labels = random.Random(seed), ClusterIndex(), dict[tuple[str, str], dict[str, str]]()
    for obj in _objects(source):
        metadata = obj["metadata"]
        index.apply(obj)
        if obj["kind"] == "Pod":
            labels[metadata["namespace"], metadata["name"]] = metadata["labels"]
    pod = read_pod({"spec": {"containers": []}}, FieldPath(), ErrorList(), namespace="shop")
    found = possible_victims(NodeView(index, pod), PRIORITY, np.ones(NODES, np.bool_))

    named = [(batch.namespace, name) for batch in found.batches for name in batch.names]
    pods = [(node, *named[at]) for node, at in zip(found.nodes.tolist(), found.order.tolist(), strict=True)]
    assert len(pods) == len(labels)
    assert list(_one_by_one(pods, labels, list(index.budgets))) == found.violating.tolist()


def _objects(source: random.Random) -> Iterator[dict[str, Any]]:
    """Yield a random cluster; some budgets lack a status or select nothing, and some pods have no labels."""
    varied = ("pod_labels", "pod_priorities", "budget_selector", "disrupted")
    chosen = {name: source.choice(CLUSTER_CHOICES[name]) for name in varied}
    chosen |= {"pods": source.choice((1, 4, 16)), "namespaces": source.choice((1, 2, 50))}
    for obj in stored_objects(a_cluster(budgets=30, **chosen), NODES):
        is_changed = source.random() < 0.1
        if obj["kind"] == "PodDisruptionBudget" and is_changed:
            obj.update(source.choice(({"status": {}}, {"spec": {"selector": {}}})))
        elif obj["kind"] == "Pod" and is_changed:
            obj["metadata"]["labels"] = {}
        yield obj


def _one_by_one(
    pods: Sequence[tuple[int, str, str]], labels: Labels, budgets: Sequence[EvictionBudget]
) -> Iterator[bool]:
    """Yield whether each eviction, by importance, breaks a budget: ``filterPodsWithPDBViolation``."""
    taken = Counter[tuple[int, int]]()
    for node, namespace, name in pods:
        own, is_broken = labels[namespace, name], False
        for number, budget in enumerate(budgets):
            selector = budget.selector
            if budget.namespace != namespace or name in budget.disrupted or not own:
                continue
            if selector is None or selector.empty or not selector.matches(own):
                continue
            taken[node, number] += 1
            is_broken |= taken[node, number] > (budget.allowed or 0)
        yield is_broken

"""Of an event only what has changed is read, however large the object is that a user stores."""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import deepcopy
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.model.cluster_kinds import (
    ATTACHMENT,
    BUDGET,
    CLAIM,
    CSI_CAPACITY,
    CSI_DRIVER,
    CSI_NODE,
    LISTS,
    NAMESPACE,
    NODE,
    POD,
    PRIORITY_CLASS,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    SERVICE,
    STATEFUL_SET,
    STORAGE_CLASS,
    VOLUME,
    Kind,
)
from policies.model.labels import LabelSelector
from policies.scheduler import indexed_objects
from policies.scheduler.evaluate import evaluate
from policies.scheduler.index import ClusterIndex
from tests.policies.scheduler.clusters import a_constraint, a_node, a_pod, a_request, an_index, as_recorded
from tests.policies.scheduler.strategies import arguments, pending_pods
from tests.policies.scheduler.strategies_events import Event, events, surviving
from tests.policies.scheduler.test_index import follow

#: Entries of what is large. Reading one takes a few calls of Python.
MANY = 5_000
#: Calls of an event that does not touch them, at most. No more for larger objects.
FEW = 400

EXPRESSIONS = [{"key": f"k{n}", "operator": "NotIn", "values": ["x"]} for n in range(MANY)]
SELECTOR = {"matchExpressions": EXPRESSIONS}
LABELS = {f"k{n}": "x" for n in range(MANY)}
TERM = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "zone", "namespaceSelector": {}}
NODE_TERM = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
CONTAINERS = [
    {"name": f"c{n}", "resources": {"requests": {"cpu": "1m"}}, "ports": [{"hostPort": n + 1}]}
    for n in range(MANY)
]
CLAIMS = [{"name": f"v{n}", "persistentVolumeClaim": {"claimName": f"c{n}"}} for n in range(MANY)]
ANTI_AFFINITY = {"requiredDuringSchedulingIgnoredDuringExecution": [TERM] * MANY}
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": CONTAINERS}}
TOPOLOGY = {"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}
DRIVERS = [{"name": f"d{n}", "topologyKeys": ["zone"], "allocatable": {"count": 1}} for n in range(MANY)]
CAPACITY = {"capacity": {"storage": "1Gi"}}

#: What can be large of the objects of each kind, besides metadata and status: a field of the object.
LARGE: dict[Kind, list[dict[str, Any]]] = {
    POD: [
        {"spec": {"nodeName": "a", "containers": CONTAINERS}},
        {"spec": {"nodeName": "a", "containers": [], "volumes": CLAIMS}},
        {"spec": {"nodeName": "a", "containers": [], "affinity": {"podAntiAffinity": ANTI_AFFINITY}}},
        {"spec": {"nodeName": "a", "containers": []}},
    ],
    NODE: [{"spec": {"taints": [{"key": f"k{n}", "effect": "NoSchedule"} for n in range(MANY)]}}],
    NAMESPACE: [{}],
    SERVICE: [{"spec": {"selector": LABELS}}],
    REPLICATION_CONTROLLER: [{"spec": {"selector": LABELS}}],
    REPLICA_SET: [{"spec": {"selector": SELECTOR}}, {"spec": {"template": TEMPLATE}}],
    STATEFUL_SET: [{"spec": {"selector": SELECTOR}}, {"spec": {"template": TEMPLATE}}],
    CLAIM: [{"spec": {"selector": SELECTOR}}, {"spec": {"accessModes": ["ReadWriteOnce"] * MANY}}],
    VOLUME: [
        {"spec": {**CAPACITY, "nodeAffinity": {"required": {"nodeSelectorTerms": [NODE_TERM] * MANY}}}},
        {"spec": {**CAPACITY, "accessModes": ["ReadWriteOnce"] * MANY}},
    ],
    STORAGE_CLASS: [{"provisioner": "csi", "allowedTopologies": [TOPOLOGY] * MANY}],
    CSI_NODE: [{"spec": {"drivers": DRIVERS}}],
    CSI_DRIVER: [{"spec": {"tokenRequests": [{"audience": f"a{n}"} for n in range(MANY)]}}],
    CSI_CAPACITY: [{"storageClassName": "csi", "nodeTopology": SELECTOR}],
    ATTACHMENT: [{"spec": {"source": {"inlineVolumeSpec": LABELS}}}],
    BUDGET: [{"spec": {"selector": SELECTOR}}],
    PRIORITY_CLASS: [{"value": 1}],
}
#: What changes of an object while its spec stays, by kind: by default an annotation alone.
STATUS: dict[Kind, dict[str, Any]] = {
    POD: {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"},
    BUDGET: {"disruptionsAllowed": 1},
    VOLUME: {"phase": "Available"},
    STATEFUL_SET: {"updateRevision": "web-1", "observedGeneration": 1},
}


def calls(work: Callable[[], object]) -> int:
    """Return how many functions some work calls."""
    counted = 0

    def count(_frame: object, event: str, _arg: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return counted


def test_every_kind_is_here() -> None:
    """A kind that is new to the cache must say what of it can be large."""
    assert set(LISTS.values()) == LARGE.keys()


@pytest.mark.parametrize(
    ("kind", "fields"),
    [pytest.param(kind, fields, id=kind[1]) for kind, listed in LARGE.items() for fields in listed],
)
def test_an_event_of_a_large_object(kind: Kind, fields: dict[str, Any]) -> None:
    """An annotation or a status that changes costs the same few calls, whatever the object holds."""
    index = ClusterIndex()
    metadata = {"name": "web", "namespace": "shop", "generation": 1, "labels": LABELS}
    obj = {"apiVersion": kind[0], "kind": kind[1], "metadata": metadata, **fields}
    assert [] == index.apply(obj)
    first = {**obj, "metadata": {**metadata, "annotations": {"a": "1"}}, "status": STATUS.get(kind, {})}
    assert [] == index.apply(first)
    second = {**deepcopy(first), "metadata": {**metadata, "annotations": {"a": "2"}}}

    assert calls(lambda: index.apply(second)) <= FEW


def test_small_objects_keep_nothing() -> None:
    """What is read at once takes no memory; nor does an object that is gone, or has become small."""
    index = an_index([a_node("a"), a_pod("p", "a")])
    large = a_pod("large", "a", LABELS)
    before = _kept(index)
    index.apply(large)
    while_there = _kept(index)
    index.apply(a_pod("large", "a"))
    once_small = _kept(index)
    index.apply(large)
    index.remove("v1", "Pod", "shop", "large")

    assert (0, 1, 0, 0) == (before, while_there, once_small, _kept(index))


def _kept(index: ClusterIndex) -> int:
    return sum(map(len, index._parts._kept.values()))


@given(events(), st.lists(pending_pods(), min_size=1, max_size=3), arguments())
def test_what_is_kept_is_as_good_as_new(
    history: list[Event], pods: list[dict[str, Any]], args: dict[str, Any]
) -> None:
    """With all parts of all objects kept, any order of events ends in the answers of what survives it."""
    followed, rebuilt = ClusterIndex(), an_index(surviving(history))
    with patch.object(indexed_objects, "READ_ANEW", 0):
        # Twice, so that most objects come again as they were.
        follow(followed, deepcopy(history))
        follow(followed, deepcopy(history))

    for pod in pods:
        answers = [as_recorded(evaluate(a_request(pod, args, index), index)) for index in (followed, rebuilt)]
        assert answers[0] == answers[1]
    assert rebuilt.pod_count == followed.pod_count


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"status": {"phase": "Succeeded"}}, id="it has finished"),
        pytest.param({"status": {"nominatedNodeName": "b"}}, id="another status"),
        pytest.param(
            {
                "status": {
                    "containerStatuses": [
                        {
                            "name": "c",
                            "resources": {"requests": {"cpu": "2"}},
                            "allocatedResources": {"cpu": "2"},
                        }
                    ]
                }
            },
            id="a resize",
        ),
        pytest.param({"status": {"containerStatuses": "none"}}, id="a status of the wrong type"),
        pytest.param({"labels": {"app": "other"}}, id="other labels"),
        pytest.param({"spec": {"nodeName": "b"}}, id="another node"),
        pytest.param({"spec": {"priority": 7}}, id="another priority"),
        pytest.param({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, id="it is being deleted"),
    ],
)
def test_changes_of_a_pod(change: dict[str, Any]) -> None:
    """Whatever changes of a pod whose parts are kept, the index is as if it had never known it otherwise."""
    before = a_pod("p", "a")
    before["spec"]["containers"] = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]
    after = deepcopy(before)
    after["metadata"] |= change.get("metadata", {})
    after["metadata"]["labels"] = change.get("labels", after["metadata"]["labels"])
    after["spec"] |= change.get("spec", {})
    after["status"] = change.get("status", after.get("status", {}))
    others = [a_node("a"), a_node("b"), a_pod("other", "a")]
    with patch.object(indexed_objects, "READ_ANEW", 0):
        index = an_index([*others, before])
        table = index.pods_of("shop")
        assert table is not None
        followed = table.follow(LabelSelector((("app", "web"),)))
        errors = index.apply(deepcopy(after))
        again = index.apply(deepcopy(after))
    fresh = ClusterIndex()
    for other in others:
        fresh.apply(other)
    told = fresh.apply(after)

    assert [str(each) for each in told] == [str(each) for each in errors] == [str(each) for each in again]
    assert _state(fresh) == _state(index)
    expected = fresh.count_pods("shop", LabelSelector((("app", "web"),)))
    assert expected == 2 + sum(amount for _, amount in followed.changes)


def _state(index: ClusterIndex) -> object:
    """Return what an index knows of its pods, but for the order in which they came."""
    rows = {
        name: (row.terminating, row.started, table.label_sets.labels(row.label_set))
        for _, table in index.pod_tables()
        for name in table.names()
        if (row := table.find(name)) is not None
    }
    asking = a_pod("next", spec=[a_constraint("kubernetes.io/hostname")], cpu="2")
    answer = as_recorded(evaluate(a_request(asking, {}, index), index))
    return rows, list(index.nominated_pods()), index.priorities, answer

"""The index follows events: any history ends in the answers of what is left of it."""

from __future__ import annotations

import threading
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from policies.model.labels import LabelSelector
from policies.scheduler.evaluate import evaluate
from policies.scheduler.index import INDEXED_KINDS, ClusterIndex
from tests.policies.scheduler.clusters import a_constraint, a_node, a_pod, a_request, an_index, as_recorded
from tests.policies.scheduler.strategies import arguments, pending_pods
from tests.policies.scheduler.strategies_events import Event, events, identity, surviving
from tests.policies.scheduler.strategies_scheduling import NODE_NAMES


def a_pending_pod() -> dict[str, Any]:
    """Return a pod whose verdict counts the pods of each node."""
    return a_pod("next", spread=[a_constraint("kubernetes.io/hostname")])


def follow(index: ClusterIndex, history: list[Event]) -> None:
    for verb, obj in history:
        if verb == "apply":
            assert [] == index.apply(obj)
        else:
            index.remove(*identity(obj))


def finished(pod: dict[str, Any]) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def counts(index: ClusterIndex) -> dict[str, int]:
    """Return the matching pods on each node."""
    verdict = evaluate(a_request(a_pending_pod(), {}, index), index)
    domains = verdict.results[0].domains
    return {domains.values[d]: int(domains.matching[d]) for d in domains.of_node}


@given(events(), st.lists(pending_pods(), min_size=1, max_size=3), arguments())
def test_history_and_rebuild(history: list[Event], pods: list[dict[str, Any]], args: dict[str, Any]) -> None:
    """Any order of events ends in the same answers as an index of the objects that survive it."""
    followed, rebuilt = ClusterIndex(), an_index(surviving(history))
    follow(followed, history)

    for pod in pods:
        answers = [as_recorded(evaluate(a_request(pod, args, index), index)) for index in (followed, rebuilt)]
        assert answers[0] == answers[1]
    assert rebuilt.nodes.names() == followed.nodes.names()
    assert rebuilt.pod_count == followed.pod_count


def test_an_emptied_index_keeps_nothing() -> None:
    """Nodes and pods that come and go under ever new names leave no slot behind."""
    index = an_index([a_node("kept")])
    for number in range(3):
        for name in (f"n{number}-{i}" for i in range(50)):
            follow(index, [("apply", a_pod(f"p-{name}", name)), ("apply", a_node(name))])
        for name in (f"n{number}-{i}" for i in range(50)):
            follow(index, [("remove", a_node(name)), ("remove", a_pod(f"p-{name}", name))])

    assert (("kept",), 0) == (index.nodes.names(), index.pod_count)
    assert index.nodes.slots <= 2 + 50
    assert {"kept": 0} == counts(index)


def test_label_sets_that_nobody_has_are_forgotten() -> None:
    """Pods with labels of their own, as a StatefulSet's, come and go without an end."""
    index = an_index([a_node("a"), a_node("b"), a_pod("kept", "a")])
    for number in range(2000):
        labels = {"app": "web", "pod-name": f"web-{number}"}
        follow(index, [("apply", a_pod("web", "b", labels))])
    table = index.pods_of("shop")

    assert table is not None
    assert table.label_sets.unused < 600
    assert {"a": 1, "b": 1} == counts(index)


def test_broken_objects_are_left_out_and_named() -> None:
    """An object of the wrong shape is told with its fields, and what it should have replaced is gone."""
    index = an_index([a_node("a"), a_pod("p", "a")])
    errors = index.apply({**a_pod("p", "a"), "spec": {"nodeName": 5, "containers": "none"}})

    assert ["spec.nodeName", "spec.containers"] == [str(error.path) for error in errors]
    assert {"a": 0} == counts(index)


def test_readers_never_see_half_an_event() -> None:
    """While a pod moves from node to node, whoever asks finds it on exactly one."""
    index = an_index([a_node("a"), a_node("b"), a_pod("p", "a")])
    done, wrong = threading.Event(), []

    def read() -> None:
        while not done.is_set():
            seen = counts(index)
            if sum(seen.values()) != 1:
                wrong.append(seen)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(3000):
        index.apply(a_pod("p", "ab"[number % 2]))
    done.set()
    for reader in readers:
        reader.join()

    assert [] == wrong


def test_objects_without_namespace_or_kind() -> None:
    """A pod without a namespace is in the default one, also when it goes; what has no kind is passed over."""
    pod = a_pod("p", "a")
    del pod["metadata"]["namespace"]
    index = an_index([a_node("a"), pod, {"apiVersion": "v1", "kind": ["Pod"]}])
    before = index.pod_count
    index.remove("v1", "Pod", "", "p")

    assert (1, 0) == (before, index.pod_count)


def test_sums_past_int64_come_back() -> None:
    """Absurd requests wrap around as in the scheduler, and leave nothing behind when they go."""
    index = an_index([a_node("a")])
    for name in ("p", "q"):
        follow(index, [("apply", a_pod(name, "a", cpu="9E"))])
    for name in ("p", "q"):
        index.remove("v1", "Pod", "shop", name)
    used = index.nodes.used.find("cpu")

    assert used is not None
    assert 0 == used.max() == used.min()


@given(events())
def test_names_are_those_that_survive(history: list[Event]) -> None:
    """Of each kind the index names what is left: bound pods, services that select, all else."""
    index = ClusterIndex()
    follow(index, history)
    expected: dict[tuple[str, str], set[tuple[str, str]]] = {kind: set() for kind in INDEXED_KINDS}
    for obj in surviving(history):
        api_version, kind, namespace, name = identity(obj)
        if kind == "Pod" and (not obj["spec"].get("nodeName") or finished(obj)):
            continue
        if kind == "Service" and not obj["spec"].get("selector"):
            continue
        expected[api_version, kind].add((namespace, name))

    assert expected == {kind: index.names(kind) for kind in INDEXED_KINDS}
    assert {kind: len(names) for kind, names in expected.items()} == {
        kind: index.count(kind) for kind in INDEXED_KINDS
    }


def test_names_of_what_is_not_indexed() -> None:
    """Of other kinds there is nothing."""
    index = an_index([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}])

    assert ({("", "shop")}, 1) == (index.names(("v1", "Namespace")), index.count(("v1", "Namespace")))
    assert (set(), 0) == (index.names(("v1", "ConfigMap")), index.count(("v1", "ConfigMap")))


@given(events(), st.sets(st.sampled_from(NODE_NAMES)))
def test_pods_on_nodes(history: list[Event], names: set[str]) -> None:
    """The pods on some nodes are those bound to them, whether the nodes exist or not."""
    index = ClusterIndex()
    follow(index, history)
    pods = (obj for obj in surviving(history) if obj["kind"] == "Pod" and not finished(obj))
    expected = {
        (identity(pod)[2], identity(pod)[3], pod["spec"]["nodeName"], "deletionTimestamp" in pod["metadata"])
        for pod in pods
        if pod["spec"].get("nodeName") in names
    }

    assert expected == set(index.pods_on(names))
    assert set(index.nodes.names()) & names == {name for name in names if index.nodes.find(name) is not None}


def test_pods_with_constraints_of_their_own() -> None:
    """Known of the pods that a selector selects, and followed when they change."""
    selector = LabelSelector.parse({"matchLabels": {"app": "web"}})
    pods = [
        a_pod("one", node="n1", spread=[a_constraint("zone")]),
        a_pod("two", node="n1", spread=[a_constraint("zone")]),
    ]
    index = an_index([a_node("n1"), *pods])
    namespace = pods[0]["metadata"]["namespace"]

    assert index.all_spread(namespace, selector)
    assert [] == index.apply(a_pod("two", node="n1"))
    assert not index.all_spread(namespace, selector)
    index.remove("v1", "Pod", namespace, "two")
    assert index.all_spread(namespace, selector)

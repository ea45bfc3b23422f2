"""The objects of a case as an API server takes them."""

from __future__ import annotations

from typing import Any

from conformance.cluster_objects import FINALIZER, GATE, KINDS, LABEL, CaseObjects, WantedObject
from policies.model.cluster_kinds import (
    CLAIM,
    NAMESPACE,
    NODE,
    POD,
    PRIORITY_CLASS,
    REPLICA_SET,
    VOLUME,
    Kind,
)

NAME = "kubernetes.io/metadata.name"


def _pod(name: str = "p", namespace: str = "shop", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace, "uid": f"case-{name}"}, "spec": spec}


def _objects(pod: dict[str, Any] | None = None, **cluster: Any) -> CaseObjects:
    return CaseObjects(cluster, [pod or _pod()], "ek-1-")


def _made(objects: CaseObjects, kind: Kind) -> list[WantedObject]:
    return list(objects.of_kind(kind))


def _names(objects: CaseObjects, kind: Kind) -> list[str]:
    return [wanted.manifest["metadata"]["name"] for wanted in _made(objects, kind)]


def test_namespaces_are_renamed_wherever_they_are_named() -> None:
    """Those of metadata, terms, selectors and claims; the label with the name is left to the API server."""
    selector = {"matchExpressions": [{"key": NAME, "operator": "In", "values": ["shop"]}]}
    term = {"namespaces": ["shop"], "namespaceSelector": selector | {"matchLabels": {NAME: "a", "b": "c"}}}
    pod = _pod(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})
    listed = {"metadata": {"name": "shop", "labels": {NAME: "shop", "team": "x"}}}
    objects = _objects(pod, namespaces=[listed], pods=[_pod(namespace="lab", nodeName="n")])
    sent = objects.incoming(pod).manifest
    (found,) = sent["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]

    assert ["ek-1-lab", "ek-1-shop"] == _names(objects, NAMESPACE)
    assert {"team": "x", LABEL: "evenkeel"} == _made(objects, NAMESPACE)[1].manifest["metadata"]["labels"]
    assert "ek-1-shop" == sent["metadata"]["namespace"]
    assert ["ek-1-shop"] == found["namespaces"] == found["namespaceSelector"]["matchExpressions"][0]["values"]
    assert {NAME: "ek-1-a", "b": "c"} == found["namespaceSelector"]["matchLabels"]
    assert "shop/p waits" == objects.original("ek-1-shop/p waits")


def test_claims_and_volumes_name_each_other() -> None:
    """A volume gets the uid of the real claim, but only if the case means that one."""
    claim = {"metadata": {"name": "data", "namespace": "shop", "uid": "u"}, "spec": {}}
    references = [{"namespace": "shop", "name": "data", "uid": uid} for uid in ("u", "another")]
    volumes = [
        {"metadata": {"name": f"v{number}"}, "spec": {"claimRef": reference}}
        for number, reference in enumerate(references)
    ]
    objects = _objects(persistentVolumeClaims=[claim], persistentVolumes=volumes)
    objects.keep_uid(CLAIM, {"metadata": {"name": "data", "namespace": "ek-1-shop", "uid": "real"}})

    assert [("ek-1-shop", "real"), ("ek-1-shop", "another")] == [
        (made.manifest["spec"]["claimRef"]["namespace"], made.manifest["spec"]["claimRef"]["uid"])
        for made in _made(objects, VOLUME)
    ]


def test_priorities_get_classes() -> None:
    """The API server takes no number but its class's, so each priority has one; the usual one needs none."""
    named = {"metadata": {"name": "high"}, "value": 100}
    bound = [_pod("a", priority=7, nodeName="n"), _pod("b", priorityClassName="high", nodeName="n")]
    objects = _objects(_pod(preemptionPolicy="Never"), priorityClasses=[named], pods=bound)
    specs = [made.manifest["spec"] for made in _made(objects, POD)]

    assert [0, 7, 100] == [made.manifest["value"] for made in _made(objects, PRIORITY_CLASS)]
    assert _names(objects, PRIORITY_CLASS)[1:] == [spec["priorityClassName"] for spec in specs]
    assert not any("priority" in spec for spec in specs)
    assert "priorityClassName" not in _objects().incoming(_pod(priority=0)).manifest["spec"]


def test_pods_that_a_scheduler_sees() -> None:
    """Bound pods are bound later, nominated ones are held back; pending and ended ones are not made."""
    pods = [
        _pod("bound", nodeName="n"),
        _pod("ended", nodeName="n") | {"status": {"phase": "Succeeded"}},
        _pod("pending"),
        _pod("nominated") | {"status": {"nominatedNodeName": "n"}},
    ]
    bound, nominated = _made(_objects(pods=pods), POD)

    assert ("n", "Running") == (bound.node, (bound.status or {})["phase"])
    assert "nodeName" not in bound.manifest["spec"]
    assert [{"name": GATE}] == nominated.manifest["spec"]["schedulingGates"]
    assert {"nominatedNodeName": "n"} == nominated.status


def test_stored_pods_have_merged_keys() -> None:
    """The API server would merge the keys of a stored pod again; those of the incoming one it merges."""
    term = {"labelSelector": {}, "matchLabelKeys": ["a"], "topologyKey": "zone"}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    objects = _objects(pods=[_pod("stored", nodeName="n", affinity=affinity)])

    assert "matchLabelKeys" not in str(_made(objects, POD)[0].manifest)
    assert "matchLabelKeys" in str(objects.incoming(_pod(affinity=affinity)).manifest)


def test_owners() -> None:
    """A controller leaves an owner alone that is being deleted; its pod refers to it as it is there."""
    owner = {"kind": "ReplicaSet", "name": "web", "uid": "o", "controller": True}
    pod = _pod()
    pod["metadata"]["ownerReferences"] = [owner, owner | {"name": "missing"}]
    selector = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]}
    listed = {"metadata": {"name": "web", "namespace": "shop"}, "spec": {"selector": selector}}
    objects = _objects(pod, replicaSets=[listed])
    (made,) = _made(objects, REPLICA_SET)
    objects.keep_uid(REPLICA_SET, {"metadata": {"name": "web", "namespace": "ek-1-shop", "uid": "real"}})

    assert ([FINALIZER], True) == (made.manifest["metadata"]["finalizers"], made.deleted)
    assert {"a": "b", "c": "x"} == made.manifest["spec"]["template"]["metadata"]["labels"]
    assert [owner | {"uid": "real"}] == objects.incoming(pod).manifest["metadata"]["ownerReferences"]


def test_nodes_are_ready() -> None:
    """The taints are written after the API server has added its own."""
    listed = {"metadata": {"name": "n", "uid": "u"}, "spec": {"taints": [{"key": "k"}]}, "status": {}}
    (made,) = _made(_objects(nodes=[listed]), NODE)

    assert [{"key": "k"}] == made.taints
    assert "taints" not in made.manifest["spec"]
    assert "uid" not in made.manifest["metadata"]
    assert [("Ready", "True")] == [
        (entry["type"], entry["status"]) for entry in made.manifest["status"]["conditions"]
    ]


def test_everything_carries_the_label() -> None:
    """What is made is found by its label, of whatever kind it is."""
    pod = _pod(runtimeClassName="r", overhead={"cpu": "1"}, priority=5)
    objects = _objects(pod, nodes=[{"metadata": {"name": "n"}, "spec": {}}])
    made = [wanted for kind in KINDS for wanted in objects.of_kind(kind)] + [objects.incoming(pod)]

    assert {"Namespace", "ServiceAccount", "PriorityClass", "RuntimeClass", "Node", "Pod"} == {
        wanted.manifest["kind"] for wanted in made
    }
    assert all(LABEL in wanted.manifest["metadata"]["labels"] for wanted in made)

"""Volumes, budgets and priorities of a cluster: read, followed, or named where they may not be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from policies.model.cluster_kinds import CLAIM, LIST_NAMES, OPTIONAL_KINDS
from tests.e2e.control_plane import ControlPlane
from tests.e2e.installation import NAME, Installation
from tests.e2e.kubectl import Kubectl, Manifest
from tests.e2e.objects import ZONE_KEY, ZONES, pod
from tests.waiting import eventually
from tests.webhook.ui.pages import PageClient
from webhook.cli.live import api_server
from webhook.cli.placement_options import PlacementOptions
from webhook.cli.ui import first_reading
from webhook.snapshot_file import read_snapshot

#: The groups that the limited account may read nothing of, and the kinds of the core group.
WITHHELD_GROUPS = {"storage.k8s.io", "policy"}
WITHHELD = {"persistentvolumes", "persistentvolumeclaims"}
#: The kinds that it therefore cannot read.
UNREAD = {
    "persistentVolumeClaims",
    "persistentVolumes",
    "storageClasses",
    "csiNodes",
    "csiDrivers",
    "csiStorageCapacities",
    "volumeAttachments",
    "podDisruptionBudgets",
}


def _claimed_by_volume(space: str) -> list[Manifest]:
    """Return a volume of one zone with its claim, and what else is read of storage and priorities."""
    modes = {"accessModes": ["ReadWriteOnce"]}
    zone = {"key": ZONE_KEY, "operator": "In", "values": ["zone-b"]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}}
    storage = "storage.k8s.io/v1"
    return [
        {
            "apiVersion": storage,
            "kind": "StorageClass",
            "metadata": {"name": space},
            "provisioner": "csi.example.com",
            "parameters": {"password": "not-to-be-kept"},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": space},
            "spec": {
                **modes,
                "capacity": {"storage": "1Gi"},
                "storageClassName": space,
                "claimRef": {"namespace": space, "name": "data"},
                "nodeAffinity": affinity,
                "csi": {"driver": "csi.example.com", "volumeHandle": "h"},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": "data",
                "namespace": space,
                "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
            },
            "spec": {
                **modes,
                "resources": {"requests": {"storage": "1Gi"}},
                "storageClassName": space,
                "volumeName": space,
            },
        },
        {"apiVersion": storage, "kind": "CSIDriver", "metadata": {"name": "csi.example.com"}, "spec": {}},
        {
            "apiVersion": storage,
            "kind": "CSINode",
            "metadata": {"name": ZONES["zone-b"][0]},
            "spec": {"drivers": []},
        },
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": space},
            "value": 7,
        },
    ]


def _budget(space: str) -> Manifest:
    selector = {"matchLabels": {"app": "web"}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": space},
        "spec": {"minAvailable": 1, "selector": selector},
    }


@pytest.fixture
def stored(control_plane: ControlPlane, space: str) -> Iterator[str]:
    """A namespace with a claim, whose volume is in zone-b, and a PodDisruptionBudget."""
    made = _claimed_by_volume(space)
    if control_plane.version >= (1, 21):
        made.append(_budget(space))
    control_plane.kubectl.do("create", "-f", "-", stdin=made)
    yield space
    control_plane.kubectl.do("delete", "--wait=false", "-f", "-", stdin=made)
    # No controller takes what protects volumes and claims in use away.
    free = '{"metadata": {"finalizers": null}}'
    for kind, name in (("pv", space), ("pvc", "data")):
        control_plane.kubectl("patch", kind, name, "-n", space, "--type=merge", "-p", free)


@pytest.fixture
def limited(installed: Installation, control_plane: ControlPlane) -> Iterator[Kubectl]:
    """A ServiceAccount with the rights of replicas, but for storage and PodDisruptionBudgets."""
    name, roles, made = f"{NAME}-limited", {NAME, f"{NAME}-cluster"}, list[Manifest]()
    for obj in installed.manifests:
        subjects = obj.get("subjects") or ()
        if any(subject["name"] == NAME and subject["kind"] == "ServiceAccount" for subject in subjects):
            reference = obj["roleRef"]
            if reference["kind"] == "ClusterRole":
                reference = {**reference, "name": f"{reference['name']}-limited"}
            subject = {"kind": "ServiceAccount", "namespace": NAME, "name": name}
            metadata = {**obj["metadata"], "name": f"{obj['metadata']['name']}-limited"}
            made.append({**obj, "metadata": metadata, "roleRef": reference, "subjects": [subject]})
        elif obj["kind"] == "ClusterRole" and obj["metadata"]["name"] in roles:
            metadata = {"name": f"{obj['metadata']['name']}-limited"}
            made.append({**obj, "metadata": metadata, "rules": list(map(_limited, obj["rules"]))})
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": NAME}}
    control_plane.kubectl.do("create", "-f", "-", stdin=[account, *made])
    user = control_plane.user(name, installed.token(name))
    user.write_kubeconfig(NAME)
    yield user
    control_plane.kubectl.do("delete", "-f", "-", stdin=[account, *made])


def _limited(rule: dict[str, Any]) -> dict[str, Any]:
    """Return a rule of a role without what is withheld."""
    if WITHHELD_GROUPS & set(rule.get("apiGroups", ())):
        return {**rule, "verbs": ["create"]}
    if rule.get("apiGroups") == [""]:
        return {**rule, "resources": [name for name in rule["resources"] if name not in WITHHELD]}
    return rule


def _with_claim(space: str) -> Manifest:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    obj = pod("web", volumes=volumes, priorityClassName=space)
    return {**obj, "metadata": {**obj["metadata"], "namespace": space}}


def test_a_snapshot_has_them(installed: Installation, stored: str, tmp_path: Path) -> None:
    """The objects of the API server are in the file, without secrets; a kind that it lacks is named."""
    file = tmp_path / "cluster.json"
    told = installed.evenkeel("snapshot", "-o", str(file))
    assert 0 == told.code, told.err
    problems = list[str]()
    index = read_snapshot(file, warn=problems.append)
    served = {resource.key for resource in installed.control_plane.served() if resource.optional}

    assert (stored, "data") in index.names(CLAIM)
    assert "not-to-be-kept" not in file.read_text()
    assert served == {kind for kind in OPTIONAL_KINDS if index.knows(kind)}
    assert all(f"{LIST_NAMES[kind]} (" in told.err for kind in set(OPTIONAL_KINDS) - served)


def test_live_and_snapshot_place_alike(installed: Installation, stored: str, tmp_path: Path) -> None:
    """A pod goes where its volume is, whether a replica is asked or what was written to a file."""
    file, obj = tmp_path / "cluster.json", _with_claim(stored)
    installed.evenkeel("snapshot", "-o", str(file))
    port = next(iter(installed.replicas))
    eventually(lambda: installed.picture(port).get("PersistentVolumeClaim"))
    live = installed.score(port, obj)
    options = ["--cluster", str(file), "--kubernetes-version", live["kubernetesVersion"]]
    told = installed.evenkeel("score", "--jsonl", *options, stdin={"pod": obj})
    answers = [live, json.loads(told.out)]

    assert answers[0]["nodes"] == answers[1]["nodes"]
    assert set(ZONES["zone-b"]) == {node["name"] for node in live["nodes"] if node["feasible"]}
    assert [[], []] == [answer["notModeled"] for answer in answers]


def test_without_the_rights(installed: Installation, limited: Kubectl, stored: str, tmp_path: Path) -> None:
    """Commands say what they could not read and why, and of a snapshot the same; nothing is guessed."""
    file = str(tmp_path / "cluster.json")
    written = installed.evenkeel("snapshot", "-o", file, user=limited)
    live = installed.evenkeel("audit", "--live", "-o", "json", user=limited)
    read = installed.evenkeel("score", "--jsonl", "--cluster", file, stdin={"pod": _with_claim(stored)})

    assert 0 == written.code, written.err
    for done in (written, live, read):
        assert all(f"{name} (no right" in done.err for name in UNREAD), done
    assert "persistentVolumeClaims" in json.loads(read.out)["notModeled"]


def test_the_page_without_the_rights(
    limited: Kubectl, stored: str, control_plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says what it could not read and does not watch; changes of the rest are counted, and read again."""
    monkeypatch.setenv("KUBECONFIG", str(limited.kubeconfig))
    api_server.cache_clear()
    page = first_reading(PlacementOptions(live=True), "")
    client = PageClient(page.state, readings=page)
    page.start()

    def status() -> dict[str, Any]:
        return client.get("/api/reading").json or {}

    try:
        eventually(lambda: len(status()["unwatched"]) >= len(UNREAD), what=lambda: str(status()))
        control_plane.kubectl.do("create", "-f", "-", stdin=pod("new", nodeName=ZONES["zone-c"][0]))
        eventually(lambda: {"kind": "Pod", "objects": 1} in status()["changed"], what=lambda: str(status()))
        client.post("/api/refresh", {})
        eventually(lambda: status()["reading"] == 2, what=lambda: str(status()))
        found = client.get("/api/cluster").json or {}
        detail = client.get(f"/api/workload?kind=Pod&namespace={stored}&name=new").json or {}
    finally:
        page.end()
        api_server.cache_clear()

    notes = " ".join(found["source"]["notes"])
    assert all(f"{name} (no right" in notes for name in UNREAD), notes
    assert "registry.example/web:1" in detail["manifest"]


def test_a_replica_without_the_rights(
    installed: Installation, limited: Kubectl, stored: str, control_plane: ControlPlane
) -> None:
    """It becomes ready, says what it cannot read, and reads it as soon as it may."""
    port = next(port for port in installed.ports if port not in installed.replicas)
    running = installed.start(port, user=limited)
    installed.wait_until_chosen(port)
    _, health = installed.health(port)
    answer = installed.score(port, _with_claim(stored))
    rule = {"apiGroups": ["", *WITHHELD_GROUPS], "resources": ["*"], "verbs": ["list", "watch"]}
    patch = json.dumps([{"op": "add", "path": "/rules/-", "value": rule}])
    control_plane.kubectl.do("patch", "clusterrole", f"{NAME}-cluster-limited", "--type=json", "-p", patch)

    def known() -> bool:
        return "(no right" not in str(installed.health(port)[1])

    eventually(known, what=lambda: f"{installed.health(port)}")
    later = installed.score(port, _with_claim(stored))
    log = running.log.read_text()
    installed.stop(port)

    assert all(f"{name} (no right to list and watch" in str(health) for name in UNREAD), health
    assert "persistentVolumeClaims" in answer["notModeled"]
    assert "persistentVolumeClaims" not in later["notModeled"]
    assert set(ZONES["zone-b"]) == {node["name"] for node in later["nodes"] if node["feasible"]}
    assert [line for line in log.splitlines() if "watch_failed" in line and "PersistentVolume " in line]

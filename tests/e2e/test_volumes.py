"""A StatefulSet whose volumes deadlock with its constraint, on a real control plane with its scheduler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.e2e.control_plane import ControlPlane
from tests.e2e.kubectl import Kubectl, Manifest
from tests.e2e.objects import ZONE_KEY, constraint, deployment
from tests.e2e.scheduling import scheduling
from tests.waiting import PATIENCE_S, eventually

pytestmark = pytest.mark.kubernetes(since="1.25")

#: Whose pods the scheduler of these tests takes: other tests want theirs left alone.
SCHEDULER: Final = "volumes"
#: The controllers that make replicas, bind claims, and let claims go that no pod uses.
CONTROLLERS: Final = ("statefulset", "persistentvolume-binder", "pvc-protection")
#: The lists that placing pods with volumes needs, as ``docs/scheduling-model.md`` has them.
LISTS: Final = (
    "nodes,pods,statefulsets,namespaces,pvc,pv,sc,csinodes,csidrivers,csistoragecapacities,volumeattachments"
)


@pytest.fixture
def scheduler(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Path]:
    """A scheduler, and the controllers beside it; its configuration."""
    with scheduling(control_plane, tmp_path, SCHEDULER, CONTROLLERS) as config:
        yield config


@pytest.fixture
def storage(kubectl: Kubectl, space: str) -> Iterator[str]:
    """A class that waits for pods, two claims bound in zone-a, and a free volume in each other zone."""
    storage_class = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": space},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    claims = [_claim(space, f"data-web-{number}", volumeName=f"{space}-{number}") for number in range(2)]
    volumes = [_volume(space, f"{space}-{number}", "zone-a") for number in range(2)]
    for volume, claim in zip(volumes, claims, strict=True):
        volume["spec"]["claimRef"] = {"namespace": space, "name": claim["metadata"]["name"]}
    volumes += [_volume(space, f"{space}-{zone}", f"zone-{zone}") for zone in "bc"]
    # What kubelets and drivers register: a list without any does not tell that there is none.
    csi = {"apiVersion": "storage.k8s.io/v1", "metadata": {"name": "node-a1"}}
    node, driver = csi | {"kind": "CSINode", "spec": {"drivers": []}}, csi | {"kind": "CSIDriver", "spec": {}}
    made = [storage_class, *volumes, node, driver]
    kubectl.do("create", "-f", "-", stdin=[*made, *claims])
    eventually(
        lambda: ["Bound"] * 2 == [claim["status"].get("phase") for claim in kubectl.get("pvc")["items"]],
        what=lambda: kubectl.do("describe", "pvc"),
    )
    yield space
    kubectl.do("delete", "--wait=false", "-f", "-", stdin=made)


def _claim(storage_class: str, name: str, **spec: Any) -> Manifest:
    fields = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": "1Gi"}},
        **spec,
    }
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": fields}


def _volume(storage_class: str, name: str, zone: str) -> Manifest:
    in_zone = {"key": ZONE_KEY, "operator": "In", "values": [zone]}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "persistentVolumeReclaimPolicy": "Retain",
        "local": {"path": f"/disks/{name}"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [in_zone]}]}},
    }
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}


def _stateful_set(storage_class: str, name: str = "web", replicas: int = 2) -> Manifest:
    made = deployment(
        name, replicas=replicas, constraints=[constraint(labelSelector={"matchLabels": {"app": name}})]
    )
    made["spec"]["template"]["spec"]["schedulerName"] = SCHEDULER
    template = _claim(storage_class, "data")
    # No kubelet makes a pod ready: only so is there a second one.
    own = {
        "serviceName": name,
        "podManagementPolicy": "Parallel",
        "volumeClaimTemplates": [{"metadata": template["metadata"], "spec": template["spec"]}],
    }
    return made | {"kind": "StatefulSet", "spec": made["spec"] | own}


def _told(kubectl: Kubectl, config: Path, folder: Path, space: str, *command: str) -> dict[str, Any]:
    """Return the output of a command of evenkeel for the objects as they are."""
    cluster = folder / "cluster.json"
    cluster.write_text(kubectl.do("get", LISTS, "-A", "-o", "json"))
    words = [*command, "-n", space, f"--cluster={cluster}", "-o", "json"]
    done = subprocess.run(
        [sys.executable, "-m", "kube_evenkeel", *words, f"--scheduler-config={config}"],
        capture_output=True,
        env={**os.environ, "KUBECONFIG": "/nonexistent"},
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.stdout, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_volume_against_a_constraint(
    scheduler: Path, storage: str, kubectl: Kubectl, tmp_path: Path
) -> None:
    """Claim, volume, zone and constraint are named, and the proposed change makes the pod schedule."""
    kubectl.do("create", "-f", "-", stdin=_stateful_set(storage))

    def nodes() -> dict[str, str | None]:
        pods = kubectl.get("pods")["items"]
        return {pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in pods}

    def stuck() -> list[str]:
        pods = kubectl.get("pods")["items"]
        waiting = [pod for pod in pods if not pod["spec"].get("nodeName") and _is_unschedulable(pod)]
        return (
            [pod["metadata"]["name"] for pod in waiting] if len(pods) == 2 and any(nodes().values()) else []
        )

    (pending,) = eventually(stuck, what=lambda: kubectl.do("describe", "pods"))
    claim, volume = f"data-{pending}", f"{storage}-{pending[-1]}"
    told = _told(kubectl, scheduler, tmp_path, storage, "explain", "statefulset/web")
    message = kubectl.get("pod", pending)["status"]["conditions"][0]["message"]
    (change,) = (entry for entry in told["changes"] if entry["kinds"] == ["persistentVolumeClaim"])
    kubectl.do("delete", "pvc", *change["inCluster"]["claims"], "-n", storage)
    # The scheduler may have been quicker, and no kubelet ends pods that have a node.
    kubectl.do("delete", "pod", pending, "-n", storage, "--grace-period=0", "--force")
    eventually(lambda: nodes().get(pending), what=lambda: kubectl.do("describe", "pods"))

    assert message.startswith(told["message"])
    assert [(claim, volume, f"{ZONE_KEY} in (zone-a)", [0])] == [
        (entry["claim"], entry["volume"], entry["reachedFrom"], entry["constraints"])
        for entry in told["deadlocks"]
    ]
    assert [claim] == change["inCluster"]["claims"]
    assert change["caution"]
    assert nodes()[pending] in set(change["examples"])
    assert {"node-b1", "node-c1"} == set(change["examples"])


def test_a_volume_in_a_lost_zone(scheduler: Path, storage: str, kubectl: Kubectl, tmp_path: Path) -> None:
    """The replica that has it stays pending with the told message, and the others get a node."""
    claim, volume = "data-db-0", f"{storage}-lost"
    lost = _volume(storage, volume, "zone-lost")
    lost["spec"]["claimRef"] = {"namespace": storage, "name": claim}
    kubectl.do("create", "-f", "-", stdin=[lost, _claim(storage, claim, volumeName=volume)])
    eventually(lambda: "Bound" == kubectl.get("pvc", claim)["status"].get("phase"))
    kubectl.do("create", "-f", "-", stdin=_stateful_set(storage, "db", replicas=0))
    told = _told(kubectl, scheduler, tmp_path, storage, "what-if", "statefulset/db", "--replicas=3")
    kubectl.do("scale", "statefulset/db", "--replicas=3", "-n", storage)

    def settled() -> dict[str, Manifest]:
        pods = {pod["metadata"]["name"]: pod for pod in kubectl.get("pods")["items"]}
        waits = [name for name, pod in pods.items() if not pod["spec"].get("nodeName")]
        return pods if len(pods) == 3 and waits == ["db-0"] and _is_unschedulable(pods["db-0"]) else {}

    pods = eventually(settled, what=lambda: kubectl.do("describe", "pods"))
    kubectl.do("delete", "pv", volume, "--wait=false")
    (database,) = told["workloads"]
    (pending,) = (step for step in told["steps"] if step["did"] == "pending")

    assert (f"{storage}/db-0", None) == (pending["pod"], pending["node"])
    assert pods["db-0"]["status"]["conditions"][0]["message"].startswith(pending["why"])
    assert (3, 2, 1) == (database["wanted"], database["after"], database["pending"])
    assert "out of reach of its volume" in told["verdict"]["sentence"]


def _is_unschedulable(pod: Manifest) -> bool:
    return any(entry.get("reason") == "Unschedulable" for entry in pod["status"].get("conditions") or ())

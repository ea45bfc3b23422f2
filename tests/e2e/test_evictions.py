"""A rollout whose pod evicts another workload's, on a real control plane with scheduler and controllers."""

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
from tests.e2e.objects import deployment, node
from tests.e2e.scheduling import scheduling
from tests.waiting import PATIENCE_S, eventually

pytestmark = pytest.mark.kubernetes(since="1.25")

#: Whose pods the scheduler of these tests takes: other tests want theirs left alone.
SCHEDULER: Final = "evictions"
CONTROLLERS: Final = ("deployment", "replicaset", "disruption")
#: The lists that evictions need.
LISTS: Final = "nodes,pods,deployments,replicasets,services,namespaces,pdb,priorityclasses"
#: Nodes of these tests, with room for one pod, and the taint that keeps the pods of other tests away.
NODES: Final = {"evictions-1": "zone-a", "evictions-2": "zone-b"}
TAINT: Final = {"key": "only", "value": "evictions", "effect": "NoSchedule"}


@pytest.fixture
def scheduler(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Path]:
    """A scheduler, and the controllers beside it; its configuration."""
    with scheduling(control_plane, tmp_path, SCHEDULER, CONTROLLERS) as config:
        yield config


@pytest.fixture
def priorities(control_plane: ControlPlane, space: str) -> Iterator[dict[str, str]]:
    """Two nodes with room for one pod each, and the names of a low and a high priority."""
    kubectl = control_plane.kubectl
    classes = [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": f"{space}-{name}"},
            "value": value,
        }
        for name, value in (("low", -10), ("high", 10))
    ]
    nodes = [node(name, zone) for name, zone in NODES.items()]
    for made in nodes:
        room = {"cpu": "4", "memory": "8Gi", "pods": "1"}
        made["status"]["allocatable"] = made["status"]["capacity"] = room
    kubectl.do("create", "-f", "-", stdin=[*classes, *nodes])
    merge = "application/merge-patch+json"
    with control_plane.client() as client:
        for made in nodes:
            path = f"/api/v1/nodes/{made['metadata']['name']}"
            client.call("PATCH", f"{path}/status", {"status": made["status"]}, content_type=merge)
            # In place of what the API server itself puts on a node that is not ready yet.
            client.call("PATCH", path, {"spec": {"taints": [TAINT]}}, content_type=merge)
    yield {name: f"{space}-{name}" for name in ("low", "high")}
    kubectl.do("delete", "--wait=false", "-f", "-", stdin=[*classes, *nodes])
    kubectl.do("delete", "pods", "--all", "-n", space, "--grace-period=0", "--force")


def _deployment(name: str, priority: str, **limits: Any) -> Manifest:
    made = deployment(name)
    made["spec"]["strategy"] = {"rollingUpdate": limits or {"maxSurge": 1, "maxUnavailable": 0}}
    made["spec"]["template"]["spec"] |= {
        "schedulerName": SCHEDULER,
        "priorityClassName": priority,
        "tolerations": [{"key": TAINT["key"], "operator": "Exists"}],
        # No kubelet ends pods: those without a grace period are gone at once.
        "terminationGracePeriodSeconds": 0,
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {
                            "matchExpressions": [
                                {
                                    "key": "kubernetes.io/hostname",
                                    "operator": "In",
                                    "values": list(NODES),
                                }
                            ]
                        }
                    ]
                }
            }
        },
    }
    return made


def _simulated(kubectl: Kubectl, config: Path, folder: Path, space: str, *words: str) -> dict[str, Any]:
    """Return the answer of an evenkeel command about the cluster as it is."""
    cluster = folder / "cluster.json"
    cluster.write_text(kubectl.do("get", LISTS, "-A", "-o", "json"))
    options = [*words, "-n", space, f"--cluster={cluster}", "-o", "json", f"--scheduler-config={config}"]
    done = subprocess.run(
        [sys.executable, "-m", "kube_evenkeel", *options],
        capture_output=True,
        env={**os.environ, "KUBECONFIG": "/nonexistent"},
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.stdout, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _places(kubectl: Kubectl) -> dict[str, list[str]]:
    """Return the nodes of the pods of each application, of pending ones an empty name."""
    found: dict[str, list[str]] = {}
    for pod in kubectl.get("pods")["items"]:
        found.setdefault(pod["metadata"]["labels"]["app"], []).append(pod["spec"].get("nodeName", ""))
    return {app: sorted(nodes) for app, nodes in found.items()}


def _ready(control_plane: ControlPlane, space: str) -> None:
    """Say of each pod that has a node what its kubelet would."""
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    with control_plane.client() as client:
        for pod in control_plane.kubectl.get("pods")["items"]:
            if pod["spec"].get("nodeName"):
                path = f"/api/v1/namespaces/{space}/pods/{pod['metadata']['name']}/status"
                # It may be gone by now.
                client.send(
                    "PATCH", path, {"status": status}, content_type="application/strategic-merge-patch+json"
                )


def test_a_rollout_evicts(
    scheduler: Path,
    priorities: dict[str, str],
    control_plane: ControlPlane,
    space: str,
    tmp_path: Path,
) -> None:
    """The new pod takes the node of another workload's, whose replacement takes that of the old pod."""
    kubectl = control_plane.kubectl

    def are(**wanted: list[str]) -> None:
        eventually(
            lambda: wanted == _places(kubectl), what=lambda: f"{wanted}: {kubectl.do('describe', 'pods')}"
        )

    web = _deployment("web", priorities["high"])
    kubectl.do("create", "-f", "-", stdin=web)
    eventually(lambda: [[name] for name in NODES if [name] == _places(kubectl).get("web")])
    (home,) = _places(kubectl)["web"]
    (other,) = set(NODES) - {home}
    kubectl.do("create", "-f", "-", stdin=_deployment("batch", priorities["low"]))
    are(web=[home], batch=[other])
    _ready(control_plane, space)
    web["spec"]["template"]["metadata"]["annotations"] = {"changed": "yes"}
    manifest = tmp_path / "web.json"
    manifest.write_text(json.dumps(web))
    (victim,) = kubectl.get("pods", "-l", "app=batch")["items"]
    told = _simulated(kubectl, scheduler, tmp_path, space, "what-if", "-f", str(manifest))
    kubectl.do("apply", "-f", str(manifest))
    are(web=sorted([home, other]), batch=[""])
    _ready(control_plane, space)
    are(web=[other], batch=[home])

    name = f"{space}/{victim['metadata']['name']}"
    assert [("evicted", other), ("bound", home)] == [
        (step["did"], step["node"]) for step in told["steps"] if step["pod"] == name
    ]
    assert [("bound", True, other), ("deleted", False, home)] == [
        (step["did"], step["new"], step["node"]) for step in told["steps"] if step["pod"] != name
    ]
    assert [("batch", 1, 1), ("web", 1, 0)] == sorted(
        (entry["name"], entry["after"], entry["evicted"]) for entry in told["workloads"]
    )
    # A list of budgets that is empty may not have been read.
    verdict = told["verdict"]
    assert ("not-read", ["poddisruptionbudgets"]) == (verdict["cause"], verdict["needs"])

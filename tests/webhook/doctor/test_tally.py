"""Pods of controllers, counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from policies.model.pod_template import INJECTED_ANNOTATION
from tests.webhook.doctor.installation import Cluster, serving
from tests.webhook.loopback import write_kubeconfig
from webhook.doctor.facts import Injection, Owner
from webhook.doctor.tally import MOST_NAMESPACES, Tally, count_namespaces, restart_command
from webhook.kube.api_server import ApiServer
from webhook.kube.client import connect


def a_pod(number: int, *, kind: str = "ReplicaSet", injected: bool = True, **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "name": f"web-5d4-{number}",
            "namespace": "shop",
            "labels": {"pod-template-hash": "5d4"},
            "annotations": {INJECTED_ANNOTATION: "default"} if injected else {},
            "ownerReferences": [
                {"kind": "Foo", "name": "x"},
                {"kind": kind, "name": "web-5d4", "controller": True},
            ],
            **metadata,
        }
    }


PARTIAL = Owner(
    "ReplicaSet", "shop", "web-5d4", "kubectl -n shop rollout restart deployment/web", injected=2, bare=1
)


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([a_pod(1), a_pod(2)], Injection((), 2), id="2 of 2 injected"),
        pytest.param([a_pod(1, injected=False), a_pod(2, injected=False)], Injection((), 2), id="0 of 2"),
        pytest.param([a_pod(1, injected=False), a_pod(2), a_pod(3)], Injection((PARTIAL,), 3), id="2 of 3"),
        pytest.param(
            [a_pod(1, injected=False, deletionTimestamp="now"), a_pod(2)],
            Injection((), 1),
            id="1 of 2, which ends",
        ),
        pytest.param(
            [a_pod(1, injected=False, kind="DaemonSet"), a_pod(2, kind="DaemonSet")],
            Injection((), 2),
            id="a DaemonSet's are never injected",
        ),
        pytest.param(
            [a_pod(1, injected=False, ownerReferences=None), a_pod(2)],
            Injection((), 2),
            id="one without a controller",
        ),
    ],
)
def test_counts(pods: list[dict[str, Any]], expected: Injection) -> None:
    """Controllers are told whose living pods are of both sorts."""
    tally = Tally()
    tally.add(pods)

    assert expected == tally.result()


def test_order() -> None:
    """Those with the most pods to mend come first."""
    tally = Tally()
    for name, bare in (("a", 1), ("b", 2)):
        owner = [{"kind": "StatefulSet", "name": name, "controller": True}]
        tally.add(a_pod(number, injected=number >= bare, ownerReferences=owner) for number in range(3))

    assert [("b", 2), ("a", 1)] == [(owner.name, owner.bare) for owner in tally.result().partial]


@pytest.mark.parametrize(
    ("kind", "labels", "expected"),
    [
        pytest.param(
            "ReplicaSet", {"pod-template-hash": "5d4"}, "rollout restart deployment/web", id="Deployment"
        ),
        pytest.param("StatefulSet", {}, "rollout restart statefulset/web-5d4", id="StatefulSet"),
        pytest.param("ReplicaSet", {"rollouts-pod-template-hash": "5d4"}, "restart web", id="Rollout"),
        pytest.param("ReplicaSet", {}, "", id="a ReplicaSet of nobody"),
        pytest.param("ReplicaSet", {"pod-template-hash": "x"}, "", id="a name without the hash"),
        pytest.param("ReplicationController", {}, "", id="ReplicationController"),
    ],
)
def test_restart_commands(kind: str, labels: dict[str, str], expected: str) -> None:
    """The command goes to whoever owns the template."""
    command = restart_command((kind, "shop", "web-5d4"), labels)

    assert command.endswith(expected)
    assert bool(expected) == bool(command)


def connected(folder: Path, url: str) -> ApiServer:
    return connect(kubeconfig=write_kubeconfig(folder, url))


def test_namespace_by_namespace(tmp_path: Path) -> None:
    """Those that must not be looked at are counted, and so are those that would be too many."""
    cluster = Cluster(forbidden=lambda _method, path: path.endswith("/secret/pods"))
    for number, injected in enumerate((True, True, False)):
        cluster.put(f"/api/v1/namespaces/shop/pods/p{number}", **a_pod(number, injected=injected))
    for number in range(MOST_NAMESPACES):
        cluster.empty(f"/api/v1/namespaces/n{number}/pods")
    names = ["shop", "secret", *(f"n{number}" for number in range(MOST_NAMESPACES))]
    with serving(cluster) as url:
        tally, unseen = count_namespaces(connected(tmp_path, url), names)

    assert Injection((PARTIAL,), 3) == tally.result()
    assert 3 == unseen
    assert MOST_NAMESPACES == len(cluster.asked)

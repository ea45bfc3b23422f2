"""The skew of what runs in a cluster, as a replica exports it and writes Events on it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import pytest
import yaml

from tests.e2e.control_plane import ControlPlane
from tests.e2e.installation import NAME, Installation
from tests.e2e.kubectl import Kubectl, Manifest
from tests.e2e.objects import constraint, deployment, pod
from tests.e2e.processes import Processes, Running, free_port
from tests.e2e.readiness import asked
from tests.waiting import eventually

COMPONENTS = Path(__file__).parents[2] / "deploy/kustomize/components"
#: As ``evenkeel`` runs, but an Event says at once what is wrong.
_RUN = Path(__file__).with_name("eager_events.py")


@dataclass
class Replica:
    """A replica with the rights of its ServiceAccount."""

    port: int
    running: Running
    user: Kubectl

    def series(self, name: str, space: str) -> dict[str, float]:
        """Return the values of a metric for a namespace, by the labels that are left."""
        status, text = asked(self.port, "/metrics")
        # It may not listen yet.
        assert status in {0, HTTPStatus.OK}, text
        found = {}
        for line in text.decode().splitlines() if status else ():
            if line.startswith(f"{name}{{") and f'namespace="{space}"' in line:
                labels, value = line.rsplit(" ", 1)
                found[labels.partition('topology_key="')[2].partition('"')[0]] = float(value)
        return found


@pytest.fixture
def measuring(installed: Installation, control_plane: ControlPlane, tmp_path: Path) -> Iterator[Replica]:
    """A replica that measures, with what the components grant and nothing more."""
    granted = [
        made
        for file in ("api/objects.yaml", "skew-metrics/lease.yaml", "skew-events/events.yaml")
        for made in yaml.safe_load_all((COMPONENTS / file).read_text())
    ]
    control_plane.kubectl.do("apply", "-f", "-", stdin=granted)
    user = control_plane.user("skew", installed.token(f"{NAME}-api"))
    user.write_kubeconfig(NAME)
    processes, port = Processes(), free_port()
    words = [
        "serve",
        "--role=api",
        "--live",
        "--self-signed",
        f"--bind=127.0.0.1:{port}",
        "--workers=2",
        "--drain-s=0",
    ]
    words += ["--drain-s=0", "--skew-metrics=100", "--skew-events"]
    running = processes.start(
        [sys.executable, str(_RUN), *words],
        log=tmp_path / "replica.log",
        environment={**os.environ, "KUBECONFIG": str(user.kubeconfig)},
    )
    yield Replica(port, running, user)
    running.stop()
    processes.end()
    control_plane.kubectl.do("delete", "-f", "-", stdin=granted)


def _stateful_set(kubectl: Kubectl) -> str:
    """Make a StatefulSet whose pods must be spread over zones; return its uid."""
    made = deployment(replicas=3, constraints=[constraint()])
    made |= {"kind": "StatefulSet", "spec": made["spec"] | {"serviceName": "web"}}
    return str(json.loads(kubectl.do("create", "-f", "-", "-o", "json", stdin=made))["metadata"]["uid"])


def _pod_of(uid: str, name: str, node: str) -> Manifest:
    made = pod(name, constraints=[constraint()], nodeName=node)
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": uid, "controller": True}
    made["metadata"]["ownerReferences"] = [owner]
    return made


def _events(kubectl: Kubectl, space: str) -> list[tuple[str, str]]:
    found = json.loads(kubectl.do("get", "events.events.k8s.io", "-n", space, "-o", "json"))["items"]
    ours = [event for event in found if event["reportingController"].startswith("evenkeel.dev/")]
    ours.sort(key=lambda event: str(event["eventTime"]))
    return [(event["reason"], event["regarding"]["name"]) for event in ours]


def test_from_violated_to_even(measuring: Replica, kubectl: Kubectl, space: str) -> None:
    """Gauges and Events follow what kubectl does, and go with the workload."""
    uid = _stateful_set(kubectl)
    kubectl.do("create", "-f", "-", stdin=[_pod_of(uid, f"web-{n}", "node-a1") for n in range(2)])

    def skew() -> dict[str, float]:
        assert measuring.running.alive, measuring.running.tail()
        return measuring.series("evenkeel_workload_skew", space)

    eventually(lambda: list(skew().values()) == [2.0], what=measuring.running.tail)
    eventually(lambda: ("SkewAboveMaxSkew", "web") in _events(kubectl, space), what=measuring.running.tail)
    described = kubectl.do("describe", "statefulset", "web", "-n", space)
    kubectl.do("create", "-f", "-", stdin=[_pod_of(uid, f"even-{n}", f"node-{n}1") for n in "bc"])
    eventually(lambda: list(skew().values()) == [1.0])
    eventually(lambda: len(_events(kubectl, space)) == 2)
    events = _events(kubectl, space)
    kubectl.do("delete", "statefulset", "web", "-n", space)
    eventually(lambda: skew() == {})

    assert "SkewAboveMaxSkew" in described
    assert [("SkewAboveMaxSkew", "web"), ("SkewWithinMaxSkew", "web")] == events


def test_the_rights_are_those_of_the_components(measuring: Replica) -> None:
    """The replica may write its Lease and Events, and still nothing else."""
    eventually(lambda: "skew_leading_started" in measuring.running.log.read_text())

    def can(*words: str) -> bool:
        return measuring.user("auth", "can-i", *words).out.strip() == "yes"

    assert can("update", f"leases.coordination.k8s.io/{NAME}-skew", "-n", NAME)
    assert can("create", "events.events.k8s.io", "-n", "default")
    assert not can("create", "leases.coordination.k8s.io", "-n", NAME)
    assert not can("delete", "events.events.k8s.io", "-n", "default")
    assert not can("create", "pods", "-n", "default")

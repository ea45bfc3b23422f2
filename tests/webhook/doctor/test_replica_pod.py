"""The state of a replica, by its pod."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webhook.doctor.installation import a_pod
from webhook.doctor.installed import ReplicaPod


def replica(
    container: dict[str, Any] | None = None, status: dict[str, Any] | None = None, **spec: Any
) -> ReplicaPod:
    """Return a replica whose container, its status or the pod's spec differ."""
    pod = a_pod("evenkeel-1")
    pod["spec"]["containers"][1].update(container or {})
    pod["status"]["containerStatuses"][0].update(status or {})
    pod["spec"].update(spec)
    return ReplicaPod(pod)


def test_a_replica() -> None:
    """Of its containers, the one with the port counts."""
    pod = replica()

    assert ("evenkeel-1", "node-1", "evenkeel", True, 1, "") == (
        pod.name, pod.node, pod.service_account, pod.ready, pod.restarts, pod.state,
    )  # fmt: skip
    assert (8443, {"https": 8443}, "evenkeel-tls") == (pod.port, pod.named_ports, pod.secret)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param({"state": {"running": {}}}, "", id="running"),
        pytest.param(
            {"state": {"waiting": {"reason": "ImagePullBackOff"}}}, "ImagePullBackOff", id="waiting"
        ),
        pytest.param(
            {
                "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                "lastState": {"terminated": {"reason": "OOMKilled"}},
            },
            "OOMKilled",
            id="why it ended says more than that it waits",
        ),
        pytest.param(
            {"state": {"running": {}}, "lastState": {"terminated": {"reason": "Error", "exitCode": 137}}},
            "exit code 137",
            id="137: it was killed",
        ),
        pytest.param({"state": {"terminated": {"reason": "Completed"}}}, "Completed", id="ended for good"),
    ],
)
def test_states(status: dict[str, Any], expected: str) -> None:
    """The state is the reason that helps most."""
    assert expected == replica(status=status).state


def test_a_pod_without_a_node() -> None:
    """It is not ready because no node took it."""
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    pod = ReplicaPod(
        {
            "metadata": {"name": "e"},
            "spec": {"containers": [{"name": "evenkeel", "ports": [{"containerPort": 9}]}]},
            "status": {"conditions": [condition]},
        }
    )

    assert ("Unschedulable", "", False, "default", 8443) == (
        pod.state, pod.node, pod.ready, pod.service_account, pod.port,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("container", "port"),
    [
        pytest.param({"args": ["serve", "--bind=0.0.0.0:9443"]}, 9443, id="--bind says it"),
        pytest.param({"args": ["serve", "--bind", "[::]:9443"]}, 9443, id="--bind for IPv6"),
        pytest.param({"args": ["serve", "--bind=rubbish"]}, 8443, id="rubbish: the container's port"),
        pytest.param({"ports": [{"containerPort": 8443}]}, 8443, id="a port without a name"),
        pytest.param({"ports": [{"containerPort": 9443, "name": "https"}]}, 9443, id="a port of that name"),
    ],
)
def test_ports(container: dict[str, Any], port: int) -> None:
    """A replica listens where its options say, not where its pod declares."""
    assert port == replica(container).port


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        pytest.param(
            {"args": [], "command": ["evenkeel", "serve", "--live"]}, {"live": "true"}, id="a switch"
        ),
        pytest.param({"args": ["--lease", "a", "--bind=:1"]}, {"bind": ":1", "lease": "a"}, id="values"),
        pytest.param({"args": ["--lease"]}, {"lease": ""}, id="a value that is missing"),
        pytest.param({"args": ["--other", "--verbose=1"]}, {}, id="no options of serve"),
        pytest.param(
            {"args": [], "env": [{"name": "EVENKEEL_LIVE", "value": "1"}]}, {"live": "1"}, id="variable"
        ),
        pytest.param({"args": [], "env": [{"name": "EVENKEEL_LIVE", "value": "0"}]}, {}, id="variable: no"),
        pytest.param(
            {"args": [], "env": [{"name": "EVENKEEL_LEASE", "valueFrom": {}}]}, {}, id="from elsewhere"
        ),
        pytest.param(
            {"args": ["--lease=b"], "env": [{"name": "EVENKEEL_LEASE", "value": "a"}]},
            {"lease": "b"},
            id="both",
        ),
    ],
)
def test_settings(container: dict[str, Any], expected: dict[str, str]) -> None:
    """Options come from the command line, else from the environment."""
    assert expected == replica(container).settings


def test_a_mounted_secret() -> None:
    """Where replicas do not renew the certificate, the Secret that they mount has it."""
    volumes = [{"name": "b", "emptyDir": {}}, {"name": "a", "secret": {"secretName": "from-cert-manager"}}]

    assert "from-cert-manager" == replica({"args": ["--cert-dir=/tls"]}, volumes=volumes).secret
    assert "evenkeel-tls" == replica(volumes=volumes).secret

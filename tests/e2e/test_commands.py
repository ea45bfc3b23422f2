"""Commands of Evenkeel that talk to a cluster, as people run them."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator

import pytest

from tests.e2e.control_plane import ControlPlane
from tests.e2e.installation import NAME, Installation
from tests.e2e.kubectl import Kubectl, Manifest
from tests.e2e.objects import ZONES, constraint, deployment, pod
from webhook.rbac import api_service


def _address() -> str:
    """Return an address of this machine that is not its loopback's; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("the service proxy was NOT tested: this machine has no address but its loopback's")
        return str(probe.getsockname()[0])


@pytest.fixture
def person(installed: Installation, control_plane: ControlPlane, space: str) -> Iterator[Kubectl]:
    """Somebody with the Role evenkeel-client and nothing else, and an Evenkeel in the test's namespace.

    It is reached through the API server's service proxy alone, for which Endpoints need another address than
    the loopback's.
    """
    address = _address()
    port = next(port for port in installed.ports if port not in installed.replicas)
    installed.start(port, host="0.0.0.0")
    installed.wait_until_chosen(port)
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    group = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    (role,) = (
        made
        for made in installed.manifests
        if made["kind"] == "Role" and made["metadata"]["name"] == f"{NAME}-client"
    )
    subject = {"kind": "ServiceAccount", "namespace": space}
    service = api_service(NAME)
    ports = [{"name": "https", "port": port}]
    # The proxy goes to addresses of pods alone.
    target = {"kind": "Pod", "namespace": space, "name": NAME}
    binding = {
        **group,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": space},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"{NAME}-client"},
        "subjects": [{**subject, "name": f"{NAME}-client"}],
    }
    made: list[Manifest] = [
        {**account, "metadata": {"name": f"{NAME}-client"}},
        {**account, "metadata": {"name": "person"}},
        {**role, "metadata": {"name": f"{NAME}-client"}},
        {
            **group,
            "kind": "RoleBinding",
            "metadata": {"name": "person"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": f"{NAME}-client"},
            "subjects": [{**subject, "name": "person"}],
        },
        binding,
        pod(NAME, app=NAME, nodeName=ZONES["zone-a"][0]),
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": service},
            "spec": {"ports": [{"name": "https", "port": 443, "targetPort": port}]},
        },
        {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {"name": service},
            "subsets": [{"addresses": [{"ip": address, "targetRef": target}], "ports": ports}],
        },
    ]
    if control_plane.version >= (1, 21):
        # What takes the place of Endpoints, which no controller copies here.
        made.append(
            {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {"name": service, "labels": {"kubernetes.io/service-name": service}},
                "addressType": "IPv4",
                "endpoints": [{"addresses": [address], "conditions": {"ready": True}, "targetRef": target}],
                "ports": ports,
            }
        )
    control_plane.kubectl.do("create", "-f", "-", stdin=made)
    running = {"status": {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}}
    with control_plane.client() as client:
        path = f"/api/v1/namespaces/{space}/pods/{NAME}/status"
        client.call("PATCH", path, running, content_type="application/merge-patch+json")
    yield control_plane.user(space, installed.token("person", namespace=space))
    control_plane.kubectl.do("delete", "clusterrolebinding", space)
    installed.stop(port)


def test_explain_through_the_service_proxy(installed: Installation, person: Kubectl, space: str) -> None:
    """Who may use the proxy reads why a workload fits nowhere, without a port-forward or other rights."""
    obj = deployment(constraints=[constraint()])
    obj["spec"]["template"]["spec"]["nodeSelector"] = {"example.com/gpu": "true"}
    told = installed.evenkeel(
        "explain", "-f", "-", "--live", "--evenkeel-namespace", space, "-n", space, user=person, stdin=obj
    )

    assert 1 == told.code, told.err
    assert "0/4 nodes are available" in told.out


def _found(installed: Installation) -> set[tuple[str, str]]:
    """Return the checks of ``evenkeel doctor`` that found something, and how bad."""
    told = installed.evenkeel("doctor", "-o", "json")
    assert told.code in {0, 1}, told.err
    findings = [(found["check"], found["status"]) for found in json.loads(told.out)["findings"]]
    return {(check, status) for check, status in findings if status in {"problem", "warning"}}


def _deadlock(installed: Installation) -> None:
    installed.change_webhooks(namespaceSelector={"matchExpressions": None})


def _slow(installed: Installation) -> None:
    installed.change_webhooks(timeoutSeconds=20)


@pytest.mark.parametrize(
    ("spoil", "finding"),
    [
        pytest.param(_deadlock, ("own-namespaces-excluded", "problem"), id="webhooks wait for themselves"),
        pytest.param(_slow, ("timeout-own", "warning"), id="webhooks that wait for long"),
    ],
)
def test_doctor(
    installed: Installation, spoil: Callable[[Installation], None], finding: tuple[str, str]
) -> None:
    """A problem of the cluster is reported, and nothing else that was not reported before."""
    before = _found(installed)
    spoil(installed)
    after = _found(installed)
    installed.kubectl.do("apply", "-f", "-", stdin=installed.manifests)

    assert {finding} == after - before
    assert before == _found(installed)

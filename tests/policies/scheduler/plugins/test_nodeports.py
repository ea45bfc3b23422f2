"""Host ports that other pods have."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.version import KubernetesVersion
from policies.scheduler.releases import behavior_of
from tests.policies.scheduler.clusters import a_node, a_pod, ask, fitting


def with_port(name: str, node: str = "", *, sidecar: bool) -> dict[str, Any]:
    """Return a pod with a host port, of a container or of a sidecar."""
    port: dict[str, Any] = {"ports": [{"containerPort": 80, "hostPort": 80}]}
    main, beside = {"name": "main"}, {"name": "beside", "restartPolicy": "Always"}
    containers = [main] if sidecar else [main | port]
    pod = a_pod(name, node, containers=containers)
    pod["spec"]["initContainers"] = [beside | port] if sidecar else []
    return pod


@pytest.mark.parametrize(
    ("release", "running", "pending", "fits"),
    [
        pytest.param("1.24", False, False, [], id="containers: in any release"),
        pytest.param("1.34", True, False, [], id="1.34: a running sidecar"),
        pytest.param("1.34", True, True, [], id="1.34: both"),
        pytest.param("1.33.6", False, True, [], id="1.33.6: the pod's own sidecar"),
        pytest.param("1.33.5", False, True, ["n"], id="1.33.5: the pod's own sidecar"),
        pytest.param("1.33.5", True, False, ["n"], id="1.33.5: a running sidecar"),
        pytest.param("1.28", True, True, ["n"], id="1.28: no sidecars at all"),
    ],
)
def test_ports_of_sidecars(release: str, *, running: bool, pending: bool, fits: list[str]) -> None:
    """Those of sidecars are taken from 1.33.6 on."""
    objects = [a_node("n"), with_port("there", "n", sidecar=running)]
    behavior = behavior_of(KubernetesVersion.parse(release))

    assert fits == fitting(ask(objects, with_port("next", sidecar=pending), behavior))

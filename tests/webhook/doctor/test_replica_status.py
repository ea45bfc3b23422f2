"""Replicas queried through the API server's proxy."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webhook.doctor.installation import NAMES, a_cluster, proxy_error, readyz
from webhook.doctor.installed import ReplicaPod
from webhook.doctor.observations import Missing, Observed, ReplicaStatus
from webhook.doctor.reader import read_statuses

BROKEN_OFF = "https://cluster:6443: the connection broke off"


def queried(answer: tuple[int, Any] | None) -> ReplicaStatus:
    """Return the status of a first replica that answers so on /readyz."""
    cluster = a_cluster()
    cluster.answers[readyz(1)] = answer
    replicas = [ReplicaPod(cluster.pod(number)) for number in (1, 2)]
    return read_statuses(cluster, NAMES, replicas)["evenkeel-1"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(
            (200, {"status": "ok"}),
            ReplicaStatus(Observed({"status": "ok"})),
            id="200: ready",
        ),
        pytest.param(
            (503, {"status": "not ready", "reasons": ["a"]}),
            ReplicaStatus(Observed({"status": "not ready", "reasons": ["a"]})),
            id="503: a replica's own",
        ),
        pytest.param(
            (503, proxy_error("i/o timeout")),
            ReplicaStatus(
                Missing("dial tcp 10.0.0.1:8443: i/o timeout"), "dial tcp 10.0.0.1:8443: i/o timeout"
            ),
            id="503: the API server's",
        ),
        pytest.param(
            (502, "bad gateway"), ReplicaStatus(Missing("bad gateway"), "bad gateway"), id="502: a proxy's"
        ),
        pytest.param(
            (404, "nothing here"),
            ReplicaStatus(Missing("nothing here"), "nothing here"),
            id="404: another server's",
        ),
        pytest.param(
            (403, {"kind": "Status", "reason": "Forbidden", "message": 'User "jane" cannot get pods/proxy'}),
            ReplicaStatus(Missing('User "jane" cannot get pods/proxy')),
            id="403: the proxy is forbidden",
        ),
        pytest.param(None, ReplicaStatus(Missing(BROKEN_OFF), BROKEN_OFF), id="no answer at all"),
    ],
)
def test_readiness(answer: tuple[int, Any] | None, expected: ReplicaStatus) -> None:
    """An answer of the replica is not mistaken for one of an API server that cannot reach it."""
    assert expected == queried(answer)

"""The outcome of a cluster's requests when no replica answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.installation import REPLICAS, Installation
from tests.e2e.kubectl import Kubectl
from tests.e2e.objects import deployment


@pytest.fixture
def outage(installed: Installation) -> Iterator[None]:
    """Lose every replica at once, until the test ends."""
    lost = list(installed.replicas)
    for port in lost:
        installed.kill(port)
    for port in lost:
        installed.wait_until_left_alone(port)
    yield
    for port in lost[:REPLICAS]:
        installed.start(port)
    for port in installed.replicas:
        installed.wait_until_chosen(port)


@pytest.mark.usefixtures("outage")
def test_outage(kubectl: Kubectl, installed: Installation, space: str) -> None:
    """Under Fail a workload is refused with the webhook's name; under Ignore it passes as it was written."""
    refused = kubectl("apply", "-f", "-", stdin=deployment())
    with installed.failing("Ignore"):
        accepted = kubectl("apply", "-f", "-", stdin=deployment())
    stored = kubectl.get("deployment", "web")["spec"]["template"]["spec"]

    assert 1 == refused.code
    assert 'failed calling webhook "mutate.evenkeel.dev"' in refused.err
    assert (0, []) == (accepted.code, accepted.warnings)
    assert "topologySpreadConstraints" not in stored


@pytest.mark.usefixtures("outage")
def test_outage_stops_neither_the_cluster_nor_evenkeel(kubectl: Kubectl, installed: Installation) -> None:
    """Even under Fail, objects of kube-system and of our own namespace are made: nothing waits for itself."""
    dry_run = ("apply", "--dry-run=server", "-f", "-", "-n")

    assert [0, 0] == [
        kubectl(*dry_run, name, stdin=deployment()).code for name in ("kube-system", "evenkeel")
    ]

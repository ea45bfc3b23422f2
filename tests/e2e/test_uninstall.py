"""Leaving a cluster: the last test of all, for it takes Evenkeel away from the others."""

from __future__ import annotations

from tests.e2e.installation import CONFIGURATIONS, Installation
from tests.e2e.kubectl import Kubectl
from tests.e2e.objects import deployment
from tests.waiting import eventually


def test_uninstall(installed: Installation, kubectl: Kubectl, space: str) -> None:
    """Who deletes what was applied, while replicas still run, is left without webhooks that stop anybody."""
    kubectl.do("delete", "--wait=false", "-f", "-", stdin=installed.manifests)
    codes = [installed.stop(port) for port in list(installed.replicas)]
    left = [kubectl.get(kind)["items"] for kind in CONFIGURATIONS]
    eventually(lambda: kubectl("apply", "-f", "-", stdin=deployment()).code == 0)

    assert [0, 0] == codes
    assert [[], []] == left

"""Soft default constraints, as ``--defaults=soft`` gives them to pods that no policy has any for."""

from __future__ import annotations

import pytest

from tests.e2e.control_plane import ControlPlane
from tests.e2e.installation import Installation
from tests.e2e.kubectl import Kubectl, Manifest
from tests.e2e.objects import HOSTNAME_KEY, ZONE_KEY, constraint, deployment
from tests.waiting import eventually

#: Deployments of the test, and the pods of each.
DEPLOYMENTS, REPLICAS = 10, 2


def _counted(pod: Manifest) -> list[tuple[str, str, dict[str, str]]]:
    return [
        (entry["topologyKey"], entry["whenUnsatisfiable"], entry["labelSelector"]["matchLabels"])
        for entry in pod["spec"].get("topologySpreadConstraints", [])
    ]


def test_pods_get_them_and_manifests_do_not(
    control_plane: ControlPlane, installed: Installation, kubectl: Kubectl, space: str
) -> None:
    """Each pod counts those of its revision, and what GitOps tools compare stays as it was applied."""
    if not control_plane.has_controllers:
        pytest.skip("pods were NOT injected: there is no kube-controller-manager in $KUBEBUILDER_ASSETS")
    names = [f"web-{number}" for number in range(DEPLOYMENTS)]
    applied = [deployment(name, replicas=REPLICAS) for name in names]
    own = deployment("own", constraints=[constraint(labelSelector={"matchLabels": {"app": "own"}})])

    def pods() -> list[Manifest]:
        found: list[Manifest] = kubectl.get("pods")["items"]
        return found if len(found) == DEPLOYMENTS * REPLICAS + 1 else []

    with installed.with_soft_defaults():
        told = kubectl("apply", "-f", "-", stdin=[*applied, own])
        made = eventually(pods)
        diff = kubectl("diff", "-f", "-", stdin=[*applied, own])

    assert (0, []) == (told.code, told.warnings), told.err
    assert (0, "") == (diff.code, diff.out), diff.out
    for pod in made:
        labels = pod["metadata"]["labels"]
        if labels["app"] == "own":
            assert [(ZONE_KEY, "DoNotSchedule", {"app": "own"})] == _counted(pod)
            continue
        of_revision = {"app": labels["app"], "pod-template-hash": labels["pod-template-hash"]}
        assert "soft-spread" == pod["metadata"]["annotations"]["evenkeel.dev/injected-by"]
        assert [(key, "ScheduleAnyway", of_revision) for key in (ZONE_KEY, HOSTNAME_KEY)] == _counted(pod)

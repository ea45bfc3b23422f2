"""The release of a cluster, and which one to judge by."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from policies.model.version import KubernetesVersion
from tests.webhook.http.authorization.control_plane import ControlPlane, a_control_plane
from webhook.kube.api_server import UnreachableError, known_version, kubernetes_version


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    """A cluster."""
    with a_control_plane() as plane:
        yield plane


def test_the_release_of_a_cluster(plane: ControlPlane, tmp_path: Path) -> None:
    """Suffixes of vendors do not matter."""
    plane.version = "v1.30.4-gke.1"

    assert KubernetesVersion(1, 30) == kubernetes_version(plane.api(tmp_path))


@pytest.mark.parametrize("told", ["main", ""])
def test_no_version(plane: ControlPlane, tmp_path: Path, told: str) -> None:
    """Something else that answers is told as such."""
    plane.version = told

    with pytest.raises(UnreachableError, match=rf'/version: Invalid value: "{told}"'):
        kubernetes_version(plane.api(tmp_path))


@pytest.mark.parametrize(
    ("told", "expected", "warnings"),
    [
        ("v1.33.4-gke.1", KubernetesVersion(1, 33), 0),
        ("v1.20.2", KubernetesVersion(1, 24), 1),
        ("v1.77.0", KubernetesVersion(1, 77), 1),
    ],
)
def test_versions(
    plane: ControlPlane, tmp_path: Path, told: str, expected: KubernetesVersion, warnings: int
) -> None:
    """A release that is too old or too new to be known is judged as the nearest that is, and that is said."""
    plane.version, said = told, list[str]()

    assert expected == known_version(plane.api(tmp_path), said.append)
    assert warnings == len(said)

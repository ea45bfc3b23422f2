"""The control plane that all these tests share, and the line that says when there is none."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.assets import find_assets, missing_assets
from tests.e2e.control_plane import ControlPlane
from tests.e2e.installation import Installation
from tests.e2e.kubectl import Kubectl
from tests.e2e.load import Tally
from tests.e2e.objects import ZONES, namespace, node
from tests.e2e.processes import Processes
from tests.run_notes import NOTES

#: The results of this run's loads, for its summary.
_TALLIES = pytest.StashKey[list[Tally]]()
#: The processes that end with the run.
_PROCESSES = pytest.StashKey[Processes]()
#: Tell namespaces apart.
_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def control_plane(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[ControlPlane]:
    """Start a control plane with nodes in three zones."""
    assets = find_assets(os.environ)
    assert assets is not None, missing_assets(os.environ)
    processes = pytestconfig.stash[_PROCESSES] = Processes()
    try:
        started = ControlPlane(assets, processes, tmp_path_factory.mktemp("control-plane"))
        _add_nodes(started)
        yield started
    finally:
        processes.end()


@pytest.fixture(autouse=True)
def _supported(request: pytest.FixtureRequest, control_plane: ControlPlane) -> None:
    """Skip tests that need a newer control plane."""
    marker = request.node.get_closest_marker("kubernetes")
    if marker and control_plane.version < tuple(map(int, marker.kwargs["since"].split("."))):
        have = ".".join(map(str, control_plane.version))
        pytest.skip(f"Kubernetes {marker.kwargs['since']} and later; this is {have}")


@pytest.fixture(scope="session")
def installed(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Installation:
    """Evenkeel with two replicas, registered."""
    made = Installation(
        control_plane, pytestconfig.stash[_PROCESSES], tmp_path_factory.mktemp("installation")
    )
    # The webhooks leave it out by the label that the API server gives it itself since 1.21.
    control_plane.kubectl.do("apply", "-f", "-", stdin=namespace("kube-system"))
    made.install()
    return made


@pytest.fixture
def kubectl(control_plane: ControlPlane) -> Kubectl:
    """Kubectl of the administrator."""
    return control_plane.kubectl


@pytest.fixture
def space(request: pytest.FixtureRequest, control_plane: ControlPlane) -> Iterator[str]:
    """A namespace of the test's own, the current one of the administrator."""
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())
    # Names that are cut may be the same, and one that was used is not free at once.
    name = f"{words[:40].strip('-')}-{next(_NUMBERS)}"
    with control_plane.client() as client:
        client.call("POST", "/api/v1/namespaces", namespace(name))
        control_plane.kubectl.write_kubeconfig(name)
    yield name
    control_plane.kubectl.write_kubeconfig("default")
    with control_plane.client() as client:
        client.call("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Callable[[str], Tally]:
    """Return a tally that the summary of the run shows."""

    def make(what: str) -> Tally:
        made = Tally(f"{request.node.name}, {what}")
        request.config.stash.setdefault(_TALLIES, []).append(made)
        return made

    return make


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave these tests out where there is no API server: one line tells it, not one a test."""
    if not missing_assets(os.environ):
        return
    ours = [item for item in items if item.path.is_relative_to(Path(__file__).parent)]
    items[:] = [item for item in items if item not in ours]
    config.hook.pytest_deselected(items=ours)
    if ours:
        config.stash[NOTES].append((missing_assets(os.environ), True))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Add the results of the loads to the notes of the run."""
    for made in session.config.stash.get(_TALLIES, []):
        session.config.stash[NOTES].append((f"load: {made}", made.failed > 0))


def _add_nodes(control_plane: ControlPlane) -> None:
    """Make nodes, and say that they are ready, as a kubelet and the node controller would."""
    with control_plane.client() as client:
        for zone, names in ZONES.items():
            for name in names:
                made = node(name, zone)
                client.call("POST", "/api/v1/nodes", made)
                path = f"/api/v1/nodes/{name}"
                merge = "application/merge-patch+json"
                client.call("PATCH", f"{path}/status", {"status": made["status"]}, content_type=merge)
                # What the API server itself put on a node that is not ready yet.
                client.call("PATCH", path, {"spec": {"taints": None}}, content_type=merge)

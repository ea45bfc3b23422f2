"""A scheduler of its own, and controllers beside it, for the tests that let pods be placed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.e2e.control_plane import ControlPlane
from tests.e2e.processes import Processes


@contextmanager
def scheduling(
    control_plane: ControlPlane, folder: Path, name: str, controllers: Iterable[str]
) -> Iterator[Path]:
    """Run both until the block ends, or skip the test; return the scheduler's configuration.

    Args:
        control_plane: Where.
        folder: For the configuration.
        name: Whose pods the scheduler takes: other tests want theirs left alone.
        controllers: Which controllers.
    """
    for program, path in (
        ("kube-scheduler", control_plane.assets.scheduler),
        ("kube-controller-manager", control_plane.assets.controller_manager),
    ):
        if path is None:
            pytest.skip(f"{name} was NOT tested: there is no {program} in $KUBEBUILDER_ASSETS")
    config = folder / "scheduler.yaml"
    config.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "leaderElection": {"leaderElect": False},
                "clientConnection": {"kubeconfig": str(control_plane.kubectl.kubeconfig)},
                "profiles": [{"schedulerName": name}],
            }
        )
    )
    processes = Processes()
    try:
        control_plane.start_controllers(processes, controllers, f"{name}-controllers")
        control_plane.start_scheduler(processes, config)
        yield config
    finally:
        processes.end()

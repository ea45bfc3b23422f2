"""What fork servers import, imported once for all tests of a process."""

from __future__ import annotations

import os
from multiprocessing import forkserver

import pytest


@pytest.fixture(scope="session", autouse=True)
def preloaded() -> None:
    """Start the process that fork servers come from with all that any of them needs."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    forkserver.set_forkserver_preload(["webhook.http.held_cluster", "webhook.ui.routes"])
    forkserver.ensure_running()

"""Policies of files and of the cluster are put into force together, whenever either changes."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from policies.config.loader import load_policies
from policies.config.policy_set import PolicySet
from tests.builders import a_policy
from tests.waiting import eventually
from tests.webhook.kube.api_server import FakeApiServer, serving
from tests.webhook.loopback import write_kubeconfig
from webhook.kube.client import connect
from webhook.kube.reflector import Backoff, Reflector
from webhook.kube.watched_resources import SPREAD_POLICIES
from webhook.policy_controller.controller import PolicyController, PolicyFiles, PolicyResources

TEXT = "apiVersion: evenkeel.dev/v1alpha1\nkind: SpreadPolicy\nmetadata: {{name: {}}}\n"
DEFAULT = load_policies(["builtin:default"], lambda _: b"")


class Process:
    """A server process: what it has in force."""

    def __init__(self, folder: Path, url: str = "") -> None:
        self.file = folder / "policy.yaml"
        self.sets: list[PolicySet] = []
        names = (str(self.file),) if self.file.exists() else ()

        def load() -> Any:
            return load_policies(names, lambda name: Path(name).read_bytes())

        files = PolicyFiles(names, load(), load)
        default = () if names else DEFAULT
        self.controller = PolicyController(files, default=default, enforce=self.sets.append)
        if url:
            self._watch(folder, url)

    def _watch(self, folder: Path, url: str) -> None:
        resources = PolicyResources(self.controller.changed, has_scheduler_config=False)
        api = connect(kubeconfig=write_kubeconfig(folder, url))
        backoff = Backoff(first_s=0.002, longest_s=0.02)
        self.controller.watch(
            resources, Reflector(api, SPREAD_POLICIES, resources, clock=time.monotonic, backoff=backoff)
        )

    @property
    def in_force(self) -> list[str]:
        return [policy.name for policy in self.sets[-1]] if self.sets else []


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with serving(FakeApiServer()) as state:
        yield state


@pytest.fixture
def process(server: FakeApiServer, tmp_path: Path) -> Iterator[Process]:
    """A process that follows a file and the cluster."""
    (tmp_path / "policy.yaml").write_text(TEXT.format("of-a-file"))
    made = Process(tmp_path, server.url)
    yield made
    made.controller.stop()


def test_policies_of_the_cluster_come_after_those_of_files(server: FakeApiServer, process: Process) -> None:
    """In the order of their names; what comes, changes and goes is taken."""
    server.put(a_policy("b"))
    unsynced = process.controller.unsynced()
    process.controller.start()
    eventually(lambda: process.in_force == ["of-a-file", "b"])
    server.put(a_policy("a", enforcement="warn"))
    eventually(lambda: process.in_force == ["of-a-file", "a", "b"])
    server.delete(a_policy("b"))
    eventually(lambda: process.in_force == ["of-a-file", "a"])
    process.file.write_text(TEXT.format("another"))
    eventually(lambda: process.in_force == ["another", "a"])

    assert unsynced
    assert not process.controller.unsynced()
    assert {"file": (1, 0), "cluster": (1, 0)} == process.controller.counts()
    assert [] == process.controller.warnings()


def test_changes_that_come_together_are_taken_together(server: FakeApiServer, process: Process) -> None:
    """A thousand of them cost a few sets."""
    process.controller.start()
    eventually(lambda: process.sets)
    for number in range(200):
        server.put(a_policy(f"p-{number:03}"))
    eventually(lambda: 201 == len(process.in_force))

    assert 20 > len(process.sets)


def test_errors_leave_the_last_good_version(
    server: FakeApiServer, process: Process, caplog: pytest.LogCaptureFixture
) -> None:
    """Of a file and of a policy of the cluster; log, warnings and numbers say so until it is repaired."""
    caplog.set_level(logging.INFO)
    server.put(a_policy("p", enforcement="warn"))
    process.controller.start()
    eventually(lambda: process.in_force == ["of-a-file", "p"])
    server.put(a_policy("p", enforcement="x"))
    process.file.write_text("kind: Pod")
    eventually(lambda: 2 == len(process.controller.warnings()))
    eventually(lambda: 2 == [record.message for record in caplog.records].count("policy_invalid"))
    broken = process.controller.counts()
    enforcement = str(process.sets[-1][1].enforcement)
    server.put(a_policy("p", enforcement="audit"))
    process.file.write_text(TEXT.format("of-a-file"))
    eventually(lambda: [] == process.controller.warnings())
    eventually(lambda: "audit" == str(process.sets[-1][1].enforcement))

    assert {"file": (1, 1), "cluster": (1, 1)} == broken
    assert "warn" == enforcement
    assert 2 == [record.message for record in caplog.records].count("policy_invalid_resolved")


def test_without_the_definition_files_are_in_force(
    server: FakeApiServer, process: Process, caplog: pytest.LogCaptureFixture
) -> None:
    """The process is ready, says so, and takes policies once the definition is installed."""
    caplog.set_level(logging.INFO)
    server.undefined.add(SPREAD_POLICIES.path)
    process.controller.start()
    eventually(lambda: not process.controller.unsynced())
    (warning,) = process.controller.warnings()
    process.file.write_text(TEXT.format("another"))
    eventually(lambda: process.in_force == ["another"])
    server.put(a_policy("p"))
    server.undefined.clear()
    eventually(lambda: process.in_force == ["another", "p"])

    events = [record.message for record in caplog.records if "definition" in record.message]
    assert ["policy_definition_missing", "policy_definition_missing_resolved"] == events
    assert "spreadpolicies.evenkeel.dev is not installed" in warning
    assert [] == process.controller.warnings()


def test_without_any_policy_the_default_is_in_force(server: FakeApiServer, tmp_path: Path) -> None:
    """As long as neither files nor cluster have one."""
    process = Process(tmp_path, server.url)
    process.controller.start()
    eventually(lambda: process.in_force == ["default"])
    server.put(a_policy("p"))
    eventually(lambda: process.in_force == ["p"])
    server.delete(a_policy("p"))
    eventually(lambda: process.in_force == ["default"])
    process.controller.stop()


def test_files_alone(tmp_path: Path) -> None:
    """A server without a cluster takes changes of files, and is ready at once."""
    (tmp_path / "policy.yaml").write_text(TEXT.format("first"))
    process = Process(tmp_path)
    ready = not process.controller.unsynced()
    process.controller.start()
    eventually(lambda: process.in_force == ["first"])
    process.file.write_text(TEXT.format("second"))
    eventually(lambda: process.in_force == ["second"])
    process.controller.stop()

    assert ready
    assert {"file": (1, 0)} == process.controller.counts()

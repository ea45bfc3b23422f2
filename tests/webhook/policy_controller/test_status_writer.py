"""One replica writes the status of the cluster's policies."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from policies.config.context import AdmissionContext
from policies.config.policy_set import PolicySet
from policies.model.cluster_workloads import ClusterWorkloads
from tests.builders import a_constraint, a_policy, a_replica_set, a_workload
from tests.policies.config.contexts import a_context
from tests.waiting import eventually
from tests.webhook.kube.api_server import FakeApiServer, serving
from tests.webhook.loopback import write_kubeconfig
from webhook.kube.client import connect
from webhook.kube.reflector import Backoff, Reflector
from webhook.kube.watched_resources import SPREAD_POLICIES
from webhook.policy_controller import status_writer
from webhook.policy_controller.controller import PolicyResources, policies_of
from webhook.policy_controller.status_writer import COUNT_EVERY_S, PolicyStatusWriter

BROKEN = a_replica_set(a_workload(spec={"topologySpreadConstraints": [a_constraint(maxSkew=0)]}), "abc")


class Replica:
    """A replica whose election a test decides."""

    def __init__(self, server: FakeApiServer, folder: Path) -> None:
        api = connect(kubeconfig=write_kubeconfig(folder, server.url))
        self.resources = PolicyResources(lambda: None, has_scheduler_config=False)
        backoff = Backoff(first_s=0.002, longest_s=0.02)
        self.reflector = Reflector(
            api, SPREAD_POLICIES, self.resources, clock=time.monotonic, backoff=backoff
        )
        self.begin: Callable[[], None] = lambda: None
        self.end: Callable[[], None] = lambda: None
        self.resigned = threading.Event()
        self.now = 1000.0
        self.looks = 0
        self.context = a_context(cluster=[], live=True)
        self.workloads = ClusterWorkloads(self.context.kinds)
        self.writer = PolicyStatusWriter(
            api,
            self.resources,
            lambda: self.workloads,
            context=self.usable,
            elect=self._elect,
            clock=lambda: self.now,
        )
        self.thread = threading.Thread(target=self.reflector.run, daemon=True)
        self.thread.start()

    def usable(self) -> AdmissionContext:
        """Return the context of reviews: the same until the policies are others."""
        policies = PolicySet(policies_of(self.resources.listed()))
        if policies != self.context.policies:
            self.context = replace(self.context, policies=policies)
        return self.context

    def look(self) -> None:
        """Wait until it has looked at all that is there, and once more."""
        enough = self.looks + 3
        eventually(lambda: self.looks >= enough)

    def _elect(self, started: Callable[[], None], stopped: Callable[[], None]) -> Callable[[], None]:
        self.begin, self.end = started, stopped
        return self.resigned.set


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with serving(FakeApiServer()) as state:
        yield state


@pytest.fixture
def replica(server: FakeApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Replica]:
    made = Replica(server, tmp_path)
    step = PolicyStatusWriter._step

    def counted(writer: PolicyStatusWriter) -> float:
        pause_s = step(writer)
        made.looks += 1
        return pause_s

    monkeypatch.setattr(status_writer, "_LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(PolicyStatusWriter, "_step", counted)
    made.writer.start()
    yield made
    made.writer.stop()
    made.reflector.stop()
    made.thread.join()


def status(server: FakeApiServer, name: str = "p") -> dict[str, Any]:
    with server.changed:
        found: dict[str, Any] = server.objects["SpreadPolicy", "", name].get("status", {})
    return found


def test_only_the_leader_writes(server: FakeApiServer, replica: Replica) -> None:
    """Acceptance, the accepted spec, and what the policy does."""
    server.put(a_policy("p", enforcement="deny"))
    replica.workloads(BROKEN)
    eventually(replica.resources.listed)
    replica.look()
    before = status(server)
    replica.begin()
    eventually(lambda: {"selected": 1, "denied": 1} == status(server).get("workloads"))

    assert {} == before
    assert "True" == status(server)["conditions"][0]["status"]
    assert {"enforcement": "deny"} == status(server)["lastAccepted"]["spec"]


def test_errors_are_written(server: FakeApiServer, replica: Replica) -> None:
    """The accepted spec stays in the status, for replicas that start later."""
    replica.begin()
    server.put(a_policy("p", enforcement="deny"))
    eventually(lambda: status(server).get("lastAccepted"))
    server.put(a_policy("p", enforcement="x") | {"status": status(server)})
    eventually(lambda: "False" == status(server)["conditions"][0]["status"])

    assert {"enforcement": "deny"} == status(server)["lastAccepted"]["spec"]
    assert "spec.enforcement" in status(server)["conditions"][0]["message"]


def test_workloads_are_counted_now_and_then(server: FakeApiServer, replica: Replica) -> None:
    """After a while, and after a change of policies, but not with every look."""
    server.put(a_policy("p"))
    replica.begin()
    eventually(lambda: {"selected": 0, "denied": 0} == status(server).get("workloads"))
    replica.workloads(BROKEN)
    replica.look()
    unchanged = status(server)["workloads"]
    replica.now += COUNT_EVERY_S
    eventually(lambda: {"selected": 1, "denied": 1} == status(server).get("workloads"))
    replica.now += 20
    server.put(a_policy("q", enforcement="warn"))
    eventually(lambda: {"selected": 1, "denied": 0} == status(server, "q").get("workloads"))

    assert {"selected": 0, "denied": 0} == unchanged


def test_nothing_is_counted_of_a_cluster_that_is_not_known(server: FakeApiServer, replica: Replica) -> None:
    """Before it is listed, no number would be right."""
    replica.context = replica.context.without_cluster("not listed yet")
    server.put(a_policy("p"))
    replica.begin()
    eventually(lambda: status(server).get("conditions"))
    replica.look()
    before = status(server)
    replica.context = a_context(cluster=[], live=True)
    eventually(lambda: status(server).get("workloads"))

    assert "workloads" not in before


def test_a_replica_that_leads_no_more_writes_no_more(server: FakeApiServer, replica: Replica) -> None:
    """Another one does."""
    replica.begin()
    replica.end()
    server.put(a_policy("p"))
    eventually(replica.resources.listed)
    replica.look()
    replica.writer.stop()

    assert {} == status(server)
    assert replica.resigned.is_set()


def test_what_cannot_be_written_is_logged_once(
    server: FakeApiServer, replica: Replica, caplog: pytest.LogCaptureFixture
) -> None:
    """It is tried again until it succeeds."""
    caplog.set_level(logging.INFO)
    server.put(a_policy("p"))
    server.read_only = True
    replica.begin()
    eventually(lambda: "policy_status_failed" in [record.message for record in caplog.records])
    replica.look()
    server.read_only = False
    eventually(lambda: status(server).get("workloads"))
    eventually(lambda: "policy_status_failed_resolved" in [record.message for record in caplog.records])

    assert 1 == [record.message for record in caplog.records].count("policy_status_failed")

"""A server and its components: starting, stopping, readiness, warnings, metrics."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.webhook.clusters import Kind, Live, following
from tests.webhook.http.client import a_client
from webhook.component import Component, Confidential
from webhook.http.authorization.authorizer import Authorizer, OpenAuthorizer
from webhook.http.authorization.token_reviewer import AccessDecision, Result
from webhook.http.state import ServerState
from webhook.rbac import Resource
from webhook.telemetry.metrics import Telemetry


class Part(Component):
    """A component that is as a test says."""

    def __init__(self, name: str = "", *, problem: str = "", unsynced: str = "", warning: str = "") -> None:
        self.name = name
        self.told = (problem, unsynced, warning)
        self.done: list[str] = []

    def start(self) -> None:
        self.done.append(f"{self.name} started")

    def stop(self) -> None:
        self.done.append(f"{self.name} stopped")

    def problem(self) -> str:
        return self.told[0]

    def unsynced(self) -> str:
        return self.told[1]

    def warnings(self) -> list[str]:
        return [self.told[2]]

    def observe(self, telemetry: Telemetry) -> None:
        telemetry.policies.update({self.name: (1000, 2)})


def test_ready(state: ServerState) -> None:
    """Without a reason against it the server is ready."""
    assert [] == state.unready_reasons()
    assert state.prepared()


def test_a_component_does_nothing_by_default(state: ServerState) -> None:
    """It overrides what it has."""
    state.components = [Component()]
    state.begin()
    state.observe()
    state.end()

    assert ([], []) == (state.unready_reasons(), state.warnings())
    assert state.prepared()


def test_all_reasons_at_once(state: ServerState) -> None:
    """A server is not ready while it shuts down, has a problem, or has yet to list something."""
    state.draining = True
    state.components = [Part(unsynced="not listed yet"), Part(problem="expired"), Part(warning="clock")]

    assert [
        "draining: the server is shutting down", "expired", "not listed yet",
    ] == state.unready_reasons()  # fmt: skip
    assert ["", "", "clock"] == state.warnings()


@pytest.mark.parametrize(
    ("part", "prepared"),
    [
        pytest.param(Part(), True, id="all is known"),
        pytest.param(Part(problem="expired"), True, id="a problem that waiting does not solve"),
        pytest.param(Part(unsynced="not listed yet"), False, id="something is not known yet"),
    ],
)
def test_prepared(state: ServerState, part: Part, *, prepared: bool) -> None:
    """A worker waits for what it must know to decide reviews."""
    state.components = [part]

    assert prepared == state.prepared()


def test_work_beside_the_requests(state: ServerState) -> None:
    """Components start in their order with the worker, and stop in reverse: the last has the first turn."""
    first, second = Part("first"), Part("second")
    second.done = first.done
    state.components = [first, second]
    state.begin()
    state.end()

    assert ["first started", "second started", "second stopped", "first stopped"] == first.done


def test_readyz_with_warnings(state: ServerState) -> None:
    """Warnings, which are no reason to use another replica, are in the body of a ready status."""
    state.components = [following(Live(age=181.0))]
    answer = a_client(state).get("/readyz")

    body = answer.get_json()

    assert (200, "ok", 1) == (answer.status_code, body["status"], len(body["warnings"]))


class Decides:
    """Lets callers in or not."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def check(self, environ: Mapping[str, Any], resource: Resource) -> AccessDecision:
        assert environ["HTTP_AUTHORIZATION"]
        assert resource is Resource.METRICS
        return AccessDecision(result=self._result)


@pytest.mark.parametrize(
    ("access", "token", "told"),
    [
        pytest.param(OpenAuthorizer(), "", True, id="open to all"),
        pytest.param(Decides(Result.ALLOWED), "t", True, id="who may get metrics"),
        pytest.param(Decides(Result.DENIED), "t", False, id="who may not"),
        pytest.param(Decides(Result.ALLOWED), "", False, id="a probe, about which nobody is asked"),
    ],
)
def test_names_in_warnings(state: ServerState, access: Authorizer, token: str, *, told: bool) -> None:
    """Whoever reaches the port reads which cache is old, but of no object."""
    named = Confidential("Pod shop/web cannot be read")
    state = replace(state, access=access)
    state.components = [Part(warning="the clock is wrong"), Part(warning=named)]
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    warnings = a_client(state).get("/readyz", headers=headers).get_json()["warnings"]

    assert "the clock is wrong" == warnings[0]
    assert told is (named in warnings)
    assert 2 == len(warnings)


def test_metrics_of_components(state: ServerState) -> None:
    """Each component tells its own; what is counted once is told once, however often it is looked at."""
    live = Live(followed=[Kind("Pod", events=7)])
    state.components = [following(live), Part("cluster")]
    state.observe()
    state.observe()
    live.followed[0].events = 9
    state.observe()
    lines = state.telemetry.render().decode().splitlines()

    for line in (
        'evenkeel_cluster_events_total{kind="Pod"} 9.0',
        'evenkeel_cluster_objects{kind="Pod"} 3.0',
        "evenkeel_cluster_synced 1.0",
        "evenkeel_cluster_age_seconds 5.0",
        "evenkeel_cluster_cache_stale 0.0",
        'evenkeel_policies{source="cluster"} 1000.0',
        'evenkeel_policies_invalid{source="cluster"} 2.0',
    ):
        assert line in lines


def test_each_worker_tells_in_time(state: ServerState) -> None:
    """Of several workers one answers a scrape; the others have told by then, every 5 s."""
    clock, live = [0.0], Live(followed=[Kind("Pod", events=7)])
    server = replace(state, components=[following(live)], monotonic=lambda: clock[0])
    told = []
    for server_time in (0.0, 4.9, 5.0):
        clock[0] = server_time
        live.followed[0].events += 1
        server.tick()
        told.append(b'evenkeel_cluster_events_total{kind="Pod"} 8.0' in server.telemetry.render())

    assert [True, True, False] == told


def test_no_metrics_of_what_is_not_there(state: ServerState) -> None:
    """Without a live cluster nothing says that it is not synced."""
    state.tick()
    metrics = state.telemetry.render()

    assert b"evenkeel_cluster" not in metrics
    assert b"evenkeel_ca_bundle" not in metrics


def test_two_who_observe_at_once(state: ServerState) -> None:
    """Events since the last observation are counted once, though another thread observes meanwhile."""
    other = threading.Thread(target=state.observe)
    waited = list[bool]()

    class Slow(Part):
        """The first of two that look waits for the other one."""

        def observe(self, telemetry: Telemetry) -> None:
            if not waited:
                other.start()
                # Long enough for the other one to be done, if it could.
                other.join(0.2)
                waited.append(other.is_alive())

    state.components = [Slow(), following(Live(followed=[Kind("Pod", events=7)]))]
    state.observe()
    other.join()

    assert [True] == waited
    assert 'evenkeel_cluster_events_total{kind="Pod"} 7.0' in state.telemetry.render().decode().splitlines()

"""Readiness: the reasons why no request should come here; and what reviews are decided by meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from policies.config.policy_set import PolicySet
from policies.scheduler.index import ClusterIndex
from tests.policies.config.documents import policy_of
from tests.webhook.http.client import a_client
from webhook.http.state import ServerState
from webhook.kube.left_out import LeftOutObject


@dataclass
class Kind:
    """How one kind is followed."""

    kind: str
    synced: bool = True
    last_error: str = ""
    objects: int = 3
    events: int = 0
    lists: int = 1
    left_out: int = 0
    errors: int = 0
    refused_s: float = 0.0


@dataclass
class Live:
    """A cluster that is followed as a test says."""

    followed: list[Kind] = field(default_factory=lambda: [Kind("Pod"), Kind("Node")])
    age: float = 5.0
    done: list[str] = field(default_factory=list)
    broken: list[LeftOutObject] = field(default_factory=list)

    def left_out(self) -> list[LeftOutObject]:
        return self.broken

    def kinds(self) -> list[Kind]:
        return self.followed

    def age_s(self) -> float:
        return self.age

    def unsynced(self) -> list[str]:
        return [f"{kind.kind} ({kind.last_error})" for kind in self.followed if not kind.synced]

    def refused(self, *, longer_s: float) -> list[str]:
        return [f"{kind.kind} ({kind.last_error})" for kind in self.followed if kind.refused_s > longer_s]

    @property
    def synced(self) -> bool:
        return all(kind.synced for kind in self.followed)

    def start(self) -> None:
        self.done.append("started")

    def stop(self) -> None:
        self.done.append("stopped")


@dataclass
class Skew:
    """What measures skew."""

    done: list[str] = field(default_factory=list)
    context: Callable[[], Any] = lambda: None

    def start(self, context: Callable[[], Any]) -> None:
        self.context = context
        self.done.append("started")

    def warnings(self) -> list[str]:
        return ["constraints left out: 3"]

    def stop(self) -> None:
        self.done.append("stopped")


@dataclass
class Keeper:
    """A keeper of certificates as a test says."""

    why: str = ""
    authority_expiry: datetime = datetime(2027, 1, 1, tzinfo=UTC)
    leading: bool = True
    skew: timedelta = timedelta(seconds=7)
    done: list[str] = field(default_factory=list)

    def problem(self) -> str:
        return self.why

    def warnings(self) -> list[str]:
        return ["nobody calls"]

    def registered(self) -> dict[str, bool]:
        return {"mutate": True, "validate": False}

    def start(self) -> None:
        self.done.append("started")

    def stop(self) -> None:
        self.done.append("stopped")


def following(state: ServerState, live: Any, *, clock: list[float] | None = None) -> ServerState:
    """Return a server that follows a cluster."""
    ticks = clock or [0.0]
    return ServerState(
        settings=state.settings,
        context=replace(state.context, cluster=ClusterIndex()),
        telemetry=state.telemetry,
        events=state.events,
        certificate=state.certificate,
        now=state.now,
        live=live,
        monotonic=lambda: ticks[0],
    )


def test_ready(state: ServerState) -> None:
    """Without a reason against it the server is ready."""
    assert [] == state.unready_reasons()


def test_draining_and_expired(state: ServerState) -> None:
    """All reasons are told at once."""
    state.draining = True
    state.now = lambda: datetime(2026, 11, 21, tzinfo=UTC)

    assert [
        "draining: the server was asked to end",
        "certificate expired at 2026-11-21T00:00:00Z",
    ] == state.unready_reasons()


def test_certificate_that_is_not_valid_yet(state: ServerState) -> None:
    """No client accepts it, whoever made it."""
    state.now = lambda: datetime(2026, 11, 18, tzinfo=UTC)

    assert ["certificate is not valid before 2026-11-19T00:00:00Z"] == state.unready_reasons()


def test_who_keeps_a_certificate_judges_it(state: ServerState) -> None:
    """The clock of this machine may be wrong; the keeper goes by the API server's."""
    state.now = lambda: datetime(2028, 1, 1, tzinfo=UTC)
    state.keeper = Keeper()  # type: ignore[assignment]

    assert [] == state.unready_reasons()


@pytest.mark.parametrize(
    ("live", "ready", "why"),
    [
        pytest.param(Live(), True, "", id="5 s old"),
        pytest.param(Live(age=180.0), True, "", id="180 s old, 180 allowed"),
        pytest.param(Live(age=181.0), True, "the picture of the cluster is 181 s old", id="181 s old"),
        pytest.param(
            Live([Kind("Pod", refused_s=5.0, last_error="403"), Kind("Node")]), True, "", id="refused for 5 s"
        ),
        pytest.param(
            Live([Kind("Pod", refused_s=5.1, last_error="403"), Kind("Node")]),
            True,
            "the API server refuses to list or watch Pod (403)",
            id="refused for 5.1 s",
        ),
        pytest.param(
            Live([Kind("Pod", synced=False, last_error="may not list pods"), Kind("Node")]),
            False,
            "the cluster is not listed yet: Pod (may not list pods)",
            id="1 kind never listed",
        ),
    ],
)
def test_live_cluster(state: ServerState, live: Live, *, ready: bool, why: str) -> None:
    """Without a usable picture reviews are decided without it; only who never had one gets no requests."""
    server = following(state, live)
    decided_by = server.usable_context()
    told = f"{why}: nothing that depends on the cluster is reported or injected"

    assert ([] if ready else [why]) == server.unready_reasons()
    assert ([told] if why and ready else []) == server.warnings()
    assert (not why) == (decided_by.cluster is not None)
    assert why == decided_by.withheld


def test_readyz_with_warnings(state: ServerState) -> None:
    """What is no reason to go elsewhere is in the body, and the status is that of one who is ready."""
    answer = a_client(following(state, Live(age=181.0))).get("/readyz")

    body = answer.get_json()

    assert (200, "ok", 1) == (answer.status_code, body["status"], len(body["warnings"]))


def test_readyz_names_what_is_left_out(state: ServerState) -> None:
    """An object that cannot be read keeps no request away, and is said as long as it is there."""
    live = Live(broken=[LeftOutObject(kind="Pod", namespace="shop", name="web", reason="it is null")])
    client = a_client(following(state, live))
    during = client.get("/readyz")
    live.broken.clear()
    after = client.get("/readyz").get_json()

    assert 200 == during.status_code
    assert ["Pod shop/web"] == [
        name for name in ("Pod shop/web",) if name in during.get_json()["warnings"][0]
    ]
    assert "warnings" not in after


def test_picture_comes_back(state: ServerState) -> None:
    """What was withheld is used again when it is young again; it is looked at once a second."""
    clock, live = [0.0], Live(age=999.0)
    server = following(state, live, clock=clock)

    assert server.usable_context().withheld
    live.age = 1.0
    assert server.usable_context().withheld
    clock[0] = 1.5
    assert server.context is server.usable_context()


def test_one_looks_at_a_time(state: ServerState) -> None:
    """While one thread looks at the picture, another goes by what was found last, and does not wait."""
    clock, live = [0.0], Live(age=999.0)
    server = following(state, live, clock=clock)
    seen = []

    def age_s() -> float:
        clock[0] += 5
        with ThreadPoolExecutor(1) as pool:
            seen.append(pool.submit(server.usable_context).result(10))
        return 999.0

    live.age_s = age_s  # type: ignore[method-assign]

    assert server.usable_context().withheld
    assert [server.context] == seen


@pytest.mark.parametrize("synced", [True, False])
def test_prepared(state: ServerState, synced: bool) -> None:  # noqa: FBT001  # a parameter of the table
    """A worker is prepared as soon as the cluster is listed, and at once without one."""
    server = following(state, Live(followed=[Kind("Pod", synced=synced)]))

    assert synced == server.prepared()
    assert state.prepared()


def test_untrusted_certificate(state: ServerState) -> None:
    """A certificate that the webhook configurations do not trust is a reason."""
    state.keeper = Keeper(why="no configuration trusts it")  # type: ignore[assignment]

    assert ["no configuration trusts it"] == state.unready_reasons()


def test_work_beside_the_requests(state: ServerState) -> None:
    """What follows the cluster, keeps certificates and measures skew starts and stops with the worker."""
    live, keeper, skew = Live(), Keeper(), Skew()
    state.live, state.keeper, state.skew = live, keeper, skew  # type: ignore[assignment]
    state.begin()
    state.end()

    assert ["started", "stopped"] == live.done == keeper.done == skew.done
    assert state.context == skew.context()


def test_metrics_of_the_cluster(state: ServerState) -> None:
    """What is counted once is told once, however often it is looked at."""
    live = Live(followed=[Kind("Pod", events=7)])
    state.live, state.keeper = live, Keeper()  # type: ignore[assignment]
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
        "evenkeel_ca_bundle_current 1.0",
        "evenkeel_clock_skew_seconds 7.0",
        'evenkeel_webhook_registered{webhook="mutate"} 1.0',
        'evenkeel_webhook_registered{webhook="validate"} 0.0',
        "evenkeel_leader 1.0",
        "evenkeel_authority_expiry_timestamp_seconds 1.7987616e+09",
    ):
        assert line in lines


def test_each_worker_tells_in_time(state: ServerState) -> None:
    """Of several workers one answers a scrape; the others have told by then, every 5 s."""
    clock, live = [0.0], Live(followed=[Kind("Pod", events=7)])
    server = following(state, live, clock=clock)
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


@dataclass
class Policies:
    """Policies that are followed as a test says."""

    unsynced: bool = False
    said: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)

    def warnings(self) -> list[str]:
        return self.said

    def counts(self) -> dict[str, tuple[int, int]]:
        return {"file": (1, 0), "cluster": (1000, 2)}

    def start(self) -> None:
        self.done.append("started")

    def stop(self) -> None:
        self.done.append("stopped")


def test_policies_that_are_not_listed_yet(state: ServerState) -> None:
    """Decided without them, an object would be let through that they deny; the cluster itself is usable."""
    server = following(state, Live())
    server.policies = Policies(unsynced=True)  # type: ignore[assignment]

    assert ["the policies of the cluster are not listed yet"] == server.unready_reasons()
    assert not server.prepared()
    assert server.usable_context().cluster is not None


def test_policies_with_errors(state: ServerState) -> None:
    """They are no reason to go elsewhere: every replica has them."""
    state.policies = Policies(said=["SpreadPolicy p: has errors"])  # type: ignore[assignment]

    assert ([], ["SpreadPolicy p: has errors"]) == (state.unready_reasons(), state.warnings())


@pytest.mark.parametrize("age", [5.0, 999.0], ids=["with the cluster", "without the cluster"])
def test_other_policies_in_force(state: ServerState, age: float) -> None:
    """The next review is decided by them, one that has begun by what it began with."""
    server = following(state, Live(age=age))
    before = server.usable_context()
    policies = PolicySet([policy_of(enforcement="audit")])
    server.enforce(policies)

    assert policies is server.usable_context().policies
    assert before.policies != policies
    assert bool(server.usable_context().withheld) == (age > 180)


def test_work_on_policies_beside_the_requests(state: ServerState) -> None:
    """It begins and ends with the worker, and the metrics say how many policies there are."""
    policies, writer = Policies(), Policies()
    state.policies, state.status_writer = policies, writer  # type: ignore[assignment]
    state.begin()
    state.observe()
    state.end()

    assert [["started", "stopped"]] * 2 == [policies.done, writer.done]
    assert b'evenkeel_policies{source="cluster"} 1000.0' in state.telemetry.render()
    assert b'evenkeel_policies_invalid{source="cluster"} 2.0' in state.telemetry.render()


def test_skew_that_is_not_exported(state: ServerState) -> None:
    """It is a warning: requests should go on coming here."""
    state.skew = Skew()  # type: ignore[assignment]

    assert ["constraints left out: 3"] == state.warnings()
    assert [] == state.unready_reasons()

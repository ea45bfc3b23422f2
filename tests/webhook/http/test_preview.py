"""Reviews of policies and namespaces: the author reads what they change for existing workloads."""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry

from policies.admission import policy_preview
from policies.config.context import STRANGER, AdmissionContext
from policies.config.loader import build
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.workload_kinds import WorkloadKinds
from policies.scheduler.index import ClusterIndex
from tests.builders import a_constraint, a_policy, a_workload
from tests.waiting import PATIENCE_S, pause
from webhook.admission.current_context import CurrentContext
from webhook.http import review_waits, state
from webhook.http.admission import AdmissionRoutes
from webhook.http.path_tokens import PathTokens
from webhook.http.review_waits import MOST_PREVIEWS, MOST_WAITING
from webhook.http.state import ServerState
from webhook.policy_controller.controller import PolicyController, PolicyFiles
from webhook.settings import LogFormat, LogLevel, Settings
from webhook.telemetry.logs import EventLog
from webhook.telemetry.metrics import Telemetry

DENY: dict[str, Any] = {"rules": {"selector-misses-own-pod": {"enforcement": "deny"}}}
COUNT = (
    "evenkeel: looked at 1 of 1 existing workloads, none of them DaemonSets or Jobs; "
    "kubectl evenkeel policy preview lists all"
)
#: Denies in the namespaces of a team.
OF_TEAM = a_policy("of-team", scope={"namespaceSelector": {"matchLabels": {"team": "checkout"}}}, **DENY)
MISSES = [a_constraint(labelSelector={"matchLabels": {"app": "other"}})]
DENIED = "evenkeel: 1 existing workload would be denied: Deployment shop/web (selector-misses-own-pod)"


class _Cache:
    """A cluster that is followed, as far as a server asks."""

    synced = True

    def __init__(self, index: ClusterIndex) -> None:
        self.index = index
        self.age = 0.0

    def age_s(self) -> float:
        return self.age

    def refused(self, *, longer_s: float) -> list[str]:
        return []


class Server:
    """The routes of a server with a cluster."""

    def __init__(self, *workloads: dict[str, Any], policies: tuple[dict[str, Any], ...] = ()) -> None:
        index, existing = ClusterIndex(), ClusterWorkloads(WorkloadKinds())
        index.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        for workload in workloads:
            existing(workload)
        in_force = tuple(map(build, policies))
        self.cache = _Cache(index)
        context = AdmissionContext(policies=in_force, cluster=index, live=True)
        current = CurrentContext(context, cast("Any", self.cache), max_age_s=60)
        files = PolicyFiles((), in_force, lambda: in_force)
        controller = PolicyController(files, default=(), enforce=current.enforce)
        self.state = ServerState(
            settings=Settings(self_signed=True),
            current=current,
            telemetry=Telemetry("1", registry=CollectorRegistry()),
            events=EventLog(LogFormat.TEXT, LogLevel.ERROR, descriptor=2),
            workloads=existing.copy,
            with_policy=controller.with_policy,
        )
        self.routes = AdmissionRoutes(self.state)

    def warnings(
        self, obj: dict[str, Any], old: dict[str, Any] | None = None, timeout: str = "10m"
    ) -> list[str]:
        """Review an object as the API server does; return what its author reads."""
        group, _, version = obj["apiVersion"].rpartition("/")
        request = {
            "uid": "1",
            "kind": {"group": group, "version": version, "kind": obj["kind"]},
            "operation": "CREATE" if old is None else "UPDATE",
            "name": obj["metadata"]["name"],
            "object": obj,
            "oldObject": old,
        }
        answer = asyncio.run(self._answer(_body(request), timeout))
        assert answer["response"]["allowed"]
        found: list[str] = answer["response"].get("warnings", [])
        return found

    async def many(self, policy: dict[str, Any], *, count: int) -> list[dict[str, Any]]:
        """Review the creation of a policy so many times at once."""
        kind = {"group": "evenkeel.dev", "version": "v1alpha1", "kind": "SpreadPolicy"}
        request = {"uid": "1", "kind": kind, "operation": "CREATE", "name": "p", "object": policy}
        return await asyncio.gather(*(self._answer(_body(request), "10m") for _ in range(count)))

    async def _answer(self, body: bytes, timeout: str) -> dict[str, Any]:
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        headers = {b"content-type": b"application/json", b"content-length": b"%d" % len(body)}
        scope = {
            "method": "POST", "path": "/validate", "query_string": f"timeout={timeout}".encode(),
            "extensions": {}, "evenkeel.arrived": time.monotonic(), "headers": list(headers.items()),
        }  # fmt: skip
        await self.routes(scope, receive, send)
        self.routes.settle()
        found: dict[str, Any] = json.loads(sent[1]["body"])
        return found


def _body(request: dict[str, Any]) -> bytes:
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(review).encode()


WEB = a_workload(name="web", spec={"topologySpreadConstraints": MISSES})


def _namespace(**labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": labels}}


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let previews take what they take on a busy machine."""
    monkeypatch.setattr(state, "LONGEST_PREVIEW_S", PATIENCE_S)
    monkeypatch.setattr(review_waits, "LONGEST_PREVIEW_S", PATIENCE_S)


@pytest.fixture
def server() -> Server:
    """A server whose policies deny nothing in the namespace shop, which has a workload."""
    return Server(WEB, policies=(OF_TEAM,))


def test_a_policy(server: Server) -> None:
    """A new policy is previewed, an update of something else is not."""
    policy = a_policy(**DENY)
    warnings = server.warnings(policy)

    assert [DENIED, COUNT] == warnings
    assert [] == server.warnings(policy, policy)
    assert [] == server.warnings(a_policy(scope={"namespaces": ["bank"]}, **DENY))


def test_a_preview_is_no_wait_for_the_cache(server: Server) -> None:
    """Metrics tell the two apart."""
    server.warnings(a_policy(**DENY))
    metrics = server.state.telemetry.render().decode()

    assert 'evenkeel_admission_requests_total{phase="validate",verdict="warned"} 1.0' in metrics
    assert "evenkeel_cache_waits_total{" not in metrics


def test_a_changed_policy(server: Server) -> None:
    """It takes the place of the one of its name."""
    wider = a_policy("of-team", **DENY)

    assert DENIED == server.warnings(wider, OF_TEAM)[0]


def test_labels_of_a_namespace(server: Server) -> None:
    """Labels that bring the namespace into a policy are previewed; anything else is let through at once."""
    assert DENIED == server.warnings(_namespace(team="checkout"), _namespace())[0]
    assert [] == server.warnings(_namespace(team="other"), _namespace())
    assert [] == server.warnings(_namespace(team="checkout"), _namespace(team="checkout"))
    assert [] == server.warnings(_namespace(team="checkout"))


@pytest.mark.parametrize("labels", [3, {"team": 3}, ["team"]], ids=str)
def test_labels_that_are_none(server: Server, labels: object) -> None:
    """A namespace is never held up."""
    broken = _namespace() | {"metadata": {"name": "shop", "labels": labels}}

    assert [] == server.warnings(broken, _namespace())


def test_no_policy_that_looks_at_labels() -> None:
    """Then nothing is computed for a namespace."""
    made = Server(WEB, policies=(a_policy(**DENY),))

    assert [] == made.warnings(_namespace(team="checkout"), _namespace())


def test_a_stale_cluster(server: Server) -> None:
    """That nothing was looked at is said."""
    server.cache.age = 1e9
    (warning,) = server.warnings(a_policy(**DENY))

    assert warning.startswith("evenkeel: existing workloads were not looked at: ")


def test_little_time() -> None:
    """The answer comes in time, and says how many workloads were looked at."""
    many = Server(*(a_workload(name=f"w{number}") for number in range(3000)))
    last = many.warnings(a_policy(**DENY), timeout="400ms")[-1]

    assert " of 3000 existing workloads" in last or "were not looked at" in last


@pytest.mark.parametrize(
    ("waiting", "timeout", "why"),
    [(MOST_WAITING, "10s", "too many other reviews wait"), (0, "0s", "there was no time")],
)
def test_a_review_that_cannot_wait(server: Server, *, waiting: int, timeout: str, why: str) -> None:
    """Its author reads that existing workloads were not looked at, unless nothing changes."""
    server.routes._waits._waiting = waiting

    assert [f"evenkeel: existing workloads were not looked at: {why}"] == server.warnings(
        a_policy(**DENY), timeout=timeout
    )
    assert [] == server.warnings(_namespace(team="a"), _namespace(team="a"), timeout=timeout)


def test_events_go_on_meanwhile(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock of the index is held for one workload at a time, and free between two."""
    index, free = server.cache.index, list[bool]()

    def is_free() -> bool:
        lock: Any = index.reading()
        if found := lock.acquire(blocking=False):
            lock.release()
        return bool(found)

    def candidate(*arguments: Any) -> Any:
        with ThreadPoolExecutor() as pool:
            free.append(pool.submit(is_free).result())
        return as_created(*arguments)

    as_created = policy_preview._as_created
    monkeypatch.setattr(policy_preview, "_as_created", candidate)

    assert [DENIED, COUNT] == server.warnings(a_policy(**DENY))
    assert [True] == free


def test_many_previews(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """One runs at a time, some wait for it, and the others are answered at once."""
    running, most = [0], []

    def slow(*_: object, **__: object) -> list[str]:
        running[0] += 1
        most.append(running[0])
        pause(0.05)
        running[0] -= 1
        return ["looked at"]

    monkeypatch.setattr(review_waits, "preview_change", slow)
    answers = asyncio.run(server.many(a_policy(**DENY), count=MOST_PREVIEWS + 4))
    told = [answer["response"]["warnings"] for answer in answers]

    assert {1} == set(most)
    assert MOST_PREVIEWS == told.count(["looked at"])
    assert 0 == server.routes._waits._waiting == server.routes._waits._previewing


def test_a_timeout_of_ten_minutes(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request may give itself any; a preview has what ours give it."""
    deadlines: list[float] = []

    def noting(*_: object, deadline: float) -> list[str]:
        deadlines.append(deadline - time.monotonic())
        return []

    monkeypatch.setattr(review_waits, "preview_change", noting)
    server.warnings(a_policy(**DENY), timeout="10m")

    assert deadlines[0] <= PATIENCE_S


def test_clients_without_a_certificate(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is --client-ca, nothing is computed for them."""
    monkeypatch.setattr(review_waits, "preview_change", None)
    settings = Settings(self_signed=True, client_ca="ca.crt")
    server.routes = AdmissionRoutes(replace(server.state, settings=settings))
    (answer,) = asyncio.run(server.many(a_policy(**DENY), count=1))

    assert "client certificate" in answer["error"]


def test_strangers(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where there are tokens, nothing is computed for a path without one, and the author is told."""
    monkeypatch.setattr(review_waits, "preview_change", None)
    tokens = PathTokens(tmp_path / "no such file")
    server.routes = AdmissionRoutes(replace(server.state, path_tokens=tokens))

    assert [f"evenkeel: existing workloads were not looked at: {STRANGER}"] == server.warnings(
        a_policy(**DENY)
    )


def test_a_bug_of_ours(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A preview that fails is no failure of the review."""

    def fail(*_: object, **__: object) -> None:
        raise ValueError

    monkeypatch.setattr(review_waits, "preview_workloads", fail)
    (warning,) = server.warnings(a_policy(**DENY))

    assert "internal error" in warning

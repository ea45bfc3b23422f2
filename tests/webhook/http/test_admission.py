"""The admission routes without a server: what is read, answered, counted and logged."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import pytest

from policies.config.context import AdmissionContext
from policies.scheduler.index import ClusterIndex
from tests.builders import a_constraint, a_pod, a_policy, a_replica_set, a_workload
from tests.planning.clusters import two_full_zones
from tests.policies.config.contexts import a_context, defaults
from tests.webhook.http.admission_caller import Caller, loggers
from tests.webhook.running import REVIEW, review_of
from webhook.admission import respond as respond_module
from webhook.http import body as body_module
from webhook.http import review_waits
from webhook.http.body import _MOST_LARGE
from webhook.http.review_waits import LONGEST_WAIT_S, MOST_WAITING

__all__ = ["loggers"]

pytestmark = pytest.mark.usefixtures("loggers")

#: Bytes of a body, at most.
LIMIT = 2000

#: Terms of a pod, more than a review may look at.
TERMS = 30_000
#: A review of a Deployment that fits on no node of ``two_full_zones``.
UNFIT = review_of(a_workload(spec={"topologySpreadConstraints": [a_constraint()]}))


@pytest.fixture
def caller() -> Iterator[Caller]:
    """An app that lets everything through."""
    made = Caller(AdmissionContext(policies=()), limit=LIMIT)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("scope", "status"),
    [
        pytest.param({}, 200, id="200: a review"),
        pytest.param(
            {"headers": {"content-type": "application/json; charset=utf-8"}}, 200, id="200: with a charset"
        ),
        pytest.param({"headers": {"content-type": "Application/JSON"}}, 200, id="200: in capitals"),
        pytest.param(
            {"headers": {"content-length": "", "transfer-encoding": "chunked"}}, 200, id="200: chunked"
        ),
        pytest.param({"headers": {"content-length": "5000"}}, 200, id="200: 5,000 bytes announced"),
        pytest.param({"headers": {"content-length": "20000"}}, 413, id="413: 20,000 bytes announced"),
        pytest.param({"headers": {"content-length": "9" * 5_000}}, 400, id="400: 5,000 digits announced"),
        pytest.param({"headers": {"content-length": "-1"}}, 400, id="400: -1 bytes announced"),
        pytest.param({"headers": {"content-length": ""}}, 411, id="411: no length"),
        pytest.param({"headers": {"content-type": "text/plain"}}, 415, id="415: text"),
        pytest.param({"headers": {"content-type": ""}}, 415, id="415: no type"),
        pytest.param({"method": "GET"}, 405, id="405: GET"),
        pytest.param({"method": "HEAD"}, 405, id="405: HEAD"),
    ],
)
def test_statuses(caller: Caller, scope: dict[str, Any], status: int) -> None:
    """A request that is no POST of JSON within the limit gets its own status, and errors have one form."""
    answer = caller.call(REVIEW, **scope)

    assert status == caller.status
    if status == 405:
        assert caller.headers["Allow"] == "POST"
    if status >= 400:
        assert {"error", "details"} == answer.keys()


def test_body_in_parts(caller: Caller) -> None:
    """However many parts a body comes in, it is one."""
    assert caller.call(*(REVIEW[start : start + 10] for start in range(0, len(REVIEW), 10)))["response"]


@pytest.fixture
def denying() -> Iterator[Caller]:
    """An app with a policy that denies."""
    made = Caller(a_context(a_policy(enforcement="deny")), limit=LIMIT)
    yield made
    made.close()


#: Headers of a body without a length.
CHUNKED = {"content-length": "", "transfer-encoding": "chunked"}


@pytest.mark.parametrize("parts", [1, 2, 700], ids=["1 part", "2 parts", "700 parts"])
@pytest.mark.parametrize("headers", [{}, CHUNKED], ids=["with a length", "chunked"])
def test_too_large_reviews(denying: Caller, parts: int, headers: dict[str, str]) -> None:
    """A review that is not read is denied where a policy denies, a warning of /mutate, counted and logged."""
    body = review_of(a_workload()) + b" " * LIMIT
    size = -(-len(body) // parts)
    for path, allowed, verdict in (("/validate", False, "denied"), ("/mutate", True, "warned")):
        cut = [body[start : start + size] for start in range(0, len(body), size)]
        response = denying.call(*cut, path=path, headers=headers)["response"]
        [line] = denying.log()

        assert (200, "6b1f", allowed) == (denying.status, response["uid"], response["allowed"])
        assert "unreviewable" in (str(response.get("warnings")) if allowed else response["status"]["message"])
        assert "patch" not in response
        assert f"review_{verdict} uid=6b1f" in line
        assert "unreviewable=" in line
        labels = {"phase": path[1:], "verdict": verdict}
        assert 1 == denying.registry.get_sample_value("evenkeel_unreviewable_total", labels)


def test_what_no_api_server_sends(denying: Caller) -> None:
    """Nobody's endless body is received: it gets an error, and so does one that is no review."""
    denying.call(*[b" " * LIMIT] * 100, headers=CHUNKED)
    assert 413 == denying.status
    denying.call(b" " * (LIMIT + 1))
    assert 400 == denying.status


def test_no_room_for_large_reviews(denying: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """While others hold the room for large reviews, one waits for some of its time, and is denied then."""
    monkeypatch.setattr(body_module, "_SMALL", 500)
    body = review_of(a_workload()) + b" " * 900
    half = len(body) - 500

    async def crowd() -> list[Any]:
        held = [asyncio.create_task(denying.hold(body)) for _ in range(_MOST_LARGE)]
        await asyncio.sleep(0)
        answer = await denying.answer(body[:half], body[half:], query_string=b"timeout=100ms")
        for task in held:
            task.cancel()
        await asyncio.gather(*held, return_exceptions=True)
        return [answer, await denying.answer(body[:half], body[half:])]

    refused, reviewed = asyncio.run(crowd())

    assert "too many large objects" in refused["response"]["status"]["message"]
    assert reviewed["response"]["allowed"]


def test_body_that_never_comes(caller: Caller) -> None:
    """A client that leaves before its request has come gets no answer, and is no error."""
    assert caller.call() is None


def test_our_own_bug() -> None:
    """A review that we fail on gets no Retry-After, and the log has its uid and the traceback."""
    caller = Caller(cast("AdmissionContext", None))
    answer = caller.call(REVIEW)
    [line, _] = caller.log()
    caller.close()

    assert caller.status == 500
    assert "internal error, see the log" == answer["error"]
    assert "Retry-After" not in caller.headers
    assert "error review_failed uid=6b1f phase=validate" in line
    assert "AttributeError" in line


def test_a_review_that_we_fail_on_is_denied(denying: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever finds an object that we fail on has not found a way around a policy."""

    def fail(*_: object, **__: object) -> None:
        raise RecursionError

    monkeypatch.setattr(respond_module, "decide", fail)
    answer = denying.call(review_of(a_workload()))

    assert (200, False) == (denying.status, answer["response"]["allowed"])
    assert "error review_failed uid=6b1f phase=validate" in denying.log()[0]


def test_a_review_is_counted_and_logged(caller: Caller) -> None:
    """One review is one count and one line."""
    caller.call(REVIEW, path="/mutate")
    [line] = caller.log()

    labels = {"phase": "mutate", "verdict": "ignored"}
    assert 1 == caller.registry.get_sample_value("evenkeel_admission_requests_total", labels)
    assert (
        " info review_ignored uid=6b1f phase=mutate op=CREATE kind=ConfigMap ns=shop name=settings ms="
        in line
    )


@pytest.fixture
def foresighted() -> Iterator[Caller]:
    """An app that knows a cluster on which ``UNFIT`` does not fit."""
    made = Caller(a_context(cluster=two_full_zones()))
    yield made
    made.close()


def test_a_forecast_is_warned_of_timed_and_logged(foresighted: Caller) -> None:
    """A workload that fits nowhere is allowed with a warning, and the line says how long the verdict took."""
    answer = foresighted.call(UNFIT, query_string=b"timeout=10s")
    [line] = foresighted.log()

    assert answer["response"]["allowed"]
    assert "skew 3 > maxSkew 1" in answer["response"]["warnings"][0]
    assert " info review_warned " in line
    assert " rules=unschedulable " in line
    assert " forecast_ms=" in line
    assert " node_rules_ms=" in line
    assert 1 == foresighted.registry.get_sample_value("evenkeel_forecast_duration_seconds_count")


def test_no_forecast_without_time(foresighted: Caller) -> None:
    """With a millisecond left it is said that nothing was judged; the line and a counter tell it too."""
    answer = foresighted.call(UNFIT, query_string=b"timeout=1ms")
    [line] = foresighted.log()

    [warning] = answer["response"]["warnings"]
    assert warning.endswith(": too little of the request's timeout is left")
    assert "unschedulable" in answer["response"]["auditAnnotations"]["not-judged"]
    assert " forecast=skipped " in line
    assert " node_rules=skipped " in line
    for counter, labels in (
        ("evenkeel_forecasts_skipped_total", {"reason": "timeout"}),
        ("evenkeel_node_rules_skipped_total", {}),
    ):
        assert 1 == foresighted.registry.get_sample_value(counter, labels)


def test_no_forecast_on_what_others_have_stored() -> None:
    """Who runs the server reads in /readyz, the log and a metric whose objects take too long to look at."""
    about = {"labelSelector": {"matchLabels": {"app": "web"}}, "namespaceSelector": {}}
    terms = [about | {"topologyKey": f"k{n}"} for n in range(TERMS)]
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    dear = a_pod(name="dear", spec={"nodeName": "elsewhere", "affinity": affinity})
    caller = Caller(a_context(cluster=[*two_full_zones(), dear]))
    answer = caller.call(UNFIT, query_string=b"timeout=10s")
    warnings, lines = caller.state.warnings(), caller.log()
    skipped = caller.registry.get_sample_value("evenkeel_forecasts_skipped_total", {"reason": "cluster"})
    caller.close()

    assert "unschedulable" in answer["response"]["auditAnnotations"]["not-judged"]
    assert warnings[0].startswith(f"the next pod of Deployment.apps shop/web is not evaluated: {TERMS:,} ")
    assert "too long to look at" in warnings[0]
    assert any(" warning forecast_too_dear " in line for line in lines)
    assert 1 == skipped


def test_waiting_in_the_server_counts(foresighted: Caller) -> None:
    """The time that a request waited for others is gone from its timeout."""
    ago: dict[str, Any] = {"evenkeel.arrived": time.monotonic() - 3600}
    answer = foresighted.call(UNFIT, **ago)

    assert "unschedulable" in answer["response"]["auditAnnotations"]["not-judged"]


def test_no_forecast_when_mutating(foresighted: Caller) -> None:
    """The mutating webhook is asked first and says nothing of nodes."""
    foresighted.call(UNFIT, path="/mutate")
    [line] = foresighted.log()

    assert "forecast" not in line


#: A review of a pod of the namespace shop, whose ReplicaSet makes it.
FIRST_POD = review_of(a_pod(owner=("apps/v1", "ReplicaSet", "web-5dcb")))
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
REPLICA_SET = a_replica_set(a_workload(), "5dcb")


@pytest.fixture
def following() -> Iterator[tuple[Caller, ClusterIndex]]:
    """An app that injects into pods, and the cache of the cluster that it follows."""
    context = a_context(a_policy(defaults=defaults()), cluster=[NAMESPACE], live=True)
    made = Caller(context)
    assert context.cluster is not None
    yield made, context.cluster
    made.close()


@dataclass(frozen=True)
class _Clock:
    """Stands in for the module ``time``."""

    monotonic: Callable[[], float]
    perf_counter: Callable[[], float] = time.perf_counter


def test_no_review_is_decided_twice(
    following: tuple[Caller, ClusterIndex], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A review that waited in vain gets the first decision."""
    caller, _ = following
    decisions: list[object] = []
    decide = respond_module.decide

    def counting(*arguments: Any) -> Any:
        decisions.append(arguments)
        return decide(*arguments)

    monkeypatch.setattr(respond_module, "decide", counting)
    # At the second look, the time is over.
    looks = iter([0.0])
    monkeypatch.setattr(review_waits, "time", _Clock(lambda: next(looks, time.monotonic() + 3600)))
    answer = caller.call(FIRST_POD, path="/mutate")

    assert answer["response"]["allowed"]
    assert 1 == len(decisions)
    [line] = caller.log()
    assert " waited_ms=" in line


def test_a_review_waits_for_the_cache(
    following: tuple[Caller, ClusterIndex], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is answered when the ReplicaSet is there, and the log says how long it took; others go first."""
    caller, cluster = following
    arrived = time.monotonic()
    monkeypatch.setattr(review_waits, "time", _Clock(lambda: arrived + LONGEST_WAIT_S / 2))

    async def call_both() -> tuple[Any, Any]:
        scope: dict[str, Any] = {"path": "/mutate", "evenkeel.arrived": arrived}
        waiting = asyncio.create_task(caller.answer(FIRST_POD, **scope))
        while not caller.routes._waits._waiting:
            await asyncio.sleep(0)
        other = await caller.answer(REVIEW)
        cluster.apply(REPLICA_SET)
        return other, await waiting

    other, answer = asyncio.run(call_both())

    assert other["response"]["allowed"]
    assert "patch" in answer["response"]
    first, second = caller.log()
    assert " review_ignored " in first
    assert re.search(r" review_injected .* waited_ms=[0-9]", second)


@pytest.mark.parametrize(
    ("waiting", "query", "ago_s"),
    [
        pytest.param(MOST_WAITING, b"timeout=10s", 0.0, id="too many wait already"),
        pytest.param(0, b"timeout=10s", LONGEST_WAIT_S, id="it waited for long enough"),
        pytest.param(0, b"timeout=500ms", 0.4, id="the timeout is near"),
    ],
)
def test_no_review_waits_for_ever(
    following: tuple[Caller, ClusterIndex], *, waiting: int, query: bytes, ago_s: float
) -> None:
    """The pod passes as it is, and the audit log says why."""
    caller, _ = following
    caller.routes._waits._waiting = waiting
    scope = {"query_string": query, "evenkeel.arrived": time.monotonic() - ago_s}
    answer = caller.call(FIRST_POD, path="/mutate", **scope)

    assert "is not in the cache" in answer["response"]["auditAnnotations"]["injection-skipped"]
    assert "waited_ms" not in caller.log()[0]


@pytest.mark.parametrize(("extensions", "status"), [({}, 403), ({"tls": {}}, 200)], ids=["none", "one"])
def test_client_certificate(caller: Caller, extensions: dict[str, Any], status: int) -> None:
    """With --client-ca, who shows no certificate gets no review."""
    caller.routes._needs_certificate = True
    caller.call(REVIEW, extensions=extensions)

    assert status == caller.status

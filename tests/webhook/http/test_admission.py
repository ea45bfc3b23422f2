"""The admission routes without a server: what is read, answered, counted and logged."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, cast

import pytest
from prometheus_client import CollectorRegistry

from policies.config.context import AdmissionContext
from policies.scheduler.index import ClusterIndex
from tests.builders import a_constraint, a_pod, a_policy, a_replica_set, a_workload
from tests.certs.builders import CA
from tests.policies.config.contexts import a_context, defaults
from tests.policies.placement.clusters import two_full_zones
from tests.webhook.running import REVIEW, review_of
from webhook.http.admission import LONGEST_WAIT_S, AdmissionApp
from webhook.http.state import ServerState
from webhook.serving.postponed import PostponedError
from webhook.settings import LogFormat, LogLevel, Settings
from webhook.telemetry import logs
from webhook.telemetry.logs import EventLog
from webhook.telemetry.metrics import Telemetry

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

#: Bytes of a body, at most.
LIMIT = 2000

#: A review of a Deployment that fits on no node of ``two_full_zones``.
UNFIT = review_of(a_workload(spec={"topologySpreadConstraints": [a_constraint()]}))


class Caller:
    """Calls the app as a server does, and keeps what it answered."""

    def __init__(self, context: AdmissionContext) -> None:
        self.registry = CollectorRegistry()
        self._read, write = os.pipe()
        events = EventLog(LogFormat.TEXT, LogLevel.INFO, descriptor=write)
        self._events = events
        logs.set_up(events, LogLevel.INFO)
        state = ServerState(
            settings=Settings(self_signed=True, max_body_bytes=LIMIT),
            context=context,
            telemetry=Telemetry("1", registry=self.registry),
            events=events,
            certificate=lambda: CA,
        )
        self._write = write
        self.settings, self.gate = state.settings, state.scoring
        self.app = AdmissionApp(state, _fallback)
        self.status = 0
        self.headers: dict[str, str] = {}

    def call(self, body: bytes, **environ: Any) -> Any:
        defaults = {
            "REQUEST_METHOD": "POST",
            "PATH_INFO": "/validate",
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.input": io.BytesIO(body),
        }
        parts = self.app({**defaults, **environ}, cast("StartResponse", self._start))
        return json.loads(b"".join(parts) or b"null")

    def log(self) -> list[str]:
        self.app.settle()
        return os.read(self._read, 65536).decode().splitlines()

    def close(self) -> None:
        os.close(self._read)
        os.close(self._write)

    def _start(self, status: str, headers: list[tuple[str, str]]) -> None:
        self.status = int(status.split(maxsplit=1)[0])
        self.headers = dict(headers)


def _fallback(_environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    start_response("200 OK", [])
    return [b'"behind"']


@pytest.fixture(autouse=True)
def loggers() -> Iterator[None]:
    """Give back the loggers that a server sets up for its process."""
    root, ours = logging.getLogger(), logs.LOGGER
    before = [(logger, logger.handlers[:], logger.level, logger.propagate) for logger in (root, ours)]
    yield
    for logger, handlers, level, propagate in before:
        logger.handlers[:] = handlers
        logger.setLevel(level)
        logger.propagate = propagate


@pytest.fixture
def caller() -> Iterator[Caller]:
    """An app that lets everything through."""
    made = Caller(AdmissionContext(policies=()))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("environ", "status"),
    [
        pytest.param({}, 200, id="200: a review"),
        pytest.param({"CONTENT_TYPE": "application/json; charset=utf-8"}, 200, id="200: with a charset"),
        pytest.param({"CONTENT_TYPE": "Application/JSON"}, 200, id="200: in capitals"),
        pytest.param({"CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked"}, 200, id="200: chunked"),
        pytest.param({"CONTENT_LENGTH": "5000"}, 413, id="413: 5,000 bytes announced"),
        pytest.param({"CONTENT_LENGTH": "1999"}, 400, id="400: fewer bytes than announced"),
        pytest.param({"CONTENT_LENGTH": ""}, 411, id="411: no length"),
        pytest.param({"CONTENT_TYPE": "text/plain"}, 415, id="415: text"),
        pytest.param({"CONTENT_TYPE": ""}, 415, id="415: no type"),
        pytest.param({"REQUEST_METHOD": "GET"}, 405, id="405: GET"),
        pytest.param({"REQUEST_METHOD": "HEAD"}, 405, id="405: HEAD"),
    ],
)
def test_statuses(caller: Caller, environ: dict[str, str], status: int) -> None:
    """What is no POST of JSON within the limit gets its own status, and the one shape of errors."""
    answer = caller.call(REVIEW, **environ)

    assert status == caller.status
    if status == 405:
        assert caller.headers["Allow"] == "POST"
    if status >= 400 and environ.get("REQUEST_METHOD") != "HEAD":
        assert {"error", "details"} == answer.keys()


def test_chunked_body_above_the_limit(caller: Caller) -> None:
    """A chunked body is read up to the limit and no further."""
    caller.call(REVIEW + b" " * LIMIT, CONTENT_LENGTH="", HTTP_TRANSFER_ENCODING="chunked")

    assert caller.status == 413


def test_body_that_never_comes(caller: Caller) -> None:
    """A body that stops coming is the client's fault."""

    class Stuck(io.BytesIO):
        def read(self, _size: int | None = -1) -> bytes:
            raise TimeoutError

    caller.call(REVIEW, **{"wsgi.input": Stuck()})

    assert caller.status == 408


def test_our_own_bug() -> None:
    """A review that we fail on gets 500 and no Retry-After, and the log has its uid and the traceback."""
    caller = Caller(cast("AdmissionContext", None))
    answer = caller.call(REVIEW)
    [line, _] = caller.log()
    caller.close()

    assert caller.status == 500
    assert "internal error, see the log" == answer["error"]
    assert "Retry-After" not in caller.headers
    assert "error review_failed uid=6b1f phase=validate" in line
    assert "AttributeError" in line


def test_a_review_is_counted_and_logged(caller: Caller) -> None:
    """One review is one count and one line."""
    caller.call(REVIEW, PATH_INFO="/mutate")
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
    answer = foresighted.call(UNFIT, QUERY_STRING="timeout=10s")
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
    answer = foresighted.call(UNFIT, QUERY_STRING="timeout=1ms")
    [line] = foresighted.log()

    [warning] = answer["response"]["warnings"]
    assert warning.endswith(": too little of the request's timeout is left")
    assert "unschedulable" in answer["response"]["auditAnnotations"]["not-judged"]
    assert " forecast=skipped " in line
    assert " node_rules=skipped " in line
    for counter in ("evenkeel_forecasts_skipped_total", "evenkeel_node_rules_skipped_total"):
        assert 1 == foresighted.registry.get_sample_value(counter)


def test_waiting_in_the_server_counts(foresighted: Caller) -> None:
    """The time that a request waited for others of its turn is gone from its timeout."""

    class Waited:
        began = -3600.0

    answer = foresighted.call(UNFIT, **{"gunicorn.socket": Waited()})

    assert "unschedulable" in answer["response"]["auditAnnotations"]["not-judged"]


def test_no_forecast_when_mutating(foresighted: Caller) -> None:
    """The mutating webhook is asked first and says nothing of nodes."""
    foresighted.call(UNFIT, PATH_INFO="/mutate")
    [line] = foresighted.log()

    assert "forecast" not in line


@pytest.mark.parametrize("path", ["/", "/validate/", "/livez", "/VALIDATE", ""])
def test_other_paths_go_behind(caller: Caller, path: str) -> None:
    """Everything but the two routes is the other app's."""
    assert "behind" == caller.call(b"", PATH_INFO=path)


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


class MainLoop:
    """What the main loop shows as the socket."""

    def __init__(self, *, may_postpone: bool) -> None:
        self.may_postpone = may_postpone
        self.postponed: PostponedError | None = None
        self.began = time.monotonic()


def test_a_thread_waits_for_the_cache(following: tuple[Caller, ClusterIndex]) -> None:
    """A review in a thread is answered when the ReplicaSet is there, and the log says how long it took."""
    caller, cluster = following
    timer = threading.Timer(0.05, cluster.apply, [REPLICA_SET])
    timer.start()
    answer = caller.call(FIRST_POD, PATH_INFO="/mutate")
    timer.join()

    assert "patch" in answer["response"]
    (line,) = caller.log()
    assert re.search(r" review_injected .* waited_ms=[0-9]", line)


def test_only_half_of_the_threads_wait(following: tuple[Caller, ClusterIndex]) -> None:
    """The next one is answered as it is, so that threads are left for others."""
    caller, _ = following
    with ExitStack() as held:
        for _ in range(caller.settings.patient_threads):
            held.enter_context(caller.gate.enter(large=False))
        answer = caller.call(FIRST_POD, PATH_INFO="/mutate")

    assert "is not in the cache" in answer["response"]["auditAnnotations"]["injection-skipped"]
    assert "waited_ms" not in caller.log()[0]


def test_the_main_loop_is_told_to_ask_again(following: tuple[Caller, ClusterIndex]) -> None:
    """Nothing is answered or counted before; then the body need not be read a second time."""
    caller, cluster = following
    loop = MainLoop(may_postpone=True)
    with pytest.raises(PostponedError) as caught:
        caller.call(FIRST_POD, PATH_INFO="/mutate", **{"gunicorn.socket": loop})
    before = caught.value.ready()
    cluster.apply(REPLICA_SET)
    after = caught.value.ready()
    loop.postponed = caught.value
    answer = caller.call(b"", PATH_INFO="/mutate", **{"gunicorn.socket": loop})

    assert (False, True) == (before, after)
    assert "patch" in answer["response"]
    assert 1 == len(caller.log())


@pytest.mark.parametrize(
    ("may_postpone", "query", "began"),
    [
        pytest.param(False, "timeout=10s", 0.0, id="too many wait already"),
        pytest.param(True, "timeout=10s", -LONGEST_WAIT_S, id="it waited for long enough"),
        pytest.param(True, "timeout=500ms", -0.4, id="the timeout is near"),
    ],
)
def test_nobody_waits_for_ever(
    following: tuple[Caller, ClusterIndex], *, may_postpone: bool, query: str, began: float
) -> None:
    """The pod passes as it is, and the audit log says why."""
    caller, _ = following
    loop = MainLoop(may_postpone=may_postpone)
    loop.began += began
    environ = {"gunicorn.socket": loop, "QUERY_STRING": query}
    answer = caller.call(FIRST_POD, PATH_INFO="/mutate", **environ)

    assert "is not in the cache" in answer["response"]["auditAnnotations"]["injection-skipped"]

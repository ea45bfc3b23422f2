"""Events, as an API server gets them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest

from planning.audit.workload_audit import WorkloadAudit
from tests.webhook.skew.skews import a_skew, a_workload_skew
from webhook.kube.api_server import TIMEOUT_S, Answer, ApiServer, UnreachableError, Watch
from webhook.skew.event_writer import HOLD_S, MAX_PER_MINUTE, REPEAT_S, EventWriter
from webhook.telemetry.skew_metrics import SkewReport

EVENTS = "/apis/events.k8s.io/v1/namespaces/shop/events"
BAD, GOOD = a_workload_skew(a_skew(3)), a_workload_skew(a_skew())


@dataclass
class Recorder(ApiServer):
    """An API server that holds Events, or answers as a test says."""

    url = "https://recorder"
    namespace = "evenkeel"
    #: Method and path of each request, with its body.
    asked: list[tuple[str, str, Any]] = field(default_factory=list)
    status: int = 201
    reachable: bool = True

    def send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
        most_bytes: int | None = None,
    ) -> Answer:
        self.asked.append((method, path, body))
        if not self.reachable:
            raise UnreachableError("nobody is there")
        message = {"kind": "Status", "message": f"no: {self.status}"}
        return Answer(self.status, orjson.dumps(message if self.status >= 400 else {"kind": "Event"}))

    def watch(self, path: str, params: Mapping[str, str], *, idle_s: float) -> AbstractContextManager[Watch]:
        raise NotImplementedError


class Clock:
    """A clock that a test sets."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Written:
    """An event writer, its API server and its clock."""

    api: Recorder = field(default_factory=Recorder)
    clock: Clock = field(default_factory=Clock)
    writer: EventWriter = field(init=False)

    def __post_init__(self) -> None:
        self.writer = EventWriter(self.api, instance="evenkeel-0", clock=self.clock)

    def take(self, *workloads: WorkloadAudit, after_s: float = 0) -> list[tuple[str, str, Any]]:
        """Take a report some time later; return the requests that it led to."""
        self.clock.now += after_s
        before = len(self.api.asked)
        self.writer.take(SkewReport(self.clock.now, 0, workloads))
        return self.api.asked[before:]


@pytest.fixture
def written() -> Written:
    made = Written()
    made.take(BAD)
    return made


def test_an_event_has_what_an_api_server_asks_for(written: Written) -> None:
    """Every required field, the object it is about, and words that say what is wrong."""
    ((method, path, event),) = written.take(BAD, after_s=HOLD_S)

    assert ("POST", EVENTS) == (method, path)
    assert {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "web.e8d8389700", "namespace": "shop"},
        "eventTime": "1970-01-12T13:47:40.000000Z",
        "reportingController": "evenkeel.dev/skew",
        "reportingInstance": "evenkeel-0",
        "action": "MeasureSkew",
        "type": "Warning",
        "reason": "SkewAboveMaxSkew",
        "regarding": {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "namespace": "shop",
            "name": "web",
            "uid": "uid-web",
        },
        "note": "topology.kubernetes.io/zone (DoNotSchedule): a has 3 matching pods, the minimum is 0: "
        "skew 3, maxSkew 1",
    } == event


def test_what_lasts_is_a_series(written: Written) -> None:
    """The same Event is counted once more; where it has expired, there is a new one."""
    ((_, _, event),) = written.take(BAD, after_s=HOLD_S)
    ((method, path, patch),) = written.take(BAD, after_s=REPEAT_S)
    written.api.status = 404
    requests = written.take(BAD, after_s=REPEAT_S)

    assert ("PATCH", f"{EVENTS}/{event['metadata']['name']}") == (method, path)
    assert {"series": {"count": 2, "lastObservedTime": "1970-01-12T14:17:40.000000Z"}} == patch
    assert ["PATCH", "POST"] == [method for method, _, _ in requests]


def test_what_is_over_is_normal(written: Written) -> None:
    """One Event more, and then nothing."""
    written.take(BAD, after_s=HOLD_S)
    ((_, _, event),) = written.take(GOOD, after_s=15)

    assert ("Normal", "SkewWithinMaxSkew") == (event["type"], event["reason"])
    assert event["note"].startswith("Resolved: ")
    assert [] == written.take(GOOD, after_s=REPEAT_S)


def test_a_minute_has_room_for_so_many() -> None:
    """The others are written in the next one; none is lost or written twice."""
    many = [a_workload_skew(a_skew(3), name=f"web-{number:02}") for number in range(MAX_PER_MINUTE + 5)]
    written = Written()
    written.take(*many)
    first = written.take(*many, after_s=HOLD_S)
    second = written.take(*many, after_s=15)
    third = written.take(*many, after_s=45)

    assert (MAX_PER_MINUTE, 0, 5) == (len(first), len(second), len(third))
    assert {each.name for each in many} == {event["regarding"]["name"] for _, _, event in first + third}


@pytest.mark.parametrize(("status", "reachable"), [(403, True), (422, True), (201, False)])
def test_an_api_server_that_refuses(
    written: Written, caplog: pytest.LogCaptureFixture, status: int, *, reachable: bool
) -> None:
    """It is logged once, tried again after a while, and harms nothing."""
    written.api.status, written.api.reachable = status, reachable
    for _ in range(3):
        requests = written.take(BAD, a_workload_skew(a_skew(3), name="other"), after_s=HOLD_S)
    warnings = written.writer.warnings()
    written.api.status, written.api.reachable = 201, True
    written.take(BAD, after_s=HOLD_S)

    assert (1, []) == (len(warnings), written.writer.warnings())
    # Who is away is asked once.
    assert (2 if reachable else 1) == len(requests)
    assert ["event_failed"] == [record.getMessage() for record in caplog.records]
    assert ("POST", "SkewAboveMaxSkew") == (written.api.asked[-1][0], written.api.asked[-1][2]["reason"])


def test_what_is_refused_waits_for_the_others() -> None:
    """A namespace that is being deleted takes no Events, and must not take the room of all others."""
    refused = [a_workload_skew(a_skew(3), name=f"a-{number}") for number in range(2 * MAX_PER_MINUTE)]
    written = Written()
    written.take(*refused)
    written.api.status = 403
    written.take(*refused, after_s=HOLD_S)
    written.take(*refused, BAD, after_s=HOLD_S)
    requests = [written.take(*refused, BAD, after_s=HOLD_S) for _ in range(3)]

    assert "web" in {event["regarding"]["name"] for asked in requests for _, _, event in asked}


@pytest.mark.parametrize(
    ("name", "prefix"),
    [("web.v1", "web.v1."), ("Web", "workload."), ("a/../b", "workload."), ("x" * 300, "workload.")],
)
def test_names_are_those_of_objects(written: Written, name: str, prefix: str) -> None:
    """An owner reference can name anything; an Event must have a name that an API server takes."""
    odd = a_workload_skew(a_skew(3, topologyKey="k" * 5000), name=name, uid="")
    written.take(odd)
    ((_, _, event),) = written.take(odd, after_s=HOLD_S)

    assert event["metadata"]["name"].startswith(prefix)
    assert "uid" not in event["regarding"]
    assert len(event["note"].encode()) <= 1024

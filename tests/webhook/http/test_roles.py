"""What each role of a server does, and what becomes of reviews when the API is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.builders import a_constraint, a_workload
from tests.waiting import PATIENCE_S, eventually
from tests.webhook.requests.bodies import a_body
from tests.webhook.running import HEAVY, Answer, Server, computing, fork_servers, review_of, serving

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
CLUSTER = f"--cluster={ROOT / 'webhook/demo/shop.json'}"
#: What only the API needs.
OF_API = (
    "planning",
    "policies.reports",
    "policies.lint",
    "webhook.http.api",
    "webhook.http.api_routes",
    "webhook.http.held_cluster",
    "webhook.requests",
    "webhook.skew",
)
#: Prints the modules of a process that has built what reviews need and answered one.
_MODULES = """
import asyncio, sys, time
from datetime import UTC, datetime
from pathlib import Path
from certs.serving import ServingContext
from certs.store import provision_self_signed
from webhook import server
from webhook.http.application import HttpApplication
from webhook.settings import LogFormat, LogLevel, Role, Settings
from webhook.telemetry.logs import EventLog
from webhook.telemetry.metrics import Telemetry

folder, cluster, review = Path(sys.argv[1]), sys.argv[2], sys.argv[3].encode()
made = provision_self_signed(folder / "certificates", [], now=datetime.now(UTC))
state = server._server_state(
    Settings(self_signed=True, role=Role.ADMISSION, cluster=cluster), Role.ADMISSION, folder,
    ServingContext(made.certificate, made.key, on_change=lambda *_: None), telemetry=Telemetry("1"),
    events=EventLog(LogFormat.TEXT, LogLevel.ERROR, descriptor=2),
)
sent = []

async def receive():
    return {"type": "http.request", "body": review, "more_body": False}

async def send(message):
    sent.append(message)

headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(review))]
for path in ("/validate", "/mutate", "/readyz"):
    asyncio.run(HttpApplication(state)(
        {"type": "http", "method": "GET" if path == "/readyz" else "POST", "path": path, "query_string": b"",
         "headers": headers, "extensions": {}, "evenkeel.arrived": time.monotonic(), "http_version": "1.1",
         "scheme": "https", "server": ("127.0.0.1", 1)},
        receive, send,
    ))
assert [200, 200, 200] == [message["status"] for message in sent if "status" in message], sent
print("\\n".join(sys.modules))
"""


def _ask(server: Server, path: str, body: bytes) -> Answer:
    return server.ask("POST", path, body=body, content_type="application/json")


def test_what_reviews_do_not_import(tmp_path: Path) -> None:
    """A process that reviews, and answers probes, has nothing in memory that only answers of the API need."""
    review = review_of(a_workload(spec={"topologySpreadConstraints": [a_constraint()]})).decode()
    done = subprocess.run(
        [sys.executable, "-c", _MODULES, str(tmp_path), CLUSTER.partition("=")[2], review],
        capture_output=True, text=True, check=True, timeout=PATIENCE_S,
    )  # fmt: skip
    loaded = done.stdout.split()

    assert "policies.admission.validation" in loaded
    assert [] == sorted(
        module for module in loaded for api in OF_API if module == api or module.startswith(f"{api}.")
    )


def test_reviews_alone(tmp_path: Path) -> None:
    """They are answered, the API is not, and the probe says which it is."""
    with serving(tmp_path, "--role=admission", CLUSTER) as server:
        assert 200 == server.review().status
        assert 404 == _ask(server, "/v1/score", a_body()).status
        assert "admission" == server.ask("GET", "/readyz").json()["role"]


def test_the_api_alone(tmp_path: Path) -> None:
    """It answers, also of the cluster that it was given, and reviews nothing."""
    with serving(tmp_path, "--role=api", CLUSTER) as server:
        assert 200 == _ask(server, "/v1/score", a_body(cluster=None)).status
        assert 404 == server.review().status
        assert "api" == server.ask("GET", "/readyz").json()["role"]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with both roles, of which the API has answered."""
    folder = tmp_path_factory.mktemp("both")
    options = (
        "--role=all",
        CLUSTER,
        "--request-timeout-s=5",
        "--max-score-body-bytes=5000000",
        "--drain-s=0",
    )
    with serving(folder, *options) as server:
        eventually(lambda: _ask(server, "/v1/score", a_body(cluster=None)).status == 200)
        yield server


def test_both_have_one_address(both: Server) -> None:
    """Routes, their description, errors and headers are the API's own; probes are answered beside it."""
    score = _ask(both, "/v1/score?columns=80", a_body())
    text = both.ask("POST", "/v1/score", body=a_body(), content_type="application/json", accept="text/plain")

    assert (200, "1") == (score.status, score.headers["evenkeel-feasible-nodes"])
    assert b"FITS" in text.body
    assert "/v1/score" in both.ask("GET", "/openapi.json").json()["paths"]
    assert "all" == both.ask("GET", "/readyz").json()["role"]
    assert "/v1/audit" in both.ask("GET", "/nowhere").json()["error"]
    assert 405 == both.ask("GET", "/v1/score").status


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        pytest.param(b" " * 4_000_000, {}, 400, id="400: 4 MB in parts"),
        pytest.param(b" " * 6_000_000, {}, 413, id="413: refused before it has come"),
        pytest.param(b"{}", {"expect": "100-continue"}, 400, id="400: after a continue"),
        pytest.param(b"{}", {"te": "trailers"}, 400, id="400: with fields of its connection"),
    ],
)
def test_bodies_are_handed_on(both: Server, body: bytes, headers: dict[str, str], status: int) -> None:
    """As they come, whatever the client says of its connection."""
    answer = both.ask("POST", "/v1/score", body=body, content_type="application/json", **headers)

    assert status == answer.status
    assert {"error", "details"} == answer.json().keys()


@contextmanager
def _reviewing(server: Server) -> Iterator[Counter[int]]:
    """Review without a pause, from several clients, while the block runs; count the answers."""
    ended, statuses = threading.Event(), Counter[int]()

    def review() -> None:
        while not ended.is_set():
            try:
                statuses[server.review().status] += 1
            except OSError:
                statuses[0] += 1

    clients = [threading.Thread(target=review) for _ in range(3)]
    for client in clients:
        client.start()
    yield statuses
    ended.set()
    for client in clients:
        client.join(PATIENCE_S)


def _worker_of_api(server: Server) -> int:
    """Return the worker that has a fork server."""
    [holding] = fork_servers(server)
    status = Path(f"/proc/{holding}/status").read_text().partition("PPid:")[2].split()[0]
    return int(Path(f"/proc/{status}/status").read_text().partition("PPid:")[2].split()[0])


@pytest.mark.parametrize(
    "victim", [_worker_of_api, lambda server: fork_servers(server)[0]], ids=["the worker", "its fork server"]
)
def test_reviews_go_on_when_the_api_is_killed(both: Server, victim: Callable[[Server], int]) -> None:
    """No review is lost; who asks the API is told to come again until it is back, and then is answered."""
    with _reviewing(both) as statuses:
        eventually(lambda: statuses[200] > 20)
        killed = victim(both)
        os.kill(killed, signal.SIGKILL)
        answers = list[Answer]()

        def answered() -> bool:
            answers.append(_ask(both, "/v1/score", a_body(cluster=None)))
            return answers[-1].status == 200 and bool(fork_servers(both)) and killed not in fork_servers(both)

        eventually(answered)
        before = statuses[200]
        eventually(lambda: statuses[200] > before + 20)

    assert {200} == set(statuses)
    assert {200, 503} >= {answer.status for answer in answers}
    assert all(answer.headers["retry-after"] == "1" for answer in answers if answer.status == 503)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param(HEAVY, 504, id="504: takes longer than 5 s"),
        pytest.param(b'{"pod":{},"cluster":{"pods":[' + b"{}," * 1_660_000 + b"{}]}}", 413, id="413: memory"),
    ],
)
def test_a_dear_question_ends_alone(both: Server, body: bytes, status: int) -> None:
    """Reviews are answered beside it, and the next question by the same fork server."""
    eventually(lambda: _ask(both, "/v1/score", a_body(cluster=None)).status == 200)
    holding = fork_servers(both)
    with _reviewing(both) as statuses:
        dear = _ask(both, "/v1/score", body)
        next_one = _ask(both, "/v1/score", a_body(cluster=None))

    assert (status, 200) == (dear.status, next_one.status)
    assert {200} == set(statuses)
    assert holding == fork_servers(both)
    eventually(lambda: not computing(both))

"""A whole server as an operator sees it: routes, certificates, workers, and its end."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from certs.store import provision_self_signed
from tests.builders import a_constraint, a_policy, a_workload
from tests.planning.clusters import two_full_zones
from tests.waiting import PATIENCE_S, eventually
from tests.webhook.loopback import QuietHandler, listening, status_of, write_kubeconfig
from tests.webhook.running import (
    HEAVY,
    REVIEW,
    Answer,
    Server,
    ask,
    computing,
    read_all,
    review_of,
    serving,
)

pytestmark = pytest.mark.slow

BROKEN = {"topologySpreadConstraints": [a_constraint(maxSkew=0)]}
HEAD = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with two workers."""
    with serving(tmp_path_factory.mktemp("pair"), "--workers=2") as running:
        yield running


@pytest.mark.parametrize(
    ("method", "path", "status", "part"),
    [
        pytest.param("GET", "/livez", 200, '"ok"', id="200: alive"),
        pytest.param("GET", "/readyz", 200, '"ok"', id="200: ready"),
        pytest.param("GET", "/metrics", 200, "evenkeel_build_info{version=", id="200: metrics"),
        pytest.param("GET", "/nowhere", 404, "GET this path: not found", id="404: unknown route"),
        pytest.param("POST", "/livez", 405, "method not allowed", id="405: POST to a page"),
        pytest.param("GET", "/validate", 405, "use POST", id="405: GET of a review"),
        pytest.param("POST", "/validate", 415, "Content-Type must be", id="415: no content type"),
    ],
)
def test_routes(pair: Server, method: str, path: str, status: int, part: str) -> None:
    """Every route answers, and every error is JSON of one shape."""
    answer = pair.ask(method, path, body=b"x" if method == "POST" else None)

    assert status == answer.status
    assert part in answer.body.decode()
    if status >= 400:
        assert {"error", "details"} == answer.json().keys()


def test_body_that_is_no_review(pair: Server) -> None:
    """A body that is no AdmissionReview gets 400 with the fields that are wrong."""
    answer = pair.ask("POST", "/mutate", body=b"{}", content_type="application/json")

    assert answer.status == 400
    assert "apiVersion" == answer.json()["details"][0]["field"]


def test_metrics_are_summed_over_workers(pair: Server) -> None:
    """Whichever worker is asked, it knows what all of them counted."""
    before = _counted(pair)
    for _ in range(40):
        assert pair.review().status == 200

    assert [before + 40] * 5 == [_counted(pair) for _ in range(5)]


def _counted(server: Server) -> float:
    text = server.ask("GET", "/metrics").body.decode()
    found = re.findall(r'evenkeel_admission_requests_total\{phase="validate",verdict="\w+"\} (\S+)', text)
    return sum(map(float, found))


def test_killed_worker_is_replaced(pair: Server) -> None:
    """After kill -9 of one worker the service goes on, and counters keep what the dead one counted."""
    before = _counted(pair)
    assert pair.review().status == 200
    # A review is counted after its answer, and the other worker may be asked for the metrics.
    eventually(lambda: before + 1 == _counted(pair))
    victim, *_ = pair.workers()
    os.kill(victim, signal.SIGKILL)
    eventually(lambda: len(pair.workers()) == 2 and victim not in pair.workers())

    assert pair.review().status == 200
    eventually(lambda: before + 2 == _counted(pair))


def test_one_line_a_review(pair: Server) -> None:
    """A review is one log line that says what was decided about what."""
    before = len(pair.lines("review_ignored"))
    pair.review()
    [*_, line] = eventually(lambda: pair.lines("review_ignored")[before:])

    assert "uid=6b1f phase=validate op=CREATE kind=ConfigMap ns=shop name=settings" in line


@pytest.mark.parametrize(
    ("options", "warned"),
    [
        pytest.param(["--bind=0.0.0.0:0"], 1, id="every address"),
        pytest.param(["--bind=0.0.0.0:0", "--path-tokens=/nowhere"], 0, id="every address, and tokens"),
        pytest.param([], 0, id="loopback"),
    ],
)
def test_who_is_told_of_the_cluster(tmp_path: Path, options: list[str], warned: int) -> None:
    """A server that tells all who reach it says so, unless none but this machine does."""
    cluster = tmp_path / "cluster.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": two_full_zones()}))
    with serving(tmp_path, f"--cluster={cluster}", *options) as running:
        assert warned == len(running.lines("cluster_told_to_all"))


def test_a_workload_that_fits_nowhere_is_allowed_with_a_warning(tmp_path: Path) -> None:
    """With a cluster, whoever applies a workload hears at once that no node would take its next pod."""
    cluster = tmp_path / "cluster.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": two_full_zones()}))
    body = review_of(a_workload(spec={"topologySpreadConstraints": [a_constraint()]}))
    with serving(tmp_path, "--cluster", str(cluster)) as running:
        answers = [
            running.ask("POST", f"/validate?timeout={timeout}", body=body, content_type="application/json")
            for timeout in ("10s", "1ms")
        ]
        metrics = running.ask("GET", "/metrics").body.decode()
        in_log = eventually(lambda: lines if len(lines := running.lines("review_warned")) == 2 else [])
    in_time, too_late = (answer.json()["response"] for answer in answers)

    assert (True, True) == (in_time["allowed"], too_late["allowed"])
    assert "the next pod fits 0 of 6 nodes" in in_time["warnings"][0]
    assert "too little of the request's timeout is left" in " ".join(too_late["warnings"])
    assert ["forecast_ms=" in line for line in in_log] == [True, False]
    assert ["forecast=skipped" in line for line in in_log] == [False, True]
    assert "evenkeel_forecast_duration_seconds_count 1.0" in metrics
    assert 'evenkeel_forecasts_skipped_total{reason="timeout"} 1.0' in metrics


def test_every_worker_takes_a_change_of_a_policy_file(tmp_path: Path) -> None:
    """A mounted ConfigMap is exchanged under the server; with errors the last good version stays."""
    file, body = tmp_path / "policy.yaml", review_of(a_workload(spec=BROKEN))
    file.write_text(json.dumps(a_policy(enforcement="deny")))

    def allowed() -> set[bool]:
        # Each connection goes to either worker.
        answers = [
            server.ask("POST", "/validate", body=body, content_type="application/json") for _ in range(20)
        ]
        return {answer.json()["response"]["allowed"] for answer in answers}

    with serving(tmp_path, "--workers=2", "--policy", str(file)) as server:
        before = allowed()
        file.write_text(json.dumps(a_policy(enforcement="warn")))
        eventually(lambda: 2 == len(server.lines("policies_in_force")))
        warned = allowed()
        file.write_text(json.dumps(a_policy(enforcement="nonsense")))
        eventually(lambda: 2 == len(server.lines("policy_invalid")))
        still = allowed()
        readyz = server.ask("GET", "/readyz").json()

    assert ({False}, {True}, {True}) == (before, warned, still)
    assert "spec.enforcement" in readyz["warnings"][0]


def test_new_certificate_is_served_without_dropping_connections(tmp_path: Path) -> None:
    """A pair that changes on disk is served to the next connection, while an open one goes on."""
    folder = tmp_path / "certificates"
    provision_self_signed(folder, now=datetime.now(UTC))
    with serving(tmp_path, certificate=("--cert-dir", str(folder))) as server:
        open_connection = server.connect()
        first = ask(open_connection, "GET", "/livez")
        old = _certificate(server)
        provision_self_signed(folder, now=datetime.now(UTC))
        server.context.load_verify_locations(folder / "ca.crt")
        eventually(lambda: _certificate(server) != old)
        second = ask(open_connection, "GET", "/livez")
        open_connection.close()

        assert (200, 200) == (first.status, second.status)
        assert 1 == len(server.lines("certificate_loaded"))


def _certificate(server: Server) -> bytes | None:
    with server.tls() as sock:
        return sock.getpeercert(binary_form=True)


class _Client(threading.Thread):
    """Asks over kept connections until told to stop; remembers every failure."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self.server = server
        self.stop = threading.Event()
        self.answers: list[Answer] = []
        self.failures: list[str] = []

    def run(self) -> None:
        try:
            while not self.stop.is_set():
                self._ask_until_closed()
        except (OSError, http.client.HTTPException) as error:
            self.failures.append(repr(error))

    def _ask_until_closed(self) -> None:
        with closing(self.server.connect()) as connection:
            last = False
            while not last and not self.stop.is_set():
                answer = ask(connection, "POST", "/validate", body=REVIEW, content_type="application/json")
                self.answers.append(answer)
                last = answer.headers.get("connection") == "close"


@contextmanager
def _asking(server: Server, clients: int) -> Iterator[list[_Client]]:
    """Keep clients asking until the block ends, also where it fails."""
    asking = [_Client(server) for _ in range(clients)]
    for client in asking:
        client.start()
    try:
        yield asking
    finally:
        for client in asking:
            client.stop.set()
        for client in asking:
            client.join(PATIENCE_S)


def test_sigterm_under_load_loses_nothing(tmp_path: Path) -> None:
    """While clients keep asking, the server drains: not one request fails, and every answer says goodbye."""
    with serving(tmp_path, "--workers=2", f"--drain-s={PATIENCE_S}") as server:
        with closing(server.connect()) as idle, _asking(server, 6) as clients:
            ask(idle, "GET", "/livez")
            eventually(lambda: all(len(client.answers) > 20 for client in clients))
            server.process.send_signal(signal.SIGTERM)
            eventually(lambda: len(server.lines("draining")) == 2)
            readiness = server.ask("GET", "/readyz")
            kept = ask(idle, "GET", "/livez")
            counts = [len(client.answers) for client in clients]
            idle.close()
            eventually(lambda: all(len(c.answers) > n + 5 for c, n in zip(clients, counts, strict=True)))
        # Nobody asks any more, so nobody need wait for the end of the window.
        server.process.send_signal(signal.SIGINT)
        code = server.process.wait(PATIENCE_S)

    assert [] == [failure for client in clients for failure in client.failures]
    assert {200} == {answer.status for client in clients for answer in client.answers}
    assert ["close"] * 6 == [client.answers[-1].headers.get("connection") for client in clients]
    assert (503, "draining: the server is shutting down") == (
        readiness.status,
        readiness.json()["reasons"][0],
    )
    assert (200, "close") == (kept.status, kept.headers.get("connection"))
    assert code == 0


def test_request_in_flight_at_the_end_of_the_window(tmp_path: Path) -> None:
    """A request whose body comes only after the drain window is still answered."""
    with serving(tmp_path, "--drain-s=0.2") as server, server.tls() as slow:
        slow.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(REVIEW) + REVIEW[:50])
        server.review()
        server.process.send_signal(signal.SIGTERM)
        eventually(lambda: _refused(server))
        slow.sendall(REVIEW[50:])
        answer = read_all(slow)
        code = server.process.wait(PATIENCE_S)

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"connection: close" in answer.lower()
    assert code == 0


def _refused(server: Server) -> bool:
    try:
        server.plain().close()
    except ConnectionError:
        return True
    return False


def test_idle_connections_do_not_hold_up_the_end(tmp_path: Path) -> None:
    """Kept and silent connections end with the window, not with their timeouts."""
    with serving(tmp_path, "--drain-s=0.1", "--graceful-timeout-s=60") as server:
        kept, silent = server.connect(), server.plain()
        ask(kept, "GET", "/livez")
        started = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        code = server.process.wait(PATIENCE_S)
        took = time.monotonic() - started
        kept.close()
        silent.close()

    assert code == 0
    # Of the minute that requests have.
    assert took < 30


@contextmanager
def _computing(folder: Path, *options: str) -> Iterator[tuple[Server, int, list[Answer | None]]]:
    """Run a server until it computes a heavy answer; give the process that does, and its answer."""
    with serving(folder, "--role=all", "--request-timeout-s=60", *options) as server:
        answers: list[Answer | None] = []

        def ask_for_it() -> None:
            try:
                answers.append(server.ask("POST", "/v1/score", body=HEAVY, content_type="application/json"))
            except (OSError, http.client.HTTPException):
                answers.append(None)

        client = threading.Thread(target=ask_for_it)
        client.start()
        yield server, eventually(lambda: computing(server))[0], answers
        client.join(PATIENCE_S)


def test_reviews_are_answered_beside_a_heavy_request(tmp_path: Path) -> None:
    """A heavy request is computed in another process; if that is killed, only its client gets an error."""
    with _computing(tmp_path) as (server, child, answers):
        reviewed = {server.review().status for _ in range(20)}
        os.kill(child, signal.SIGKILL)
        (answer,) = eventually(lambda: answers)

    assert {200} == reviewed
    assert answer is not None
    assert (500, ["error", "details"]) == (answer.status, list(answer.json()))


@pytest.mark.parametrize("killed", [False, True], ids=["SIGTERM to the server", "SIGKILL to the worker"])
def test_what_is_computed_ends_with_the_server(tmp_path: Path, *, killed: bool) -> None:
    """A heavy request holds up no end, and outlives nobody who would send its answer."""
    with _computing(tmp_path, "--drain-s=0.1", "--graceful-timeout-s=0.5") as (server, child, answers):
        started = time.monotonic()
        if killed:
            os.kill(server.workers()[0], signal.SIGKILL)
        else:
            server.process.send_signal(signal.SIGTERM)
            assert 0 == server.process.wait(PATIENCE_S)
        took = time.monotonic() - started
        eventually(lambda: not Path(f"/proc/{child}").exists())
        eventually(lambda: answers)

    # Of the minute that the answer may take.
    assert took < 30


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT], ids=["SIGINT", "SIGQUIT"])
def test_ctrl_c_ends_quickly_and_quietly(tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C ends the server while a client is in the middle of a request, without leftovers."""
    with serving(tmp_path, "--graceful-timeout-s=60") as server, server.tls() as slow:
        slow.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        authority = Path(server.lines("serving")[0].rpartition("ca=")[2])
        assert authority.exists()
        started = time.monotonic()
        server.process.send_signal(number)
        code = server.process.wait(PATIENCE_S)
        took = time.monotonic() - started

    assert code == 0
    # Of the minute that requests have.
    assert took < 30
    assert "raceback" not in server.log.read_text()
    assert not authority.parent.parent.exists()


@pytest.mark.parametrize(
    ("options", "code", "part"),
    [
        pytest.param(["--policy=/nowhere.yaml"], 2, "/nowhere.yaml: No such file", id="2: missing policy"),
        pytest.param(["--bind=nonsense"], 2, "--bind: must be HOST:PORT", id="2: malformed address"),
        pytest.param(["--bind=192.0.2.1:1"], 3, "cannot listen on 192.0.2.1:1", id="3: not our address"),
        pytest.param(
            ["--threads=0"], 2, "--threads: Invalid value: 0: must be greater than 0", id="2: 0 threads"
        ),
        pytest.param(["--cert=/nowhere", "--key=/x"], 2, "exactly one of", id="2: two certificates"),
    ],
)
def test_starts_that_fail_say_why_in_one_line(
    tmp_path: Path, options: list[str], code: int, part: str
) -> None:
    """A start that cannot work ends before anything listens, in one line and with the right exit code."""
    expected = re.escape(f"exit code {code}: ") + ".*" + re.escape(part)
    with pytest.raises(AssertionError, match=expected), serving(tmp_path, *options):
        pass
    text = (tmp_path / "log").read_text()

    assert 1 == len(text.splitlines())
    assert "raceback" not in text


def test_the_release_is_asked_for_after_the_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An API server that is away is waited for with the Secret; before, it would not say its release."""
    asked = []

    class Refusing(QuietHandler):
        def do_GET(self) -> None:  # noqa: N802  # the server's name for it
            asked.append(self.path)
            self.answer(403, json.dumps(status_of(403, "Forbidden", "no secrets for you")).encode())

    with listening(Refusing) as url:
        monkeypatch.setenv("KUBECONFIG", write_kubeconfig(tmp_path, url))
        options = ("--live", "--cert-secret=evenkeel-tls")
        with (
            pytest.raises(AssertionError, match=r"exit code 3: .*no secrets for you"),
            serving(tmp_path, *options, certificate=()),
        ):
            pass

    assert asked
    assert "/version" not in asked


def test_address_in_use(tmp_path: Path) -> None:
    """A taken port is said once, not five times."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        bind = f"--bind=127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(AssertionError, match="Address already in use"), serving(tmp_path, bind):
            pass

    assert 1 == len((tmp_path / "log").read_text().splitlines())

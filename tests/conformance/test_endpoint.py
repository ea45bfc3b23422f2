"""Endpoints that answer, refuse, hang, and close connections."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from conformance import endpoint
from conformance.case import Operation
from conformance.endpoint import Endpoint
from conformance.implementation import DeclinedError, ImplementationError, NoAnswerError
from policies.manifests.errors import UsageError
from tests.waiting import PATIENCE_S


class _Handler(BaseHTTPRequestHandler):
    """Answers by the first part of the path."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        what = self.path.split("/")[1]
        if what == "slow":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n")
            with suppress(ConnectionError):
                while not threading.Event().wait(0.1):
                    self.wfile.write(b"x")
            return
        if what == "rubbish":
            self.wfile.write(b"y\n" * 9)
            self.close_connection = True
            return
        status = int(what) if what.isdigit() else 200
        answer = f"{self.path} {self.headers.get('Authorization')} ".encode() + body
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
        # As a server that closes idle connections without a word.
        self.close_connection = what == "closing"

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A server on loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as found:
        found.daemon_threads = True
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.shutdown()


@contextmanager
def _at(
    url: str, *, token: str = "", timeout_s: float = PATIENCE_S
) -> Iterator[Callable[[Operation], bytes]]:
    with closing(Endpoint(url, token=token, ca_file=None, timeout_s=timeout_s)) as found:
        yield lambda operation: found.answer(operation, b"{}")


def test_answers(server: str) -> None:
    """Score requests go to the URL, simulate requests beside it, both with the token."""
    with _at(f"{server}/v1/score", token="t") as answer:
        assert b"/v1/score Bearer t {}" == answer(Operation.SCORE)
        assert b"/v1/simulate Bearer t {}" == answer(Operation.SIMULATE)


def test_other_paths() -> None:
    """Nothing is known to answer simulate requests beside a route of another name."""
    found = Endpoint("http://127.0.0.1/judge?a=b", token="", ca_file=None, timeout_s=1)

    assert {Operation.SCORE} == found.operations


def test_closed_connections(server: str) -> None:
    """A connection that the server has closed is opened again."""
    with _at(f"{server}/closing") as answer:
        assert 3 == len([answer(Operation.SCORE) for _ in range(3)])


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("400", DeclinedError),
        ("404", DeclinedError),
        ("501", DeclinedError),
        ("500", NoAnswerError),
        ("302", NoAnswerError),
        ("401", ImplementationError),
        ("403", ImplementationError),
        ("rubbish", ImplementationError),
        ("slow", ImplementationError),
    ],
)
def test_failures(server: str, path: str, error: type[Exception]) -> None:
    """A refusal is none of a request alone; bytes that trickle do not stretch the time."""
    with (
        _at(f"{server}/{path}", timeout_s=0.5 if path == "slow" else PATIENCE_S) as answer,
        pytest.raises(error),
    ):
        answer(Operation.SCORE)


def test_redirects_are_said(server: str) -> None:
    """They have no body that would say why there is no answer."""
    with _at(f"{server}/302") as answer, pytest.raises(NoAnswerError, match="redirects are not followed"):
        answer(Operation.SCORE)


def test_given_up(server: str) -> None:
    """After three requests in a row without an answer, no further one is sent."""
    found = Endpoint(f"{server}/v1/score", token="", ca_file=None, timeout_s=PATIENCE_S)
    with closing(found):
        found.answer(Operation.SCORE, b"{}")
        found._timeout_s = 0.2
        found._paths[Operation.SCORE] = "/slow"
        errors: list[type[Exception]] = []
        for _ in range(3):
            with pytest.raises((NoAnswerError, ImplementationError)) as caught:
                found.answer(Operation.SCORE, b"{}")
            errors.append(caught.type)

    assert [NoAnswerError, NoAnswerError, ImplementationError] == errors


def test_a_large_answer(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than the limit is read."""
    monkeypatch.setattr(endpoint, "MOST_ANSWER_BYTES", 3)
    with _at(server) as answer, pytest.raises(ImplementationError, match="more than"):
        answer(Operation.SCORE)


def test_a_closed_port() -> None:
    """Nobody listens there."""
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}/v1/score"
        with _at(url) as answer, pytest.raises(ImplementationError, match="refused"):
            answer(Operation.SCORE)


@pytest.mark.parametrize(
    "url",
    ["http://", "http://a:b@c/", "http://x y/", "http://x:0/", "http://x:99999/", "http://[::1", "http://é/"],
)
def test_no_url(url: str) -> None:
    """A text that is no URL is a usage error."""
    with pytest.raises(UsageError, match="--against"):
        Endpoint(url, token="", ca_file=None, timeout_s=1)


@pytest.mark.parametrize(
    ("url", "sent"),
    [("http://localhost/", True), ("https://example.com/", True), ("http://example.com/", False)],
)
def test_tokens_are_not_sent_in_the_clear(url: str, *, sent: bool) -> None:
    """A token goes over TLS, or stays on this machine."""
    if sent:
        Endpoint(url, token="t", ca_file=None, timeout_s=1)
        return
    with pytest.raises(UsageError, match="https"):
        Endpoint(url, token="t", ca_file=None, timeout_s=1)


def test_no_certificate(tmp_path: Path) -> None:
    """A file of CAs must have one."""
    path = tmp_path / "ca.crt"
    path.write_text("none")

    with pytest.raises(UsageError, match="--ca-file"):
        Endpoint("https://example.com/", token="", ca_file=str(path), timeout_s=1)

"""Watches as they come from the client's connections."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.webhook.cluster.api_server import FakeApiServer, Handler, eventually, serving, write_kubeconfig
from webhook.cluster import live
from webhook.cluster.connection import ApiError, UnreachableError
from webhook.cluster.live import LiveApiServer, connect

PODS = "/api/v1/pods"


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with serving(FakeApiServer()) as state:
        yield state


@pytest.fixture
def api(server: FakeApiServer, tmp_path: Path) -> LiveApiServer:
    return connect(kubeconfig=write_kubeconfig(tmp_path, server.url))


def read(api: LiveApiServer) -> list[bytes]:
    with api.watch(PODS, {}, idle_s=20) as watch:
        return list(watch)


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param([b"a\nb\n"], [b"a", b"b"], id="two lines in one chunk"),
        pytest.param([b"a", b"b\nc", b"\n"], [b"ab", b"c"], id="lines over chunks"),
        pytest.param([b"\n\na\n\n"], [b"a"], id="empty lines"),
        pytest.param([b"a\nb"], [b"a"], id="an unfinished line"),
        pytest.param([b"a" * 200_000 + b"\n"], [b"a" * 200_000], id="200,000 bytes in one line"),
        pytest.param([], [], id="nothing"),
    ],
)
def test_lines_of_a_watch(
    server: FakeApiServer, api: LiveApiServer, chunks: list[bytes], expected: list[bytes]
) -> None:
    """Lines are told whole, however they were cut on the way."""

    def fault(handler: Handler) -> None:
        handler.stream()
        for chunk in chunks:
            handler.chunk(chunk)
        handler.wfile.write(b"0\r\n\r\n")

    server.watch_faults.append(fault)

    assert expected == read(api)
    assert "1" == server.asked[0].query["watch"]


def test_a_line_without_an_end(
    server: FakeApiServer, api: LiveApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that never ends its line does not fill the memory."""
    monkeypatch.setattr(live, "_LONGEST_LINE", 1000)

    def fault(handler: Handler) -> None:
        handler.stream()
        while True:
            handler.chunk(b"a" * 500)

    server.watch_faults.append(fault)

    with pytest.raises(UnreachableError, match="a line of a watch is longer than"):
        read(api)


def test_a_refused_watch(server: FakeApiServer, api: LiveApiServer) -> None:
    """A watch that is refused when it is opened says why."""
    server.watch_faults.append(lambda handler: handler.answer(403, {"message": "no pods"}))

    with pytest.raises(ApiError, match="no pods"):
        read(api)


def test_a_watch_that_breaks_off(server: FakeApiServer, api: LiveApiServer) -> None:
    """A stream without its end is an error, not an end."""

    def fault(handler: Handler) -> None:
        handler.stream()
        handler.chunk(b"a\n")
        handler.close_connection = True

    server.watch_faults.append(fault)

    with pytest.raises(UnreachableError, match="the connection broke off"):
        read(api)


def test_a_watch_is_canceled_by_another_thread(server: FakeApiServer, api: LiveApiServer) -> None:
    """Whoever waits for a line of a silent watch waits no longer; afterwards canceling does nothing."""
    watches, ended = list[live.LiveWatch](), threading.Event()

    def wait() -> None:
        try:
            with api.watch(PODS, {"resourceVersion": "1"}, idle_s=20) as watch:
                watches.append(watch)
                list(watch)
        except UnreachableError:
            ended.set()

    thread = threading.Thread(target=wait)
    thread.start()
    eventually(lambda: watches)
    watches[0].cancel()
    thread.join(10)
    watches[0].cancel()

    assert not thread.is_alive()
    assert ended.is_set()

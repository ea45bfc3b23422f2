"""One kind is followed whatever the API server does."""

from __future__ import annotations

import itertools
import json
import logging
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from policies.manifests.fields import FieldError
from policies.scheduler.index import ClusterIndex
from tests.builders import a_pod
from tests.waiting import PATIENCE_S, eventually, pause
from tests.webhook.kube.api_server import FakeApiServer, Fault, Handler, event, serving
from tests.webhook.loopback import write_kubeconfig
from webhook.kube import reflector as module
from webhook.kube.client import connect
from webhook.kube.reflector import WATCH_S, Backoff, Reflector
from webhook.kube.watched_resources import WATCHED_RESOURCES

PODS = next(resource for resource in WATCHED_RESOURCES if resource.kind == "Pod")
POD = ("v1", "Pod")


def bound(name: str, **metadata: Any) -> dict[str, Any]:
    return a_pod(name=name, spec={"nodeName": "n1"}, **metadata)


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with serving(FakeApiServer()) as state:
        yield state


@contextmanager
def following(
    server: FakeApiServer,
    folder: Path,
    backoff: Backoff | None = None,
    clock: Callable[[], float] = time.monotonic,
    watch_s: float = WATCH_S,
) -> Iterator[tuple[Reflector, ClusterIndex]]:
    """Follow the pods of a server, with short pauses, for as long as the block runs."""
    index = ClusterIndex()
    api = connect(kubeconfig=write_kubeconfig(folder, server.url))
    backoff = backoff or Backoff(first_s=0.002, longest_s=0.02)
    reflector = Reflector(api, PODS, index, clock=clock, backoff=backoff, watch_s=watch_s)
    thread = threading.Thread(target=reflector.run)
    thread.start()
    try:
        yield reflector, index
    finally:
        reflector.stop()
        thread.join()


def follows(server: FakeApiServer, index: ClusterIndex) -> bool:
    return {("shop", name) for name in server.names("Pod")} == index.names(POD)


def status(code: int, body: object = b"", **headers: str) -> Fault:
    return lambda handler: handler.reply(code, body, **headers)


def lines(*sent: bytes, end: bytes = b"0\r\n\r\n") -> Fault:
    """Return a watch of some lines; without an end it breaks off."""

    def fault(handler: Handler) -> None:
        handler.stream()
        for line in sent:
            handler.chunk(line)
        handler.wfile.write(end)
        handler.close_connection = not end

    return fault


def lasting_a_second(handler: Handler) -> None:
    handler.stream()
    pause(1)
    handler.wfile.write(b"0\r\n\r\n")


def hang_up(handler: Handler) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def refusal(code: Any, reason: str = "") -> bytes:
    return event("ERROR", {"kind": "Status", "code": code, "reason": reason, "message": "no"})


def breaks_after_part_of_a_line(handler: Handler) -> None:
    handler.stream()
    handler.chunk(event("DELETED", bound("kept"))[:50])
    handler.wfile.write(b"0\r\n\r\n")


@pytest.mark.parametrize("on", ["list", "watch"])
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(status(401), id="401"),
        pytest.param(status(403, {"message": "no", "reason": "Forbidden"}), id="403"),
        pytest.param(status(404), id="404"),
        pytest.param(status(410, {"message": "old", "reason": "Expired"}), id="410"),
        pytest.param(status(429, Retry_After="0"), id="429"),
        pytest.param(status(400, {"message": "bad version"}), id="400"),
        pytest.param(status(500), id="500"),
        pytest.param(status(503, b"<html>no healthy upstream</html>"), id="503 of a proxy"),
        pytest.param(hang_up, id="the connection breaks"),
        pytest.param(status(200, b"\x00\xff\n"), id="rubbish"),
        pytest.param(status(200, b"[[[[" * 5000), id="a line without an end"),
    ],
)
def test_a_refusal_is_survived(server: FakeApiServer, tmp_path: Path, fault: Fault, on: str) -> None:
    """After any answer of the API server to a list or a watch, the objects are followed in the end."""
    server.put(bound("kept"))
    faults = server.list_faults if on == "list" else server.watch_faults
    faults.extend([fault] * 3)
    with following(server, tmp_path) as (reflector, index):
        eventually(lambda: not faults and reflector._watch and not reflector.record.last_error)
        server.put(bound("new"))
        eventually(lambda: follows(server, index))
        told = reflector.record

    assert {("shop", "kept"), ("shop", "new")} == index.names(POD)
    assert told.synced


@pytest.mark.parametrize(
    ("fault", "lists", "errors"),
    [
        pytest.param(lines(), 1, 0, id="ends at once: resumed"),
        pytest.param(lines(end=b""), 1, 1, id="breaks off: resumed"),
        pytest.param(breaks_after_part_of_a_line, 1, 0, id="ends within a line: resumed"),
        pytest.param(lines(b"\n\n"), 1, 0, id="empty lines: resumed"),
        pytest.param(lines(refusal(410, "Expired")), 2, 0, id="410 as an event: listed anew"),
        pytest.param(lines(refusal(500)), 2, 1, id="500 as an event: listed anew"),
        pytest.param(lines(refusal(429)), 1, 1, id="429 as an event: resumed"),
        pytest.param(lines(refusal("?")), 2, 1, id="an error without a code: listed anew"),
        pytest.param(lines(b"no JSON\n"), 2, 1, id="a line that is no JSON: listed anew"),
        pytest.param(lines(b'"event"\n'), 2, 1, id="a line that is no object: listed anew"),
        pytest.param(lines(event("ADDED", None)), 2, 1, id="an event without object: listed anew"),
        pytest.param(lines(event("ADDED", {})), 2, 1, id="an event without a name: listed anew"),
        pytest.param(lines(event("DELETED", {"metadata": []})), 2, 1, id="nobody is gone: listed anew"),
        pytest.param(lines(event("MOVED", bound("kept"))), 1, 1, id="an unknown type: goes on"),
        pytest.param(lines(event("DELETED", bound("never"))), 1, 0, id="gone that never was: goes on"),
        pytest.param(
            lines(event("ADDED", bound("odd") | {"spec": {"nodeName": 7}})), 1, 1, id="a broken pod: goes on"
        ),
        pytest.param(lines(event("BOOKMARK", {"metadata": {"name": 1}})), 1, 0, id="an odd bookmark"),
    ],
)
def test_odd_watches(server: FakeApiServer, tmp_path: Path, fault: Fault, lists: int, errors: int) -> None:
    """A watch that says nonsense costs a list only where something may have been missed."""
    server.put(bound("kept"))
    server.watch_faults.append(fault)
    with following(server, tmp_path) as (reflector, index):
        eventually(lambda: len(server.requests(watch=True)) > 1)
        server.put(bound("new"))
        eventually(lambda: follows(server, index))
        told = reflector.record

    assert (lists, errors) == (told.lists, told.errors)


def test_a_relist_removes_what_is_gone_and_keeps_the_rest(server: FakeApiServer, tmp_path: Path) -> None:
    """While the list is read anew, what is known stays; afterwards what it did not show is gone."""
    for name in ("gone", "kept"):
        server.put(bound(name))
    with following(server, tmp_path) as (reflector, index):
        eventually(lambda: follows(server, index) and server.requests(watch=True))
        during = list[set[tuple[str, str]]]()

        def refuse(handler: Handler) -> None:
            during.append(index.names(POD))
            handler.reply(503, b"")

        server.list_faults.append(refuse)
        with server.changed:
            del server.objects["Pod", "shop", "gone"]
        server.compact()
        server.drop()
        eventually(lambda: reflector.record.lists == 2)

    assert [{("shop", "gone"), ("shop", "kept")}] == during
    assert {("shop", "kept")} == index.names(POD)


def test_a_broken_watch_goes_on_where_it_was(
    server: FakeApiServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """After a break the watch begins at the last version it told, and nobody is troubled with it."""
    with following(server, tmp_path) as (reflector, index):
        for number in range(5):
            eventually(lambda number=number: len(server.requests(watch=True)) > number)  # type: ignore[misc]
            server.put(bound(f"p{number}"))
            eventually(lambda: follows(server, index))
            server.drop()
        eventually(lambda: len(server.requests(watch=True)) > 5)

    assert [] == caplog.records
    assert (1, 5) == (len(server.requests(watch=False)), reflector.record.errors)
    assert ["1", "2", "3", "4", "5", "6"] == [
        asked.query["resourceVersion"] for asked in server.requests(watch=True)[:6]
    ]


def test_a_bookmark_moves_the_version(server: FakeApiServer, tmp_path: Path) -> None:
    """The version of a bookmark is where the next watch begins, though no pod changed."""
    server.version = 70
    server.watch_faults.append(lines(event("BOOKMARK", {"metadata": {"resourceVersion": "77"}})))
    with following(server, tmp_path):
        eventually(lambda: len(server.requests(watch=True)) > 1)
    watches = server.requests(watch=True)

    assert ["70", "77"] == [asked.query["resourceVersion"] for asked in watches[:2]]
    assert {"true"} == {asked.query["allowWatchBookmarks"] for asked in watches}
    assert all(60 <= int(asked.query["timeoutSeconds"]) <= 90 for asked in watches)


def test_a_silent_peer_is_given_up(
    server: FakeApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection on which nothing comes, not even the end that was asked for, is not waited on for ever."""
    monkeypatch.setattr(module, "_GRACE_S", 0.02)
    with following(server, tmp_path, watch_s=0.02) as (reflector, _):
        eventually(lambda: len(server.requests(watch=True)) > 2)

    assert 1 == reflector.record.lists


def test_it_is_never_busy(server: FakeApiServer, tmp_path: Path) -> None:
    """A server that ends every watch at once is asked less and less often."""
    server.watch_faults.extend([lines()] * 3)
    backoff = Backoff(first_s=0.1, longest_s=0.3, random=lambda: 1.0)
    # On a slow machine no watch lasts long enough to begin anew with the pauses.
    with following(server, tmp_path, backoff, clock=lambda: 0.0):
        eventually(lambda: len(server.requests(watch=True)) > 3)
    at = [asked.at for asked in server.requests(watch=True)]
    gaps = [later - earlier for earlier, later in itertools.pairwise(at)]

    assert all(gap >= pause for gap, pause in zip(gaps, (0.1, 0.2, 0.3), strict=True))


def test_short_watches_that_lasted_end_a_long_pause(server: FakeApiServer, tmp_path: Path) -> None:
    """After an outage watches that are asked to be short follow each other as before it."""
    server.watch_faults.append(lasting_a_second)
    backoff = Backoff(first_s=0.001, longest_s=5.0, random=lambda: 0.0)
    while not backoff.exhausted:
        backoff.pause_s(well_s=-1.0)
    with following(server, tmp_path, backoff, watch_s=1.0):
        eventually(lambda: len(server.requests(watch=True)) > 1)

    assert not backoff.exhausted


def test_it_is_not_busy_with_versions_that_are_always_too_old(server: FakeApiServer, tmp_path: Path) -> None:
    """List, 410, list, 410: each round is followed by a longer pause."""
    server.watch_faults.extend([lines(refusal(410))] * 3)
    backoff = Backoff(first_s=0.1, longest_s=0.3, random=lambda: 1.0)
    # On a slow machine no watch lasts long enough to begin anew with the pauses.
    with following(server, tmp_path, backoff, clock=lambda: 0.0):
        eventually(lambda: len(server.requests(watch=True)) > 3)
    at = [asked.at for asked in server.requests(watch=False)]
    gaps = [later - earlier for earlier, later in itertools.pairwise(at)]

    assert all(gap >= pause for gap, pause in zip(gaps, (0.1, 0.2, 0.3), strict=True))


@pytest.mark.parametrize(
    ("fault", "least_s"),
    [
        pytest.param(status(429, Retry_After="1"), 1.0, id="Retry-After 1"),
        pytest.param(status(403), 0.0, id="forbidden: no longer than otherwise"),
    ],
)
def test_it_waits_where_that_is_asked(
    server: FakeApiServer, tmp_path: Path, fault: Fault, least_s: float
) -> None:
    """Pauses are as long as the API server asks."""
    server.list_faults.append(fault)
    with following(server, tmp_path, Backoff(first_s=0.001, longest_s=0.02)) as (reflector, _):
        eventually(lambda: reflector.record.last_error)
        eventually(lambda: reflector.record.synced)
    first, second = (asked.at for asked in server.requests(watch=False)[:2])

    assert second - first >= least_s


@dataclass
class Recorded(Backoff):
    """Remembers its pauses."""

    pauses: list[float] = field(default_factory=list)

    def pause_s(self, *, well_s: float, least_s: float = 0.0) -> float:
        pause = super().pause_s(well_s=well_s, least_s=least_s)
        self.pauses.append(pause)
        return pause


def test_an_api_server_that_has_just_started(server: FakeApiServer, tmp_path: Path) -> None:
    """After a long outage, a 403 that passes is asked about again at once, not after the longest pause."""
    backoff = Recorded(first_s=0.01, longest_s=60.0, random=lambda: 1.0)
    server.list_faults.extend([hang_up] * 4 + [status(403, {"message": "not synced"})] * 3)
    with following(server, tmp_path, backoff) as (reflector, _):
        eventually(lambda: reflector.record.synced)

    # An outage, then refusals.
    assert [0.01, 0.02, 0.04, 0.08, 0.01, 0.02, 0.04] == backoff.pauses[:7]


@pytest.mark.parametrize(
    ("fault", "refused_s"),
    [pytest.param(hang_up, 0.0, id="silence is none"), pytest.param(status(403), 9.0, id="403, 9 s ago")],
)
def test_for_how_long_it_is_refused(
    server: FakeApiServer, tmp_path: Path, fault: Fault, refused_s: float
) -> None:
    """A refusal counts from the first one until the kind is followed again."""
    clock = [0.0]
    server.watch_faults.extend([fault] * 10_000)
    with following(server, tmp_path, clock=lambda: clock[0]) as (reflector, index):
        eventually(lambda: reflector.record.errors > 1)
        clock[0] += 9.0
        told = [reflector.refused_s()]
        server.watch_faults.clear()
        server.put(bound("new"))
        eventually(lambda: follows(server, index))
        told.append(reflector.refused_s())

    assert [refused_s, 0.0] == told


@pytest.mark.parametrize(("code", "reason"), [(403, "Forbidden"), (410, "Expired"), (500, "InternalError")])
def test_the_status_names_what_is_wrong(
    server: FakeApiServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, code: int, reason: str
) -> None:
    """A kind that cannot be read says so, once in the log, until it can be."""
    refused_with = status(code, {"reason": reason, "message": "no pods"})
    server.list_faults.extend([refused_with] * 5)
    caplog.set_level(logging.WARNING, logger="evenkeel")
    with following(server, tmp_path) as (reflector, _):
        eventually(lambda: reflector.record.errors > 1)
        refused = (reflector.record.kind, reflector.record.synced, reflector.record.last_error)
        eventually(lambda: reflector.record.synced and not reflector.record.last_error)

    assert ("Pod", False, f"{code} {reason}: no pods") == refused
    assert ["watch_failed"] == [record.getMessage() for record in caplog.records]


def test_a_bug_ends_nothing(
    server: FakeApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An unexpected error is logged with its traceback, and all objects are listed anew."""
    names, failing = ClusterIndex.names, iter([True])

    def fails_once(index: ClusterIndex, kind: tuple[str, str]) -> set[tuple[str, str]]:
        if next(failing, False):
            raise RecursionError("too deep")
        return names(index, kind)

    monkeypatch.setattr(ClusterIndex, "names", fails_once)
    server.put(bound("kept"))
    with following(server, tmp_path) as (reflector, index):
        eventually(lambda: reflector.record.synced and follows(server, index))

    assert 1 == reflector.record.errors
    assert any(record.exc_info for record in caplog.records)


#: Unreadable texts, in place of a pod of each name.
_UNREADABLE = {
    "deep": b'{"metadata": {"name": "deep", "namespace": "shop"}, "spec": '
    + b"[" * 3_000
    + b"x"
    + b"]" * 3_000
    + b"}",
    "cut": b'{"metadata": {"namespace": "shop", "name": "cut", "labels": {"a": nonsense}}}',
    "number": b'{"spec": {"name": 1}, "metadata": {"name": "number", "namespace": "shop"}, "a": 01}',
}


@pytest.mark.parametrize("name", _UNREADABLE)
def test_an_unreadable_object_is_left_out_alone(
    server: FakeApiServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    """A list and a watch go on without it, it is named, and all is well once it can be read, or is gone."""
    caplog.set_level(logging.INFO)
    server.put(bound("kept"))
    server.put(bound("listed"))
    server.put(bound(name), _UNREADABLE[name])
    with following(server, tmp_path) as (reflector, index):
        eventually(lambda: reflector.record.synced)
        listed, names = [obj.title for obj in reflector.record.left_out], index.names(POD)
        server.put(bound(name))
        eventually(lambda: follows(server, index) and not reflector.record.left_out)
        server.put(bound(name), _UNREADABLE[name])
        eventually(lambda: reflector.record.left_out)
        while_broken = index.names(POD)
        server.put(bound("new"))
        eventually(lambda: ("shop", "new") in index.names(POD))
        server.delete(bound(name), _UNREADABLE[name])
        eventually(lambda: not reflector.record.left_out)
        told = reflector.record

    kept = {("shop", "kept"), ("shop", "listed")}
    assert ([f"shop/{name}"], kept, kept) == (listed, names, while_broken)
    assert (1, 2, []) == (told.lists, told.errors, told.left_out)
    assert 1 == len(server.requests(watch=True))
    logged = [record for record in caplog.records if record.getMessage() == "cluster_object_left_out"]
    assert [f"shop/{name}"] * 2 == [record.fields["object"] for record in logged]  # type: ignore[attr-defined]


def test_deep_managed_fields(server: FakeApiServer, tmp_path: Path) -> None:
    """A part of an object that Evenkeel does not use cannot keep it from being read."""
    text = json.dumps(bound("web")).encode()
    fields = b'"managedFields": ' + b"[" * 5_000 + b"]" * 5_000
    deep = text.replace(b'"metadata": {', b'"metadata": {' + fields + b", ")
    server.put(bound("web"), deep)
    with following(server, tmp_path) as (reflector, index):
        eventually(lambda: reflector.record.synced)
        listed = index.names(POD)
        server.put(bound("other"), deep.replace(b'"web"', b'"other"'))
        eventually(lambda: follows(server, index))

    assert {("shop", "web")} == listed
    assert [] == reflector.record.left_out


def test_what_is_left_out_goes_with_a_list(server: FakeApiServer, tmp_path: Path) -> None:
    """A deleted object is no longer warned about after a new list, nor is one without a name."""
    server.put(bound("a"), b"null")
    server.put(bound("b"), _UNREADABLE["cut"])
    server.put(bound("c"))
    with following(server, tmp_path) as (reflector, index):
        eventually(lambda: reflector.record.synced)
        before = sorted(obj.title for obj in reflector.record.left_out)
        with server.changed:
            del server.texts["Pod", "shop", "a"], server.objects["Pod", "shop", "b"]
        server.compact()
        server.drop()
        eventually(lambda: reflector.record.lists == 2)
        after = index.names(POD)

    assert ["an object without a name", "shop/cut"] == before
    assert ([], {("shop", "a"), ("shop", "c")}) == (reflector.record.left_out, after)


def test_a_bug_in_one_object(
    server: FakeApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An object that nobody foresaw is left out, with where it happened, and the others go on."""
    apply = ClusterIndex.apply

    def fails(index: ClusterIndex, obj: dict[str, Any]) -> list[FieldError]:
        if "odd" in obj["metadata"].get("labels", {}):
            raise RecursionError("too deep")
        return apply(index, obj)

    monkeypatch.setattr(ClusterIndex, "apply", fails)
    server.put(bound("a", labels={"odd": ""}))
    server.put(bound("b"))
    with following(server, tmp_path) as (reflector, index):
        eventually(lambda: reflector.record.synced)
        listed = index.names(POD)
        server.put(bound("b", labels={"odd": ""}))
        eventually(lambda: not index.names(POD))
        server.put(bound("a"))
        server.put(bound("b"))
        eventually(lambda: follows(server, index))

    assert {("shop", "b")} == listed
    assert [] == reflector.record.left_out
    assert any(record.exc_info for record in caplog.records)


def test_odd_objects_are_told_so_many_times(
    server: FakeApiServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A thousand broken pods are counted, not told one by one."""
    for number in range(50):
        server.put(bound(f"p{number}") | {"spec": {"nodeName": number}})
    with following(server, tmp_path) as (reflector, _):
        eventually(lambda: reflector.record.synced)

    assert 50 == reflector.record.errors
    assert 20 == len(
        [record for record in caplog.records if record.getMessage() == "cluster_object_left_out"]
    )


def test_a_version_that_never_works_is_given_up(server: FakeApiServer, tmp_path: Path) -> None:
    """A watch that fails with 500 at every attempt is replaced by a list in the end."""
    server.watch_faults.extend([status(500)] * 6)
    with following(server, tmp_path) as (reflector, index):
        eventually(lambda: len(server.requests(watch=False)) > 1)
        server.put(bound("new"))
        eventually(lambda: follows(server, index))

    assert reflector.record.synced


def test_a_version_that_expired_says_nothing_of_the_age(server: FakeApiServer, tmp_path: Path) -> None:
    """A watch that opens only to say that its version is too old does not make the picture any younger."""
    held = threading.Event()

    def refuse_later(handler: Handler) -> None:
        held.wait(PATIENCE_S)
        handler.reply(503, b"")

    with following(server, tmp_path) as (reflector, _):
        eventually(lambda: reflector._opened_at == reflector.alive_at)
        known_at = reflector.alive_at
        server.list_faults.append(refuse_later)
        server.compact()
        server.drop()
        eventually(lambda: len(server.requests(watch=False)) > 1)
        during = reflector.alive_at
        held.set()
        eventually(lambda: reflector.record.lists == 2)

    assert known_at == during


@pytest.mark.parametrize("where", ["list", "watch", "pause"])
def test_stop_is_prompt(server: FakeApiServer, tmp_path: Path, where: str) -> None:
    """It ends within the watch, in the middle of a list, and in a pause of minutes."""
    if where == "list":
        for number in range(600):
            server.put(bound(f"p{number}"))
    if where == "pause":
        server.list_faults.append(status(503, Retry_After="200"))
    waits: dict[str, Callable[[Reflector], object]] = {
        "list": lambda _: len(server.requests(watch=False)) > 1,
        "watch": lambda reflector: reflector._watch,
        "pause": lambda reflector: reflector.record.errors,
    }
    with following(server, tmp_path) as (reflector, _):
        eventually(lambda: waits[where](reflector))
    errors = reflector.record.errors

    assert (1 if where == "pause" else 0) == errors


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param([(0, 0)] * 6, [0.5, 1, 2, 4, 5, 5], id="0.5 s doubles to 5 s"),
        pytest.param([(0, 0), (0, 0), (9, 0), (0, 0)], [0.5, 1, 0.5, 1], id="9 s well: anew"),
        pytest.param([(0, 0), (0, 0), (1.5, 0)], [0.5, 1, 2], id="1.5 s well after a pause of 2: goes on"),
        pytest.param([(0, 7), (0, 0)], [7, 1], id="7 s asked"),
        pytest.param([(0, 0.1)], [0.5], id="less asked than is due"),
    ],
)
def test_backoff(asked: list[tuple[float, float]], expected: list[float]) -> None:
    """Pauses double until something went well for longer than the next of them."""
    backoff = Backoff(random=lambda: 1.0)

    assert expected == [backoff.pause_s(well_s=well, least_s=least) for well, least in asked]


def test_another_error_starts_anew() -> None:
    """What has changed may be over soon."""
    backoff = Backoff(random=lambda: 1.0)
    for _ in range(8):
        backoff.pause_s(well_s=0)
    backoff.restart()

    assert 0.5 == backoff.pause_s(well_s=0)


@pytest.mark.parametrize("missing_s", [5, 25, 3600])
def test_rights_that_come_back(missing_s: float) -> None:
    """They are noticed within 5 s, however long they were missing, and few requests ask for them."""
    chance = random.Random(missing_s)
    noticed, rates = [], []
    for _ in range(200):
        backoff, now, requests = Backoff(random=chance.random), 0.0, 0
        while now < missing_s:
            now += backoff.pause_s(well_s=-1.0)
            requests += 1
        noticed.append(now - missing_s)
        rates.append(requests / missing_s)

    # The context of reviews is looked at every second, and lists take their time.
    assert max(noticed) <= 5
    # Of one kind, a second.
    assert missing_s == 5 or max(rates) < 0.45


@pytest.mark.parametrize(("chance", "expected"), [(0.0, 0.25), (0.5, 0.375), (1.0, 0.5)])
def test_jitter(chance: float, expected: float) -> None:
    """Chance takes up to a half of each pause away, so that not all come back at once."""
    assert expected == Backoff(random=lambda: chance).pause_s(well_s=0)

"""The cluster is read again, and what changed meanwhile is known."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_node, a_pod
from tests.waiting import eventually
from tests.webhook.kube.api_server import FakeApiServer, serving
from tests.webhook.loopback import write_kubeconfig
from tests.webhook.ui.pages import PageClient, a_cluster, a_replica
from webhook.cli.live import api_server
from webhook.cli.placement_options import PlacementOptions
from webhook.cli.ui import first_reading
from webhook.kube.watched_resources import EVERYTHING
from webhook.ui.app import READING
from webhook.ui.readings import Readings

LIVE = PlacementOptions(live=True)
PATHS = {resource.kind: resource.path for resource in EVERYTHING}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApiServer]:
    """An API server with the objects of the page's small cluster, which the kubeconfig leads to."""
    with serving(FakeApiServer()) as state:
        for obj in a_cluster():
            if obj["kind"] in PATHS:
                state.put(obj)
        monkeypatch.setenv("KUBECONFIG", write_kubeconfig(tmp_path, state.url))
        api_server.cache_clear()
        yield state
    api_server.cache_clear()


@pytest.fixture
def page(server: FakeApiServer) -> Iterator[Readings]:
    """The page about it, which watches."""
    assert server.url
    page = first_reading(LIVE, "")
    page.start()
    yield page
    page.end()


def _status(client: PageClient) -> dict[str, Any]:
    return client.get("/api/reading").json or {}


def _changed(client: PageClient) -> dict[str, int]:
    return {each["kind"]: each["objects"] for each in _status(client)["changed"]}


def _refresh(client: PageClient) -> dict[str, Any]:
    """Read again; return the status at its end."""
    before = _status(client)["reading"]
    client.post("/api/refresh", {})
    eventually(lambda: not _status(client)["running"])
    status = _status(client)
    assert status["error"] or status["reading"] == before + 1
    return status


def _watched(server: FakeApiServer) -> None:
    """Wait until every kind is watched."""
    eventually(lambda: all(server.requests(watch=True, path=path) for path in PATHS.values()))


def test_changes_are_counted_until_they_are_read(server: FakeApiServer, page: Readings) -> None:
    """A pod that comes and one that goes, a node that is cordoned; not a heartbeat, nor what is undone."""
    client = PageClient(page.state, readings=page)
    _watched(server)
    node = next(obj for obj in a_cluster() if obj["metadata"]["name"] == "na")
    server.put(node | {"status": {**node.get("status", {}), "nodeInfo": {"kubeletVersion": "v1.36.1"}}})
    server.put(a_replica("web-4", "na"))
    server.delete(a_replica("web-3"))
    server.put(a_node("nb", "b", unschedulable=True))
    eventually(lambda: _changed(client) == {"Node": 1, "Pod": 2})
    server.put(a_node("nb", "b", unschedulable=False))
    eventually(lambda: _changed(client) == {"Pod": 2})
    server.put(a_node("nd", "d"))
    eventually(lambda: _changed(client) == {"Node": 1, "Pod": 2})
    before = client.get("/api/cluster").json or {}
    status = _refresh(client)
    after = client.get("/api/cluster").json or {}

    assert (1, ["na", "nb", "nc"]) == (before["reading"], before["nodes"]["names"])
    assert (2, ["na", "nb", "nc", "nd"]) == (after["reading"], after["nodes"]["names"])
    assert ([], [], "") == (status["changed"], status["unwatched"], status["error"])
    server.delete(a_replica("web-4", "na"))
    assert {"Pod": 1} == eventually(lambda: _changed(client))


def test_an_answer_is_about_the_reading_that_is_shown(page: Readings) -> None:
    """A page that shows an older one is told so, since positions mean others then."""
    client = PageClient(page.state, readings=page)
    _refresh(client)
    statuses = [
        client.get("/api/pending", **{READING: number} if number else {}).status_code
        for number in ("1", "2", "")
    ]

    assert [409, 200, 200] == statuses


def test_what_may_not_be_watched_is_named(server: FakeApiServer) -> None:
    """Pods may be listed and not watched, CSINodes neither: the page says so, and shows the rest."""
    server.unwatched = {PATHS["Pod"]}
    server.forbidden = {PATHS["CSINode"]}
    page = first_reading(LIVE, "")
    client = PageClient(page.state, readings=page)
    page.start()
    try:
        eventually(lambda: len(_status(client)["unwatched"]) == 2)
        kinds = [why.partition(" ")[0] for why in _status(client)["unwatched"]]
        notes = (client.get("/api/cluster").json or {})["source"]["notes"]
    finally:
        page.end()

    assert ["CSINode", "Pod"] == sorted(kinds)
    assert [True] == ["csinodes" in note for note in notes]


def test_a_cluster_that_is_away_is_shown_as_it_was(server: FakeApiServer, page: Readings) -> None:
    """The error is said, and the last reading stays."""
    client = PageClient(page.state, readings=page)
    server.undefined = {PATHS["Node"]}
    status = _refresh(client)

    assert (1, True) == (status["reading"], bool(status["error"]))
    assert ["na", "nb", "nc"] == (client.get("/api/cluster").json or {})["nodes"]["names"]
    server.undefined = set()
    assert (2, "") == ((healed := _refresh(client))["reading"], healed["error"])


def test_a_file_is_read_again(tmp_path: Path) -> None:
    """It is not watched; the opened manifest stays."""
    file = tmp_path / "cluster.json"
    items = [a_node("n1", "a")]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    page = first_reading(PlacementOptions(cluster=str(file)), "kind: Pod")
    client = PageClient(page.state, readings=page)
    items += [a_node("n2", "b"), a_pod(name="new", spec={"nodeName": "n2"})]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    status = _refresh(client)
    found = client.get("/api/cluster").json or {}
    page.end()

    assert (["n1", "n2"], "kind: Pod", 2) == (found["nodes"]["names"], found["opened"], found["reading"])
    assert (True, False) == (status["repeatable"], status["watched"])


def test_readings_that_no_one_asks_for_are_rare(tmp_path: Path) -> None:
    """The next is due after ten times what the last took, or 5 s; one that cannot be repeated is none."""
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [a_node("n1", "a")]}))
    page = first_reading(PlacementOptions(cluster=str(file)), "")
    client = PageClient(page.state, readings=page)
    began = time.monotonic()
    status = _refresh(client)
    took_s = time.monotonic() - began
    fixed = PageClient(page.state)
    fixed.post("/api/refresh", {})
    page.end()

    assert 5 - took_s <= status["dueInS"] <= max(5, 10 * took_s)
    assert (False, 2, False) == tuple(_status(fixed)[name] for name in ("repeatable", "reading", "running"))

"""All kinds of a cluster are followed into one index."""

from __future__ import annotations

import math
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from policies.model.cluster_kinds import CLUSTER_SCOPED
from tests.builders import a_pod
from tests.waiting import eventually
from tests.webhook.kube.api_server import FakeApiServer, serving
from tests.webhook.loopback import write_kubeconfig
from webhook.kube.client import connect
from webhook.kube.informer import ClusterCache
from webhook.kube.reflector import Backoff
from webhook.kube.watched_resources import WATCHED_RESOURCES


def an_object(kind: str, name: str = "web") -> dict[str, Any]:
    """Return an object of any kind that is followed."""
    resource = next(resource for resource in WATCHED_RESOURCES if resource.kind == kind)
    if kind == "Pod":
        return a_pod(name=name, spec={"nodeName": "n1"})
    namespaced = resource.key not in CLUSTER_SCOPED
    plain = kind in ("Service", "ReplicationController")
    selector = {"app": "web"} if plain else {"matchLabels": {"app": "web"}}
    return {
        "apiVersion": resource.api_version,
        "kind": kind,
        "metadata": {"name": name} | ({"namespace": "shop"} if namespaced else {}),
        "spec": {"selector": selector} if namespaced else {},
    }


KINDS = [resource.kind for resource in WATCHED_RESOURCES]


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with serving(FakeApiServer()) as state:
        yield state


def a_cluster(folder: Path, url: str, **options: Any) -> ClusterCache:
    api = connect(kubeconfig=write_kubeconfig(folder, url))
    return ClusterCache(api, backoff=lambda: Backoff(first_s=0.002, longest_s=0.02), **options)


@pytest.fixture
def cluster(server: FakeApiServer, tmp_path: Path) -> Iterator[ClusterCache]:
    cluster = a_cluster(tmp_path, server.url)
    yield cluster
    cluster.stop()


def counts(cluster: ClusterCache) -> dict[str, int]:
    return {told.kind: told.objects for told in cluster.kinds()}


def test_every_kind_is_listed_and_watched(server: FakeApiServer, cluster: ClusterCache) -> None:
    """Objects that were there, came and went are known or not."""
    for kind in KINDS:
        server.put(an_object(kind))
    before = (cluster.synced, cluster.age_s())
    cluster.start()
    eventually(lambda: cluster.synced)
    listed = counts(cluster)
    for kind in KINDS:
        server.put(an_object(kind, "more"))
    eventually(lambda: dict.fromkeys(KINDS, 2) == counts(cluster))
    for kind in KINDS:
        server.delete(an_object(kind))
    eventually(lambda: dict.fromkeys(KINDS, 1) == counts(cluster))

    assert (False, math.inf) == before
    assert dict.fromkeys(KINDS, 1) == listed
    assert {(1, 2, 0, "")} == {
        (told.lists, told.events, told.errors, told.last_error) for told in cluster.kinds()
    }


def test_the_age_is_that_of_the_oldest_kind(server: FakeApiServer, tmp_path: Path) -> None:
    """While one kind is not told anything, the picture grows old though all others are told."""
    now = [1000.0]
    cluster = a_cluster(tmp_path, server.url, clock=lambda: now[0])
    cluster.start()
    # Nobody looks at the clock between the opening of a watch and its first event.
    eventually(lambda: all(math.isfinite(reflector._opened_at) for reflector in cluster._reflectors))
    now[0] += 50
    ages = [cluster.age_s()]
    for kind in KINDS[:-1]:
        server.put(an_object(kind))
    eventually(lambda: sum(counts(cluster).values()) == len(KINDS) - 1)
    ages.append(cluster.age_s())
    server.put(an_object(KINDS[-1]))
    eventually(lambda: cluster.age_s() == 0)
    cluster.stop()

    assert [50, 50] == ages


@pytest.mark.parametrize(
    ("max_age_s", "least", "most"),
    [
        pytest.param(0.1, 1, 1, id="old after 0.1 s: 1 s is the shortest there is"),
        pytest.param(30.0, 10, 15, id="old after 30 s: 10 to 15 s"),
        pytest.param(180.0, 60, 90, id="old after 180 s: 60 to 90 s"),
        pytest.param(math.inf, 60, 90, id="never old: 60 to 90 s"),
    ],
)
def test_a_quiet_cluster_does_not_come_near_the_age_that_counts_as_old(
    server: FakeApiServer, tmp_path: Path, max_age_s: float, least: int, most: int
) -> None:
    """Where nothing happens only the beginning of a watch proves a picture current, so it comes in time."""
    cluster = a_cluster(tmp_path, server.url, max_age_s=max_age_s)
    cluster.start()
    watches = eventually(lambda: server.requests(watch=True))
    cluster.stop()

    assert all(least <= int(asked.query["timeoutSeconds"]) <= most for asked in watches)


def test_a_forbidden_kind_is_named_and_the_others_go_on(server: FakeApiServer, cluster: ClusterCache) -> None:
    """Without one kind the picture is not whole; the status says which, and the others are followed."""
    server.list_faults.extend([lambda handler: handler.reply(403, {"message": "no pods"})] * 10_000)
    cluster.start()
    eventually(lambda: [True] * (len(KINDS) - 1) + [False] == [told.synced for told in cluster.kinds()])
    eventually(lambda: cluster.kinds()[-1].last_error)
    server.put(an_object("Node"))
    eventually(lambda: counts(cluster)["Node"] == 1)

    assert ("Pod", "403: no pods") == (cluster.kinds()[-1].kind, cluster.kinds()[-1].last_error)
    assert not cluster.synced


def test_an_api_server_that_comes_later(tmp_path: Path) -> None:
    """Nobody answers at first; as soon as somebody does, the cluster is known."""
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    cluster = a_cluster(tmp_path, f"http://127.0.0.1:{port}")
    cluster.start()
    eventually(lambda: all(told.last_error for told in cluster.kinds()))
    before = cluster.synced
    with serving(FakeApiServer(), port) as server:
        server.put(an_object("Pod"))
        eventually(lambda: cluster.synced and counts(cluster)["Pod"] == 1)
        cluster.stop()

    assert not before


def test_an_api_server_that_restarts(server: FakeApiServer, cluster: ClusterCache) -> None:
    """Over breaks and forgotten versions the index ends as the cluster does."""
    cluster.start()
    eventually(lambda: cluster.synced)
    for number in range(40):
        server.put(an_object("Pod", f"p{number % 7}"))
        if number % 3 == 0:
            server.delete(an_object("Pod", f"p{number % 7}"))
        if number % 5 == 0:
            server.drop()
        if number % 11 == 0:
            server.compact()
    eventually(lambda: {("shop", name) for name in server.names("Pod")} == cluster.index.names(("v1", "Pod")))

    assert 0 < len(server.names("Pod"))


def test_stop_ends_the_threads(server: FakeApiServer, cluster: ClusterCache) -> None:
    """Daemon threads named after their kinds run from start to stop, and none begins before."""
    names = {f"watch-{kind}" for kind in KINDS}
    before = {thread.name for thread in threading.enumerate()} & names
    cluster.start()
    eventually(lambda: cluster.synced)
    running = {thread.name for thread in threading.enumerate() if thread.daemon} & names
    started = time.monotonic()
    cluster.stop()
    cluster.stop()

    assert (set(), names) == (before, running)
    assert set() == {thread.name for thread in threading.enumerate()} & names
    # Of the minutes that a watch goes on.
    assert time.monotonic() - started < 30


def test_stop_before_start(server: FakeApiServer, cluster: ClusterCache) -> None:
    """A server that ends before it began has nothing to end."""
    cluster.stop()

    assert [] == server.asked


def test_a_refusal_that_passes(server: FakeApiServer, tmp_path: Path) -> None:
    """After a restart a kind is refused for a while: it is named, with the time, until it is followed."""
    now = [0.0]
    cluster = a_cluster(tmp_path, server.url, clock=lambda: now[0])
    cluster.start()
    eventually(lambda: cluster.synced and not cluster.unsynced())
    server.watch_faults.extend([lambda handler: handler.reply(403, {"message": "not synced"})] * 10_000)
    server.drop()

    def refused_later() -> list[str]:
        now[0] += 1.0
        return cluster.refused(longer_s=5.0)

    refused = eventually(refused_later)
    server.watch_faults.clear()
    eventually(lambda: not cluster.refused(longer_s=5.0))
    cluster.stop()

    assert ["Pod (403: not synced)"] == refused


OPTIONAL = [resource for resource in WATCHED_RESOURCES if resource.optional]
CSI_NODES = next(resource for resource in OPTIONAL if resource.kind == "CSINode")
BUDGETS = next(resource for resource in OPTIONAL if resource.kind == "PodDisruptionBudget")


def test_a_cluster_without_optional_kinds(server: FakeApiServer, cluster: ClusterCache) -> None:
    """It is synced without what it refuses to list or does not serve, and says why; empty lists are known."""
    server.forbidden.add(CSI_NODES.path)
    server.undefined.add(BUDGETS.path)
    cluster.start()
    eventually(lambda: cluster.synced)

    assert [] == cluster.unsynced()
    assert {
        "csiNodes": "no right to list and watch csinodes.storage.k8s.io",
        "podDisruptionBudgets": "the API server does not serve policy/v1 PodDisruptionBudget",
    } == cluster.index.unread
    known = {resource.kind for resource in OPTIONAL if cluster.index.knows(resource.key)}
    assert {resource.kind for resource in OPTIONAL} - {"CSINode", "PodDisruptionBudget"} == known
    assert {"CSINode", "PodDisruptionBudget"} == {told.kind for told in cluster.kinds() if told.unread}


def test_a_right_that_is_granted(server: FakeApiServer, cluster: ClusterCache) -> None:
    """A kind that could not be read is read once it may be."""
    server.put(an_object("CSINode"))
    server.forbidden.add(CSI_NODES.path)
    cluster.start()
    eventually(lambda: cluster.synced)
    server.forbidden.clear()
    eventually(lambda: not cluster.index.unread)

    assert {("", "web")} == cluster.index.names(CSI_NODES.key)


def test_a_right_to_list_alone(server: FakeApiServer, cluster: ClusterCache) -> None:
    """A kind that may be listed but not watched would grow stale: it counts as not read."""
    server.put(an_object("CSINode"))
    server.unwatched.add(CSI_NODES.path)
    cluster.start()
    eventually(lambda: cluster.synced)

    assert ["csiNodes"] == list(cluster.index.unread)
    assert not cluster.index.knows(CSI_NODES.key)


def test_a_right_that_is_withdrawn(server: FakeApiServer, tmp_path: Path) -> None:
    """The known objects of a kind are dropped some seconds later, and the cluster stays usable."""
    now = [0.0]
    cluster = a_cluster(tmp_path, server.url, clock=lambda: now[0])
    server.put(an_object("CSINode"))
    cluster.start()
    eventually(lambda: cluster.synced)
    server.forbidden.add(CSI_NODES.path)
    server.drop()
    eventually(lambda: any(told.kind == "CSINode" and "403" in told.last_error for told in cluster.kinds()))
    before = (cluster.index.unread, cluster.index.count(CSI_NODES.key))
    now[0] += 6
    eventually(lambda: cluster.index.unread)
    cluster.stop()

    assert ({}, 1) == before
    assert (0, False) == (cluster.index.count(CSI_NODES.key), cluster.index.knows(CSI_NODES.key))
    assert [] == [title for title in cluster.refused(longer_s=5.0) if title.startswith("CSINode")]

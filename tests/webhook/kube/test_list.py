"""Lists in pages, also where the API server forgets in between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from policies.model.snapshot import identity
from policies.scheduler.index import INDEXED_KINDS
from policies.scheduler.indexed_objects import READERS
from tests.builders import a_pod
from tests.webhook.kube.api_server import FakeApiServer, Handler, serving
from tests.webhook.loopback import write_kubeconfig
from webhook.kube import list as module
from webhook.kube.api_server import Answer, ApiError, UnreachableError
from webhook.kube.client import KubernetesApiServer, connect
from webhook.kube.list import Listing, list_objects
from webhook.kube.watched_resources import WATCHED_RESOURCES

PODS = next(resource for resource in WATCHED_RESOURCES if resource.kind == "Pod")


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with serving(FakeApiServer()) as state:
        yield state


@pytest.fixture
def api(server: FakeApiServer, tmp_path: Path) -> KubernetesApiServer:
    return connect(kubeconfig=write_kubeconfig(tmp_path, server.url))


def expired(handler: Handler) -> None:
    handler.reply(410, {"kind": "Status", "reason": "Expired", "code": 410, "message": "old"})


def test_the_resources_are_what_the_index_holds() -> None:
    """Nothing is followed in vain, and nothing is missing; what may be is what is kept as it is read."""
    watched = {(resource.api_version, resource.kind) for resource in WATCHED_RESOURCES}

    assert watched == INDEXED_KINDS
    assert READERS.keys() == {resource.key for resource in WATCHED_RESOURCES if resource.optional}


@pytest.mark.parametrize(
    ("pods", "page", "expected"),
    [
        pytest.param(0, 2, [0], id="no pods: one empty page"),
        pytest.param(2, 2, [2], id="2 pods by 2: one page"),
        pytest.param(5, 2, [2, 2, 1], id="5 pods by 2: three pages"),
    ],
)
def test_pages(
    server: FakeApiServer, api: KubernetesApiServer, pods: int, page: int, expected: list[int]
) -> None:
    """Pages follow one another to the end, and their objects have a kind."""
    for number in range(pods):
        server.put(a_pod(name=f"p{number}"))
    listing = Listing(api, PODS, page=page)
    pages = list(iter(listing.next, None))

    assert expected == [len(page.items) for page in pages]
    assert [True] + [False] * (len(pages) - 1) == [page.first for page in pages]
    assert all(("v1", "Pod") == (pod["apiVersion"], pod["kind"]) for page in pages for pod in page.items)
    assert str(server.version) == listing.version
    assert {PODS.field_selector} == {asked.query["fieldSelector"] for asked in server.asked}
    assert listing.next() is None


@pytest.mark.parametrize(
    ("faults", "limits"),
    [
        pytest.param(1, ["2", "2", "8"], id="expired once: anew in pages of 8"),
        pytest.param(
            4,
            ["2", "2", "8", "8", "32", "32", "128", "128", "512"],
            id="expired four times: then all fits one page",
        ),
    ],
)
def test_an_expired_place(
    server: FakeApiServer, api: KubernetesApiServer, faults: int, limits: list[str]
) -> None:
    """A list that took too long begins anew, in larger pages, and says so."""
    for number in range(130 if faults > 1 else 3):
        server.put(a_pod(name=f"p{number}"))
    server.list_faults.extend([None, expired] * faults)
    listing = Listing(api, PODS, page=2)
    pages = list(iter(listing.next, None))

    assert limits == [asked.query["limit"] for asked in server.asked]
    assert pages[1].first
    assert len(server.names("Pod")) == len(pages[-1].items)


def test_an_error_leaves_the_list_where_it_is(server: FakeApiServer, api: KubernetesApiServer) -> None:
    """After an error the same page is asked for again, not the whole list."""
    for number in range(3):
        server.put(a_pod(name=f"p{number}"))
    server.list_faults.extend([None, lambda handler: handler.reply(503, b"")])
    listing = Listing(api, PODS, page=2)
    first = listing.next()
    with pytest.raises(ApiError):
        listing.next()
    second = listing.next()

    assert first is not None
    assert second is not None
    assert (2, 1, False) == (len(first.items), len(second.items), second.first)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"<html>", id="a page"),
        pytest.param(b"[]", id="an array"),
        pytest.param(
            b'{"metadata": {"resourceVersion": "1"}, "items": [{"metadata": {"name": "a"}, "spec": [}, {}]}',
            id="an object that takes the next one in",
        ),
        pytest.param(b"{}", id="an empty object"),
        pytest.param(b'{"metadata": {"resourceVersion": ""}, "items": []}', id="no version"),
        pytest.param(b'{"metadata": {"resourceVersion": "1"}, "items": {}}', id="items that are no list"),
        pytest.param(b'{"metadata": [], "items": []}', id="metadata that is no object"),
    ],
)
def test_what_is_no_list(server: FakeApiServer, api: KubernetesApiServer, body: bytes) -> None:
    """No answer in the API server's place is taken for an empty cluster."""
    server.list_faults.append(lambda handler: handler.reply(200, body))

    with pytest.raises(UnreachableError, match=r"/api/v1/pods.*: the answer is not a list"):
        Listing(api, PODS).next()


def test_large_objects_come_a_few_at_a_time(
    server: FakeApiServer, api: KubernetesApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No answer is read that is much larger than a page; what is too large alone is left out by its name."""
    monkeypatch.setattr(module, "_PAGE_BYTES", 40_000)
    monkeypatch.setattr(module, "LARGEST_OBJECT", 200_000)
    sizes = {f"p{n:03}": 50_000 if 100 <= n < 120 else 10 for n in range(140)} | {"p110": 300_000}
    for name, size in sizes.items():
        server.put(a_pod(name=name, annotations={"a": "x" * size}))
    read, left_out = list[int](), list[str]()
    accepted = api.accepted

    def noted(method: str, path: str, **options: Any) -> Answer:
        answer = accepted(method, path, **options)
        read.append(len(answer.body))
        return answer

    monkeypatch.setattr(api, "accepted", noted)
    names = [
        identity(pod)[1] for pod in list_objects(api, PODS, left_out=lambda obj: left_out.append(obj.title))
    ]

    assert sorted(sizes.keys() - {"p110"}) == names
    assert ["shop/p110"] == left_out
    assert [200_000] == [size for size in read if size > 80_000]
    assert len(read) < 60


def test_every_object_once(
    server: FakeApiServer, api: KubernetesApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list that begins anew tells nothing twice."""
    for number in range(PODS_OF_TWO_PAGES):
        server.put(a_pod(name=f"p{number:03}"))
    server.list_faults.extend([None, expired])
    names = [identity(pod)[1] for pod in list_objects(api, PODS)]

    assert [f"p{number:03}" for number in range(PODS_OF_TWO_PAGES)] == names
    assert 3 <= len(server.asked)


#: More pods than a page holds.
PODS_OF_TWO_PAGES = 260


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param({"metadata": {"namespace": "a", "name": "b"}}, ("a", "b"), id="both"),
        pytest.param({"metadata": {"name": "b"}}, ("", "b"), id="no namespace"),
        pytest.param({"metadata": {"namespace": 1, "name": []}}, ("", ""), id="no text"),
        pytest.param({"metadata": "b"}, ("", ""), id="no metadata"),
        pytest.param({}, ("", ""), id="nothing"),
    ],
)
def test_identity(obj: dict[str, object], expected: tuple[str, str]) -> None:
    """Namespace and name are text, whatever stands there."""
    assert expected == identity(obj)

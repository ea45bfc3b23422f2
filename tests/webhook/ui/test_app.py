"""Who may ask the page's server, and what every answer looks like."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from tests.builders import a_node
from tests.webhook.ui.pages import DEPLOYMENT, HOST, PORT, TOKEN, PageClient, a_client, a_page_cluster
from webhook.forked import ResourceLimits
from webhook.ui.app import HEADERS, MOST_BODY_BYTES
from webhook.ui.embedded import BuiltFile
from webhook.ui.readings import PageState
from webhook.ui.routes import ROUTES


@pytest.fixture(scope="module")
def client() -> PageClient:
    """A client of a page that nothing changes."""
    return a_client()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        pytest.param(HOST, 200, id="the address"),
        pytest.param(f"localhost:{PORT}", 200, id="localhost"),
        pytest.param(f"LOCALHOST:{PORT}", 200, id="in capitals"),
        pytest.param(f"[::1]:{PORT}", 200, id="IPv6"),
        pytest.param("evil.example", 403, id="a name that resolves to loopback"),
        pytest.param(f"evil.example:{PORT}", 403, id="the same with the port"),
        pytest.param("127.0.0.1", 403, id="no port"),
        pytest.param(f"127.0.0.1:{PORT + 1}", 403, id="another port"),
        pytest.param(f"127.0.0.1.evil.example:{PORT}", 403, id="a name that begins like the address"),
        pytest.param("", 403, id="empty"),
    ],
)
@pytest.mark.parametrize("path", ["/", "/api/cluster"])
def test_host(client: PageClient, host: str, status: int, path: str) -> None:
    """DNS rebinding: a page of another name that resolves to loopback gets nothing."""
    assert status == client.get(path, Host=host).status_code


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"Origin": f"http://{HOST}"}, 200, id="its own origin"),
        pytest.param({"Origin": "https://evil.example"}, 403, id="another origin"),
        pytest.param({"Origin": f"http://localhost:{PORT + 1}"}, 403, id="another port"),
        pytest.param({"Origin": f"https://{HOST}"}, 403, id="another scheme"),
        pytest.param({"Origin": "null"}, 403, id="a sandboxed frame or a file"),
        pytest.param({"Sec-Fetch-Site": "same-origin"}, 200, id="fetched by the page"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, 403, id="fetched by another port"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, 403, id="fetched by another site"),
    ],
)
def test_origin(client: PageClient, headers: dict[str, str], status: int) -> None:
    """Requests of other sites are refused, and none is ever allowed to read an answer."""
    answer = client.get("/api/cluster", **headers)

    assert status == answer.status_code
    assert not [name for name, _ in answer.headers.items() if name.lower().startswith("access-control")]


@pytest.mark.parametrize(
    "authorization",
    [
        pytest.param("", id="none"),
        pytest.param("Bearer ", id="empty"),
        pytest.param(f"Bearer {TOKEN}x", id="longer"),
        pytest.param(f"Bearer {TOKEN[:-1]}", id="shorter"),
        pytest.param("Bearer b-token", id="another"),
        pytest.param(f"Basic {TOKEN}", id="another scheme"),
        pytest.param("Bearer t\u00f6ken", id="beyond ASCII"),
    ],
)
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_token(client: PageClient, route: Any, authorization: str) -> None:
    """Every route of the API wants the token, in the header alone."""
    path = f"{route.path}?token={TOKEN}"
    headers = {"Host": HOST, "Authorization": authorization}
    answer = client.raw.open(path, method=route.method, json={} if route.body else None, headers=headers)

    assert 401 == answer.status_code
    assert answer.json is not None
    assert {"error", "problems"} == answer.json.keys()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("HEAD", "/", 200),
        ("POST", "/", 405),
        ("POST", "/api/cluster", 405),
        ("DELETE", "/api/explain", 405),
        ("GET", "/api/explain", 405),
        ("GET", "/api/nowhere", 404),
        ("GET", "/nowhere.js", 404),
        ("GET", "/../../etc/passwd", 404),
        ("GET", "/%2e%2e/%2e%2e/etc/passwd", 404),
        ("GET", "/..%2f..%2fetc%2fpasswd", 404),
        ("GET", "/built/index.html", 404),
        ("GET", "/index.html%00.js", 404),
        ("GET", "//etc/passwd", 404),
        ("GET", "/api//cluster", 404),
        ("GET", "/api/workloads?after=-1", 400),
        ("GET", "/api/workloads?after=1e3", 400),
        ("GET", "/api/workload?kind=Deployment&namespace=shop&name=other", 404),
        ("GET", "/api/workload?kind=Pod&namespace=shop&name=other", 404),
        ("GET", "/api/workload?kind=Pod&namespace=a%2Fb&name=%3C%2Fscript%3E", 404),
        ("GET", "/api/workload?kind=Pod&namespace=shop", 400),
        ("GET", "/api/node?name=other", 404),
        ("GET", "/api/node?name=../other", 404),
        ("GET", "/api/node", 400),
    ],
)
def test_paths(client: PageClient, method: str, path: str, status: int) -> None:
    """Only existing paths are answered, by their methods."""
    answer = client.raw.open(path, method=method, headers={"Host": HOST, "Authorization": f"Bearer {TOKEN}"})

    assert status == answer.status_code


@pytest.mark.parametrize("path", ["/", "/api/cluster", "/nowhere", "/api/node?name=other"])
def test_headers(client: PageClient, path: str) -> None:
    """Every answer, also an error, says what a browser may do with it."""
    answer = client.get(path)

    assert dict(HEADERS) == {name: answer.headers.get(name) for name in HEADERS}
    assert "unsafe" not in HEADERS["Content-Security-Policy"]
    assert "http" not in HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        pytest.param({"data": b"{}", "content_type": "text/plain"}, 415, id="a form's type"),
        pytest.param({"data": b"{}"}, 415, id="no type"),
        pytest.param({"data": b"", "content_type": "application/json"}, 411, id="nothing"),
        pytest.param({"data": b"[]", "content_type": "application/json"}, 400, id="a list"),
        pytest.param({"data": b"{", "content_type": "application/json"}, 400, id="half of it"),
        pytest.param({"json": {}}, 400, id="no manifest"),
        pytest.param({"json": {"manifest": 1}}, 400, id="a number"),
        pytest.param({"json": {"manifest": " \n"}}, 400, id="blank"),
        pytest.param({"json": {"manifest": "a: b", "what": 1}}, 400, id="an unknown field"),
        pytest.param({"json": {"manifest": "x" * MOST_BODY_BYTES}}, 413, id="too large"),
    ],
)
def test_bodies(client: PageClient, request_: dict[str, Any], status: int) -> None:
    """A body that is no request is rejected with the reason."""
    answer = client.raw.post(
        "/api/explain", headers={"Host": HOST, "Authorization": f"Bearer {TOKEN}"}, **request_
    )

    assert status == answer.status_code
    assert answer.json is not None
    assert answer.json["error"]


def test_chunked_body(client: PageClient) -> None:
    """A body without a length is refused: it would be read for as long as it comes."""
    answer = client.raw.post(
        "/api/explain",
        headers={"Host": HOST, "Authorization": f"Bearer {TOKEN}", "Transfer-Encoding": "chunked"},
        content_type="application/json",
        environ_overrides={"CONTENT_LENGTH": "", "wsgi.input_terminated": True},
    )

    assert 411 == answer.status_code


@pytest.mark.parametrize("path", ["/api/cluster", "/page.js"])
def test_compression(path: str) -> None:
    """A large answer is sent with gzip to who takes it, and as it is to who does not."""
    content = b"x" * 5000
    files = {"page.js": BuiltFile(content, gzip.compress(content), "text/javascript")}
    client = PageClient(PageState.of(a_page_cluster(*(a_node(f"n{n}", "a") for n in range(50)))), files)
    packed, plain = client.get(path, **{"Accept-Encoding": "gzip"}), client.get(path)

    assert "gzip" == packed.headers["Content-Encoding"]
    assert gzip.decompress(packed.data) == plain.data
    assert "Content-Encoding" not in plain.headers


def test_limits_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that takes too long says how long it may take."""
    client = a_client()
    monkeypatch.setattr(
        client.state.children, "_budget", ResourceLimits(timeout_s=0.001, memory_bytes=1 << 30)
    )
    answer = client.post("/api/explain", {"manifest": json.dumps(DEPLOYMENT)})

    assert 504 == answer.status_code
    assert answer.json is not None
    assert "longer than 0.001 s" in answer.json["error"]


@pytest.mark.parametrize("debug", ["", "1"])
def test_our_own_bug_is_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], debug: str
) -> None:
    """A request that fails answers JSON; the terminal has the traceback if that is wanted."""
    monkeypatch.setenv("EVENKEEL_DEBUG", debug)
    client = a_client()
    monkeypatch.setattr(type(client.state.audit), "progress", lambda _self, _after: 1 / 0)
    answer = client.get("/api/workloads")

    assert 500 == answer.status_code
    assert answer.json is not None
    assert "ZeroDivisionError" in answer.json["error"]
    assert ("Traceback" in capsys.readouterr().err) == bool(debug)

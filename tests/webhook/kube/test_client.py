"""The way to a cluster as a kubeconfig describes it, and watches as they come from its connections."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from certs.keyring import SERVING_CERTIFICATE, SERVING_KEY
from certs.serving import ServingContext
from certs.store import provision_self_signed
from tests.certs.builders import a_folder, a_pair
from tests.certs.tls import EchoServer
from tests.waiting import PATIENCE_S, eventually
from tests.webhook import running
from tests.webhook.kube.api_server import FakeApiServer, Handler, serving
from tests.webhook.loopback import write_kubeconfig
from webhook.kube import api_server as module
from webhook.kube.api_server import ApiError, KubeconfigError, UnreachableError, Watch
from webhook.kube.client import KubernetesApiServer, connect

PODS = "/api/v1/pods"


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with serving(FakeApiServer()) as state:
        yield state


@pytest.fixture
def api(server: FakeApiServer, tmp_path: Path) -> KubernetesApiServer:
    return connect(kubeconfig=write_kubeconfig(tmp_path, server.url))


def read(api: KubernetesApiServer) -> list[bytes]:
    with api.watch(PODS, {}, idle_s=PATIENCE_S) as watch:
        return list(watch)


def a_kubeconfig(**changes: Any) -> str:
    """Return a kubeconfig of two contexts; only ``a`` has a namespace, and none is the current one."""
    contexts = {"a": {"namespace": "shop"}, "b": {}}
    config = {
        "clusters": [{"name": name, "cluster": {"server": f"http://{name}"}} for name in contexts],
        "users": [{"name": "u", "user": {"token": "s3cr3t"}}],
        "contexts": [
            {"name": name, "context": {"cluster": name, "user": "u"} | own} for name, own in contexts.items()
        ],
    }
    return json.dumps(config | changes)


@pytest.mark.parametrize(
    ("text", "context", "url", "namespace"),
    [
        pytest.param(a_kubeconfig(), "a", "http://a", "shop", id="named, no current one"),
        pytest.param(a_kubeconfig(), "b", "http://b", "default", id="named, without a namespace"),
        pytest.param(a_kubeconfig(**{"current-context": "a"}), "", "http://a", "shop", id="current"),
        pytest.param(a_kubeconfig(**{"current-context": "a"}), "b", "http://b", "default", id="another"),
        pytest.param(
            a_kubeconfig(**{"current-context": "gone"}), "a", "http://a", "shop", id="current: gone"
        ),
    ],
)
def test_contexts(tmp_path: Path, text: str, context: str, url: str, namespace: str) -> None:
    """The context that is named counts, else the current one."""
    (tmp_path / "config").write_text(text)
    found = connect(context, kubeconfig=str(tmp_path / "config"))

    assert (url, namespace) == (found.url, found.namespace)


@pytest.mark.parametrize(
    ("text", "context", "problem"),
    [
        pytest.param(None, "", "no such file", id="no file"),
        pytest.param("{}", "", "current-context", id="an empty one"),
        pytest.param("a: [", "", "expected the node content", id="no YAML"),
        pytest.param(a_kubeconfig(), "", "current-context", id="no current context"),
        pytest.param(a_kubeconfig(), "c", 'no context "c"; it has "a", "b"', id="no such context"),
        pytest.param(a_kubeconfig(contexts=[{"name": "a", "context": None}]), "a", "context", id="odd"),
    ],
)
def test_no_way_to_a_cluster(tmp_path: Path, text: str | None, context: str, problem: str) -> None:
    """Every error of a kubeconfig is reported on one line, with its name and without its secrets."""
    file = tmp_path / "config"
    if text is not None:
        file.write_text(text)
    with pytest.raises(KubeconfigError, match=problem) as caught:
        connect(context, kubeconfig=str(file))

    assert str(file) in str(caught.value)
    assert 1 == len(str(caught.value).splitlines())
    assert "s3cr3t" not in str(caught.value)


def test_files_of_a_kubeconfig_stand_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path is one from the folder of the kubeconfig, wherever the program runs."""
    (tmp_path / "token").write_text("own")
    users = [{"name": "u", "user": {"tokenFile": "token"}}]
    (tmp_path / "config").write_text(a_kubeconfig(users=users))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    found = connect("a", kubeconfig=str(tmp_path / "config"))

    assert {"BearerToken": "Bearer own"} == found.client.configuration.api_key


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
    server: FakeApiServer, api: KubernetesApiServer, chunks: list[bytes], expected: list[bytes]
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


def test_of_a_line_longer_than_any_object_the_head_is_kept(
    server: FakeApiServer, api: KubernetesApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lines before and behind it are whole."""
    monkeypatch.setattr(module, "LARGEST_OBJECT", 1000)
    monkeypatch.setattr(module, "OBJECT_HEAD", 10)

    def fault(handler: Handler) -> None:
        handler.stream()
        for chunk in (b"before\n", *[b"0123456789ab"] * 200, b"\nbehind\n"):
            handler.chunk(chunk)
        handler.wfile.write(b"0\r\n\r\n")

    server.watch_faults.append(fault)

    assert [b"before", b"0123456789", b"behind"] == read(api)


def test_a_line_without_an_end(
    server: FakeApiServer, api: KubernetesApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that never ends its line does not fill the memory."""
    monkeypatch.setattr(module, "LARGEST_OBJECT", 1000)
    monkeypatch.setattr(module, "_ENDLESS", 3000)

    def fault(handler: Handler) -> None:
        handler.stream()
        while True:
            handler.chunk(b"a" * 500)

    server.watch_faults.append(fault)

    with pytest.raises(UnreachableError, match="a line of a watch is longer than"):
        read(api)


def test_a_refused_watch(server: FakeApiServer, api: KubernetesApiServer) -> None:
    """A watch that is refused when it is opened says why."""
    server.watch_faults.append(lambda handler: handler.reply(403, {"message": "no pods"}))

    with pytest.raises(ApiError, match="no pods"):
        read(api)


def test_a_redirection(server: FakeApiServer, api: KubernetesApiServer) -> None:
    """It is an answer: what a request holds goes to no other server."""
    server.list_faults.append(lambda handler: handler.reply(302, b"elsewhere", Location=f"{server.url}/x"))

    found = api.send("GET", PODS)

    assert (302, b"elsewhere") == (found.status, found.body)
    assert [PODS] == [asked.path for asked in server.asked]


def test_a_watch_that_breaks_off(server: FakeApiServer, api: KubernetesApiServer) -> None:
    """A stream without its end is an error, not an end."""

    def fault(handler: Handler) -> None:
        handler.stream()
        handler.chunk(b"a\n")
        handler.close_connection = True

    server.watch_faults.append(fault)

    with pytest.raises(UnreachableError, match="the connection broke off"):
        read(api)


@contextmanager
def accepting(answer: bytes) -> Iterator[int]:
    """Accept one connection, say something or nothing, and keep it open; yield the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(answer)
                done.wait(PATIENCE_S)

        done = threading.Event()
        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            done.set()
            thread.join()


@pytest.mark.parametrize(
    ("scheme", "answer", "timeout_s", "expected"),
    [
        pytest.param("http", b"", 0.2, "no answer within 0.2 s", id="silence"),
        pytest.param(
            "https", b"", 0.2, "it accepts connections and says nothing: it hangs", id="silence before TLS"
        ),
        pytest.param("https", b"HTTP/1.1 400 Bad\r\n\r\n", PATIENCE_S, "it does not speak TLS", id="no TLS"),
    ],
)
def test_errors_are_sentences(
    tmp_path: Path, scheme: str, answer: bytes, timeout_s: float, expected: str
) -> None:
    """A library's error of a socket is reported as what it means."""
    with accepting(answer) as port:
        api = connect(kubeconfig=write_kubeconfig(tmp_path, f"{scheme}://127.0.0.1:{port}"))
        with pytest.raises(UnreachableError) as raised:
            api.send("GET", "/version", timeout_s=timeout_s)

    assert f"{scheme}://127.0.0.1:{port}: {expected}" in str(raised.value)
    assert "_ssl.c" not in str(raised.value)


def test_a_certificate_of_somebody_else(tmp_path: Path) -> None:
    """Who cannot be trusted is told with the reason of the verification."""
    folder = a_folder(tmp_path / "pki", a_pair("127.0.0.1"))
    serving = ServingContext(folder / SERVING_CERTIFICATE, folder / SERVING_KEY)
    with EchoServer(serving) as server:
        api = connect(kubeconfig=write_kubeconfig(tmp_path, f"https://127.0.0.1:{server.port}"))
        with pytest.raises(UnreachableError, match=r"its certificate cannot be verified: [a-z -]+$"):
            api.send("GET", "/version", timeout_s=PATIENCE_S)


def test_nobody_of_that_name(tmp_path: Path) -> None:
    """A name that is mistyped is told as that."""
    api = connect(kubeconfig=write_kubeconfig(tmp_path, "https://nobody.invalid"))

    with pytest.raises(UnreachableError, match="no such host"):
        api.send("GET", "/version", timeout_s=PATIENCE_S)


def test_a_watch_is_canceled_by_another_thread(server: FakeApiServer, api: KubernetesApiServer) -> None:
    """Whoever waits for a line of a silent watch waits no longer; afterwards canceling does nothing."""
    watches, ended = list[Watch](), threading.Event()

    def wait() -> None:
        try:
            with api.watch(PODS, {"resourceVersion": "1"}, idle_s=PATIENCE_S) as watch:
                watches.append(watch)
                list(watch)
        except UnreachableError:
            ended.set()

    thread = threading.Thread(target=wait)
    thread.start()
    eventually(lambda: watches)
    watches[0].cancel()
    thread.join(PATIENCE_S)
    watches[0].cancel()

    assert not thread.is_alive()
    assert ended.is_set()


@pytest.mark.parametrize("stop", [signal.SIGABRT, signal.SIGTERM], ids=lambda stop: stop.name)
def test_a_worker_that_ends_leaves_the_embedded_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: signal.Signals
) -> None:
    """Certificates and keys in a kubeconfig outlive a worker that took too long or was terminated."""
    files = provision_self_signed(tmp_path / "pki", now=datetime.now(UTC))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(files.certificate, files.key)
    with serving(FakeApiServer(), tls=tls) as state:
        path = Path(write_kubeconfig(tmp_path, state.url))
        config = json.loads(path.read_text())
        config["clusters"][0]["cluster"]["certificate-authority-data"] = _embedded(files.ca)
        config["users"][0]["user"] = {
            "client-certificate-data": _embedded(files.certificate),
            "client-key-data": _embedded(files.key),
        }
        path.write_text(json.dumps(config))
        monkeypatch.setenv("KUBECONFIG", str(path))
        with running.serving(tmp_path, "--live") as server:
            eventually(lambda: server.ask("GET", "/readyz").status == 200)
            (first,) = server.workers()
            os.kill(first, stop)
            eventually(lambda: server.workers() not in ([], [first]))
            eventually(lambda: server.ask("GET", "/readyz").status == 200)

    assert not server.lines("watch_failed")


def test_embedded_credentials_go_with_their_process(tmp_path: Path) -> None:
    """No key is left behind in a folder for temporary files, and a child that ends takes none away."""
    files = provision_self_signed(tmp_path / "pki", now=datetime.now(UTC))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(files.certificate, files.key)
    (tmp_path / "temporary").mkdir()
    program = (
        "import os, sys\n"
        "from webhook.kube.client import connect\n"
        "found = [connect('a', kubeconfig='config') for _ in range(2)]\n"
        "if pid := os.fork():\n"
        "    os.waitpid(pid, 0)\n"
        "    print(*(api.call('GET', '/api/v1/pods')['kind'] for api in found))\n"
    )
    with serving(FakeApiServer(), tls=tls) as state:
        cluster = {"server": state.url, "certificate-authority-data": _embedded(files.ca)}
        user = {
            "client-certificate-data": _embedded(files.certificate),
            "client-key-data": _embedded(files.key),
        }
        text = a_kubeconfig(clusters=[{"name": "a", "cluster": cluster}], users=[{"name": "u", "user": user}])
        (tmp_path / "config").write_text(text)
        done = subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "TMPDIR": str(tmp_path / "temporary"), "PYTHONPATH": str(Path.cwd())},
        )

    assert "PodList PodList" == done.stdout.strip()
    assert [] == list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize(
    "user",
    [
        pytest.param({"client-certificate-data": "eA==", "client-key-data": "eA=="}, id="no PEM"),
        pytest.param({"client-certificate-data": "CERTIFICATE", "client-key-data": "eA=="}, id="no key"),
    ],
)
def test_embedded_credentials_that_cannot_be_read(tmp_path: Path, user: dict[str, str]) -> None:
    """They are an error of the kubeconfig, before anything is sent."""
    certificate = _embedded(provision_self_signed(tmp_path / "pki", now=datetime.now(UTC)).certificate)
    user = {name: text.replace("CERTIFICATE", certificate) for name, text in user.items()}
    cluster = {"server": "https://a"}
    text = a_kubeconfig(clusters=[{"name": "a", "cluster": cluster}], users=[{"name": "u", "user": user}])
    (tmp_path / "config").write_text(text)

    with pytest.raises(KubeconfigError, match="a certificate or key of the kubeconfig cannot be read"):
        connect("a", kubeconfig=str(tmp_path / "config"))


def _embedded(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()

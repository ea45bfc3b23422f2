"""An API server that keeps objects as a real one does: versions, conflicts and JSON patches."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from certs.inject import CONFIGURATION_KINDS
from tests.webhook.loopback import QuietHandler, listening, status_of, write_kubeconfig
from webhook.cli.live import api_server
from webhook.kube.api_server import TIMEOUT_S, Answer, ApiServer, UnreachableError, Watch
from webhook.registration import installed

#: Where the objects of the tests are.
SECRET = "/api/v1/namespaces/evenkeel/secrets/evenkeel-tls"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/evenkeel/leases/evenkeel"
MUTATING, VALIDATING = (
    f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}s/evenkeel" for kind in CONFIGURATION_KINDS
)

_JSON = "application/json"


class Objects(ApiServer):
    """The objects of a cluster by their paths, and the API server's ``ApiServer`` for this process.

    Attributes:
        objects: Every object by its path.
        writes: The method and path of every write that succeeded.
        down: Nobody answers.
        forbidden: Paths whose requests are refused.
        clock: Tells the time that answers carry; None if they carry none.
        before_write: Called once before the next write: somebody else's work.
    """

    url = "memory://"
    namespace = "evenkeel"

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.writes: list[tuple[str, str]] = []
        self.down = False
        self.forbidden: set[str] = set()
        self.clock: Callable[[], datetime] | None = None
        self.before_write: Callable[[], object] | None = None
        self._version = 0
        self._lock = threading.RLock()

    def put(self, path: str, manifest: Mapping[str, Any]) -> None:
        """Store an object, whatever was there."""
        with self._lock:
            self._version += 1
            changed = copy.deepcopy(dict(manifest))
            metadata = {**changed.get("metadata", {}), "resourceVersion": str(self._version)}
            self.objects[path] = {**changed, "metadata": metadata}

    def send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
        most_bytes: int | None = None,
    ) -> Answer:
        """Answer as the API server would."""
        if self.down:
            raise UnreachableError("memory://: Connection refused")
        if path in self.forbidden:
            return _refusal(403, "Forbidden", f"{path} is forbidden")
        if method != "GET" and self.before_write is not None:
            meanwhile, self.before_write = self.before_write, None
            meanwhile()
        with self._lock:
            answer = self._answer(method, path, body)
        if method != "GET" and answer.ok:
            self.writes.append((method, path))
        date = {"date": format_datetime(self.clock(), usegmt=True)} if self.clock else {}
        return replace(answer, headers=date)

    def watch(self, path: str, params: Mapping[str, str], *, idle_s: float) -> AbstractContextManager[Watch]:
        """Refuse: nothing here is watched."""
        raise UnreachableError("memory://: no watches")

    def _answer(self, method: str, path: str, document: Any) -> Answer:
        if method == "POST":
            path = f"{path}/{document['metadata']['name']}"
            if path in self.objects:
                return _refusal(409, "AlreadyExists", f"{path} already exists")
            return self._written(path, document, status=201)
        old = self.objects.get(path)
        if old is None:
            return _refusal(404, "NotFound", f"{path} not found")
        match method:
            case "PUT":
                new = document
            case "PATCH":
                new = _patched(old, document)
            case _:
                return Answer(200, orjson.dumps(old))
        if new["metadata"].get("resourceVersion", "") != old["metadata"]["resourceVersion"]:
            return _refusal(409, "Conflict", "the object has been modified")
        return self._written(path, new)

    def _written(self, path: str, manifest: Mapping[str, Any], *, status: int = 200) -> Answer:
        self.put(path, manifest)
        return Answer(status, orjson.dumps(self.objects[path]))


def a_configuration(kind: str, *, bundle: str | None = None, webhooks: int = 1) -> dict[str, Any]:
    """Return a webhook configuration, each of whose webhooks is sent all that this release reviews."""
    path = "/mutate" if kind == CONFIGURATION_KINDS[0] else "/validate"
    client = {"service": {"name": "evenkeel", "namespace": "evenkeel", "path": path}}
    rules = [rule for webhook in installed(kind, "evenkeel") for rule in webhook["rules"]]
    if bundle is not None:
        client["caBundle"] = bundle  # type: ignore[assignment]
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "evenkeel"},
        "webhooks": [
            {"name": f"{number}.{kind.lower()}.evenkeel.dev", "clientConfig": dict(client), "rules": rules}
            for number in range(webhooks)
        ],
    }


def a_cluster(*, installed: bool = True) -> Objects:
    """Return a cluster, by default one with both webhook configurations, which trust nobody yet."""
    cluster = Objects()
    if installed:
        for path, kind in zip((MUTATING, VALIDATING), CONFIGURATION_KINDS, strict=True):
            cluster.put(path, a_configuration(kind))
    return cluster


@contextmanager
def serving(cluster: Objects) -> Iterator[str]:
    """Serve a cluster over HTTP on loopback; give the URL."""

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            try:
                answer = cluster.send(
                    self.command, self.path.partition("?")[0], body=orjson.loads(body) if body else None
                )
            except UnreachableError:
                self.close_connection = True
                return
            self.answer(answer.status, answer.body, {"Content-Type": _JSON})

        do_GET = do_POST = do_PUT = do_PATCH = _serve  # noqa: N815  # as http.server calls them

    with listening(Handler) as url:
        yield url


def use(monkeypatch: pytest.MonkeyPatch, folder: Path, url: str) -> None:
    """Make a server the cluster of commands in this process."""
    monkeypatch.setenv("KUBECONFIG", write_kubeconfig(folder, url))
    # Another process would not remember the cluster of the last command.
    api_server.cache_clear()


def _patched(old: Mapping[str, Any], operations: list[dict[str, Any]]) -> dict[str, Any]:
    new = copy.deepcopy(dict(old))
    for operation in operations:
        *parents, last = operation["path"].split("/")[1:]
        node: Any = new
        for part in parents:
            node = node[int(part) if isinstance(node, list) else part]
        node[last] = operation["value"]
    return new


def _refusal(code: int, reason: str, message: str) -> Answer:
    return Answer(code, orjson.dumps(status_of(code, reason, message)))

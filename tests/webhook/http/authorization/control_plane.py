"""A small API server of the loopback: whose tokens these are, what people may do, and a proxy to an app."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from werkzeug.test import Client

from tests.webhook.loopback import QuietHandler, listening, status_of, write_kubeconfig
from webhook.http.authorization.token_reviewer import TOKEN_REVIEWS
from webhook.kube.api_server import ApiServer
from webhook.kube.client import connect
from webhook.kube.watched_resources import WATCHED_RESOURCES
from webhook.rbac import ACCESS_REVIEWS, DEFAULT_SERVICE, proxied

#: The audience of tokens for the API server itself.
API = "https://kubernetes.default.svc"
#: The token with which the API server is called.
OWN_TOKEN = "own"
#: Who asks in people's name.
CLIENT = "system:serviceaccount:evenkeel:evenkeel-client"

_BASE = "/api/v1/namespaces/evenkeel"
_TOKEN = f"{_BASE}/serviceaccounts/evenkeel-client/token"
_PROXY = f"{_BASE}/services/{proxied(DEFAULT_SERVICE)}/proxy"


@dataclass(frozen=True)
class Request:
    """The requests that came."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class ControlPlane:
    """The tokens and rights that the server knows, and the requests that came."""

    #: Whose token it is, and for which audience.
    tokens: dict[str, tuple[str, str]] = field(default_factory=lambda: {OWN_TOKEN: ("admin", API)})
    #: User, verb and resource of what is allowed.
    rights: set[tuple[str, str, str]] = field(default_factory=set)
    objects: list[dict[str, Any]] = field(default_factory=list)
    #: Other answers, by their path.
    gets: dict[str, Any] = field(default_factory=dict)
    #: Paths that nobody may use.
    forbidden: set[str] = field(default_factory=set)
    #: Paths of kinds that are not served.
    undefined: set[str] = field(default_factory=set)
    #: The server behind the Service; None without one.
    app: Client | None = None
    version: str = "v1.36.2"
    asked: list[Request] = field(default_factory=list)
    url: str = ""
    #: While it is not set, nothing is answered.
    answering: threading.Event = field(default_factory=threading.Event)

    def api(self, folder: Path) -> ApiServer:
        """Return the way here, as a kubeconfig describes it."""
        return connect(kubeconfig=str(self.kubeconfig(folder)))

    def kubeconfig(self, folder: Path) -> Path:
        """Write a kubeconfig whose context has the namespace shop."""
        return Path(write_kubeconfig(folder, self.url, token=OWN_TOKEN, namespace="shop"))

    def paths(self) -> list[str]:
        return [request.path for request in self.asked]

    def answer(self, request: Request) -> tuple[int, Any]:
        """Return status and JSON of an answer; the proxy's are bytes with their headers."""
        path = urlsplit(request.path).path
        if self.tokens.get(request.headers.get("authorization", "").removeprefix("Bearer "), "")[1:] != (
            API,
        ):
            return 401, status_of(401, "Unauthorized", "Unauthorized")
        if refusal := self._refusal(path):
            return refusal
        gets = {"/version": {"gitVersion": self.version}, **self.gets}
        if path in gets:
            return 200, gets[path]
        if path == TOKEN_REVIEWS:
            return 201, request.body | {"status": self._review(request.body["spec"])}
        if path == ACCESS_REVIEWS:
            spec = request.body["spec"]
            asked = spec["resourceAttributes"]
            wanted = (spec["user"], asked["verb"], f"{asked['resource']}.{asked['group']}")
            allowed = wanted in self.rights
            return 201, request.body | {"status": {"allowed": allowed}}
        for resource in WATCHED_RESOURCES:
            if path == resource.path:
                kind = {"apiVersion": resource.api_version, "kind": resource.kind}
                items = [obj for obj in self.objects if kind.items() <= obj.items()]
                return 200, {"kind": "List", "metadata": {"resourceVersion": "1"}, "items": items}
        if self.app is not None and path == _TOKEN:
            token = f"client-{len(self.tokens)}"
            self.tokens[token] = (CLIENT, request.body["spec"]["audiences"][0])
            return 201, {"kind": "TokenRequest", "status": {"token": token}}
        if self.app is not None and path.startswith(_PROXY):
            return 0, self._proxied(self.app, request)
        return 404, status_of(404, "NotFound", f"{path} not found")

    def _refusal(self, path: str) -> tuple[int, Any] | None:
        if path in self.forbidden:
            return 403, status_of(403, "Forbidden", f"{path} is forbidden")
        if path in self.undefined:
            return 404, status_of(404, "NotFound", "the server could not find the requested resource")
        return None

    def _review(self, spec: dict[str, Any]) -> dict[str, Any]:
        user, audience = self.tokens.get(spec["token"], ("", ""))
        if not user or audience not in spec.get("audiences", [API]):
            return {"error": "invalid bearer token", "user": {}}
        extra = {"authentication.kubernetes.io/pod-name": ["p"]}
        known = {"username": user, "uid": "u1", "groups": ["system:authenticated"], "extra": extra}
        return {"authenticated": True, "user": known, "audiences": [audience]}

    def _proxied(self, app: Client, request: Request) -> Any:
        headers = {name: value for name, value in request.headers.items() if name != "authorization"}
        return app.open(
            request.path.removeprefix(_PROXY),
            method=request.method,
            headers=headers,
            data=json.dumps(request.body),
        )


@contextmanager
def a_control_plane() -> Iterator[ControlPlane]:
    """Run an API server until the block ends."""
    plane = ControlPlane()
    plane.answering.set()

    class Handler(QuietHandler):
        def do_GET(self) -> None:  # noqa: N802  # as the standard library calls it
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or "null")
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.command, self.path, headers, body)
            plane.asked.append(request)
            plane.answering.wait()
            status, told = plane.answer(request)
            if status:
                self.answer(status, json.dumps(told).encode(), {"Content-Type": "application/json"})
            else:
                self.answer(told.status_code, told.data, dict(told.headers))

        do_POST = do_GET  # noqa: N815  # as the standard library calls it

    with listening(Handler) as plane.url:
        try:
            yield plane
        finally:
            plane.answering.set()

"""A control plane of one's own: etcd and kube-apiserver, the controllers if they are there, and no scheduler.

Its flags are those that kube-apiserver 1.20 and later share. There is no kubelet: nodes and the pods on them
are objects that a test writes.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import secrets
import signal
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

from certs.store import provision_self_signed
from tests.e2e.assets import Assets
from tests.e2e.kubectl import Kubectl
from tests.e2e.processes import Processes, Running, free_port
from tests.waiting import PATIENCE_S, eventually
from webhook.kube.watched_resources import WATCHED_RESOURCES, ListedResource

#: Of service accounts' tokens.
ISSUER = "https://kubernetes.default.svc"
#: Seconds that the API server has to end in: it would wait a minute for watches that nobody ends.
GRACE_S = 3.0
#: The controllers that tests look at, by the names that all releases know.
CONTROLLERS = ("deployment", "replicaset", "namespace", "garbagecollector")


class ControlPlane:
    """An API server that can be restarted; ``kubectl`` is its administrator."""

    def __init__(self, assets: Assets, processes: Processes, folder: Path) -> None:
        self.assets = assets
        self.folder = folder
        self._processes = processes
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self._files = provision_self_signed(folder / "pki", now=datetime.now(UTC))
        self._token = secrets.token_hex(16)
        self.kubectl = self.user("admin", self._token)
        self._etcd_port = free_port()
        self._etcd = self._start_etcd(peer_port=free_port())
        self._api_server = self._start_api_server()
        told = json.loads(self.kubectl.do("get", "--raw", "/version"))
        #: Managed clusters write "20+".
        self.version = (int(told["major"]), int(re.sub(r"\D", "", told["minor"])))
        self.has_controllers = assets.controller_manager is not None
        if self.has_controllers:
            self.start_controllers(processes)

    def user(self, name: str, token: str) -> Kubectl:
        """Return a kubectl of somebody."""
        return Kubectl(
            self.assets.kubectl,
            self.folder / f"home-{name}",
            server=self.url,
            authority=self._files.ca,
            token=token,
        )

    @property
    def authority(self) -> bytes:
        """Who vouches for the API server, PEM."""
        return self._files.ca.read_bytes()

    def _start_etcd(self, *, peer_port: int) -> Running:
        client, peer = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{peer_port}"
        command = [
            self.assets.etcd,
            # It waits for the disk at every write, and others use that too.
            f"--data-dir={self._processes.memory / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
        ]
        return self._processes.start(command, log=self.folder / "etcd.log")

    def _start_api_server(self) -> Running:
        tokens = self.folder / "tokens.csv"
        tokens.write_text(f"{self._token},admin,admin,system:masters\n")
        tokens.chmod(0o600)
        command = [
            self.assets.api_server,
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            f"--secure-port={self.port}",
            "--bind-address=127.0.0.1",
            # Without it the API server looks for a default route, which a machine without network lacks.
            "--advertise-address=127.0.0.1",
            # An address of the loopback is none that the Service kubernetes could have.
            "--endpoint-reconciler-type=none",
            f"--tls-cert-file={self._files.certificate}",
            f"--tls-private-key-file={self._files.key}",
            f"--cert-dir={self.folder / 'pki'}",
            "--authorization-mode=RBAC",
            f"--token-auth-file={tokens}",
            # A certificate is a public key; no other form of it is read for every kind of key.
            f"--service-account-key-file={self._files.certificate}",
            f"--service-account-signing-key-file={self._files.key}",
            f"--service-account-issuer={ISSUER}",
            "--service-cluster-ip-range=10.0.0.0/16",
            # Nobody makes service accounts for the pods of new namespaces.
            "--disable-admission-plugins=ServiceAccount",
            "--allow-privileged=true",
        ]
        running = self._processes.start(command, log=self.folder / "kube-apiserver.log")

        def ready() -> bool:
            assert running.alive, running.tail()
            return self.kubectl("get", "--raw", "/readyz").code == 0

        eventually(ready, what=lambda: f"kube-apiserver is not ready:\n{running.tail()}")
        return running

    def restart_api_server(self) -> None:
        """End the API server, and start it at the same place with the same data."""
        self._api_server.stop(patience_s=GRACE_S)
        self._api_server = self._start_api_server()

    @contextmanager
    def hanging(self, which: str) -> Iterator[None]:
        """Let the API server or its etcd accept everything and answer nothing, until the block ends."""
        pid = {"kube-apiserver": self._api_server, "etcd": self._etcd}[which].process.pid
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def start_controllers(
        self, processes: Processes, names: Iterable[str] = CONTROLLERS, log: str = "kube-controller-manager"
    ) -> Running:
        """Start some controllers, by the names that all releases know; the log is called after ``log``."""
        command = [
            str(self.assets.controller_manager),
            f"--kubeconfig={self.kubectl.kubeconfig}",
            f"--controllers={','.join(names)}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={free_port()}",
            f"--cert-dir={self.folder / 'controllers'}",
            "--kube-api-qps=200",
            "--kube-api-burst=400",
        ]
        if self.version < (1, 23):
            # There is a second port without TLS, which was taken away in 1.24.
            command.append("--port=0")
        return processes.start(command, log=self.folder / f"{log}.log")

    def start_scheduler(self, processes: Processes, config: Path) -> Running:
        """Start kube-scheduler with a configuration, whose profiles say which pods are its own."""
        command = [
            str(self.assets.scheduler),
            f"--config={config}",
            "--bind-address=127.0.0.1",
            f"--secure-port={free_port()}",
            f"--cert-dir={self.folder / 'scheduler'}",
        ]
        return processes.start(command, log=self.folder / "kube-scheduler.log")

    def tls(self) -> ssl.SSLContext:
        """Return the TLS settings of a client that trusts the API server."""
        return ssl.create_default_context(cafile=str(self._files.ca))

    def served(self) -> list[ListedResource]:
        """Return the watched resources that this release serves; only optional kinds may be missing."""
        with self.client() as client:
            found = [each for each in WATCHED_RESOURCES if client.send("GET", each.path)[0] == HTTPStatus.OK]
        assert all(each in found for each in WATCHED_RESOURCES if not each.optional)
        return found

    @contextmanager
    def client(self, token: str = "") -> Iterator[ApiClient]:
        """Connect to the API server as the administrator or somebody else, until the block ends."""
        made = ApiClient(self.port, self.tls(), token or self._token)
        try:
            yield made
        finally:
            made.close()


class ApiClient:
    """One connection to the API server, for what is too much for a kubectl each. For one thread."""

    def __init__(self, port: int, context: ssl.SSLContext, token: str) -> None:
        self._connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=PATIENCE_S)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def send(
        self, method: str, path: str, body: object = None, *, content_type: str = "application/json"
    ) -> tuple[int, bytes]:
        """Send a request and return status and body of the answer.

        Raises:
            OSError: The API server is not there, or goes away.
            http.client.HTTPException: The same.
        """
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        try:
            self._connection.request(method, path, data, self._headers | {"Content-Type": content_type})
            answer = self._connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise

    def call(
        self, method: str, path: str, body: object = None, *, content_type: str = "application/json"
    ) -> Any:
        """Send a request that must succeed, and return the object of the answer."""
        status, answer = self.send(method, path, body, content_type=content_type)
        assert status < 300, f"{method} {path}: {status} {answer.decode(errors='replace')}"
        return json.loads(answer)

    def close(self) -> None:
        self._connection.close()

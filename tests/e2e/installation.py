"""Evenkeel as it runs in a cluster: two replicas behind a Service, installed as its users install it.

The Service is made one of type ExternalName, so that the API server dials this machine, by the Service's name
and over HTTP/1.1 as it would any Service; the forwarder plays kube-proxy before the replicas. They run as the
Deployment says, with the token of their ServiceAccount.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.control_plane import ControlPlane
from tests.e2e.kubectl import Kubectl, Manifest, Told
from tests.e2e.processes import Processes, Running, free_port
from tests.e2e.readiness import asked
from tests.waiting import PATIENCE_S, eventually
from tests.webhook.running import children_of
from webhook.rbac import AUDIENCE

#: The repository.
ROOT = Path(__file__).parents[2]
#: The namespace and the name of everything.
NAME = "evenkeel"
#: Of the Service, which the certificate carries.
SERVER_NAME = f"{NAME}.{NAME}.svc"
#: Replicas that serve, and one more place for a rolling restart.
REPLICAS, PLACES = 2, 3
#: Seconds that a replica goes on answering new connections once it was told to end.
DRAIN_S = 2
#: Seconds for a webhook: a machine that has much to do answers late, and that is no failure of ours.
TIMEOUT_S = 10
#: Both kinds of configuration.
CONFIGURATIONS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")

POLICY = """
apiVersion: evenkeel.dev/v1alpha1
kind: SpreadPolicy
metadata: {name: e2e}
spec:
  scope: {excludeNamespaces: [kube-system]}
  enforcement: deny
  defaults:
    at: both
    constraints:
      - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}
"""

_RUN = "from webhook.cli.start import run; run()"
#: The same on a machine whose clock is so many hours ahead, as far as Evenkeel reads it.
_RUN_AHEAD = """
import datetime as module

class Ahead(module.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + module.timedelta(hours={hours})

module.datetime = Ahead
"""


class Installation:
    """The manifests, the replicas, and the forwarder."""

    def __init__(self, control_plane: ControlPlane, processes: Processes, folder: Path) -> None:
        self.control_plane = control_plane
        self.kubectl = control_plane.kubectl
        self.folder = folder
        self._processes = processes
        self.port = free_port()
        self.ports = [free_port() for _ in range(PLACES)]
        self.replicas: dict[int, Running] = {}
        self.path_token = secrets.token_hex(32)
        self._mounted = folder / "path-tokens"
        self._policy = folder / "policy.yaml"
        self._policy.write_text(POLICY)
        self.manifests = self._manifests()
        self._forwarder = self._start_forwarder()

    def install(self) -> None:
        """Apply the manifests, and run what the Deployment would."""
        self.kubectl.do("apply", "-f", "-", stdin=self.manifests)
        #: Of the replicas, for the API server; and of the people who use ``--live``, for the replicas.
        self.server_token = self.token(NAME)
        self.client_token = self.token(f"{NAME}-client", AUDIENCE)
        self.server = self.control_plane.user(NAME, self.server_token)
        self.server.write_kubeconfig(NAME)
        for port in self.ports[:REPLICAS]:
            self.start(port)
        for port in self.ports[:REPLICAS]:
            self.wait_until_chosen(port)

    def token(self, account: str, *audiences: str, namespace: str = NAME) -> str:
        """Return a token of a ServiceAccount, as a kubelet and people get one; else for the API server."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        spec = {"audiences": list(audiences)}
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        with self.control_plane.client() as client:
            return str(client.call("POST", path, request)["status"]["token"])

    def _manifests(self) -> list[Manifest]:
        """Return the manifests that users apply, for the port of the forwarder.

        The webhooks fail closed, so that no request that went unanswered looks like one that was allowed.
        """
        variant = "base" if self.control_plane.version >= (1, 30) else "overlays/before-1.30"
        built = self.kubectl.do("kustomize", str(self._kustomization(variant)))
        manifests: list[Manifest] = list(yaml.safe_load_all(built))
        for made in manifests:
            match made["kind"]:
                case "Service":
                    made["spec"] = {"type": "ExternalName", "externalName": "localhost"}
                case "Deployment":
                    # Its pods are ours to run.
                    made["spec"]["replicas"] = 0
                    self._arguments: list[str] = made["spec"]["template"]["spec"]["containers"][0]["args"]
                case "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration":
                    for webhook in made["webhooks"]:
                        webhook["clientConfig"]["service"]["port"] = self.port
                        webhook["timeoutSeconds"] = TIMEOUT_S
                    made["webhooks"][0]["failurePolicy"] = "Fail"
        if self.control_plane.version < (1, 21):
            # policy/v1 came then.
            manifests = [made for made in manifests if made["kind"] != "PodDisruptionBudget"]
        return manifests

    def _kustomization(self, variant: str) -> Path:
        """Return the folder of a kustomization of users, with a Secret that has a token of theirs."""
        folder = self.folder / "kustomization"
        folder.mkdir()
        tokens = f"{self.path_token}\n"
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": f"{NAME}-path", "namespace": NAME},
            "stringData": {"tokens": tokens},
        }
        (folder / "path.yaml").write_text(yaml.safe_dump(secret))
        deploy = os.path.relpath(ROOT / "deploy" / "kustomize", folder.resolve())
        whole = {
            "resources": [f"{deploy}/{variant}", "path.yaml"],
            "components": [f"{deploy}/components/secret-path"],
        }
        (folder / "kustomization.yaml").write_text(yaml.safe_dump(whole))
        # What a kubelet mounts of the Secret.
        self._mounted.write_text(tokens)
        return folder

    def path(self, route: str) -> str:
        """Return the path by which the API server calls a webhook."""
        return f"{route}/{self.path_token}"

    # Replicas

    def evenkeel(
        self,
        *arguments: str,
        user: Kubectl | None = None,
        stdin: Manifest | None = None,
        hours_ahead: float = 0,
    ) -> Told:
        """Run a command of Evenkeel as somebody, by default the administrator, whatever comes of it."""
        done = subprocess.run(
            [sys.executable, "-c", _program(hours_ahead), *arguments],
            input=json.dumps(stdin),
            env=_environment() | {"KUBECONFIG": str((user or self.kubectl).kubeconfig)},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        return Told(done.returncode, done.stdout, done.stderr)

    def start(
        self,
        port: int,
        *,
        host: str = "127.0.0.1",
        max_age_s: float | None = None,
        hours_ahead: float = 0,
        user: Kubectl | None = None,
        soft: bool = False,
    ) -> Running:
        """Start a replica at one of the places, with what the Deployment's containers are started with.

        It has the rights of its ServiceAccount, unless another user is given. ``soft`` leaves it with the
        default policy, and with default constraints that no policy gives.
        """
        policy = "builtin:default" if soft else str(self._policy)
        own = {"--bind": f"{host}:{port}", "--policy": policy, "--drain-s": str(DRAIN_S)}
        own["--defaults"] = "soft" if soft else "policy"
        # With the API beside it, which pods of its own have elsewhere.
        own |= {"--role": "all", "--log-format": "text", "--path-tokens": str(self._mounted)}
        if max_age_s is not None:
            own["--max-snapshot-age-s"] = str(max_age_s)
        options = [word for word in self._arguments if word.partition("=")[0] not in own]
        program = _program(hours_ahead)
        command = [
            sys.executable,
            "-c",
            program,
            *options,
            *(f"{name}={value}" for name, value in own.items()),
        ]
        log = self.folder / f"replica-{self.ports.index(port)}.log"
        environment = _environment() | {"KUBECONFIG": str((user or self.server).kubeconfig)}
        # One that is killed leaves its keys behind.
        environment["TMPDIR"] = str(self._processes.memory)
        running = self.replicas[port] = self._processes.start(command, log=log, environment=environment)
        return running

    @contextmanager
    def with_soft_defaults(self) -> Iterator[None]:
        """Let one replica, with ``--defaults=soft``, answer alone until the block ends."""
        others = list(self.replicas)
        port = next(each for each in self.ports if each not in others)
        self.start(port, soft=True)
        self.wait_until_chosen(port)
        for other in others:
            self.stop(other)
            self.wait_until_left_alone(other)
        try:
            yield
        finally:
            for other in others:
                self.start(other)
            for other in others:
                self.wait_until_chosen(other)
            self.stop(port)
            self.wait_until_left_alone(port)

    def stop(self, port: int) -> int:
        """End a replica as Kubernetes does, and return its exit code."""
        return self.replicas.pop(port).stop()

    def kill(self, port: int) -> None:
        """End a replica without a word, as a node does that is lost."""
        self.replicas.pop(port).kill()

    def wait_until_chosen(self, port: int) -> None:
        """Wait until the forwarder sends connections to a replica."""
        running = self.replicas[port]

        def chosen() -> bool:
            assert running.alive, running.tail()
            return self._last_told(port) == "ready"

        eventually(
            chosen, what=lambda: f"replica {port} is not ready: {asked(port, '/readyz')}\n{running.tail()}"
        )

    def wait_until_left_alone(self, port: int) -> None:
        """Wait until the forwarder sends no new connections to a replica."""
        eventually(lambda: self._last_told(port) == "unready")

    def _last_told(self, port: int) -> str:
        words = [line.split() for line in self._forwarder.log.read_text().splitlines()]
        return next((word for told, word in reversed(words) if told == str(port)), "")

    def _start_forwarder(self) -> Running:
        words = [sys.executable, "-m", "tests.e2e.forwarder", str(self.port), *map(str, self.ports)]
        return self._processes.start(words, log=self.folder / "forwarder.log", environment=_environment())

    def workers(self, port: int) -> list[int]:
        """Return the process ids of a replica's workers that review; the one of the API has children."""
        return [worker for worker in children_of(self.replicas[port].process.pid) if not children_of(worker)]

    def picture(self, port: int) -> dict[str, int]:
        """Return how many objects of each kind a replica knows."""
        status, text = asked(port, "/metrics", token=self.client_token)
        assert status == HTTPStatus.OK, text
        found = re.findall(r'^evenkeel_cluster_objects\{kind="(\w+)"\} (\d+)', text.decode(), re.MULTILINE)
        return {kind: int(count) for kind, count in found}

    def health(self, port: int, *, token: str = "") -> tuple[int, Any]:
        """Return status and body of a replica's /readyz, but for kinds that a release does not serve.

        Args:
            port: Which replica.
            token: Who asks; nobody reads no names.
        """
        status, text = asked(port, "/readyz", token=token)
        body = json.loads(text) if status else {}
        # Before Kubernetes 1.24 there are some, which always is a warning.
        warnings = [
            each
            for each in body.pop("warnings", ())
            if "the API server does not serve" not in each or "no right" in each
        ]
        return status, body | ({"warnings": warnings} if warnings else {})

    def gauge(self, port: int, series: str) -> float:
        """Return a value of a replica's metrics."""
        status, text = asked(port, "/metrics", token=self.client_token)
        assert status == HTTPStatus.OK, text
        lines = dict(line.rsplit(" ", 1) for line in text.decode().splitlines() if not line.startswith("#"))
        return float(lines[series])

    def score(self, port: int, pod: Manifest) -> Any:
        """Return where a pod would go, as a replica sees it."""
        status, text = asked(port, "/v1/score", token=self.client_token, body={"pod": pod})
        assert status == HTTPStatus.OK, text
        return json.loads(text)

    # Registration

    def change_webhooks(self, **fields: object) -> None:
        """Set fields of both webhooks."""
        for kind in CONFIGURATIONS:
            names = [webhook["name"] for webhook in self.kubectl.get(kind, NAME)["webhooks"]]
            patch = {"webhooks": [{"name": name, **fields} for name in names]}
            self.kubectl.do("patch", kind, NAME, "-p", json.dumps(patch))

    @contextmanager
    def unregistered(self) -> Iterator[None]:
        """Let nobody be asked until the block ends."""
        self.change_webhooks(objectSelector={"matchLabels": {"nobody": "asks"}})
        try:
            yield
        finally:
            self.change_webhooks(objectSelector={"matchLabels": None})

    @contextmanager
    def failing(self, policy: str) -> Iterator[None]:
        """Set the failurePolicy of the webhooks until the block ends."""
        self.change_webhooks(failurePolicy=policy)
        try:
            yield
        finally:
            self.change_webhooks(failurePolicy="Fail")


def _program(hours_ahead: float) -> str:
    return _RUN_AHEAD.format(hours=hours_ahead) + _RUN if hours_ahead else _RUN


def _environment() -> dict[str, str]:
    """Return the environment without what would set options of ``evenkeel serve``."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("EVENKEEL_")}
    return kept | {"PYTHONPATH": str(ROOT)}

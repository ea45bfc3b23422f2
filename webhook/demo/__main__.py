"""Serve over TLS on loopback, send AdmissionReviews, and show what a person would see of the answers."""

from __future__ import annotations

import base64
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

import yaml

#: Seconds that the server may take to answer for the first time. Generous: slow machines start Python slowly.
START_TIMEOUT_S = 60.0
#: Seconds between two looks whether it does. Arbitrary.
POLL_S = 0.1

#: What is sent, in order: the file, and what it shows.
STEPS = {
    "deployment-with-the-merge-trap.validate": """
A Deployment whose matchLabelKeys repeat its labelSelector. The API server would store it, and then refuse
each of its pods: zero replicas, and no error where anybody looks.""",
    "rollout-with-mistakes.validate": """
An Argo Rollout: the API server checks no field of a custom resource's pod template.""",
    "pod-of-a-deployment.mutate": """
A pod of a Deployment that says nothing about spreading. The policy's defaults are injected; which pods they
count is deduced from the pod's Service and ReplicaSet, as kube-scheduler deduces it.""",
    "pod-merged-by-the-api-server.validate": """
A pod after the API server (1.34 and later) merged matchLabelKeys into its selector: no mistake.""",
}


def main() -> int:
    """Run the demo and return its exit code."""
    folder = resources.files("webhook.demo")
    with resources.as_file(folder) as files, _server(files) as (port, authority):
        context = ssl.create_default_context(cafile=str(authority))
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=30)
        for number, (name, story) in enumerate(STEPS.items(), 1):
            print(f"\n{number}. {story.strip()}\n")
            _show(connection, (files / "reviews" / f"{name}.json").read_bytes(), name.rpartition(".")[2])
        connection.close()
    print("\nThe server has stopped. Next: README.md, or .venv/bin/evenkeel --help")
    return 0


@contextmanager
def _server(files: Path) -> Iterator[tuple[int, Path]]:
    """Run ``evenkeel certs init`` and ``evenkeel serve`` as a user would, and stop the server at the end."""
    with tempfile.TemporaryDirectory(prefix="evenkeel-demo-") as temporary:
        certificates = Path(temporary) / "certs"
        _evenkeel("certs", "init", "--cert-dir", str(certificates), "--ip", "127.0.0.1")
        port = _free_port()
        options = ["--bind", f"127.0.0.1:{port}", "--cert-dir", str(certificates), "--workers", "1"]
        options += ["--policy", str(files / "policy.yaml"), "--cluster", str(files / "cluster.yaml")]
        print(f"$ evenkeel serve {' '.join(options)}", flush=True)
        server = subprocess.Popen([*_COMMAND, "serve", *options], env=os.environ | {"EVENKEEL_DRAIN_S": "0"})
        try:
            _wait_until_ready(server, port, certificates / "ca.crt")
            yield port, certificates / "ca.crt"
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()


#: This very environment's evenkeel, whether or not it is on the PATH.
_COMMAND = [str(Path(sys.executable).with_name("evenkeel"))]


def _evenkeel(*arguments: str) -> None:
    print(f"$ evenkeel {' '.join(arguments)}", flush=True)
    subprocess.run([*_COMMAND, *arguments], check=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_ready(server: subprocess.Popen[bytes], port: int, authority: Path) -> None:
    context = ssl.create_default_context(cafile=str(authority))
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if server.poll() is not None:
            sys.exit(f"the server ended at once, with exit code {server.returncode}")
        try:
            connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=5)
            connection.request("GET", "/readyz")
            if connection.getresponse().status == http.HTTPStatus.OK:
                connection.close()
                return
        except OSError:
            time.sleep(POLL_S)
    sys.exit(f"the server was not ready within {START_TIMEOUT_S:.0f} s")


def _show(connection: http.client.HTTPSConnection, body: bytes, phase: str) -> None:
    """Send one review, and print its answer as kubectl and the API server make use of it."""
    request = json.loads(body)["request"]
    connection.request("POST", f"/{phase}?timeout=10s", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    review = json.loads(answer.read())
    print(
        f"   POST /{phase}: {request['operation']} {request['kind']['kind']} → HTTP {answer.status}, ", end=""
    )
    response = review["response"]
    if not response["allowed"]:
        print("denied. kubectl prints:\n")
        message = (
            f'admission webhook "validate.evenkeel.dev" denied the request: {response["status"]["message"]}'
        )
        _indented(f'Error from server (Forbidden): error when creating "shop.yaml": {message}')
    elif "patch" in response:
        print("allowed, with a patch. The pod gets:\n")
        for operation in json.loads(base64.b64decode(response["patch"])):
            _indented(
                yaml.safe_dump({_readable(operation["path"]): operation["value"]}, sort_keys=False).rstrip()
            )
    else:
        print("allowed as it is.")


def _readable(pointer: str) -> str:
    return pointer.strip("/").replace("/", ".").replace("~1", "/")


def _indented(text: str) -> None:
    print("\n".join(f"     {line}" for line in text.splitlines()))


if __name__ == "__main__":
    sys.exit(main())

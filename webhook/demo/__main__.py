"""Serve over TLS on loopback, send what a cluster and people send, and show what a person would see of it."""

from __future__ import annotations

import base64
import http.client
import io
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
from typing import Any

import yaml

from policies.admission.policy_tests import patched

#: Seconds that the server may take to answer for the first time. Generous: slow machines start Python slowly.
START_TIMEOUT_S = 60.0
#: Seconds between two looks whether it does.
POLL_S = 0.1

#: The reviews that are sent, in order: the file, and what it shows.
REVIEWS = {
    "deployment-with-the-merge-trap.validate": """
A Deployment whose matchLabelKeys repeat its labelSelector. The API server would store it, and then refuse
each of its pods: zero replicas, and no error where anybody looks.""",
    "rollout-with-mistakes.validate": """
An Argo Rollout: the API server checks no field of a custom resource's pod template.""",
    "pod-of-a-deployment.mutate": """
A pod of a Deployment that says nothing about spreading, before and after soft defaults are injected. Which
pods they count is deduced from the pod's Service and ReplicaSet, as kube-scheduler deduces it.""",
    "pod-merged-by-the-api-server.validate": """
A pod after the API server (1.34 and later) merged matchLabelKeys into its selector: no mistake.""",
    "deployment-during-a-drain.validate": """
A Deployment is scaled from 4 to 5 replicas while the nodes of zone-c are cordoned. Nothing is wrong with its
manifest, but its next pod must go to zone-c.""",
}
#: The requests about the pod and the Deployment of these reviews: the route, the file, and what it shows.
QUESTIONS = {
    "score": (
        "pod-of-a-deployment.mutate",
        """
Where would the pod of step 3 go, with the constraints that it gets? The numbers are kube-scheduler's own.""",
    ),
    "explain": (
        "deployment-during-a-drain.validate",
        """
Why does the Deployment of step 5 fit nowhere, and what would help?""",
    ),
}

#: What is proposed at the end: the command that does it.
NEXT = {
    "See this cluster in the browser": ".venv/bin/evenkeel ui --cluster webhook/demo/cluster.yaml",
    "Lint manifests, these or those of a folder of yours": ".venv/bin/evenkeel lint docs/examples",
    "Find out what is uneven in your own cluster": ".venv/bin/evenkeel audit --live",
}


def main() -> int:
    """Run the demo and return its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Arrows and bars, wherever the terminal's encoding has them.
        sys.stdout.reconfigure(errors="replace")
    print("Certificates, a server with the cluster of a file, and what an API server and people send it:\n")
    folder = resources.files("webhook.demo")
    with resources.as_file(folder) as files, _server(files) as (port, authority):
        context = ssl.create_default_context(cafile=str(authority))
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=30)
        for number, (name, story) in enumerate(REVIEWS.items(), 1):
            print(f"\n{number}. {story.strip()}\n")
            _show_review(connection, _content(files, name), name.rpartition(".")[2])
        for number, (route, (name, story)) in enumerate(QUESTIONS.items(), len(REVIEWS) + 1):
            print(f"\n{number}. {story.strip()}\n")
            obj = json.loads(_content(files, name))["request"]["object"]
            verdict = _request(connection, obj, route)
            if route == "explain":
                _indented("\n".join(verdict["text"]))
            else:
                _show_scores(verdict, zones=_zones(files))
        connection.close()
    print("\nThe server has stopped. Three things to try next:\n")
    for number, (what, command) in enumerate(NEXT.items(), 1):
        _indented(f"{number}. {what}:\n   {command}")
    return 0


def _content(files: Path, name: str) -> bytes:
    return (files / "reviews" / f"{name}.json").read_bytes()


def _zones(files: Path) -> dict[str, str]:
    """Return the zone of each node of the demo's cluster."""
    cluster = yaml.safe_load((files / "cluster.yaml").read_text())
    nodes = [item["metadata"] for item in cluster["items"] if item["kind"] == "Node"]
    return {node["name"]: node["labels"]["topology.kubernetes.io/zone"] for node in nodes}


@contextmanager
def _server(files: Path) -> Iterator[tuple[int, Path]]:
    """Run ``evenkeel certs init`` and ``evenkeel serve`` as a user would, and stop the server at the end."""
    with tempfile.TemporaryDirectory(prefix="evenkeel-demo-") as temporary:
        certificates = Path(temporary) / "certs"
        _evenkeel("certs", "init", "--cert-dir", str(certificates), "--ip", "127.0.0.1")
        port = _free_port()
        options = ["--bind", f"127.0.0.1:{port}", "--cert-dir", str(certificates), "--workers", "1"]
        options += ["--defaults", "soft", "--cluster", str(files / "cluster.yaml")]
        print(f"$ evenkeel serve {' '.join(options)}", flush=True)
        log, environment = Path(temporary) / "server.log", os.environ | {"EVENKEEL_DRAIN_S": "0"}
        with log.open("wb") as file:
            # Its log would be between the lines of the story.
            server = subprocess.Popen([*_COMMAND, "serve", *options], env=environment, stderr=file)
        try:
            _wait_until_ready(server, port, certificates / "ca.crt", log)
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


def _wait_until_ready(server: subprocess.Popen[bytes], port: int, authority: Path, log: Path) -> None:
    context = ssl.create_default_context(cafile=str(authority))
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if server.poll() is not None:
            sys.exit(f"{log.read_text()}the server ended at once, with exit code {server.returncode}")
        try:
            connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=5)
            connection.request("GET", "/readyz")
            if connection.getresponse().status == http.HTTPStatus.OK:
                connection.close()
                return
        except OSError:
            time.sleep(POLL_S)
    sys.exit(f"{log.read_text()}the server was not ready within {START_TIMEOUT_S:.0f} s")


def _post(connection: http.client.HTTPSConnection, path: str, body: bytes) -> tuple[int, Any]:
    """Return the status and the JSON of an answer."""
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    if answer.status == http.HTTPStatus.SERVICE_UNAVAILABLE:
        # The process that answers is being started.
        time.sleep(int(answer.headers["Retry-After"]))
        return _post(connection, path, body)
    return answer.status, json.loads(text)


def _show_review(connection: http.client.HTTPSConnection, body: bytes, phase: str) -> None:
    """Send one review, and print its answer as kubectl and the API server make use of it."""
    request = json.loads(body)["request"]
    status, review = _post(connection, f"/{phase}?timeout=10s", body)
    print(f"   POST /{phase}: {request['operation']} {request['kind']['kind']} → HTTP {status}, ", end="")
    response = review["response"]
    if not response["allowed"]:
        print("denied. kubectl prints:\n")
        message = (
            f'admission webhook "validate.evenkeel.dev" denied the request: {response["status"]["message"]}'
        )
        _indented(f'Error from server (Forbidden): error when creating "shop.yaml": {message}')
    elif "patch" in response:
        print("allowed, with a patch.")
        after = patched(request["object"], json.loads(base64.b64decode(response["patch"])))
        for when, pod in (("Before", request["object"]), ("After", after)):
            metadata = {
                key: pod["metadata"][key] for key in ("labels", "annotations") if key in pod["metadata"]
            }
            spec = {"topologySpreadConstraints": pod["spec"].get("topologySpreadConstraints", [])}
            print(f"\n   {when}:\n")
            _indented(yaml.safe_dump({"metadata": metadata, "spec": spec}, sort_keys=False).rstrip())
    elif "warnings" in response:
        print("allowed, with a warning. kubectl prints:\n")
        _indented("\n".join(f"Warning: {warning}" for warning in response["warnings"]))
    else:
        print("allowed as it is.")


def _request(connection: http.client.HTTPSConnection, obj: dict[str, Any], route: str) -> Any:
    """Request where an object's next pod would go."""
    status, verdict = _post(connection, f"/v1/{route}", json.dumps({"pod": obj}).encode())
    print(f"   POST /v1/{route}: {obj['kind']} → HTTP {status}\n")
    return verdict


def _show_scores(verdict: Any, *, zones: dict[str, str]) -> None:
    """Print the constraints in force, with the matching pods of each domain, and a line for each node."""
    for constraint in verdict["constraints"]:
        domains = ", ".join(f"{domain['value']} {domain['matching']}" for domain in constraint["domains"])
        limit = f"{constraint['whenUnsatisfiable']}, maxSkew {constraint['maxSkew']}"
        _indented(f"{constraint['topologyKey']} ({limit}): {domains}")
    _indented("\nNODE  ZONE    SCORE")
    for node in verdict["nodes"]:
        reasons = ", ".join(rejection["reason"] for rejection in node["rejections"])
        score = "-" if node["score"] is None else node["score"]
        _indented(f"{node['name']:<4}  {zones[node['name']]:<6}  {score:>5}  {reasons}")


def _indented(text: str) -> None:
    print("\n".join(f"     {line}".rstrip() for line in text.splitlines()))


if __name__ == "__main__":
    sys.exit(main())

"""A stand-in for ``kubectl apply -f FILE``: reviews an object with the webhook's code.

The cluster is ``cluster.yaml`` in the working folder, the policy is the built-in ``default``.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from policies.config.context import AdmissionContext
from policies.config.loader import load_policies
from webhook.admission.reply import Reply
from webhook.admission.respond import respond
from webhook.admission.review import Budget, Phase, ReviewRequest
from webhook.snapshot_file import read_snapshot


def run() -> None:
    """Print what people see of one review."""
    file = Path(sys.argv[sys.argv.index("-f") + 1])
    obj = yaml.safe_load(file.read_text())
    budget = Budget("timeout=30s", time.monotonic())
    reply = respond(ReviewRequest(_review(obj), Phase.VALIDATE, budget), _context())
    if not isinstance(reply, Reply):
        raise SystemExit(f"no answer: {reply}")
    response = json.loads(reply.body)["response"]
    for warning in response.get("warnings", ()):
        print(f"Warning: {warning}")
    if response["allowed"]:
        print(f"{obj['kind'].lower()}.apps/{obj['metadata']['name']} created")
    else:
        print(
            f'Error from server (Forbidden): error when creating "{file}": admission webhook '
            f'"validate.evenkeel.dev" denied the request: {response["status"]["message"]}'
        )


def _review(obj: dict[str, Any]) -> bytes:
    group, _, version = obj["apiVersion"].rpartition("/")
    metadata = obj["metadata"]
    request = {
        "uid": "example",
        "kind": {"group": group, "version": version, "kind": obj["kind"]},
        "operation": "CREATE",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "userInfo": {"username": "jane"},
        "object": obj,
    }
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    ).encode()


def _context() -> AdmissionContext:
    policies = load_policies(["builtin:default"], lambda name: Path(name).read_bytes())
    index = read_snapshot("cluster.yaml", warn=sys.exit)
    return AdmissionContext(policies=policies, cluster=index)

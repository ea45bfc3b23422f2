"""Reviews of grown objects: what one costs the processor, and what it says."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import yaml

from policies.config.context import AdmissionContext
from policies.config.loader import load_policies
from policies.scheduler.index import ClusterIndex
from tests.builders import a_policy
from tests.security.shapes import as_pod
from webhook.admission.reply import Reply
from webhook.admission.respond import respond
from webhook.admission.review import Budget, Phase, ReviewRequest

#: Bytes of the largest object that the API server takes.
MAX_BODY_BYTES = 3 * 2**20
#: Zones, and pods of the rich workload on every node.
ZONES, PODS_A_NODE = 3, 2


class Answer(NamedTuple):
    """The cost and the response of a review."""

    seconds: float  #: The processor's time, without reading the JSON.
    response: dict[str, Any]  #: The response of the AdmissionReview.

    @property
    def is_denied(self) -> bool:
        """Whether the object was refused."""
        return not self.response["allowed"]

    @property
    def not_judged(self) -> str:
        """The parts that the audit log names as not evaluated; empty if there are none."""
        return str(self.response.get("auditAnnotations", {}).get("not-judged", ""))


def a_context(nodes: int, **policy: Any) -> AdmissionContext:
    """Return a context with a policy that denies and injects, and a cluster of some size."""
    index = ClusterIndex()
    for obj in cluster_objects(nodes):
        index.apply(obj)
    return context_of(index, **policy)


def context_of(index: ClusterIndex, **policy: Any) -> AdmissionContext:
    """Return a context with such a policy and a cluster."""
    return context_with([a_policy(**{"enforcement": "deny", **policy})], index)


def context_with(policies: Iterable[dict[str, Any]], index: ClusterIndex) -> AdmissionContext:
    """Return a context with the policies of some documents and a cluster."""
    text = yaml.safe_dump_all(policies).encode()
    return AdmissionContext(policies=load_policies([str(Path("policy.yaml"))], lambda _: text), cluster=index)


def cluster_objects(nodes: int) -> Iterator[dict[str, Any]]:
    """Yield nodes in zones, each tenth tainted, and pods of the rich workload on them."""
    for number in range(nodes):
        name = f"n{number}"
        labels = {
            "kubernetes.io/hostname": name,
            "topology.kubernetes.io/zone": "abc"[number % ZONES],
            "topology.kubernetes.io/region": "rs"[number % ZONES // 2],
            "pool": f"p{number % 7}",
        }
        taints = [{"key": "team", "value": "y", "effect": "NoSchedule"}] if number % 10 == 0 else []
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": {"taints": taints},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
        }
        for pod in range(PODS_A_NODE):
            yield {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"web-{number}-{pod}", "namespace": "shop", "labels": {"app": "web"}},
                "spec": {"nodeName": name, "containers": []},
                "status": {"phase": "Running"},
            }


def review_of(obj: Mapping[str, Any], *, old: Mapping[str, Any] | None = None) -> bytes:
    """Return the review of an object that somebody creates or updates."""
    group = obj["apiVersion"].rpartition("/")[0]
    request = {
        "uid": "1",
        "kind": {"group": group, "version": "v1", "kind": obj["kind"]},
        "namespace": "shop",
        "operation": "CREATE" if old is None else "UPDATE",
        "object": obj,
        "oldObject": old,
    }
    return orjson.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})


def answer(body: bytes, phase: Phase, context: AdmissionContext) -> Answer:
    """Review as a server does that has just started, and so has not learned what takes long."""
    # Collecting garbage comes at any time, and takes longest with what others have left.
    gc.disable()
    started = time.process_time()
    orjson.loads(body)
    reading = time.process_time() - started
    inventory = context.for_rules().inventory
    if inventory is not None:
        # What was derived for another pod is of no use to one that asks for something else.
        inventory.memo.clear()
    started = time.process_time()
    reply = respond(ReviewRequest(body, phase, Budget("timeout=10s", time.monotonic())), context)
    assert isinstance(reply, Reply)
    seconds = time.process_time() - started - reading
    gc.enable()
    return Answer(seconds, orjson.loads(reply.body)["response"])


def variants(obj: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a grown workload, and the pod of its template."""
    yield obj
    if "spec" in obj.get("spec", {}).get("template", {}):
        yield as_pod(obj)

"""The effect of a policy on 10,000 existing workloads: in the time of a review, and at what memory.

The worst case is a policy that selects all of them, where none was in force. The floor is to read the
workloads alone.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from datetime import date
from typing import Any

from policies.admission.policy_preview import preview_workloads
from policies.config.context import AdmissionContext
from policies.config.loader import build
from policies.config.spread_policy import API_VERSION, KIND, SpreadPolicy
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.workload_kinds import WorkloadKinds
from policies.scheduler.index import ClusterIndex
from webhook.admission.review import usable_s

WORKLOADS, NAMESPACES, NODES = 10_000, 500, 100
ZONE = "topology.kubernetes.io/zone"
TODAY = date(2027, 1, 1)
#: The time of a review that our manifests ask for.
TIMEOUT = "timeout=3s"


def run() -> None:
    """Print what previews take."""
    index, existing = ClusterIndex(), ClusterWorkloads(WorkloadKinds())
    for number in range(NODES):
        index.apply(_node(number))
    objects = [_replica_set(number) for number in range(WORKLOADS)]
    tracemalloc.start()
    for obj in objects:
        existing(obj)
    kilobytes = tracemalloc.get_traced_memory()[0] / WORKLOADS / 1024
    tracemalloc.stop()
    for obj in objects:
        index.apply(obj)
    before = AdmissionContext(policies=(), cluster=index)
    floor = _seconds(lambda: sum(1 for _ in existing.each()))
    print(f"Preview, {WORKLOADS:,} workloads, {NODES} nodes; {kilobytes:.1f} KB each in memory:")
    print(f"  read them                       {floor:6.2f} s of a processor, as below")
    for title, policy in POLICIES.items():
        after = before.with_policies((policy,))
        started = time.process_time()
        whole = preview_workloads(existing, before, after, today=TODAY)
        taken = time.process_time() - started
        in_time = _until(time.perf_counter() + usable_s(TIMEOUT))
        within = preview_workloads(existing, before, after, today=TODAY, in_time=in_time)
        print(
            f"  {title:<31} {taken:6.2f} s, {taken / floor:.0f} x that, {whole.selected:,} selected; "
            f"within the time of a review: {within.looked_at:,}"
        )


def _until(last: float) -> Callable[[], bool]:
    return lambda: time.perf_counter() < last


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _policy(**spec: Any) -> SpreadPolicy:
    return build({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "new"}, "spec": spec})


_SOFT = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}
POLICIES = {
    "a policy for one namespace": _policy(scope={"namespaces": ["ns-1"]}),
    "a policy for all": _policy(),
    "the same, injecting into pods": _policy(defaults={"constraints": [_SOFT]}),
}


def _node(number: int) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": f"n{number}", ZONE: f"z{number % 3}"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{number}", "labels": labels}}


def _replica_set(number: int) -> dict[str, Any]:
    """Return the ReplicaSet of a Deployment; half have a constraint, a tenth of those select other pods."""
    name, labels = f"w{number}", {"app": f"w{number}", "pod-template-hash": "5d9"}
    app = f"w{number}" if number % 20 else "other"
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
                  "labelSelector": {"matchLabels": {"app": app}}}  # fmt: skip
    container = {
        "name": "main",
        "image": "registry.example/app:1",
        "env": [{"name": f"SETTING_{place}", "value": "x" * 20} for place in range(10)],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
    }
    spec: dict[str, Any] = {"containers": [container]}
    if number % 2 == 0:
        spec["topologySpreadConstraints"] = [constraint]
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "controller": True}
    metadata: dict[str, Any] = {
        "name": f"{name}-5d9",
        "namespace": f"ns-{number % NAMESPACES}",
        "labels": labels,
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": metadata | {"labels": labels, "ownerReferences": [owner]},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


if __name__ == "__main__":
    run()

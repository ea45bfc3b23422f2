"""Pods with volumes, and pods that evict others: what their verdicts cost beside one of a plain pod."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import chain, islice
from typing import Any, Final

from benchmarks.clusters import USUAL, objects, probe_pod
from benchmarks.volumes import CLASS, DRIVER, PAIRS, pairs
from policies.config.context import AdmissionContext
from policies.pods.placement import evaluate_manifest
from policies.scheduler.index import ClusterIndex

#: Verdicts of each kind; the kinds alternate, so that all meet the same noise. Arbitrary.
ROUNDS: Final = 15
#: The project's aims, in milliseconds.
VOLUMES_MS, PREEMPTION_MS = 5.0, 150.0
#: More processors than any node has free, and fewer than the larger instances have.
_PROCESSORS: Final = "31"


def run() -> None:
    """Print the medians, their ratios, and the aims."""
    index = ClusterIndex()
    for obj in _cluster():
        index.apply(obj)
    context, plain = AdmissionContext(policies=(), cluster=index), probe_pod()
    pods: dict[str, tuple[dict[str, Any], float]] = {
        "plain pod": (plain, 0.0),
        "claim with a volume": (_with_claim(plain, "bound"), VOLUMES_MS),
        "claim that waits for its pod": (_with_claim(plain, "waiting"), VOLUMES_MS),
        "priority, and room on no node": (_preemptor(plain), PREEMPTION_MS),
    }
    medians = _medians([_verdict(pod, context) for pod, _ in pods.values()])
    print(
        f"Verdicts, {USUAL.nodes:,} nodes, {USUAL.pods:,} pods, {PAIRS:,} claims and volumes (medians, ms):"
    )
    for (name, (_, aim)), median in zip(pods.items(), medians, strict=True):
        aimed = f" (aim {aim:g})" if aim else ""
        print(f"  {name}: {median:.2f}{aimed}, {median / medians[0]:.1f} x the plain pod")


def _cluster() -> Iterator[dict[str, Any]]:
    """Yield a cluster in which as many pods as there are claims have one, and two claims that no pod has."""
    namespace, claims = probe_pod()["metadata"]["namespace"], pairs(PAIRS + 2)
    bound, (waiting, _) = list(islice(claims, 2)), list(islice(claims, 2))
    waiting["metadata"] |= {"namespace": namespace, "name": "waiting", "annotations": {}}
    del waiting["spec"]["volumeName"]
    waiting["status"] = {"phase": "Pending"}
    yield from (*_of(bound, namespace, "bound"), waiting)
    for obj in objects(USUAL):
        yield from _with_volume(obj, list(islice(claims, 2))) if obj["kind"] == "Pod" else [obj]
        if obj["kind"] == "Node":
            yield _storage("CSINode", obj["metadata"]["name"]) | {
                "spec": {"drivers": [{"name": DRIVER, "nodeID": "i-1", "allocatable": {"count": 25}}]}
            }
    yield _storage("CSIDriver", DRIVER)
    yield _storage("StorageClass", CLASS) | {
        "provisioner": DRIVER,
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def _with_volume(pod: dict[str, Any], pair: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield a pod, with a claim and its volume as long as there are some."""
    if not pair:
        return iter([pod])
    name = f"data-{pod['metadata']['name']}"
    claimed = _with_claim(pod, name)
    return chain(_of(pair, pod["metadata"]["namespace"], name), [claimed])


def _of(pair: list[dict[str, Any]], namespace: str, name: str) -> Iterator[dict[str, Any]]:
    """Yield a claim of a name, and its volume, which every node reaches: where pods are is given."""
    claim, volume = pair
    claim["metadata"] |= {"namespace": namespace, "name": name}
    volume["spec"]["claimRef"] |= {"namespace": namespace, "name": name}
    del volume["spec"]["nodeAffinity"]
    yield from pair


def _storage(kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": "storage.k8s.io/v1", "kind": kind, "metadata": {"name": name}}


def _with_claim(pod: dict[str, Any], name: str) -> dict[str, Any]:
    changed = deepcopy(pod)
    changed["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
    return changed


def _preemptor(pod: dict[str, Any]) -> dict[str, Any]:
    changed = deepcopy(pod)
    changed["spec"]["priority"] = 1000
    changed["spec"]["containers"][0]["resources"] = {"requests": {"cpu": _PROCESSORS}}
    return changed


def _verdict(pod: dict[str, Any], context: AdmissionContext) -> Callable[[], object]:
    verdict = evaluate_manifest(pod, context).result
    evicts = verdict.preemption is not None and bool(verdict.preemption.nominated)
    if evicts != ("priority" in pod["spec"]) or evicts == bool(verdict.feasible_count):
        raise RuntimeError(f"this is not what is to be measured: {verdict.message}")
    return lambda: evaluate_manifest(pod, context)


def _medians(runs: list[Callable[[], object]]) -> list[float]:
    """Return the processor's milliseconds of each."""
    found: list[list[float]] = [[] for _ in runs]
    for _ in range(ROUNDS):
        for one, times in zip(runs, found, strict=True):
            started = time.process_time()
            one()
            times.append(1000 * (time.process_time() - started))
    return [statistics.median(times) for times in found]


if __name__ == "__main__":
    run()

"""Claims and volumes of a live cluster: what they add to its cache, and what their events cost.

Ratios within one run: to the bytes that the API server sends, and to the events of pods.
"""

from __future__ import annotations

import gc
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, Final
from uuid import UUID

import orjson

from benchmarks.clusters import USUAL, Cluster, nodes, objects
from benchmarks.following import COLLECT_AFTER, PATIENCE_S, as_sent, followed, megabytes, record
from policies.scheduler.index import ClusterIndex
from webhook.kube.client import connect
from webhook.kube.informer import ClusterCache

#: Claims, each with its volume, and the most MB that they may add to the cache.
PAIRS, AIM_MB = 30_000, 25.0
#: Objects whose events are timed, of each kind. Arbitrary.
_TIMED: Final = 5_000
#: The driver and the class of every volume.
DRIVER, CLASS = "ebs.csi.aws.com", "gp3"


def run() -> None:
    """Print the memory of claims and volumes, and the cost of their events."""
    # Against as many again: the first find room that reading pages of nodes has left in the process.
    (before, half, _), (after, whole, seconds) = map(_measured, (PAIRS, 2 * PAIRS))
    added, size = after - before, whole - half
    print(f"Live cluster with {PAIRS:,} claims and their volumes more, {size:.0f} MB as they are sent:")
    print(
        f"  {added:.1f} MB more (aim {AIM_MB:g}), ratio {added / size:.2f}; all known after {seconds:.1f} s"
    )
    claims, volumes, pods = (_applied(found) for found in (*_pairs_by_kind(), _pods()))
    print(
        f"  an event of a claim costs {claims / pods:.2f}, of a volume {volumes / pods:.2f} of one of a pod"
    )


def _measured(count: int) -> tuple[float, float, float]:
    """Return the MB of a process that follows a cluster, those that it was sent, and its seconds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        record(chain(nodes(USUAL), pairs(count)), folder)
        resident, seconds = followed(folder, "benchmarks.volumes")
        sent = sum(path.stat().st_size for path in folder.glob("PersistentVolume*")) / 1e6
    return resident, sent, seconds


def pairs(count: int) -> Iterator[dict[str, Any]]:
    """Yield claims with the volumes that a CSI driver made for them, in 200 namespaces."""
    random = Random(0)
    for number in range(count):
        claim_uid, name = str(UUID(int=random.getrandbits(128))), f"data-web-{number // 200}"
        namespace, volume = f"team-{number % 200}", f"pvc-{claim_uid}"
        shape = {"accessModes": ["ReadWriteOnce"], "storageClassName": CLASS, "volumeMode": "Filesystem"}
        yield {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": claim_uid,
                "annotations": {
                    "pv.kubernetes.io/bind-completed": "yes",
                    "volume.kubernetes.io/selected-node": f"node-{number % USUAL.nodes}",
                },
            },
            "spec": {**shape, "resources": {"requests": {"storage": "10Gi"}}, "volumeName": volume},
            "status": {"phase": "Bound"},
        }
        zone = {"key": f"topology.{DRIVER}/zone", "operator": "In", "values": [f"zone-{number % 3}"]}
        yield {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": volume},
            "spec": {
                **shape,
                "capacity": {"storage": "10Gi"},
                "claimRef": {"namespace": namespace, "name": name, "uid": claim_uid},
                "csi": {"driver": DRIVER, "volumeHandle": f"vol-{random.getrandbits(68):017x}"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}},
            },
            "status": {"phase": "Bound"},
        }


def _pairs_by_kind() -> tuple[list[bytes], list[bytes]]:
    sent = [orjson.dumps(as_sent(obj, number)) for number, obj in enumerate(pairs(_TIMED))]
    return sent[::2], sent[1::2]


def _pods() -> list[bytes]:
    found = (obj for obj in objects(Cluster(nodes=100, pods=_TIMED)) if obj["kind"] == "Pod")
    return [orjson.dumps(as_sent(obj, number)) for number, obj in enumerate(found)]


def _applied(events: list[bytes]) -> float:
    """Return the processor's seconds of one event: its JSON is read, and the object replaced."""
    index = ClusterIndex()
    for text in events:
        index.apply(orjson.loads(text))
    started = time.process_time()
    for text in events:
        index.apply(orjson.loads(text))
    return (time.process_time() - started) / len(events)


def _follow(kubeconfig: str) -> None:
    """Print the memory of the process once all is known, and the seconds until then."""
    cluster = ClusterCache(connect(kubeconfig=kubeconfig))
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)
    started = time.perf_counter()
    cluster.start()
    while not cluster.synced:
        assert time.perf_counter() < started + PATIENCE_S, "it is not known in time"
        time.sleep(0.01)
    seconds = time.perf_counter() - started
    gc.collect()
    resident = megabytes("VmRSS")
    cluster.stop()
    print(json.dumps([resident, seconds]))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["follow", kubeconfig]:
            _follow(kubeconfig)
        case _:
            run()

"""Ordinary reviews beside a user who sends the dearest reviews found, one after another without a pause.

One worker answers ordinary reviews alone, then beside each of them; both in turn, so that they meet the same
noise. Which are the dearest, ``benchmarks.dearest_review`` found.

Usage: python -m benchmarks.beside_dearest [NODES ...]
"""

from __future__ import annotations

import http.client
import multiprocessing
import ssl
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import orjson

from benchmarks import servers
from benchmarks.load import Target, medians, send
from benchmarks.samples import review
from benchmarks.servers import Running
from tests.security.combinations import CHOICES, an_object
from tests.security.reviewing import cluster_objects, review_of
from webhook.admission.review import Phase

#: Milliseconds within which 99 of 100 ordinary reviews must be answered beside them: the project's aim.
AIM_MS: Final = 100.0
#: Nodes of the clusters.
NODES: Final = (1_000, 5_000)
#: Rounds, and seconds of each slice. Arbitrary.
ROUNDS, SLICE_S = 3, 3.0
#: Seconds until the user has begun. Arbitrary.
_BEGINS_S = 0.5
#: What is chosen otherwise than by default; the first is an ordinary Deployment of 1 KB with nested domains.
DEAREST: Final[dict[str, dict[str, Any]]] = {
    "nested domains": {
        "replicas": 2**31 - 1, "constraints": 3, "constraint_keys": "real", "max_skew": "each",
        "tolerations": 1,
    },
    "nested domains, many replicas kept": {
        "replicas": 150_000, "strategy": "unavailable", "constraints": 6, "constraint_keys": "real",
        "max_skew": "each", "tolerations": 15, "anti_affinity": 3, "term_keys": "real",
        "constraint_policies": "Honor",
    },
    "700 terms on hosts": {
        "labels": 100, "node_expressions": 30, "node_operator": "NotIn", "node_keys": "one", "field_terms": 1,
        "affinity": 300, "anti_affinity": 100, "preferred_anti_affinity": 300, "term_keys": "one",
    },
    "1,400 terms": {
        "replicas": 50, "constraints": 1, "constraint_policies": "Honor", "node_selector": 1,
        "node_terms": 15, "node_values": 60, "preferred_nodes": 30, "affinity": 2, "preferred_affinity": 300,
        "anti_affinity": 60, "preferred_anti_affinity": 1_000,
    },
}  # fmt: skip


def run(*sizes: int) -> None:
    """Print a line for each review and size of the cluster."""
    for nodes in sizes or NODES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            cluster = folder / "cluster.json"
            listed = {"apiVersion": "v1", "kind": "List", "items": list(cluster_objects(nodes))}
            cluster.write_bytes(orjson.dumps(listed))
            files = servers.make_certificates(folder)
            with servers.ours(folder, files, workers=1, threads=8, cluster=cluster) as server:
                _compare(server, folder, nodes)


def _compare(server: Running, folder: Path, nodes: int) -> None:
    print(f"Reviews of one worker, {nodes:,} nodes, beside one user (p99, aim {AIM_MS:g} ms):")
    target = Target("/validate", review(Phase.VALIDATE), 1, SLICE_S)
    for name, chosen in DEAREST.items():
        body = review_of(an_object({key: options[0] for key, options in CHOICES.items()} | chosen))
        alone, beside, took = [], [], list[float]()
        for _ in range(ROUNDS):
            alone.append(send(server, target, folder=folder))
            with _user(server, body, took):
                beside.append(send(server, target, folder=folder))
        quiet, busy = medians(alone), medians(beside)
        print(
            f"  {name:<36} p50 {quiet[0]:5.2f} ► {busy[0]:6.2f} ms   p99 {quiet[1]:5.2f} ► {busy[1]:6.2f} ms"
            f" ({busy[1] / quiet[1]:.1f} x); {sum(load.errors for load in beside)} errors;"
            f" the user's {len(took):,} of {len(body):,} bytes took {statistics.median(took) * 1e3:.1f} ms"
        )


@contextmanager
def _user(server: Running, body: bytes, took: list[float]) -> Iterator[None]:
    """Let a user send a review again and again while the block runs; note how long each took, in seconds."""
    context = multiprocessing.get_context("fork")
    stop, told = context.Event(), context.SimpleQueue()

    def ask() -> None:
        trusted = ssl.create_default_context(cafile=str(server.authority))
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=trusted)
        times = []
        while not stop.is_set():
            started = time.perf_counter()
            connection.request("POST", "/validate", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            if answer.status != http.HTTPStatus.OK:
                raise RuntimeError(f"/validate: {answer.status}")
            times.append(time.perf_counter() - started)
        told.put(times)

    process = context.Process(target=ask)
    process.start()
    time.sleep(_BEGINS_S)
    yield
    stop.set()
    took += told.get()
    process.join()


if __name__ == "__main__":
    run(*map(int, sys.argv[1:]))

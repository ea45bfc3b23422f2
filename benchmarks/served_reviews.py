"""Processor time per review over one kept TLS connection, beside a handler that does nothing.

Both servers have one worker and take turns in short batches, so that they meet the same noise. A controller's
pod is the same each time; a person's Deployments differ from one to the next, as they do when people send
them, and rules and the forecast look at 1,000 nodes.
"""

from __future__ import annotations

import http.client
import ssl
import statistics
import tempfile
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import orjson

from benchmarks import servers
from benchmarks.clusters import Cluster, objects
from benchmarks.samples import CLUSTER, deployments, review
from benchmarks.servers import Running
from webhook.admission.review import Phase

#: The cluster, beside what ``samples`` has: 30 pods a node.
SIZE = Cluster(nodes=1_000, pods=30_000)
#: Batches of each kind, after one that warms up, and requests of a batch. Arbitrary: two minutes in all.
BATCHES, REQUESTS = 10, 300
#: How many times the processor time of the empty handler a review may take: the project's aims.
AIM_OF_POD, AIM_OF_DEPLOYMENT = 2.2, 4.0


class Kind(NamedTuple):
    """Reviews that are measured: what they are, where they go, and what is said of their cost."""

    name: str
    path: str
    bodies: Iterator[bytes]
    aim: float


def kinds() -> list[Kind]:
    """Return what is sent."""
    return [
        *(
            Kind(f"a controller's pod, /{phase}", f"/{phase}", cycle([review(phase)]), AIM_OF_POD)
            for phase in Phase
        ),
        Kind("a person's Deployment, /validate", "/validate", deployments(), AIM_OF_DEPLOYMENT),
    ]


def write_cluster(path: Path) -> None:
    """Write the cluster as a snapshot."""
    path.write_bytes(orjson.dumps(CLUSTER | {"items": [*CLUSTER["items"], *objects(SIZE)]}))


class Sender:
    """Sends reviews over one connection and takes the processor time that the workers spend."""

    def __init__(self, server: Running) -> None:
        context = ssl.create_default_context(cafile=str(server.authority))
        self._server = server
        self._connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context)

    def microseconds(self, path: str, bodies: list[bytes]) -> float:
        """Send a batch; return the processor time for each review."""
        before = self._server.processor_seconds()
        for body in bodies:
            self._connection.request("POST", path, body, {"Content-Type": "application/json"})
            answer = self._connection.getresponse()
            if answer.status != http.client.OK or b'"allowed":true' not in answer.read():
                raise RuntimeError(f"{path} answered {answer.status}")
        return (self._server.processor_seconds() - before) / len(bodies) * 1e6


def run() -> None:
    """Print a line for each kind of review."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = servers.make_certificates(folder)
        write_cluster(folder / "cluster.json")
        with (
            servers.empty(folder, files, workers=1, threads=8) as empty,
            servers.ours(folder, files, workers=1, threads=8, cluster=folder / "cluster.json") as ours,
        ):
            floor, mine = Sender(empty), Sender(ours)
            print(f"Served over one TLS connection, {SIZE.nodes} nodes, µs of processor time per review:")
            for kind in kinds():
                pairs = []
                for _ in range(1 + BATCHES):
                    bodies = [next(kind.bodies) for _ in range(REQUESTS)]
                    pairs.append(
                        (floor.microseconds(kind.path, bodies), mine.microseconds(kind.path, bodies))
                    )
                print(_line(kind, len(bodies[0]), pairs[1:]))


def _line(kind: Kind, size: int, pairs: list[tuple[float, float]]) -> str:
    least, cost = (statistics.median(side) for side in zip(*pairs, strict=True))
    ratios = sorted(cost / least for least, cost in pairs)
    return (
        f"  {kind.name:<34} {size} bytes   empty {least:5.0f}   evenkeel {cost:5.0f}"
        f"   ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}; aim {kind.aim})"
    )


if __name__ == "__main__":
    run()

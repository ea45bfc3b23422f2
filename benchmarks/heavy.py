"""Reviews beside callers who ask the heaviest they may, and the memory that the heaviest request takes.

One worker with a large cluster answers reviews alone, then while four callers explain, score and lint without
a pause; both in turn, so that they meet the same noise.
"""

from __future__ import annotations

import http.client
import multiprocessing
import ssl
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Any

import orjson

from benchmarks import servers
from benchmarks.clusters import USUAL, Cluster, probe_pod, write_list
from benchmarks.load import Target, medians, send
from benchmarks.samples import review
from benchmarks.servers import Running
from webhook.admission.review import Phase

#: Who asks at once, beside the reviews. The project's aim names four.
CALLERS = 4
#: Rounds, and seconds per slice. Arbitrary.
ROUNDS, SLICE_S = 5, 3.0
#: Milliseconds within which 99 of 100 reviews must be answered beside them.
AIM_MS = 25.0
#: MiB: the memory limit of the chart.
AIM_MIB = 1024
#: Replicas that the Deployment wants: more than are counted.
_REPLICAS = 2_000
#: Seconds between two looks at memory. Arbitrary.
_LOOK_EVERY_S = 0.005
#: Workloads in a lint request; some 3 MiB, the default of --max-body-bytes.
_LINTED = 1_500

_JSON = {"Content-Type": "application/json"}


def run() -> None:
    """Print a line for the reviews alone, for those beside the callers, and for memory."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cluster = folder / "cluster.json"
        with cluster.open("wb") as file:
            write_list(USUAL, file)
        files = servers.make_certificates(folder)
        with servers.ours(folder, files, workers=1, threads=8, cluster=cluster, role="all") as server:
            _reviews(server, folder)
            _memory(server)


def _reviews(server: Running, folder: Path) -> None:
    print(f"Reviews of one worker, {USUAL.nodes:,} nodes, {USUAL.pods:,} pods, one connection:")
    target = Target("/validate", review(Phase.VALIDATE), 1, SLICE_S)
    for name, requests in _heavy_requests().items():
        alone, beside, answers = [], [], Counter[str]()
        for _ in range(ROUNDS):
            alone.append(send(server, target, folder=folder))
            with _callers(server, requests, answers):
                beside.append(send(server, target, folder=folder))
        quiet, busy = medians(alone), medians(beside)
        told = ", ".join(f"{count} {status}" for status, count in sorted(answers.items()))
        print(
            f"  beside {CALLERS} that {name:<8} p50 {quiet[0]:5.2f} ► {busy[0]:5.2f} ms"
            f" ({busy[0] / quiet[0]:.1f} x)   p99 {quiet[1]:5.2f} ► {busy[1]:6.2f} ms (aim {AIM_MS:g});"
            f" they got {told}"
        )


def _heavy_requests() -> dict[str, tuple[str, bytes]]:
    """Return the request of each kind of caller: a route and a body."""
    pod = probe_pod()
    deployment = _deployment("probe", pod, _REPLICAS)
    workloads = [_deployment(f"web-{number}", pod, 3) for number in range(_LINTED)]
    return {
        "explain": ("/v1/explain", orjson.dumps({"pod": deployment})),
        "score": ("/v1/score", orjson.dumps({"pod": pod})),
        "lint": ("/v1/lint", orjson.dumps({"objects": workloads})),
    }


def _deployment(name: str, pod: dict[str, Any], replicas: int) -> dict[str, Any]:
    labels = {"app": pod["metadata"]["labels"]["app"]}
    template = {"metadata": {"labels": labels}, "spec": pod["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": pod["metadata"]["namespace"]},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


@contextmanager
def _callers(server: Running, request: tuple[str, bytes], answers: Counter[str]) -> Iterator[None]:
    """Let callers ask without a pause while the block runs; count the statuses of their answers."""
    context = multiprocessing.get_context("fork")
    stop, told = context.Event(), context.SimpleQueue()

    def ask(told: SimpleQueue[str]) -> None:
        while not stop.is_set():
            told.put(str(_post(server, *request)))

    processes = [context.Process(target=ask, args=(told,)) for _ in range(CALLERS)]
    for process in processes:
        process.start()
    time.sleep(0.2)
    yield
    stop.set()
    for process in processes:
        process.join()
    while not told.empty():
        answers[told.get()] += 1


def _post(server: Running, path: str, body: bytes) -> int:
    context = ssl.create_default_context(cafile=str(server.authority))
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context)
    try:
        connection.request("POST", path, body, _JSON)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def _memory(server: Running) -> None:
    """Print the memory of the worker and its children together, while the largest requests are answered."""
    print("Memory of a worker and its children together (Pss):")
    print(f"  at rest {_resident_mib(server):.0f} MiB (aim at most {AIM_MIB})")
    largest = [("score: " + name, ("/v1/score", body)) for name, body in _largest_bodies()]
    for name, request in [*_heavy_requests().items(), *largest]:
        peak, ended = 0.0, threading.Event()

        def look(ended: threading.Event = ended) -> None:
            nonlocal peak
            while not ended.is_set():
                peak = max(peak, _resident_mib(server))
                time.sleep(_LOOK_EVERY_S)

        looking = threading.Thread(target=look)
        looking.start()
        started = time.perf_counter()
        status = _post(server, *request)
        seconds = time.perf_counter() - started
        ended.set()
        looking.join()
        size = len(request[1]) / 2**20
        print(f"  {name:<41} {size:4.1f} MiB: {status} after {seconds:4.1f} s, peak {peak:.0f} MiB")


def _largest_bodies() -> Iterator[tuple[str, bytes]]:
    """Yield bodies as large as may be: of a real cluster, and of what takes most memory."""
    pod = orjson.dumps(probe_pod())
    listed = BytesIO()
    write_list(Cluster(nodes=2_300, pods=34_000), listed)
    yield "a cluster", b'{"pod":' + pod + b',"cluster":' + listed.getvalue() + b"}"
    # Up to 2,600,000 brackets and commas are read.
    for name, part, most in (
        ("empty pods, most that are sent", b"{}", 11_000_000),
        ("empty pods, most that are read", b"{}", 1_280_000),
        ("long texts, most that are read", b'"' + b"x" * 16 + b'"', 1_700_000),
        ("objects of one, most that are read", b'{"name":1}', 1_260_000),
    ):
        yield name, b'{"pod":' + pod + b',"cluster":{"pods":[' + b",".join([part] * most) + b"]}}"


def _resident_mib(server: Running) -> float:
    """Return the memory of the workers and all that they have started, shared pages once."""
    return sum(_pss_kib(pid) for worker in server.workers() for pid in _descendants(worker)) / 1024


def _descendants(pid: int) -> list[int]:
    """Return a process and all that it has started, which hold the cluster and compute answers."""
    found = [pid]
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += _descendants(int(child))
    except OSError:
        pass
    return found


def _pss_kib(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return int(text.partition("\nPss:")[2].split()[0])


if __name__ == "__main__":
    run()

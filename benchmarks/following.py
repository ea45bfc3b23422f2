"""A large cluster followed live: seconds and memory until it is known, and what its events cost then.

An API server of the loopback, in a process of its own, answers over TLS from pages that were recorded
before. Objects carry what API servers send and nobody here needs, such as ``managedFields``.
"""

from __future__ import annotations

import gc
import itertools
import json
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import orjson

from benchmarks import servers
from benchmarks.clusters import USUAL, objects
from webhook.kube.client import connect
from webhook.kube.informer import ClusterCache
from webhook.kube.list import PAGE
from webhook.kube.watched_resources import WATCHED_RESOURCES

#: The project's aims: seconds until all is known, MB of the process then, and share of a processor core.
AIM_S, AIM_MB, AIM_SHARE = 25.0, 500.0, 0.30
#: Pod events a second, and for how many seconds they are watched.
EVENTS_S, WATCHED_S = 1_000, 10
#: Different events; then they begin again. Arbitrary.
_EVENTS = 3_000
#: Pod events in one turn of the sender, so that its sleeps are longer than the clock's grain. Arbitrary.
_BURST = 10
#: Seconds until all is known after which something is wrong. Arbitrary.
PATIENCE_S = 300.0
#: Seconds that another thread sleeps in one go, to see for how long it is kept waiting. Arbitrary.
_NAP_S = 0.005
#: Objects after which the collector looks for cycles, as ``webhook/gunicorn/application.py`` sets it.
COLLECT_AFTER = 20_000
#: The version of everything that was recorded.
_VERSION: Final = "1000000"


def run() -> None:
    """Print all three, beside the time that reading the same bytes takes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        record(objects(USUAL), folder)
        seconds, processor, before, resident, peak, share, latency = followed(folder, "benchmarks.following")
        size, floor = _floor(folder)
    print(f"Live cluster of {size / 1e6:.0f} MB, {USUAL.nodes:,} nodes, {USUAL.pods:,} pods:")
    print(
        f"  until known {seconds:.1f} s (aim {AIM_S:g}), of the processor {processor:.1f} s; "
        f"orjson.loads alone {floor:.1f} s, ratio {processor / floor:.1f}"
    )
    print(f"  resident {resident:.0f} MB (aim {AIM_MB:g}), peak {peak:.0f} MB, before {before:.0f} MB")
    print(f"  longest wait of another thread meanwhile {latency * 1e3:.0f} ms")
    print(f"  {EVENTS_S:,} pod events/s take {share:.1%} of a core (aim {AIM_SHARE:.0%})")


def followed(folder: Path, module: str) -> list[float]:
    """Return the output of a module that follows the recorded cluster of a folder, served meanwhile."""
    files = servers.make_certificates(folder)
    command = [sys.executable, "-m", "benchmarks.following"]
    serving = [*command, "serve", str(folder), str(files.certificate), str(files.key)]
    with subprocess.Popen(serving, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        kubeconfig = write_kubeconfig(folder, f"https://127.0.0.1:{address}", files.ca)
        try:
            done = subprocess.run(
                [sys.executable, "-m", module, "follow", str(kubeconfig)],
                check=True,
                capture_output=True,
                text=True,
            )
        finally:
            server.terminate()
    found: list[float] = json.loads(done.stdout)
    return found


def record(everything: Iterable[dict[str, Any]], folder: Path, *, page: int = PAGE) -> None:
    """Write the pages of every kind as an API server would send them, and the events of some pods."""
    pages: dict[str, list[bytes]] = {resource.kind: [] for resource in WATCHED_RESOURCES}
    written: dict[str, int] = dict.fromkeys(pages, 0)
    events: list[bytes] = []

    def write(kind: str, *, last: bool) -> None:
        number = written[kind]
        metadata = {"resourceVersion": _VERSION} | ({} if last else {"continue": str(number + 1)})
        head = orjson.dumps({"kind": f"{kind}List", "apiVersion": "v1", "metadata": metadata})
        Path(folder, f"{kind}-{number}").write_bytes(
            head[:-1] + b',"items":[' + b",".join(pages[kind]) + b"]}\n"
        )
        written[kind] += 1
        pages[kind].clear()

    for number, bare in enumerate(everything):
        kind = bare["kind"]
        if len(pages[kind]) == page:
            write(kind, last=False)
        obj = as_sent(bare, number)
        if kind == "Pod" and len(events) < _EVENTS:
            verb = ("MODIFIED", "DELETED", "ADDED")[len(events) % 3]
            events.append(orjson.dumps({"type": verb, "object": obj}) + b"\n")
        # The objects of a list have no kind of their own.
        del obj["apiVersion"], obj["kind"]
        pages[kind].append(orjson.dumps(obj))
    for kind in pages:
        write(kind, last=True)
    Path(folder, "events").write_bytes(b"".join(events))


def as_sent(obj: dict[str, Any], number: int) -> dict[str, Any]:
    """Return an object with what an API server adds to it; a pod has then some 4 KB."""
    kind, metadata = obj["kind"], obj["metadata"]
    owned: dict[str, Any] = {"f:metadata": {"f:labels": {".": {}, **_fields(metadata.get("labels", {}))}}}
    sent = obj | {
        "metadata": {
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "uid": f"6f3b1c9e-0000-4000-8000-{number:012x}",
            **metadata,
            "resourceVersion": str(900_000 + number),
            "managedFields": [_managed("kube-controller-manager", owned)],
        }
    }
    if kind == "Pod":
        _dress_pod(sent, number, owned)
    elif kind == "Node":
        _dress_node(sent)
    elif kind == "ReplicaSet":
        template = sent["spec"]["template"]
        dressed = template | {"spec": {"containers": _dressed(template["spec"]["containers"])}}
        sent["spec"] = sent["spec"] | {"template": dressed}
        sent["status"] = {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1, "observedGeneration": 1}
    return sent


def _dressed(containers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return containers with what people write and the API server fills in."""
    token = {"name": "kube-api-access", "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io"}
    probe = {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10}
    return [
        container
        | {
            "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
            "env": [{"name": f"SETTING_{n}", "value": f"value of setting {n}"} for n in range(6)],
            "volumeMounts": [token],
            "livenessProbe": probe,
            "readinessProbe": probe,
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "imagePullPolicy": "IfNotPresent",
        }
        for container in containers
    ]


def _dress_pod(pod: dict[str, Any], number: int, owned: dict[str, Any]) -> None:
    containers = _dressed(pod["spec"]["containers"])
    pod["spec"] = pod["spec"] | {
        "containers": containers,
        "volumes": [{"name": "kube-api-access", "projected": {"sources": [{}] * 3, "defaultMode": 420}}],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532},
        "schedulerName": "default-scheduler",
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    when = "2026-01-01T00:00:07Z"
    conditions = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    pod["status"] = pod["status"] | {
        "conditions": [
            {"type": name, "status": "True", "lastProbeTime": None, "lastTransitionTime": when}
            for name in conditions
        ],
        "hostIP": address,
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": when,
        "containerStatuses": [
            {
                "name": container["name"],
                "state": {"running": {"startedAt": when}},
                "lastState": {},
                "ready": True,
                "restartCount": 0,
                "image": container["image"],
                "imageID": f"{container['image']}@sha256:{number:064x}",
                "containerID": f"containerd://{number:064x}",
                "started": True,
            }
            for container in containers
        ],
        "qosClass": "Burstable",
    }
    owned["f:spec"] = {
        f'k:{{"name":"{container["name"]}"}}': {".": {}, **_fields(container)} for container in containers
    } | _fields(pod["spec"])
    written = {f'k:{{"type":"{name}"}}': {".": {}, **_fields({"status": "True"})} for name in conditions}
    pod["metadata"]["managedFields"].append(_managed("kubelet", {"f:status": {"f:conditions": written}}))


def _dress_node(node: dict[str, Any]) -> None:
    images = [
        {"names": [f"registry.example/image-{n}@sha256:{n:064x}"], "sizeBytes": 10**8} for n in range(50)
    ]
    conditions = [
        {"type": name, "status": "False", "reason": "KubeletIsFine", "message": "kubelet is fine"}
        for name in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    node["status"] = node["status"] | {"images": images, "conditions": conditions}


def _fields(obj: dict[str, Any]) -> dict[str, Any]:
    return {f"f:{name}": {} for name in obj}


def _managed(manager: str, owned: dict[str, Any]) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:07Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": owned,
    }


def write_kubeconfig(folder: Path, url: str, authority: Path) -> Path:
    """Write the way to a server, with a token, and return its file."""
    cluster = {"name": "c", "cluster": {"server": url, "certificate-authority": str(authority)}}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [cluster],
        "users": [{"name": "u", "user": {"token": "a-token"}}],
        "contexts": [{"name": "k", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "k",
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config))
    return path


def _floor(folder: Path) -> tuple[int, float]:
    """Return the bytes of all pages, and the processor's seconds to read them as JSON."""
    size, spent = 0, 0.0
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)
    for resource in WATCHED_RESOURCES:
        for path in folder.glob(f"{resource.kind}-*"):
            body = path.read_bytes()
            size += len(body)
            started = time.process_time()
            orjson.loads(body)
            spent += time.process_time() - started
    return size, spent


class _Handler(BaseHTTPRequestHandler):
    """Lists from the recorded pages, and watches: of pods full of events, of all else silent."""

    protocol_version = "HTTP/1.1"
    folder: Path
    kinds: Final = {resource.path: resource.kind for resource in WATCHED_RESOURCES}

    def do_GET(self) -> None:
        path = urlsplit(self.path)
        query = dict(parse_qsl(path.query))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        kind = self.kinds[path.path]
        if "watch" not in query:
            self._send(Path(self.folder, f"{kind}-{query.get('continue', 0)}").read_bytes())
        elif kind == "Pod":
            self._send_events(time.monotonic() + float(query["timeoutSeconds"]))
        else:
            time.sleep(float(query["timeoutSeconds"]))
        self.wfile.write(b"0\r\n\r\n")

    def _send_events(self, end: float) -> None:
        lines = itertools.cycle(Path(self.folder, "events").read_bytes().splitlines(keepends=True))
        due = time.monotonic()
        while due < end:
            for line in itertools.islice(lines, _BURST):
                self._send(line)
            due += _BURST / EVENTS_S
            time.sleep(max(0.0, due - time.monotonic()))

    def _send(self, body: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(body), body))

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that go away."""


def _serve(folder: str, certificate: str, key: str) -> None:
    """Serve the pages of a folder; print the port."""
    _Handler.folder = Path(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        print(server.server_address[1], flush=True)
        server.serve_forever()


def _follow(kubeconfig: str) -> None:
    """Follow until all is known and for some events; print what it took."""
    cluster = ClusterCache(connect(kubeconfig=kubeconfig))
    # As the server does before it begins to work.
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)
    before = megabytes("VmRSS")
    started, used = time.perf_counter(), time.process_time()
    cluster.start()
    latency = max(_late(PATIENCE_S, until=lambda: cluster.synced))
    seconds, processor = time.perf_counter() - started, time.process_time() - used
    # Whatever is measured must be there: of each three events one leaves its pod removed.
    assert USUAL.pods - _EVENTS <= cluster.index.pod_count <= USUAL.pods
    resident, peak = megabytes("VmRSS"), megabytes("VmHWM")
    share = _share(cluster)
    cluster.stop()
    print(json.dumps([seconds, processor, before, resident, peak, share, latency]))


def _late(patience_s: float, *, until: Callable[[], bool]) -> Iterator[float]:
    """Yield by how many seconds short sleeps were longer than asked, until something is true."""
    deadline = time.perf_counter() + patience_s
    while not until():
        asleep = time.perf_counter()
        assert asleep < deadline, "it is not known in time"
        time.sleep(_NAP_S)
        yield time.perf_counter() - asleep - _NAP_S


def _share(cluster: ClusterCache) -> float:
    """Return the share of a core that this process uses while it follows events."""

    def seen() -> int:
        return sum(status.events for status in cluster.kinds())

    time.sleep(1)
    events, wall, used = seen(), time.perf_counter(), time.process_time()
    time.sleep(WATCHED_S)
    wall, used, events = time.perf_counter() - wall, time.process_time() - used, seen() - events
    assert events > 0.9 * EVENTS_S * WATCHED_S, f"only {events} events in {wall:.1f} s"
    return used / wall


def megabytes(name: str) -> float:
    """Return a size of this process in MB, by its name in ``/proc/self/status``."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition(f"{name}:")[2].split()[0]) * 1024 / 1e6


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", folder, certificate, key]:
            _serve(folder, certificate, key)
        case ["follow", kubeconfig]:
            _follow(kubeconfig)
        case _:
            run()

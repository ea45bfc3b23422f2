"""How long answers take beside clients that drip or never read, each kind alone and all at once."""

from __future__ import annotations

import http.client
import ssl
import tempfile
import time
from pathlib import Path

from benchmarks import servers
from benchmarks.samples import review
from benchmarks.servers import Running
from tests.security.slow_clients import CROWD, Misbehavior, beside, pipelined
from webhook.admission.review import Phase

#: Milliseconds within which 99 of 100 answers must come beside them: the project's aim.
AIM_MS = 100.0
#: Clients that send reviews without waiting for answers.
PIPELINING = (8, 24)
#: Seconds for each kind. Arbitrary; longer than the bad clients take to begin.
DURATION_S = 8.0

_HEADERS = {"Content-Type": "application/json"}


def run() -> None:
    """Print a line for each kind of clients."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = servers.make_certificates(folder)
        with servers.ours(folder, files, workers=1, threads=8) as server:
            context = ssl.create_default_context(cafile=str(server.authority))
            kinds: dict[str, dict[Misbehavior, int]] = {"nobody": {}}
            kinds |= {f"{count} of {kind.__name__}": {kind: count} for kind, count in CROWD.items()}
            kinds["all of them"] = CROWD
            kinds |= {f"{count} of pipelined": {pipelined: count} for count in PIPELINING}
            print(f"Beside slow clients (p99, aim {AIM_MS:g} ms):")
            for what, groups in kinds.items():
                with beside(lambda: _tls(server, context), groups):
                    _measure(what, server, context)


def _tls(server: Running, context: ssl.SSLContext) -> ssl.SSLSocket:
    connection = _connect(server, context)
    connection.connect()
    sock = connection.sock
    assert isinstance(sock, ssl.SSLSocket)
    return sock


def _connect(server: Running, context: ssl.SSLContext) -> http.client.HTTPSConnection:
    return http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=30)


def _measure(what: str, server: Running, context: ssl.SSLContext) -> None:
    """Ask in turn over a kept connection and a new one, and print how long it took."""
    took: dict[str, list[float]] = {"review": [], "readyz": [], "handshake and review": []}
    body, kept = review(Phase.VALIDATE), _connect(server, context)
    ends = time.monotonic() + DURATION_S
    while time.monotonic() < ends:
        for _ in range(5):
            took["review"].append(_ask(kept, "POST", "/validate", body))
        took["readyz"].append(_ask(kept, "GET", "/readyz"))
        new = _connect(server, context)
        took["handshake and review"].append(_ask(new, "POST", "/validate", body))
        new.close()
    kept.close()
    texts = [f"{name} {sorted(times)[int(len(times) * 0.99)] * 1000:.1f} ms" for name, times in took.items()]
    print(f"  {what:<24} {', '.join(texts)} ({len(took['review'])} reviews)")


def _ask(connection: http.client.HTTPSConnection, method: str, path: str, body: bytes = b"") -> float:
    """Return how many seconds an answer takes, with the handshake of a new connection."""
    started = time.perf_counter()
    connection.request(method, path, body or None, _HEADERS)
    answer = connection.getresponse()
    answer.read()
    if answer.status != http.HTTPStatus.OK:
        raise RuntimeError(f"{path}: {answer.status}")
    return time.perf_counter() - started


if __name__ == "__main__":
    run()

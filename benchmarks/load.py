"""Requests as fast as the server takes them, over kept-alive TLS connections: wrk, or else Python."""

from __future__ import annotations

import http.client
import json
import multiprocessing
import re
import shutil
import ssl
import statistics
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.servers import Running

#: Sends one body; answers are counted as errors unless 200 and allowed.
_SCRIPT = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local file = io.open("{body}", "rb")
wrk.body = file:read("*a")
file:close()
done = function(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format('RESULT {{"requests": %d, "seconds": %f, "p50": %d, "p99": %d, "errors": %d}}\\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
"""

#: Processes of the Python generator, each with its share of the connections. Arbitrary.
_PROCESSES = 2


@dataclass(frozen=True, slots=True)
class Load:
    """The result of a run; latencies in milliseconds."""

    per_second: float
    p50_ms: float
    p99_ms: float
    errors: int


@dataclass(frozen=True, slots=True)
class Target:
    """The requests to send, and how many at once."""

    path: str
    body: bytes
    connections: int
    seconds: float


def send(server: Running, target: Target, *, folder: Path) -> Load:
    """Send requests for some seconds."""
    if shutil.which("wrk"):
        return _wrk(server, target, folder)
    return _python(server, target)


def medians(loads: list[Load]) -> tuple[float, float]:
    """Return the medians of the p50 and of the p99 of some loads, in milliseconds."""
    return statistics.median(load.p50_ms for load in loads), statistics.median(load.p99_ms for load in loads)


def _wrk(server: Running, target: Target, folder: Path) -> Load:
    body = folder / "body.json"
    body.write_bytes(target.body)
    script = folder / "load.lua"
    script.write_text(_SCRIPT.format(body=body))
    command = ["wrk", "-t1", f"-c{target.connections}", f"-d{target.seconds:g}s", "-s", str(script)]
    url = f"https://127.0.0.1:{server.port}{target.path}"
    output = subprocess.run([*command, url], capture_output=True, text=True, check=True).stdout
    found = re.search(r"^RESULT (.*)$", output, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"wrk printed no result:\n{output}")
    result = json.loads(found[1])
    return Load(
        per_second=result["requests"] / result["seconds"],
        p50_ms=result["p50"] / 1000,
        p99_ms=result["p99"] / 1000,
        errors=result["errors"],
    )


def _python(server: Running, target: Target) -> Load:
    with multiprocessing.get_context("fork").Pool(_PROCESSES) as pool:
        share = max(1, target.connections // _PROCESSES)
        parts = pool.starmap(_ask_in_turn, [(server, target, share)] * _PROCESSES)
    latencies = sorted(latency for part, _ in parts for latency in part)
    return Load(
        per_second=len(latencies) / target.seconds,
        p50_ms=statistics.median(latencies) * 1000,
        p99_ms=latencies[int(len(latencies) * 0.99)] * 1000,
        errors=sum(errors for _, errors in parts),
    )


def _ask_in_turn(server: Running, target: Target, connections: int) -> tuple[list[float], int]:
    """Ask over several connections, one request at a time; return latencies in seconds, and errors."""
    context = ssl.create_default_context(cafile=str(server.authority))
    opened = [
        http.client.HTTPSConnection("127.0.0.1", server.port, context=context) for _ in range(connections)
    ]
    latencies, errors = [], 0
    ends = time.monotonic() + target.seconds
    while time.monotonic() < ends:
        for connection in opened:
            started = time.perf_counter()
            connection.request("POST", target.path, target.body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            errors += answer.status != 200
            latencies.append(time.perf_counter() - started)
    return latencies, errors

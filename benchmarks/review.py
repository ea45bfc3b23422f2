"""The cost of one review inside the process, beside a floor: reading and writing the same JSON."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import orjson

from benchmarks.samples import CLUSTER, POLICY, applied, review
from policies.config.context import AdmissionContext
from webhook.admission.context import build_context
from webhook.admission.reply import Reply
from webhook.admission.respond import respond
from webhook.admission.review import Budget, Phase, ReviewRequest
from webhook.settings import Settings

#: Calls per sample, and samples; the two kinds alternate, so that both meet the same noise. Arbitrary.
CALLS = 500
#: Samples of each kind. Arbitrary.
SAMPLES = 30

#: Microseconds that a validated pod may cost: the project's aim.
AIM_US = 60.0


def sample_context() -> AdmissionContext:
    """Return the context of the sample policy and cluster, as the server builds it."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = Path(folder, "cluster.json")
        cluster.write_bytes(orjson.dumps(CLUSTER))
        return build_context(Settings(self_signed=True, policy=(POLICY,), cluster=str(cluster)), print)


def _microseconds(function: Callable[[], object]) -> float:
    started = time.perf_counter()
    for _ in range(CALLS):
        function()
    return (time.perf_counter() - started) / CALLS * 1e6


def _answer(body: bytes, phase: Phase, context: AdmissionContext) -> Reply:
    """Answer as the server does; a controller's pod gets no forecast, and must not pay for one."""
    reply = respond(ReviewRequest(body, phase, Budget("timeout=10s", time.monotonic())), context)
    assert isinstance(reply, Reply)
    return reply


def _rewrite(body: bytes) -> bytes:
    return orjson.dumps(orjson.loads(body))


def run() -> None:
    """Print the median cost of both phases, of a Deployment that a person applies, and of the floor."""
    context = sample_context()
    print(f"One review in-process (median, µs; aim for a validated pod: under {AIM_US:.0f}):")
    for phase, body in [*((phase, review(phase)) for phase in Phase), (Phase.VALIDATE, applied())]:
        verdict = _answer(body, phase, context).decision.verdict
        floor, ours = [], []
        for _ in range(SAMPLES):
            floor.append(_microseconds(partial(_rewrite, body)))
            ours.append(_microseconds(partial(_answer, body, phase, context)))
        cost, least = statistics.median(ours), statistics.median(floor)
        print(
            f"  {phase.value:<8} {verdict:<9} {len(body)} bytes: {cost:6.1f}"
            f"   floor (parse and write the JSON) {least:5.1f}   ratio {cost / least:.1f}"
        )


if __name__ == "__main__":
    run()

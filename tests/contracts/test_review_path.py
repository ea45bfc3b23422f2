"""How far a review goes through the source, from the ASGI callable to its answer: who reads it meets all.

Everything counts: the server's part, the decision, the rules, the forecast. So does ``cached_property``,
where the first reading of a value passes; from Python 3.12 on it is the standard library's.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest
from prometheus_client import CollectorRegistry

from policies.config.context import AdmissionContext
from tests.builders import a_constraint, a_pod, a_policy, a_workload
from tests.policies.config.contexts import a_context, defaults
from tests.policies.placement.clusters import two_full_zones
from tests.webhook.running import review_of
from webhook.admission.current_context import CurrentContext
from webhook.admission.review import Phase
from webhook.http.application import HttpApplication
from webhook.http.state import ServerState
from webhook.settings import LogFormat, LogLevel, Settings
from webhook.telemetry.logs import EventLog
from webhook.telemetry.metrics import Telemetry

ROOT = Path(__file__).parents[2]
#: Where the rules are run.
RULES_BEGIN = "policies/admission/admission_rules.py"
#: Functions between the connection and the rules that hand a review on.
MOST_LEVELS = 6

SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"selector": {"app": "web"}},
}
INJECTING = a_context(a_policy(defaults=defaults()), cluster=[SERVICE])
FORESEEING = a_context(a_policy(), cluster=two_full_zones())
GOOD = {"topologySpreadConstraints": [a_constraint()]}
OF_REPLICA_SET = ("apps/v1", "ReplicaSet", "web-1")


class Walk(NamedTuple):
    """The way of a review."""

    steps: list[str]  #: The file of each function of ours that was called, in order.
    levels: int | None  #: Functions on the stack where the rules begin; None if none ran.

    @property
    def modules(self) -> set[str]:
        """The files."""
        return set(self.steps)

    @property
    def moves(self) -> int:
        """How often the next function is one of another file."""
        return sum(before != after for before, after in pairwise(self.steps))


def _file(frame: FrameType) -> str:
    """Return the file of a function of ours; empty for others."""
    name = frame.f_code.co_filename
    if not name.startswith(f"{ROOT}/"):
        return ""
    found = Path(name).relative_to(ROOT)
    return "" if found.parts[0] in {"tests", ".venv"} else str(found)


def _depth(frame: FrameType | None) -> int:
    """Return how many functions of ours are on the stack."""
    found = 0
    while frame is not None:
        found += bool(_file(frame))
        frame = frame.f_back
    return found


def walk(work: Callable[[], object]) -> Walk:
    """Follow the functions of ours that are called."""
    steps: list[str] = []
    levels: list[int] = []

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event != "call" or not (file := _file(frame)):
            return
        if file == RULES_BEGIN:
            levels.append(_depth(frame.f_back))
        steps.append(file)

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return Walk(steps, max(levels[:1], default=None))


def reviewed(obj: dict[str, Any], phase: Phase, context: AdmissionContext) -> Walk:
    """Follow the second review of an object: the first one reads modules and derives what is kept."""
    user = "replicaset-controller" if obj["kind"] == "Pod" else "flux"
    state = ServerState(
        settings=Settings(self_signed=True),
        current=CurrentContext(context),
        telemetry=Telemetry("1", registry=CollectorRegistry()),
        events=EventLog(LogFormat.TEXT, LogLevel.ERROR, descriptor=2),
    )
    app = HttpApplication(state)
    review = json.loads(review_of(obj))
    review["request"]["userInfo"] = {"username": f"system:serviceaccount:kube-system:{user}"}
    body = json.dumps(review).encode()
    scope = {
        "type": "http",
        "path": f"/{phase.value}",
        "method": "POST",
        "query_string": b"timeout=10s",
        "headers": [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))],
        "extensions": {},
        "evenkeel.arrived": time.monotonic(),
    }

    def answer() -> None:
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        # Nothing of it waits, so that one step is all.
        with suppress(StopIteration):
            app(scope, receive, send).__await__().send(None)
        assert sent[-1]["body"]

    async def in_loop() -> Walk:
        # What is counted and logged in the next turn of the event loop is no part of the answer.
        return walk(answer)

    asyncio.run(in_loop())
    return asyncio.run(in_loop())


@pytest.mark.parametrize(
    ("obj", "phase", "context", "modules", "moves"),
    [
        pytest.param(a_pod(owner=OF_REPLICA_SET), Phase.MUTATE, INJECTING, 25, 52, id="a pod gets defaults"),
        pytest.param(a_pod(spec=GOOD, owner=OF_REPLICA_SET), Phase.VALIDATE, INJECTING, 19, 34, id="a pod"),
        pytest.param(a_workload(spec=GOOD), Phase.VALIDATE, a_context(), 36, 122, id="a Deployment"),
        pytest.param(
            a_workload(spec=GOOD), Phase.VALIDATE, FORESEEING, 99, 595, id="a Deployment, and its next pod"
        ),
    ],
)
def test_a_review_crosses_few_modules(
    obj: dict[str, Any], phase: Phase, context: AdmissionContext, modules: int, moves: int
) -> None:
    """The way of a review can be read in few modules, and seldom goes from one to another."""
    found = reviewed(obj, phase, context)

    assert 0 < len(found.modules) <= modules, sorted(found.modules)
    assert found.moves <= moves


def test_few_levels_above_the_rules() -> None:
    """Few functions hand a review on until rules run on its object."""
    found = reviewed(a_workload(spec=GOOD), Phase.VALIDATE, a_context())

    assert found.levels is not None
    assert found.levels <= MOST_LEVELS

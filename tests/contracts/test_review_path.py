"""How many modules of ours a review crosses, from the ASGI application to its answer."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from policies.config.context import AdmissionContext
from tests.builders import a_pod
from tests.certs.builders import CA
from tests.webhook.running import review_of
from webhook.admission.respond import Phase
from webhook.http.application import HttpApplication
from webhook.http.state import ServerState
from webhook.settings import LogFormat, LogLevel, Settings
from webhook.telemetry.logs import EventLog
from webhook.telemetry.metrics import Telemetry

ROOT = Path(__file__).parents[2]
#: Modules of ``webhook`` that a review may cross until its answer is sent: who reads its way meets them all.
#: Beyond what is called here there are the connection's (``gunicorn/protocol.py``) and, with a cluster, one
#: for the time that is left (``admission/budget.py``).
MOST_MODULES = 6


@contextmanager
def crossed_modules() -> Iterator[set[str]]:
    """Collect the files of ours in which functions are called while the block runs."""
    found: set[str] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(ROOT)) and "/tests/" not in name and "/.venv/" not in name:
            found.add(str(Path(name).relative_to(ROOT)))

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)


@pytest.fixture
def state() -> ServerState:
    """A server without a cluster."""
    return ServerState(
        settings=Settings(self_signed=True),
        context=AdmissionContext(policies=()),
        telemetry=Telemetry("1", registry=CollectorRegistry()),
        events=EventLog(LogFormat.TEXT, LogLevel.ERROR, descriptor=2),
        certificate=lambda: CA,
    )


@pytest.mark.parametrize("phase", Phase)
def test_a_review_crosses_few_modules(state: ServerState, phase: Phase) -> None:
    """The server's part of a review's way can be read in a few modules."""
    app = HttpApplication(state)
    body = review_of(a_pod())
    scope: dict[str, Any] = {
        "method": "POST",
        "path": f"/{phase.value}",
        "query_string": b"timeout=10s",
        "headers": [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))],
        "extensions": {},
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)
        if message["type"] == "http.response.body":
            # What is counted and logged then is no part of the answer.
            sys.setprofile(None)

    async def call() -> None:
        await app(scope | {"evenkeel.arrived": time.monotonic()}, receive, send)

    asyncio.run(call())
    with crossed_modules() as crossed:
        asyncio.run(call())
    ours = sorted(name for name in crossed if name.startswith("webhook/"))

    assert 200 == sent[-2]["status"]
    assert len(ours) <= MOST_MODULES, ours

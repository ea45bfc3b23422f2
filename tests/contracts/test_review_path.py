"""How many modules of ours a review crosses, from the end of its body to its answer."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

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
#: Beyond what is called here there are the connection's two (``protocol.py`` and ``tls_reader.py`` of
#: ``gunicorn``) and, with a cluster, one for the time that is left (``admission/budget.py``).
MOST_MODULES = 5


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
    at_once = HttpApplication(state).at_once[f"/{phase.value}".encode()]
    body = review_of(a_pod())
    scope = {
        "method": "POST",
        "query_string": b"timeout=10s",
        "headers": [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))],
        "extensions": {},
        "evenkeel.arrived": time.monotonic(),
    }

    async def crossed_by_answer() -> set[str]:
        # What is counted and logged in the next turn of the event loop is no part of the answer.
        with crossed_modules() as crossed:
            answer = at_once(scope)
            assert answer is not None
            assert answer(body)
        return crossed

    asyncio.run(crossed_by_answer())
    ours = sorted(name for name in asyncio.run(crossed_by_answer()) if name.startswith("webhook/"))

    assert len(ours) <= MOST_MODULES, ours

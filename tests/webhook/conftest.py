"""Fixtures of the tests of the web side."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from prometheus_client import CollectorRegistry

from policies.config.context import AdmissionContext
from tests.waiting import PATIENCE_S
from webhook.admission.current_context import CurrentContext
from webhook.http.authorization.authorizer import OpenAuthorizer
from webhook.http.state import ServerState
from webhook.settings import LogFormat, LogLevel, Settings
from webhook.telemetry.logs import EventLog
from webhook.telemetry.metrics import Telemetry


@pytest.fixture
def state() -> ServerState:
    """A server that is ready on 20 November 2026, and lets no busy machine decide how requests end."""
    return ServerState(
        settings=Settings(self_signed=True, request_timeout_s=PATIENCE_S),
        current=CurrentContext(AdmissionContext(policies=())),
        telemetry=Telemetry("1", registry=CollectorRegistry()),
        events=EventLog(LogFormat.TEXT, LogLevel.INFO, descriptor=2),
        now=lambda: datetime(2026, 11, 20, tzinfo=UTC),
        access=OpenAuthorizer(),
    )

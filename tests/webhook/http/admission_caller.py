"""Calls the admission routes as a server does, without one."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from policies.config.context import AdmissionContext
from webhook.admission.current_context import CurrentContext
from webhook.http.admission import AdmissionRoutes
from webhook.http.state import ServerState
from webhook.settings import LogFormat, LogLevel, Settings
from webhook.telemetry import logs
from webhook.telemetry.logs import EventLog
from webhook.telemetry.metrics import Telemetry


class Caller:
    """Calls the routes as the server does, and keeps what they answered."""

    def __init__(
        self, context: AdmissionContext, *, limit: int = Settings(self_signed=True).max_review_bytes
    ) -> None:
        self.registry = CollectorRegistry()
        self._read, write = os.pipe()
        events = EventLog(LogFormat.TEXT, LogLevel.INFO, descriptor=write)
        logs.set_up(events, LogLevel.INFO)
        self.state = state = ServerState(
            settings=Settings(self_signed=True, max_review_bytes=limit),
            current=CurrentContext(context),
            telemetry=Telemetry("1", registry=self.registry),
            events=events,
        )
        self._write = write
        self.routes = AdmissionRoutes(state)
        self.status = 0
        self.headers: dict[str, str] = {}

    def call(self, *parts: bytes, path: str = "/validate", **scope: Any) -> Any:
        """Answer one request, whose body comes in parts."""
        return asyncio.run(self.answer(*parts, path=path, **scope))

    @staticmethod
    def _scope(*parts: bytes, **scope: Any) -> dict[str, Any]:
        headers = {"content-type": "application/json", "content-length": str(len(b"".join(parts)))}
        headers |= scope.pop("headers", {})
        return {
            "method": "POST",
            "path": "/validate",
            "query_string": b"",
            "extensions": {},
            "evenkeel.arrived": time.monotonic(),
            **scope,
            "headers": [(name.encode(), value.encode()) for name, value in headers.items() if value],
        }

    async def answer(self, *parts: bytes, path: str = "/validate", **scope: Any) -> Any:
        sent: list[dict[str, Any]] = []
        coming = list(parts)

        async def receive() -> dict[str, Any]:
            if not coming:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": coming.pop(0), "more_body": bool(coming)}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self.routes(self._scope(*parts, path=path, **scope), receive, send)
        self.routes.settle()
        if not sent:
            return None
        start, body = sent
        self.status = start["status"]
        self.headers = {name.decode(): value.decode() for name, value in start["headers"]}
        return json.loads(body["body"])

    async def hold(self, body: bytes) -> None:
        """Send a review and never its last byte."""
        coming = [body[:-1]]

        async def receive() -> dict[str, Any]:
            if not coming:
                await asyncio.Event().wait()
            return {"type": "http.request", "body": coming.pop(), "more_body": True}

        async def send(_message: dict[str, Any]) -> None:
            """Take no answer."""

        await self.routes(self._scope(body, path="/validate"), receive, send)

    def log(self) -> list[str]:
        return os.read(self._read, 65536).decode().splitlines()

    def close(self) -> None:
        os.close(self._read)
        os.close(self._write)


@pytest.fixture
def loggers() -> Iterator[None]:
    """Give back the loggers that a server sets up for its process."""
    root, ours = logging.getLogger(), logs.LOGGER
    before = [(logger, logger.handlers[:], logger.level, logger.propagate) for logger in (root, ours)]
    yield
    for logger, handlers, level, propagate in before:
        logger.handlers[:] = handlers
        logger.setLevel(level)
        logger.propagate = propagate

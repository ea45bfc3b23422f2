"""What a worker does beside its requests, from its start to its end: ASGI's lifespan."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from webhook.gunicorn.connection import Connection
from webhook.http.body import Receive, Send
from webhook.http.state import ServerState
from webhook.telemetry.logs import LOGGER

#: Seconds between two looks at what is due.
_TURN_S: Final = 0.5
#: Seconds that a new worker waits to be prepared, and between two looks. Well below the timeout of a webhook,
#: and enough to list a small cluster. With a large one /readyz says no for longer.
_PREPARE_S, _SHORT_TURN_S = 1.0, 0.02


async def live(state: ServerState, tick: Callable[[], None], receive: Receive, send: Send) -> None:
    """Do what is due beside the requests; connections are accepted when the start is complete.

    A worker that takes the place of a killed one would answer its first requests without the cluster.

    Args:
        state: The state of the process.
        tick: Called now and then, and before the process ends.
        receive: Returns that the worker starts, and that it has served.
        send: Says that the start, and the end, is complete.
    """
    await receive()
    ends = time.monotonic() + _PREPARE_S
    while not state.prepared() and time.monotonic() < ends:
        await asyncio.sleep(_SHORT_TURN_S)
    loop = asyncio.get_running_loop()
    end: Any = signal.getsignal(signal.SIGTERM)
    drain = partial(loop.call_soon_threadsafe, _drain, state, end)
    signal.signal(signal.SIGTERM, lambda *_signaled: drain())
    beside = loop.create_task(_beside(tick, os.getppid()))
    await send({"type": "lifespan.startup.complete"})
    await receive()
    beside.cancel()
    tick()
    await send({"type": "lifespan.shutdown.complete"})


def _drain(state: ServerState, end: Callable[[int, None], Any]) -> None:
    """Go on answering for a while after SIGTERM, until load balancers know; then let the server end."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    state.draining = True
    LOGGER.info("draining", extra={"fields": {"seconds": state.settings.drain_s}})
    asyncio.get_running_loop().call_later(state.settings.drain_s, end, signal.SIGTERM, None)


async def _beside(tick: Callable[[], None], parent: int) -> None:
    while True:
        try:
            tick()
            now = time.monotonic()
            for connection in [each for each in Connection.all_open if each.deadline <= now]:
                connection.expire()
        except Exception as error:  # noqa: BLE001  # deadlines must go on
            LOGGER.error("tick_failed", exc_info=error)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(_TURN_S)

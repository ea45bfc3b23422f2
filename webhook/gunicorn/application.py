"""The settings of gunicorn that differ from its defaults, and why; and its hooks."""

from __future__ import annotations

import gc
import math
import os
import signal
import socket
import ssl
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.glogging import Logger

from webhook.gunicorn.protocol import AtOnce
from webhook.gunicorn.worker import END_SIGNALS, Worker
from webhook.settings import LogLevel, Settings
from webhook.telemetry.logs import LOGGER

#: Seconds without a sign of life from its main loop after which a worker is killed. Nothing there waits
#: for a client; arbitrary, gunicorn's own value.
_HEARTBEAT_S: Final = 30

#: Seconds between a worker's own end and the arbiter's SIGKILL.
_KILL_MARGIN_S: Final = 1.0

#: Open connections per worker; beyond it the longest idle one is closed. A burst of the API server had 69.
#: Below the 1,024 file descriptors that many systems allow by default; with fewer, it is fewer.
_MOST_CONNECTIONS: Final = 900

#: Objects made since the last collection after which the collector looks for cycles. A review makes some 200
#: and leaves none behind; Python's 700 would search after every third.
_COLLECT_AFTER: Final = 20000

#: Seconds for which a thread that computes holds up the event loop, which answers reviews. Python's own 5 ms
#: are many reviews.
_SWITCH_AFTER_S: Final = 0.0005

#: Memory-backed, so that the heartbeat works on a read-only root and never waits for a disk.
_HEARTBEAT_FOLDER: Final = "/dev/shm"  # noqa: S108  # gunicorn makes a private, unlinked file there


class GunicornLog(Logger):  # type: ignore[misc]  # gunicorn has no types
    """Sends gunicorn's messages through the root logger instead of handlers of its own."""

    def setup(self, cfg: Any) -> None:  # gunicorn's Config
        """Drop gunicorn's handlers; what it says at info is chatter about booting."""
        self.cfg = cfg
        self._access_log_enabled = False
        self.error_log.propagate = True
        self.error_log.setLevel(cfg.loglevel.upper())


class _Arbiter(Arbiter):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's arbiter, which obeys some signals no more and whose workers lose none.

    On SIGHUP and SIGUSR2 it would start all workers again and do nothing else meanwhile. They would read
    nothing else than those before them, and a SIGTERM would wait until each of these signals had its turn, a
    drain each.
    """

    def spawn_worker(self) -> Any:  # gunicorn's process id
        """Start a worker; a signal that ends it waits until the worker handles it.

        Until then the worker has the handlers of this process, which note the signal for the arbiter's own
        main loop.
        """
        before = signal.pthread_sigmask(signal.SIG_BLOCK, END_SIGNALS)
        try:
            return super().spawn_worker()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def handle_hup(self) -> None:
        """Ignore a signal to read the configuration again."""
        _ignore(signal.SIGHUP)

    def handle_usr2(self) -> None:
        """Ignore a signal to start another server beside this one."""
        _ignore(signal.SIGUSR2)


def _ignore(number: signal.Signals) -> None:
    why = "certificates are picked up by themselves; for everything else restart the server"
    LOGGER.info("signal_ignored", extra={"fields": {"signal": number.name, "why": why}})


def _nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The application that is served, and its hooks.

    Attributes:
        asgi: The callable that answers requests.
        at_once: Returns what may answer a small request to a path as soon as it has come.
        listener: The bound socket.
        ssl_context: Returns the context for the next connection.
        error_body: Returns the body of an error; JSON.
        begin_drain: Called in each worker when it must end.
        when_ready: Called once, when connections are accepted.
        tick: Called in each worker twice a second, and before it ends.
        begin_work: Called once in each worker before it serves.
        prepared: Whether what ``begin_work`` began has come so far that a worker may serve.
        end_work: Called once in each worker after it has served.
        forget_worker: Called with the process id of each worker that has ended.
    """

    asgi: Callable[..., Any]
    listener: socket.socket
    ssl_context: Callable[[], ssl.SSLContext]
    error_body: Callable[[str], bytes]
    at_once: Callable[[bytes], AtOnce | None] = field(default=lambda _path: None)
    begin_drain: Callable[[], None] = _nothing
    when_ready: Callable[[], None] = _nothing
    tick: Callable[[], None] = _nothing
    begin_work: Callable[[], None] = _nothing
    prepared: Callable[[], bool] = field(default=lambda: True)
    end_work: Callable[[], None] = _nothing
    forget_worker: Callable[[int], None] = field(default=lambda _process: None)


class Application(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """A gunicorn server for one set of settings; its workers call what ``Served`` holds."""

    def __init__(self, settings: Settings, served: Served) -> None:
        self.settings = settings
        self._served = served
        self.ssl_context, self.error_body = served.ssl_context, served.error_body
        self.at_once = served.at_once
        self.begin_drain, self.tick, self.prepared = served.begin_drain, served.tick, served.prepared
        # Kept open: gunicorn reads its configuration again on SIGHUP.
        self._descriptor = served.listener.detach()
        super().__init__()

    def run(self) -> None:
        """Serve until told to end, which leaves by SystemExit."""
        _Arbiter(self).run()

    def load(self) -> Callable[..., Any]:
        """Return the ASGI callable, the same in all workers."""
        return self._served.asgi

    def load_config(self) -> None:
        """Set what differs from gunicorn's defaults; its environment variables and files are not read."""
        for name, value in {**self._process_settings(), **self._hooks()}.items():
            self.cfg.set(name, value)

    def _process_settings(self) -> dict[str, Any]:
        settings = self.settings
        grace = settings.drain_s + settings.graceful_timeout_s + _KILL_MARGIN_S
        chatty = settings.log_level is LogLevel.DEBUG
        return {
            "proc_name": "evenkeel",
            "bind": f"fd://{self._descriptor}",
            "worker_class": Worker,
            "asgi_loop": "uvloop",
            "workers": settings.workers,
            "worker_connections": _MOST_CONNECTIONS,
            "timeout": _HEARTBEAT_S,
            "graceful_timeout": math.ceil(grace),
            "keepalive": math.ceil(settings.keepalive_s),
            # A client that has left needs no answer.
            "asgi_disconnect_grace_period": 0,
            # Before the fork: what cannot be read stops the start, not every worker in turn.
            "preload_app": True,
            "worker_tmp_dir": _HEARTBEAT_FOLDER if os.access(_HEARTBEAT_FOLDER, os.W_OK) else None,
            # A socket in the home folder that controls the server is not wanted.
            "control_socket_disable": True,
            "logger_class": GunicornLog,
            # At debug it writes the path of every request, which may have a token in it.
            "loglevel": "info" if chatty else "warning",
        }

    def _hooks(self) -> dict[str, Any]:
        served = self._served

        def when_ready(_arbiter: Arbiter) -> None:
            served.when_ready()
            # What exists now lives as long as the server: the collector need not look at it again, and
            # the workers' memory pages stay shared.
            gc.collect()
            gc.freeze()
            gc.set_threshold(_COLLECT_AFTER)

        def post_worker_init(_worker: Worker) -> None:
            sys.setswitchinterval(_SWITCH_AFTER_S)
            served.begin_work()

        return {
            "when_ready": when_ready,
            "post_worker_init": post_worker_init,
            "worker_exit": lambda _arbiter, _worker: served.end_work(),
            "child_exit": lambda _arbiter, worker: served.forget_worker(worker.pid),
        }

"""gunicorn with uvicorn's worker: the settings that differ from their defaults, and why."""

from __future__ import annotations

import logging
import math
import os
import socket
import ssl
from collections.abc import Callable, Mapping
from typing import Any, Final

from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger
from uvicorn_worker import UvicornWorker

from webhook.gunicorn.connection import Connection
from webhook.settings import LogLevel, Role, Settings

#: Seconds without a sign of life from its main loop after which a worker is killed; gunicorn's own value. And
#: those between a worker's own end and the arbiter's SIGKILL.
_HEARTBEAT_S, _KILL_MARGIN_S = 30, 1.0
#: Memory-backed, so that the heartbeat works on a read-only root and never waits for a disk.
_HEARTBEAT_FOLDER: Final = "/dev/shm"  # noqa: S108  # gunicorn makes a private, unlinked file there


class GunicornLog(Logger):  # type: ignore[misc]  # gunicorn has no types
    """Gives the messages of gunicorn, and of uvicorn's worker, to the handlers of the root logger."""

    def setup(self, cfg: Any) -> None:  # gunicorn's Config
        """Take those handlers in place of gunicorn's; what it says at info is chatter about booting."""
        self.cfg = cfg
        self.error_log.handlers = logging.getLogger().handlers
        self.error_log.setLevel(cfg.loglevel.upper())


class Worker(UvicornWorker):  # type: ignore[misc]  # gunicorn has no types
    """uvicorn's worker, which ends at once after Ctrl-C."""

    def handle_exit(self, *_signaled: object) -> None:
        """End on SIGQUIT without waiting, as Python would, for every thread of the pool."""
        os._exit(0)


class Application(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """A gunicorn server for an ASGI callable, the same in all workers."""

    def __init__(self, asgi: Callable[..., Any], options: Mapping[str, object]) -> None:
        self._asgi, self._options = asgi, options
        super().__init__()

    def load(self) -> Callable[..., Any]:
        """Return the ASGI callable."""
        return self._asgi

    def load_config(self) -> None:
        """Set the options; gunicorn's environment variables and files are not read."""
        for name, value in self._options.items():
            self.cfg.set(name, value)


def options_of(
    settings: Settings, listener: socket.socket, ssl_context: Callable[[], ssl.SSLContext]
) -> dict[str, object]:
    """Return what differs from gunicorn's defaults.

    Args:
        settings: The settings.
        listener: The bound socket.
        ssl_context: Returns the context for the next handshake.
    """
    of_connections = {"settings": settings, "ssl_context": staticmethod(ssl_context)}
    of_uvicorn = {
        "loop": "uvloop",
        "http": type("Connection", (Connection,), of_connections),
        "ws": "none",
        "lifespan": "on",
        "interface": "asgi3",
        "proxy_headers": False,
        "server_header": False,
        "access_log": False,
        "log_level": "error",
        "timeout_keep_alive": math.ceil(settings.keepalive_s),
        "timeout_graceful_shutdown": math.ceil(settings.graceful_timeout_s),
    }
    return {
        "proc_name": "evenkeel",
        # Kept open: gunicorn reads its configuration again on SIGHUP.
        "bind": f"fd://{listener.detach()}",
        "worker_class": type("Worker", (Worker,), {"CONFIG_KWARGS": of_uvicorn}),
        "workers": settings.workers + (settings.role is Role.ALL),
        "timeout": _HEARTBEAT_S,
        "graceful_timeout": math.ceil(settings.drain_s + settings.graceful_timeout_s + _KILL_MARGIN_S),
        # Before the fork: what cannot be read stops the start, not every worker in turn.
        "preload_app": True,
        "worker_tmp_dir": _HEARTBEAT_FOLDER if os.access(_HEARTBEAT_FOLDER, os.W_OK) else None,
        # A socket in the home folder that controls the server is not wanted.
        "control_socket_disable": True,
        "logger_class": GunicornLog,
        "loglevel": "info" if settings.log_level is LogLevel.DEBUG else "warning",
    }

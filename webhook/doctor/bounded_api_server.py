"""An API server with a time limit: for each request, and for all of them together.

One whose etcd hangs accepts every request and answers none: once it is silent it gets no more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final

from webhook.kube.api_server import TIMEOUT_S, Answer, ApiServer, UnreachableError, Watch

#: Seconds for one answer. A page of a list takes less than a second on a large cluster.
EACH_S: Final = 5.0


class BoundedApiServer(ApiServer):
    """Passes requests on to another API server until its time is over."""

    def __init__(
        self, api: ApiServer, *, total_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Start the clock: ``total_s`` are the seconds for all answers together."""
        self._api = api
        self._total_s = total_s
        self._clock = clock
        self._deadline = clock() + total_s
        self._answered = False
        self._hangs = ""

    @property
    def url(self) -> str:
        """Where it is, for messages."""
        return self._api.url

    @property
    def namespace(self) -> str:
        """The namespace of the context."""
        return self._api.namespace

    def send(self, method: str, path: str, *, timeout_s: float = TIMEOUT_S, **options: Any) -> Answer:
        """Send a request: see ``ApiServer``.

        Raises:
            UnreachableError: There is no answer, or no time left for one.
        """
        left_s = self._deadline - self._clock()
        if not self._hangs and left_s <= 0:
            self._hangs = f"not read within {self._total_s:.0f} s: --timeout allows more"
        if self._hangs:
            raise UnreachableError(self._hangs)
        try:
            answer = self._api.send(method, path, timeout_s=min(timeout_s, EACH_S, left_s), **options)
        except UnreachableError as error:
            if not self._answered:
                raise
            self._hangs = f"{error}; it has answered before, so it or its etcd hangs"
            raise UnreachableError(self._hangs) from error
        self._answered = True
        return answer

    def watch(self, path: str, params: Mapping[str, str], *, idle_s: float) -> AbstractContextManager[Watch]:
        """Open a watch: see ``ApiServer``; its time is not bounded."""
        return self._api.watch(path, params, idle_s=idle_s)

"""An API server that is not waited for long: one request at most so long, all together at most so long.

An API server whose etcd hangs accepts every request and answers none. Whoever asks it twenty things, each for
half a minute, learns nothing more than whoever gives up after the first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Final

from webhook.kube.api_server import TIMEOUT_S, Answer, ApiServer, UnreachableError, Watch

#: Seconds for one answer. A page of a list takes less than a second on a large cluster. Arbitrary.
EACH_S: Final = 5.0


class SilentApiServerError(UnreachableError):
    """An API server that has answered before does not any more, or not in the time that was given."""


class HurriedApiServer(ApiServer):
    """Another API server, until a moment; once it is silent it is not asked again."""

    def __init__(
        self,
        api: ApiServer,
        *,
        total_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin to count.

        Args:
            api: Who is asked.
            total_s: Seconds for all answers together.
            clock: Seconds that never go back.
        """
        self._api = api
        self._total_s = total_s
        self._clock = clock
        self._ends = clock() + total_s
        self._answered = False
        self._silent = ""

    @property
    def url(self) -> str:
        """Where it is, for messages."""
        return self._api.url

    @property
    def namespace(self) -> str:
        """The namespace of the context."""
        return self._api.namespace

    def send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> Answer:
        """Send a request: see ``ApiServer``.

        Raises:
            SilentApiServerError: No answer, or no time left for one, though there were answers before.
            UnreachableError: There is no answer to the first request.
        """
        if self._silent:
            raise SilentApiServerError(self._silent)
        left = self._ends - self._clock()
        if left <= 0:
            raise SilentApiServerError(f"not read within {self._total_s:.0f} s; --timeout gives more")
        try:
            answer = self._api.send(
                method,
                path,
                params=params,
                body=body,
                headers=headers,
                timeout_s=min(timeout_s, EACH_S, left),
            )
        except UnreachableError as error:
            if not self._answered:
                raise
            self._silent = f"{error}; it has answered before, so it or its etcd hangs"
            raise SilentApiServerError(self._silent) from error
        self._answered = True
        return answer

    def watch(self, path: str, params: Mapping[str, str], *, idle_s: float) -> AbstractContextManager[Watch]:
        """Open a watch: see ``ApiServer``; it is not hurried, for it has no end to wait for."""
        return self._api.watch(path, params, idle_s=idle_s)

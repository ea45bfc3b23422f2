"""The tokens in the paths of reviews: by them the API server is known, which alone is told of the cluster."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING, Final

from webhook.component import Component
from webhook.telemetry.logs import ProblemLog

if TYPE_CHECKING:
    from webhook.telemetry.metrics import Telemetry

#: Seconds for which a token is answered that is gone from the file: registrations may follow later.
OVERLAP_S: Final = 24 * 3600.0
#: A token: 128 bits or more, however they are written.
_TOKEN: Final = re.compile(rb"[A-Za-z0-9_-]{32,256}")
#: Bytes that are read of the file. Arbitrary, more tokens than anyone has.
_MOST_BYTES: Final = 16 * 1024
#: Seconds for which it is told that somebody called by another path. Arbitrary, for people to read it.
_REMEMBERED_S: Final = 60.0
_STRANGER: Final = (
    "reviews came without the secret path, and revealed nothing of the cluster: if the API server sent "
    "them, the paths of the webhook configurations have another token than --path-tokens"
)


class PathTokens(Component):
    """The tokens of a file, which is read again whenever the components of a server are observed.

    While it cannot be used, the last good tokens count; without any, no caller is the API server.
    """

    def __init__(self, file: Path, *, now: Callable[[], float] = time.monotonic) -> None:
        """Read the file; one that is missing may come."""
        self._file, self._now = file, now
        # When the time of each token is over.
        self._until: dict[bytes, float] = {}
        self._stranger_until = -math.inf
        self._problems = ProblemLog()
        self._refresh()

    def admits(self, token: str) -> bool:
        """Return whether the caller of a path with a token is the API server; each takes as long to tell."""
        offered, now = token.encode(errors="replace"), self._now()
        if sum(compare_digest(offered, known) for known, until in self._until.items() if now < until):
            return True
        self._stranger_until = now + _REMEMBERED_S
        return False

    def warnings(self) -> list[str]:
        """Return why the file cannot be used, and whether strangers called."""
        stranger = _STRANGER if self._now() < self._stranger_until else ""
        return list(filter(None, [self._problems.reason("path_tokens_unusable"), stranger]))

    def observe(self, telemetry: Telemetry) -> None:  # noqa: ARG002  # as every component
        """Read the file again."""
        self._refresh()

    def _refresh(self) -> None:
        try:
            with self._file.open("rb") as file:
                lines = file.read(_MOST_BYTES).split()
            problem = "" if lines else "it has no token"
        except OSError as error:
            lines, problem = [], f"cannot be read: {error.strerror}"
        # No word of it is told.
        if wrong := [number for number, line in enumerate(lines, 1) if not _TOKEN.fullmatch(line)]:
            problem = f"token {wrong[0]} must be 32 to 256 characters of A-Z a-z 0-9 _ -"
        if problem:
            closed = "" if self._until else "; reviews reveal nothing of the cluster"
            problem = f"--path-tokens {self._file}: {problem}{closed}"
        else:
            over = self._now() + OVERLAP_S
            kept = {known: min(until, over) for known, until in self._until.items()}
            self._until = kept | dict.fromkeys(lines, math.inf)
        self._problems.report("path_tokens_unusable", problem)

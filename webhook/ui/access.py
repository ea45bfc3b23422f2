"""Who may use the page's server: who has the token, from the page's own address. Knows no web framework."""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Mapping
from typing import Final

#: Bytes of a token: no one guesses it.
_TOKEN_BYTES: Final = 32
#: The names of loopback. A page of another name that resolves to it sends that name (DNS rebinding).
_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
#: What a browser says of a request that the page itself, or the person, made.
_OWN_FETCHES: Final = frozenset({"", "same-origin", "none"})


class PageAccess:
    """The secrets of one run, and what requests must say.

    Attributes:
        token: What requests to the API bear.
        address: Where the page is, with the token.
        opening: Where a browser is sent first, once. Other users of the machine see the arguments with which
            a browser is started: these name a file with this address, which only the user can read.
    """

    def __init__(self, port: int, token: str = "") -> None:
        """Make the secrets of a server that listens on a port."""
        self.token = token or secrets.token_urlsafe(_TOKEN_BYTES)
        self.address = f"http://{_NAMES[0]}:{port}/?token={self.token}"
        self._code: str | None = secrets.token_urlsafe(_TOKEN_BYTES)
        self.opening = f"http://{_NAMES[0]}:{port}/open/{self._code}"
        self._hosts = frozenset(f"{name}:{port}" for name in _NAMES)
        self._taking = threading.Lock()

    def refusal(self, headers: Mapping[str, str]) -> str:
        """Return why a request is refused that another site could have sent; empty if it is not."""
        if headers.get("Host", "").lower() not in self._hosts:
            return "Host must be the loopback address of the page"
        origin = headers.get("Origin")
        if origin is not None and origin.lower().removeprefix("http://") not in self._hosts:
            return "requests of other origins are refused"
        return ""

    def is_foreign(self, headers: Mapping[str, str]) -> bool:
        """Return whether a browser says that another site made a request."""
        return headers.get("Sec-Fetch-Site", "") not in _OWN_FETCHES

    def bears_token(self, authorization: str) -> bool:
        """Return whether a header has the token."""
        scheme, _, given = authorization.partition(" ")
        # As bytes: compare_digest takes no text beyond ASCII.
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self.token.encode())

    def take_code(self, given: str) -> bool:
        """Return whether a code is that of ``opening``, which is then used up."""
        with self._taking:
            code, known = self._code, False
            if code is not None and hmac.compare_digest(given.encode(), code.encode()):
                known, self._code = True, None
            return known

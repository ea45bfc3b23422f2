"""The bearer token of a request. Reads headers only, never a body."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from webhook.rbac import PROXIED_HEADER

#: A token as RFC 6750, section 2.1, writes it behind the scheme, whose case does not matter (RFC 9110).
_BEARER: Final = re.compile(r"bearer +([A-Za-z0-9._~+/-]+=*)", re.IGNORECASE)
_PROXIED_VARIABLE: Final = f"HTTP_{PROXIED_HEADER.upper().replace('-', '_')}"


@dataclass(frozen=True, slots=True)
class Credential:
    """The credential that a caller sends.

    Attributes:
        token: The bearer token; it stands in no representation, so that it ends in no log.
        proxied: Whether it came in the header of its own, hence perhaps through a proxy that cannot tell this
            server from another.
    """

    token: str = field(repr=False)
    proxied: bool = False

    @property
    def digest(self) -> bytes:
        """The hash by which tokens differ, and from which no token can be recovered."""
        return sha256(self.token.encode()).digest()


def read_credential(environ: Mapping[str, Any]) -> Credential | None:
    """Return the credential of a WSGI request, the header of our own first; None if that is no token."""
    own = environ.get(_PROXIED_VARIABLE)
    text = environ.get("HTTP_AUTHORIZATION", "") if own is None else own
    match = _BEARER.fullmatch(text.strip())
    return Credential(match[1], proxied=own is not None) if match else None

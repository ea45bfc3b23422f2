"""Whether callers are authenticated, by the settings. Decides only; ``authorizer.py`` does it."""

from __future__ import annotations

from enum import StrEnum
from ipaddress import ip_address
from typing import Protocol

from webhook.gunicorn.listener import parse_bind
from webhook.settings import Access


class Mode(StrEnum):
    """Who is answered: every caller, those whom Kubernetes allows, or none without an API server."""

    OPEN = "open"
    KUBERNETES = "kubernetes"
    CLOSED = "closed"


class AccessSettings(Protocol):
    """The settings that count."""

    @property
    def access(self) -> Access:
        """The value of ``--access``."""

    @property
    def live(self) -> bool:
        """Whether a live cluster is followed, whose API server can decide."""

    @property
    def bind(self) -> str:
        """Address and port that are listened on."""

    @property
    def self_signed(self) -> bool:
        """Whether the server is for trying out."""


def access_mode(settings: AccessSettings) -> Mode:
    """Return who is answered.

    Raises:
        UsageError: The address is none.
    """
    if settings.access is Access.OPEN:
        return Mode.OPEN
    if settings.access is Access.AUTO and (settings.self_signed or _is_loopback(settings.bind)):
        return Mode.OPEN
    return Mode.KUBERNETES if settings.live else Mode.CLOSED


def _is_loopback(bind: str) -> bool:
    """Return whether only this machine reaches an address; for a name it is unknown how long that holds."""
    host, _ = parse_bind(bind)
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False

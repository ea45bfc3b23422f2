"""The listening socket, opened before gunicorn starts, so that failing says one clear line.

gunicorn itself tries five times, a second apart, and logs each time.
"""

from __future__ import annotations

import socket
from typing import Final

from policies.manifests.errors import CannotRunError, UsageError

#: Bytes that the kernel keeps of a connection until they are read; it doubles them for what it needs itself.
_RECEIVE_BYTES: Final = 32 * 1024


class ListenError(CannotRunError):
    """The address cannot be listened on; the program ends with exit code 3."""


def parse_bind(bind: str) -> tuple[str, int]:
    """Return host and port of HOST:PORT or [IPV6]:PORT.

    Raises:
        UsageError: It is neither.

    >>> parse_bind("[::1]:8443")
    ('::1', 8443)
    """
    host, colon, port = bind.rpartition(":")
    bare_ipv6 = ":" in host and not (host.startswith("[") and host.endswith("]"))
    if not colon or bare_ipv6 or not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"--bind: must be HOST:PORT or [IPV6]:PORT, got {bind!r}")
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104  # ":8443" asks for it


def open_listener(bind: str) -> socket.socket:
    """Return a socket bound to HOST:PORT that does not listen yet.

    Raises:
        UsageError: The address is malformed.
        ListenError: It is in use, not ours, or needs privileges.
    """
    host, port = parse_bind(bind)
    sock = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        sock = socket.socket(family, kind, protocol)
        # A restarted server must not wait for the old one's connections to time out.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Inherited by every connection: an answer goes out in two writes.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Inherited, too: how much of one connection is read and decrypted before it is another's turn.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BYTES)
        sock.bind(address)
    except OSError as error:
        if sock is not None:
            sock.close()
        raise ListenError(f"cannot listen on {bind}: {error.strerror}") from error
    return sock


def shown_address(address: object) -> str:
    """Return the address of a socket as ``host:port``, with an IPv6 address in brackets; empty if it is none.

    >>> shown_address(("10.0.0.1", 54480)), shown_address(("fe80::1", 443, 0, 2))
    ('10.0.0.1:54480', '[fe80::1]:443')
    """
    if not isinstance(address, tuple):
        return ""
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

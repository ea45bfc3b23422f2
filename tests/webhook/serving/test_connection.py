"""How long a request is waited for."""

from __future__ import annotations

import socket
import ssl
import time
from typing import cast

import pytest

from webhook.serving.connection import DeadlineUnreader, SlowClientError


def test_deadline_does_not_start_anew() -> None:
    """Reading ends at the deadline even if bytes have come meanwhile."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        unreader = DeadlineUnreader(cast("ssl.SSLSocket", ours))
        unreader.deadline = time.monotonic() + 0.05
        theirs.sendall(b"a")
        first = unreader.chunk()
        with pytest.raises(SlowClientError):
            unreader.chunk()

    assert b"a" == first


def test_passed_deadline_reads_nothing() -> None:
    """After the deadline not even bytes that are there are read."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"a")
        with pytest.raises(SlowClientError):
            DeadlineUnreader(cast("ssl.SSLSocket", ours)).chunk()

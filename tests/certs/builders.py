"""Certificates and folders for the tests; each builder mentions only what a test is about."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from certs import store
from certs.authority import create_authority
from certs.issue import issue
from certs.names import parse_hosts
from certs.pair import Pair

#: The real time, since clients check certificates against it; without the fraction that X.509 cannot hold.
NOW = datetime.now(UTC).replace(microsecond=0)
DAY = timedelta(days=1)
AUTHORITY = create_authority(NOW)


def a_pair(*hosts: str, authority: Pair = AUTHORITY, lifetime: timedelta = DAY) -> Pair:
    """Return a serving pair, by default for this machine."""
    return issue(authority, parse_hosts(hosts or ("localhost", "127.0.0.1")), now=NOW, lifetime=lifetime)


def a_folder(path: Path, pair: Pair, *, authority: Pair = AUTHORITY) -> Path:
    """Return a folder that holds an authority and a serving pair."""
    with store.locked(path):
        store.replace_files(path, store.authority_files(authority) | store.serving_files(pair))
    return path


def replace_serving(folder: Path, pair: Pair) -> None:
    """Put another serving pair into a folder, as a rotation does."""
    with store.locked(folder):
        store.replace_files(folder, store.serving_files(pair))


def read_serving(folder: Path) -> Pair:
    """Return the serving pair of a folder; errors are those of ``store.read_pair``."""
    return store.read_pair(folder / store.SERVING_CERTIFICATE, folder / store.SERVING_KEY)

"""Renewal of a folder, in one step or two."""

from __future__ import annotations

import stat
from datetime import timedelta
from pathlib import Path

import pytest

from certs import pem, store
from certs.ca import create_ca
from certs.errors import CAError, UnreadableError
from certs.renew import renew_authority, renew_serving
from certs.rotate import signer_of
from tests.certs.builders import AUTHORITY, DAY, NOW, a_folder, a_pair, read_serving


def test_serving(tmp_path: Path) -> None:
    """Another key and certificate for the same names and as long, of the same authority."""
    old = a_pair("web.ops.svc", "10.0.0.1", lifetime=30 * DAY)
    folder = a_folder(tmp_path, old)
    renewed = renew_serving(folder, now=NOW + DAY)
    new = read_serving(folder)

    assert (new, AUTHORITY) == (renewed.serving, renewed.authority)
    assert old.names == new.names
    assert old.key_pem != new.key_pem
    assert old.not_after + DAY == new.not_after
    assert signer_of(new, renewed.trusted) == AUTHORITY.certificate()
    assert stat.S_IMODE((folder / store.SERVING_KEY).stat().st_mode) == store.KEY_MODE


def test_two_steps(tmp_path: Path) -> None:
    """At each step what is served leads to ca.crt as it was and as it is; a third step forgets the first."""
    folder = a_folder(tmp_path, a_pair())
    before = read_serving(folder)
    first = renew_authority(folder, now=NOW)
    second = renew_serving(folder, now=NOW)
    third = renew_authority(folder, now=NOW)

    assert before == first.serving
    assert signer_of(before, first.trusted) == AUTHORITY.certificate()
    assert signer_of(second.serving, first.trusted) == first.authority.certificate()
    assert pem.parse_certificates((folder / "ca.crt").read_bytes(), "ca.crt") == third.trusted
    assert {third.authority.certificate(), first.authority.certificate()} == set(third.trusted)
    assert store.read_authority(folder).key_pem == third.authority.key_pem


def test_nobody_is_kept_who_signed_nothing(tmp_path: Path) -> None:
    """An authority that was replaced before it signed is trusted no more."""
    folder = a_folder(tmp_path, a_pair())
    unused = renew_authority(folder, now=NOW).authority
    again = renew_authority(folder, now=NOW, lifetime=7 * DAY)

    assert unused.certificate() not in again.trusted
    assert AUTHORITY.certificate() in again.trusted
    assert timedelta(days=7) == again.authority.not_after - NOW


@pytest.mark.parametrize(
    ("missing", "error"),
    [
        pytest.param("tls.crt", UnreadableError, id="0 serving certificates"),
        pytest.param("ca.key", UnreadableError, id="0 keys that sign"),
    ],
)
def test_what_is_missing(tmp_path: Path, missing: str, error: type[Exception]) -> None:
    """A folder that lacks a file is left as it is."""
    folder = a_folder(tmp_path, a_pair())
    (folder / missing).unlink()
    for renew in (renew_serving, renew_authority):
        with pytest.raises(error):
            renew(folder, now=NOW)

    assert len(store.existing_files(folder)) == 3


def test_an_authority_that_ended(tmp_path: Path) -> None:
    """It signs nothing, and a new one does not keep it."""
    ended = create_ca(NOW, lifetime=DAY)
    folder = a_folder(tmp_path, a_pair(authority=ended), authority=ended)
    with pytest.raises(CAError):
        renew_serving(folder, now=NOW + 2 * DAY)

    assert len(renew_authority(folder, now=NOW + 2 * DAY).trusted) == 1

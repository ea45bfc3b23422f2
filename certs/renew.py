"""Renew what a folder holds: its serving certificate, or its authority in two steps that keep trust.

First a new authority joins the old one in ``ca.crt``, and what is served stays. When ``ca.crt`` has been
given to everybody who trusts, the next renewal of the serving certificate is signed by the new authority.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509

from certs import pem, store
from certs.ca import CA_LIFETIME, create_ca
from certs.clocks import BACKDATE
from certs.issue import issue
from certs.keypair import KeyPair, dns_names, ip_addresses
from certs.keyring import still_valid
from certs.names import parse_names
from certs.rotate import signer_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewed:
    """What a folder holds now.

    Attributes:
        authority: Who signs.
        serving: What is served.
        trusted: Whom ``ca.crt`` trusts.
    """

    authority: KeyPair
    serving: KeyPair
    trusted: tuple[x509.Certificate, ...]


def renew_serving(folder: Path, *, now: datetime, lifetime: timedelta | None = None) -> Renewed:
    """Replace the serving certificate by one of the folder's authority, for the same names.

    Args:
        folder: Where.
        now: The current time, with a time zone.
        lifetime: How long it is valid; None for as long as the one before.

    Raises:
        CertificateError: The folder does not hold what is needed, or cannot be written.
    """
    with store.locked(folder):
        old, authority = _serving(folder), store.read_authority(folder)
        certificate = old.certificate()
        names = parse_names(dns_names(certificate), ip_addresses(certificate))
        lifetime = lifetime or old.not_after - old.not_before - BACKDATE
        serving = issue(authority, names, now=now, lifetime=lifetime)
        store.replace_files(folder, store.serving_files(serving))
    return Renewed(authority=authority, serving=serving, trusted=_trusted(authority))


def renew_authority(folder: Path, *, now: datetime, lifetime: timedelta = CA_LIFETIME) -> Renewed:
    """Put a new authority in front of the one that signed what is served; others are trusted no more.

    Raises:
        CertificateError: The folder does not hold what is needed, or cannot be written.
    """
    with store.locked(folder):
        serving, old = _serving(folder), store.read_authority(folder)
        authority = create_ca(now, lifetime=lifetime)
        signer = signer_of(serving, _trusted(old))
        kept = still_valid([signer], now) if signer else ()
        bundle = (authority.certificate(), *kept)
        files = store.authority_files(authority)
        files[store.AUTHORITY_CERTIFICATE] = pem.certificates_to_pem(*bundle)
        store.replace_files(folder, files)
    return Renewed(authority=authority, serving=serving, trusted=bundle)


def _serving(folder: Path) -> KeyPair:
    return store.read_pair(folder / store.SERVING_CERTIFICATE, folder / store.SERVING_KEY)


def _trusted(authority: KeyPair) -> tuple[x509.Certificate, ...]:
    return pem.parse_certificates(authority.certificate_pem, store.AUTHORITY_CERTIFICATE)

"""Create and rotate the certificates of a folder, each step on a person's demand.

A CA that is in the folder is never replaced unannounced: that would cut off every client that trusts it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from certs import store
from certs.ca import create_ca, issue
from certs.clocks import BACKDATE, CA_LIFETIME, SERVING_LIFETIME
from certs.errors import CertificateError, UnreadableError
from certs.keypair import KeyPair, dns_names, ip_addresses
from certs.keyring import Keyring, parse_keyring, serving_data
from certs.names import SubjectNames, parse_hosts, parse_names
from certs.rotate import Demand, Trust, issue_serving, replace_ca


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfSignedFiles:
    """Where a self-signed pair is, and the CA certificate that clients can trust."""

    ca: Path
    certificate: Path
    key: Path


def create_folder(
    folder: Path,
    names: SubjectNames,
    *,
    now: datetime,
    lifetime: timedelta = SERVING_LIFETIME,
    ca_lifetime: timedelta = CA_LIFETIME,
    force: bool = False,
) -> tuple[KeyPair, KeyPair]:
    """Issue a serving certificate into a folder, and create the folder and a CA where there is none.

    Args:
        folder: Where.
        names: The names of the serving certificate.
        now: The current time, with a time zone.
        lifetime: How long the serving certificate is valid.
        ca_lifetime: How long a new CA is valid.
        force: Replace a serving certificate that is in the folder.

    Returns:
        The CA and the serving certificate.

    Raises:
        CertificateError: It cannot be created, or would replace another.
    """
    with store.locked(folder):
        existing = store.existing_files(folder)
        occupied = [str(folder / name) for name in existing if name.startswith("tls.")]
        if occupied and not force:
            raise CertificateError(
                f"{', '.join(occupied)}: already exists; --force replaces it, and keeps the CA"
            )
        files: dict[str, bytes] = {}
        missing = {store.CA_CERTIFICATE, store.CA_KEY}.difference(existing)
        if len(missing) == 1:
            raise CertificateError(f"{folder / missing.pop()}: missing, so the CA of the folder cannot sign")
        if not missing:
            ca = store.read_pair(folder / store.CA_CERTIFICATE, folder / store.CA_KEY)
        else:
            ca = create_ca(now, lifetime=ca_lifetime)
            files = {store.CA_KEY: ca.key_pem, store.CA_CERTIFICATE: ca.certificate_pem}
        serving = issue(ca, names, now=now, lifetime=lifetime)
        store.replace_files(folder, files | serving_data(serving))
    return ca, serving


def rotate_folder(folder: Path, demand: Demand, *, now: datetime) -> Keyring:
    """Replace what a folder holds, by one step.

    A serving certificate is issued for the same names and for as long as the one before. A new CA joins
    ``ca.crt``, which all clients must get then; it signs when the next serving certificate is issued.

    Returns:
        What the folder holds now.

    Raises:
        CertificateError: The folder does not hold what is needed, or cannot be written.
    """
    if not folder.is_dir():
        raise UnreadableError(f"{folder}: no such folder; evenkeel certs init creates one")
    with store.locked(folder):
        data = {name: store.read_file(folder / name) for name in store.existing_files(folder)}
        keyring = parse_keyring(data, str(folder))
        old = keyring.serving
        if keyring.problems or old is None:
            raise CertificateError("\n".join(keyring.problems))
        if demand is Demand.CA:
            keyring = replace_ca(keyring, Trust(), now=now)
        else:
            names = parse_names(dns_names(old.certificate), ip_addresses(old.certificate))
            lifetime = old.not_after - old.not_before - BACKDATE
            keyring = issue_serving(keyring, names, now=now, lifetime=lifetime)
        store.replace_files(folder, keyring.data())
    return keyring


def provision_self_signed(folder: Path, hosts: Iterable[str] = (), *, now: datetime) -> SelfSignedFiles:
    """Create a pair for this machine that lives as long as the folder, which the caller owns and removes.

    The CA's key is never written: nothing else can ever be signed with it.

    Args:
        folder: A private temporary folder.
        hosts: DNS names and IP addresses besides those of this machine.
        now: The current time, with a time zone.

    Raises:
        CertificateError: A host is neither a DNS name nor an IP address, or the folder cannot be written.
    """
    names = parse_hosts(["localhost", "127.0.0.1", "::1", *hosts])
    ca = create_ca(now, lifetime=SERVING_LIFETIME)
    files = serving_data(issue(ca, names, now=now)) | {store.CA_CERTIFICATE: ca.certificate_pem}
    with store.locked(folder):
        store.replace_files(folder, files)
    return SelfSignedFiles(
        ca=folder / store.CA_CERTIFICATE,
        certificate=folder / store.SERVING_CERTIFICATE,
        key=folder / store.SERVING_KEY,
    )

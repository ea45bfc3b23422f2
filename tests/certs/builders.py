"""Certificates and folders for the tests; each builder mentions only what a test is about."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs import pem, store
from certs.ca import certificate_builder, create_ca
from certs.issue import issue
from certs.keypair import KeyPair, parse_keypair
from certs.names import parse_hosts

#: The real time, since clients check certificates against it; without the fraction that X.509 cannot hold.
NOW = datetime.now(UTC).replace(microsecond=0)
DAY = timedelta(days=1)
AUTHORITY = create_ca(NOW)
CLIENT_AUTH = ExtendedKeyUsageOID.CLIENT_AUTH


def a_pair(*hosts: str, authority: KeyPair = AUTHORITY, lifetime: timedelta = DAY) -> KeyPair:
    """Return a serving pair, by default for this machine."""
    return issue(authority, parse_hosts(hosts or ("localhost", "127.0.0.1")), now=NOW, lifetime=lifetime)


def a_folder(path: Path, pair: KeyPair, *, authority: KeyPair = AUTHORITY) -> Path:
    """Return a folder that holds an authority and a serving pair."""
    with store.locked(path):
        store.replace_files(path, store.authority_files(authority) | store.serving_files(pair))
    return path


def a_client(*, authority: KeyPair = AUTHORITY, usage: x509.ObjectIdentifier = CLIENT_AUTH) -> KeyPair:
    """Return a pair that somebody shows to a server."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")])
    builder = certificate_builder(NOW, not_after=NOW + DAY).subject_name(name).public_key(key.public_key())
    builder = builder.issuer_name(authority.certificate().subject)
    builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    signer = authority.certificate().extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    identifier = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(signer)
    builder = builder.add_extension(identifier, critical=False)
    signed = builder.sign(authority.key(), hashes.SHA256())
    return parse_keypair(pem.certificates_to_pem(signed), pem.key_to_pem(key))


def replace_serving(folder: Path, pair: KeyPair) -> None:
    """Put another serving pair into a folder, as a rotation does."""
    with store.locked(folder):
        store.replace_files(folder, store.serving_files(pair))


def read_serving(folder: Path) -> KeyPair:
    """Return the serving pair of a folder; errors are those of ``store.read_pair``."""
    return store.read_pair(folder / store.SERVING_CERTIFICATE, folder / store.SERVING_KEY)

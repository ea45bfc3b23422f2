"""A certificate with its private key, known to belong together. Values only: no files, no clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes

from certs import pem
from certs.errors import MismatchedKeyError


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPair:
    """A certificate and the private key that fits it.

    Attributes:
        certificate_pem: The certificate, then the chain if there is one.
        key_pem: The private key, not encrypted; never shown by ``repr``.
        names: The subject alternative names as text, DNS names before IP addresses.
        not_before: Start of validity, UTC.
        not_after: End of validity, UTC. An expired pair is still a pair: ask ``expired``.
        fingerprint: SHA-256 of the certificate, upper case hex with colons.
    """

    certificate_pem: bytes
    key_pem: bytes = field(repr=False)
    names: tuple[str, ...]
    not_before: datetime
    not_after: datetime
    fingerprint: str

    def expired(self, now: datetime) -> bool:
        """Tell whether the certificate is past its validity."""
        return now > self.not_after

    def not_yet_valid(self, now: datetime) -> bool:
        """Tell whether the certificate's validity has not begun: who made it may have had a wrong clock."""
        return now < self.not_before

    def certificate(self) -> x509.Certificate:
        """Return the certificate itself, without its chain."""
        return pem.parse_certificates(self.certificate_pem, "certificate")[0]

    def key(self) -> pem.PrivateKey:
        """Return the private key."""
        return pem.parse_key(self.key_pem, "private key")


def parse_keypair(
    certificate_pem: bytes,
    key_pem: bytes,
    *,
    certificate_source: str = "certificate",
    key_source: str = "private key",
) -> KeyPair:
    """Read a certificate and its private key and check that they belong together.

    Args:
        certificate_pem: The certificate, then its chain.
        key_pem: The private key.
        certificate_source: What messages call the first.
        key_source: What messages call the second.

    Raises:
        MalformedError: One of the two is not what it should be.
        MismatchedKeyError: The key belongs to another certificate.
    """
    certificates = pem.parse_certificates(certificate_pem, certificate_source)
    key = pem.parse_key(key_pem, key_source)
    certificate = certificates[0]
    with pem.reading(certificate_source, what="certificate"):
        if not fits(key, certificate):
            raise MismatchedKeyError(_mismatch(key, certificates, certificate_source, key_source))
        return KeyPair(
            certificate_pem=certificate_pem,
            key_pem=key_pem,
            names=(*dns_names(certificate), *ip_addresses(certificate)),
            not_before=certificate.not_valid_before_utc,
            not_after=certificate.not_valid_after_utc,
            fingerprint=fingerprint(certificate),
        )


def fits(key: pem.PrivateKey, certificate: x509.Certificate) -> bool:
    """Tell whether a private key belongs to a certificate."""
    return key.public_key() == certificate.public_key()


def fingerprint(certificate: x509.Certificate) -> str:
    """Return the SHA-256 fingerprint as ``openssl x509 -fingerprint -sha256`` writes it."""
    return certificate.fingerprint(hashes.SHA256()).hex(":").upper()


def dns_names(certificate: x509.Certificate) -> tuple[str, ...]:
    """Return the DNS names among the subject alternative names."""
    names = _alternative_names(certificate)
    return tuple(names.get_values_for_type(x509.DNSName)) if names else ()


def ip_addresses(certificate: x509.Certificate) -> tuple[str, ...]:
    """Return the IP addresses among the subject alternative names, as text."""
    names = _alternative_names(certificate)
    return tuple(str(address) for address in names.get_values_for_type(x509.IPAddress)) if names else ()


def _alternative_names(certificate: x509.Certificate) -> x509.SubjectAlternativeName | None:
    try:
        return certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return None


def _mismatch(
    key: pem.PrivateKey, certificates: tuple[x509.Certificate, ...], certificate_source: str, key_source: str
) -> str:
    if any(fits(key, certificate) for certificate in certificates[1:]):
        return (
            f"{certificate_source}: the certificate of {key_source} does not come first; "
            "put it before the certificates of its authorities"
        )
    return (
        f"{key_source}: the private key belongs to another certificate than {certificate_source}; "
        "replace both together"
    )

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
    """A certificate and its private key.

    Attributes:
        certificate: The certificate; expired or not.
        key: Its private key, which the certificate determines; never shown by ``repr``.
        chain: The certificates between this one and its root, as a server sends them.
    """

    certificate: x509.Certificate
    key: pem.PrivateKey = field(repr=False, compare=False)
    chain: tuple[x509.Certificate, ...] = ()

    @property
    def certificate_pem(self) -> bytes:
        """The certificate, then its chain."""
        return pem.certificates_to_pem((self.certificate, *self.chain))

    @property
    def key_pem(self) -> bytes:
        """The private key, not encrypted."""
        return pem.key_to_pem(self.key)

    @property
    def names(self) -> tuple[str, ...]:
        """The subject alternative names as text, DNS names before IP addresses."""
        return (*dns_names(self.certificate), *ip_addresses(self.certificate))

    @property
    def not_before(self) -> datetime:
        """Start of validity, UTC."""
        return self.certificate.not_valid_before_utc

    @property
    def not_after(self) -> datetime:
        """End of validity, UTC."""
        return self.certificate.not_valid_after_utc

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the certificate, upper case hex with colons."""
        return fingerprint(self.certificate)

    def expired(self, now: datetime) -> bool:
        """Return whether the certificate is past its validity."""
        return now > self.not_after

    def not_yet_valid(self, now: datetime) -> bool:
        """Return whether the certificate's validity has not begun: its issuer may have had a wrong clock."""
        return now < self.not_before


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
        CertificateError: One of the two is not what it should be.
        MismatchedKeyError: The key belongs to another certificate.
    """
    certificate, *chain = pem.parse_certificates(certificate_pem, certificate_source)
    key = pem.parse_key(key_pem, key_source)
    if fits(key, certificate):
        return KeyPair(certificate=certificate, key=key, chain=tuple(chain))
    if any(fits(key, other) for other in chain):
        raise MismatchedKeyError(
            f"{certificate_source}: the certificate of {key_source} must come first, before its CAs"
        )
    raise MismatchedKeyError(
        f"{key_source}: the private key belongs to another certificate than {certificate_source}; "
        "replace both together"
    )


def fits(key: pem.PrivateKey, certificate: x509.Certificate) -> bool:
    """Return whether a private key belongs to a certificate."""
    return key.public_key() == certificate.public_key()


def fingerprint(certificate: x509.Certificate) -> str:
    """Return the SHA-256 fingerprint as ``openssl x509 -fingerprint -sha256`` writes it."""
    return certificate.fingerprint(hashes.SHA256()).hex(":").upper()


def dns_names(certificate: x509.Certificate) -> tuple[str, ...]:
    """Return the DNS names among the subject alternative names."""
    return tuple(_alternative_names(certificate).get_values_for_type(x509.DNSName))


def ip_addresses(certificate: x509.Certificate) -> tuple[str, ...]:
    """Return the IP addresses among the subject alternative names, as text."""
    return tuple(map(str, _alternative_names(certificate).get_values_for_type(x509.IPAddress)))


def _alternative_names(certificate: x509.Certificate) -> x509.SubjectAlternativeName:
    try:
        return certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return x509.SubjectAlternativeName([])

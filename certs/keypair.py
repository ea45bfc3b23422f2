"""A certificate with its private key, known to belong together, and both as PEM text.

Values only: no files, no clock; a source is only a name for messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from certs.errors import CertificateError, MismatchedKeyError

#: The keys that can sign a certificate and serve TLS with today's clients.
PrivateKey = (
    ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey
)

#: How a PEM block of a certificate begins. RFC 7468 section 5.
CERTIFICATE_MARK = b"-----BEGIN CERTIFICATE-----"
#: What every PEM block of a private key has in its first line. RFC 7468 sections 10 and 11; RFC 5915.
KEY_MARK = b"PRIVATE KEY-----"
#: How an encrypted private key begins: PKCS #8 (RFC 7468 section 11) and OpenSSL's older form (RFC 1421).
_ENCRYPTED_MARKS = (b"BEGIN ENCRYPTED PRIVATE KEY", b"Proc-Type: 4,ENCRYPTED")


def parse_certificates(pem: bytes, source: str) -> tuple[x509.Certificate, ...]:
    """Return the certificates of a PEM text in their order, at least one.

    Raises:
        CertificateError: There is none, or one cannot be read, its extensions included.
    """
    if CERTIFICATE_MARK not in pem:
        found = "a private key" if KEY_MARK in pem else "no PEM certificate"
        raise CertificateError(
            f"{source}: holds {found}, expected a PEM certificate (-----BEGIN CERTIFICATE-----)"
        )
    with reading(source, what="certificate"):
        certificates = tuple(x509.load_pem_x509_certificates(pem))
        for certificate in certificates:
            # Both are parsed at the first use, which must not fail later.
            _ = certificate.extensions, certificate.public_key()
        return certificates


def parse_key(pem: bytes, source: str) -> PrivateKey:
    """Return the private key of a PEM text.

    Raises:
        CertificateError: There is none, it is encrypted, or it is of a kind that TLS does not use.
    """
    if KEY_MARK not in pem:
        found = "a certificate" if CERTIFICATE_MARK in pem else "no PEM private key"
        raise CertificateError(
            f"{source}: holds {found}, expected a PEM private key (-----BEGIN PRIVATE KEY-----)"
        )
    if any(mark in pem for mark in _ENCRYPTED_MARKS):
        # A server restarts with no one at hand to type a passphrase.
        raise CertificateError(f"{source}: the private key is encrypted; decrypt it with openssl pkey")
    with reading(source, what="private key"):
        key = load_pem_private_key(pem, password=None)
    if not isinstance(key, PrivateKey):
        raise CertificateError(f"{source}: the private key is neither ECDSA, RSA nor EdDSA; create a new one")
    return key


@contextmanager
def reading(source: str, *, what: str) -> Iterator[None]:
    """Turn whatever cryptography raises over broken content into a CertificateError."""
    try:
        yield
    except (
        ValueError,
        TypeError,
        UnsupportedAlgorithm,
        x509.DuplicateExtension,
        x509.InvalidVersion,
        x509.UnsupportedGeneralNameType,
    ) as error:
        raise CertificateError(f"{source}: the PEM {what} is damaged; write the file again") from error


def certificates_to_pem(certificates: Iterable[x509.Certificate]) -> bytes:
    """Return certificates as PEM blocks, one after another."""
    return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in certificates)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPair:
    """A certificate and its private key."""

    certificate: x509.Certificate  #: The certificate; expired or not.
    #: Its private key, which the certificate determines; never shown by ``repr``.
    key: PrivateKey = field(repr=False, compare=False)
    #: The certificates between this one and its root, as a server sends them.
    chain: tuple[x509.Certificate, ...] = ()

    @property
    def certificate_pem(self) -> bytes:
        """The certificate, then its chain."""
        return certificates_to_pem((self.certificate, *self.chain))

    @property
    def key_pem(self) -> bytes:
        """The private key as unencrypted PKCS #8 PEM, which every server reads."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

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
    certificate, *chain = parse_certificates(certificate_pem, certificate_source)
    key = parse_key(key_pem, key_source)
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


def fits(key: PrivateKey, certificate: x509.Certificate) -> bool:
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

"""PEM text ↔ certificates and private keys. Reads no files: a source is only a name for messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from certs.errors import CertificateError

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


def key_to_pem(key: PrivateKey) -> bytes:
    """Return a private key as unencrypted PKCS #8 PEM, which every server reads."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def certificates_to_pem(certificates: Iterable[x509.Certificate]) -> bytes:
    """Return certificates as PEM blocks, one after another."""
    return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in certificates)

"""Create the certificate authority that Evenkeel's serving certificates are signed by.

Its certificate is the ``caBundle`` of the webhook configurations. Pure but for the randomness of keys and
serial numbers: the clock is an argument, files are the store's business.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519
from cryptography.x509.oid import NameOID

from certs import pem
from certs.clocks import BACKDATE
from certs.errors import CAError
from certs.keypair import KeyPair, parse_keypair

#: How long an authority is valid. Arbitrary; ten years outlive most clusters, and replacing an authority
#: means touching every webhook configuration that trusts it.
CA_LIFETIME = timedelta(days=3650)


def create_ca(now: datetime, *, lifetime: timedelta = CA_LIFETIME) -> KeyPair:
    """Make a self-signed ECDSA P-256 authority that may sign serving certificates and nothing below.

    Args:
        now: The current time, with a time zone.
        lifetime: How long from now it is valid.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    # The moment tells a person which of two authorities signed; the key identifier tells programs.
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"evenkeel authority {now:%Y-%m-%d %H:%M:%S}")])
    certificate = (
        certificate_builder(now, not_after=now + lifetime)
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(key_cert_sign=True, crl_sign=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return parse_keypair(pem.certificates_to_pem(certificate), pem.key_to_pem(key))


def certificate_builder(now: datetime, *, not_after: datetime) -> x509.CertificateBuilder:
    """Return a builder with what all our certificates share: a random serial number and the validity."""
    return (
        x509.CertificateBuilder()
        .serial_number(x509.random_serial_number())
        .not_valid_before((now - BACKDATE).replace(microsecond=0))
        .not_valid_after(not_after.replace(microsecond=0))
    )


def key_usage(
    *, digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False
) -> x509.KeyUsage:
    """Return the key usage extension with only these uses."""
    return x509.KeyUsage(
        digital_signature=digital_signature,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def is_ca(certificate: x509.Certificate) -> bool:
    """Tell whether a certificate may sign others."""
    extensions = certificate.extensions
    try:
        if not extensions.get_extension_for_class(x509.BasicConstraints).value.ca:
            return False
        return extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
    except x509.ExtensionNotFound as missing:
        # RFC 5280 section 4.2.1.3: without a key usage the key may be used for anything.
        return missing.oid == x509.KeyUsage.oid


def check_ca(authority: KeyPair, now: datetime) -> None:
    """Check that an authority can sign something useful now.

    Raises:
        CAError: It is no authority, has expired, or is not valid yet.
    """
    with pem.reading("authority", what="certificate"):
        may_sign = is_ca(authority.certificate())
    if not may_sign:
        raise CAError("the authority's certificate may not sign others; use one with CA:TRUE")
    if authority.expired(now):
        raise CAError(f"the authority expired on {authority.not_after:%Y-%m-%d}; make a new one")
    if authority.not_yet_valid(now):
        raise CAError(
            f"the authority is not valid before {authority.not_before:%Y-%m-%d %H:%M} UTC; "
            "set the clock right, or make a new one"
        )


def signature_hash(key: pem.PrivateKey) -> hashes.SHA256 | None:
    """Return the hash that a key signs with; EdDSA has its own."""
    return None if isinstance(key, ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey) else hashes.SHA256()

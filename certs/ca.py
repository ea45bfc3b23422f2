"""Create the CA of Evenkeel, check one that was given, and issue serving certificates by it.

Its certificate is the ``caBundle`` of the webhook configurations. Pure but for the randomness of keys and
serial numbers: the clock is an argument, files are the store's business.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs import keypair
from certs.clocks import BACKDATE, CA_LIFETIME, SERVING_LIFETIME
from certs.errors import CertificateError
from certs.keypair import KeyPair
from certs.names import SubjectNames

#: Every use that a certificate can allow. RFC 5280 section 4.2.1.3.
_KEY_USES = (
    *("digital_signature", "key_cert_sign", "crl_sign", "content_commitment", "key_encipherment"),
    *("data_encipherment", "key_agreement", "encipher_only", "decipher_only"),
)


def create_ca(now: datetime, *, lifetime: timedelta = CA_LIFETIME) -> KeyPair:
    """Create a self-signed ECDSA P-256 CA that may sign serving certificates and no other CA.

    Args:
        now: The current time, with a time zone.
        lifetime: How long from now it is valid.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    # The time shows people which of two CAs signed; programs go by the key identifier.
    name = subject(f"evenkeel CA {now:%Y-%m-%d %H:%M:%S}")
    certificate = (
        certificate_builder(now, not_after=now + lifetime)
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage("key_cert_sign", "crl_sign"), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return KeyPair(certificate=certificate, key=key)


def subject(common_name: str) -> x509.Name:
    """Return a subject with nothing but a common name, of 64 characters at most."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def certificate_builder(now: datetime, *, not_after: datetime) -> x509.CertificateBuilder:
    """Return a builder with what all our certificates share: a random serial number and the validity."""
    return (
        x509.CertificateBuilder()
        .serial_number(x509.random_serial_number())
        .not_valid_before((now - BACKDATE).replace(microsecond=0))
        .not_valid_after(not_after.replace(microsecond=0))
    )


def key_usage(*uses: str) -> x509.KeyUsage:
    """Return the key usage extension with only these uses."""
    return x509.KeyUsage(**{use: use in uses for use in _KEY_USES})


def is_ca(certificate: x509.Certificate) -> bool:
    """Return whether a certificate may sign others."""
    extensions = certificate.extensions
    try:
        if not extensions.get_extension_for_class(x509.BasicConstraints).value.ca:
            return False
        return extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
    except x509.ExtensionNotFound as missing:
        # RFC 5280 section 4.2.1.3: without a key usage the key may be used for anything.
        return missing.oid == x509.KeyUsage.oid


def ca_problem(ca: KeyPair, now: datetime) -> str:
    """Return why a CA can sign nothing useful now, as half a sentence; empty if it can."""
    if not is_ca(ca.certificate):
        return "the CA certificate may not sign others; use one with CA:TRUE"
    if ca.expired(now):
        return f"the CA expired on {ca.not_after:%Y-%m-%d}; create a new one"
    if ca.not_yet_valid(now):
        return f"the CA is not valid before {ca.not_before:%Y-%m-%d %H:%M} UTC; check the clock of its issuer"
    return ""


def require_ca(ca: KeyPair, now: datetime) -> None:
    """Make sure that a CA can sign something useful now.

    Raises:
        CertificateError: It is no CA, has expired, or is not valid yet.
    """
    if problem := ca_problem(ca, now):
        raise CertificateError(problem)


def signature_hash(key: keypair.PrivateKey) -> hashes.SHA256 | None:
    """Return the hash that a key signs with; EdDSA has its own."""
    return None if isinstance(key, ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey) else hashes.SHA256()


def issue(
    ca: KeyPair, names: SubjectNames, *, now: datetime, lifetime: timedelta = SERVING_LIFETIME
) -> KeyPair:
    """Issue an ECDSA P-256 serving certificate.

    Args:
        ca: The CA that signs.
        names: What clients may call the server.
        now: The current time, with a time zone.
        lifetime: How long from now it is valid, at most until the CA expires: no client trusts it after that.

    Raises:
        CertificateError: The CA cannot sign.
    """
    require_ca(ca, now)
    key = ec.generate_private_key(ec.SECP256R1())
    alternative = [*map(x509.DNSName, names.dns), *map(x509.IPAddress, names.addresses)]
    certificate = (
        certificate_builder(now, not_after=min(now + lifetime, ca.not_after))
        # Clients ignore the common name, which could not hold every Service's name anyway.
        .subject_name(subject("evenkeel"))
        .issuer_name(ca.certificate.subject)
        .public_key(key.public_key())
        .add_extension(x509.SubjectAlternativeName(alternative), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage("digital_signature"), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(_authority_key_identifier(ca.certificate), critical=False)
        .sign(ca.key, signature_hash(ca.key))
    )
    return KeyPair(certificate=certificate, key=key)


def _authority_key_identifier(ca: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    """Return the CA's own key identifier; it need not be the hash that we would compute."""
    try:
        identifier = ca.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(ca.public_key())  # type: ignore[arg-type]
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier.value)

"""Issue the serving certificate of the webhook. Pure but for the randomness of keys and serial numbers."""

from __future__ import annotations

from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from certs.ca import certificate_builder, key_usage, require_ca, signature_hash, subject
from certs.clocks import SERVING_LIFETIME
from certs.keypair import KeyPair
from certs.names import SubjectNames


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

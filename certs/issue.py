"""Issue the serving certificate of the webhook. Pure but for the randomness of keys and serial numbers."""

from __future__ import annotations

from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs import pem
from certs.ca import certificate_builder, check_ca, key_usage, signature_hash
from certs.keypair import KeyPair, parse_keypair
from certs.names import SubjectNames

#: How long a serving certificate is valid. Arbitrary; a year is short enough to practice renewal and long
#: enough to live without it.
SERVING_LIFETIME = timedelta(days=365)
#: Characters of a common name, at most. RFC 5280 appendix A.1, ``ub-common-name``.
MAX_COMMON_NAME_LENGTH = 64
#: The common name where every name is too long for one. Clients ignore the common name.
FALLBACK_COMMON_NAME = "evenkeel"


def issue(
    authority: KeyPair, names: SubjectNames, *, now: datetime, lifetime: timedelta = SERVING_LIFETIME
) -> KeyPair:
    """Make an ECDSA P-256 serving certificate for some names, signed by an authority.

    Args:
        authority: Who signs.
        names: What clients may call the server.
        now: The current time, with a time zone.
        lifetime: How long from now it is valid; cut where the authority's own validity ends, since
            nobody trusts it after that.

    Raises:
        CAError: The authority cannot sign.
    """
    check_ca(authority, now)
    signer, signing_key = authority.certificate(), authority.key()
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        certificate_builder(now, not_after=min(now + lifetime, authority.not_after))
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name(names))]))
        .issuer_name(signer.subject)
        .public_key(key.public_key())
        .add_extension(_alternative_names(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(digital_signature=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(_authority_key_identifier(signer), critical=False)
        .sign(signing_key, signature_hash(signing_key))
    )
    return parse_keypair(pem.certificates_to_pem(certificate), pem.key_to_pem(key))


def common_name(names: SubjectNames) -> str:
    """Return the longest DNS name, or else address, that a common name can hold.

    >>> common_name(SubjectNames(dns=("web", "web.ops.svc", "w" * 63 + ".example.com"), addresses=()))
    'web.ops.svc'
    """
    for candidates in (names.dns, [str(address) for address in names.addresses]):
        short = [name for name in candidates if len(name) <= MAX_COMMON_NAME_LENGTH]
        if short:
            return max(short, key=len)
    return FALLBACK_COMMON_NAME


def _alternative_names(names: SubjectNames) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName(
        [
            *(x509.DNSName(name) for name in names.dns),
            *(x509.IPAddress(address) for address in names.addresses),
        ]
    )


def _authority_key_identifier(signer: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    """Return the signer's own key identifier; it need not be the hash that we would compute."""
    try:
        identifier = signer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())  # type: ignore[arg-type]
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier.value)

"""Say what certificates hold and what is wrong with them. Pure: content and clock are arguments.

Signatures are followed as Go does for the API server. ``cryptography.x509.verification`` applies the rules of
the public web instead: it refuses Ed25519 keys and CAs without a key identifier, which API servers accept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from certs import keypair
from certs.ca import is_ca
from certs.inject import encode_bundle
from certs.keypair import KeyPair, dns_names, fingerprint, fits, ip_addresses

#: The names that people know curves by; others are shown as cryptography names them. FIPS 186-4 D.1.2.
_CURVE_NAMES = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateFile:
    """A certificate file, or the same part of a Secret."""

    source: str  #: What messages call it.
    certificates: tuple[x509.Certificate, ...]  #: In the order of the file.
    key: keypair.PrivateKey | None = None  #: The private key of the first one, if it is known.


def inspect(
    files: Iterable[CertificateFile],
    trusted: Sequence[x509.Certificate],
    *,
    now: datetime,
    margin: timedelta = timedelta(0),
) -> dict[str, Any]:
    """Inspect every certificate and collect what is wrong.

    Args:
        files: The files.
        trusted: The CAs to which the other certificates must lead; none means that this is not checked.
        now: The current time, with a time zone.
        margin: How long before its end a certificate already counts as a problem.

    Returns:
        The JSON form of ``evenkeel certs show``: ``certificates``, ``caBundle`` and ``problems``.
    """
    certificates, problems = list[dict[str, Any]](), list[str]()
    for file in files:
        for position, certificate in enumerate(file.certificates):
            # Only the first one has a key and must lead to a CA.
            key_fits = chains = None
            if position == 0 and file.key is not None:
                key_fits = fits(file.key, certificate)
            if position == 0 and trusted and certificate not in trusted:
                chains = leads_to(certificate, trusted, chain=file.certificates[1:])
            source = f"{file.source} (certificate {position + 1})" if position else file.source
            own = {"isCA": is_ca(certificate), "keyFits": key_fits, "chainsToCA": chains}
            certificates.append({"source": source, **_fields(certificate, now), **own})
            problems += [
                f"{source}: {text}" for text in _problems(certificate, key_fits, chains, now, margin)
            ]
    bundle = encode_bundle(filter(is_ca, trusted))
    return {"certificates": certificates, "caBundle": bundle or None, "problems": problems}


def leads_to(
    certificate: x509.Certificate,
    trusted: Iterable[x509.Certificate],
    *,
    chain: Sequence[x509.Certificate] = (),
) -> bool:
    """Return whether signatures lead from a certificate, over its chain, to one of the trusted."""
    trusted, remaining = tuple(trusted), list(chain)
    while not any(_signed(certificate, by=ca) for ca in trusted):
        issuer = next((candidate for candidate in remaining if _signed(certificate, by=candidate)), None)
        if issuer is None:
            return False
        certificate = issuer
        remaining.remove(issuer)  # or two that sign each other would go round for ever
    return True


def signer_of(serving: KeyPair, cas: Iterable[x509.Certificate]) -> x509.Certificate | None:
    """Return the CA that signed a serving certificate, or None if it is none of these."""
    return next((ca for ca in cas if _signed(serving.certificate, by=ca)), None)


def _fields(certificate: x509.Certificate, now: datetime) -> dict[str, Any]:
    """Return the fields of a certificate, by names as Kubernetes and cert-manager spell them."""
    return {
        "subject": certificate.subject.rfc4514_string(),
        "issuer": certificate.issuer.rfc4514_string(),
        "serialNumber": f"{certificate.serial_number:x}",
        "dnsNames": dns_names(certificate),
        "ipAddresses": ip_addresses(certificate),
        "notBefore": f"{certificate.not_valid_before_utc:%Y-%m-%dT%H:%M:%SZ}",
        "notAfter": f"{certificate.not_valid_after_utc:%Y-%m-%dT%H:%M:%SZ}",
        "daysLeft": math.floor((certificate.not_valid_after_utc - now) / timedelta(days=1)),
        "keyType": _key_type(certificate),
        "sha256": fingerprint(certificate),
    }


def _key_type(certificate: x509.Certificate) -> str:
    match certificate.public_key():
        case ec.EllipticCurvePublicKey(curve=curve):
            return f"ECDSA {_CURVE_NAMES.get(curve.name, curve.name)}"
        case rsa.RSAPublicKey(key_size=bits):
            return f"RSA {bits}"
        case key:
            return type(key).__name__.removesuffix("PublicKey")


def _problems(
    certificate: x509.Certificate,
    key_fits: bool | None,  # noqa: FBT001  # an answer, not a choice
    chains: bool | None,  # noqa: FBT001
    now: datetime,
    margin: timedelta,
) -> Iterator[str]:
    """Yield the problems of a certificate."""
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if key_fits is False:
        yield "the private key belongs to another certificate"
    if now > ends:
        yield f"expired on {ends:%Y-%m-%d %H:%M} UTC"
    elif now + margin > ends:
        yield f"expires on {ends:%Y-%m-%d %H:%M} UTC"
    if now < begins:
        yield f"is not valid before {begins:%Y-%m-%d %H:%M} UTC"
    if chains is False:
        yield "is not signed by any of the given CAs"
    if not (dns_names(certificate) or ip_addresses(certificate) or is_ca(certificate)):
        yield "has no subject alternative name, so clients refuse it"


def _signed(certificate: x509.Certificate, *, by: x509.Certificate) -> bool:
    if not is_ca(by):
        return False
    try:
        certificate.verify_directly_issued_by(by)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True

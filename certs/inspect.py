"""Say what certificates hold and what is wrong with them. Pure: content and clock are arguments.

Signatures are followed as Go does for the API server. ``cryptography.x509.verification`` applies the rules of
the public web instead: it refuses Ed25519 keys and CAs without a key identifier, which API servers accept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from certs import pem
from certs.ca import is_ca
from certs.keypair import KeyPair, dns_names, fits, ip_addresses

#: The names that people know curves by; others are shown as cryptography names them. FIPS 186-4 D.1.2.
_CURVE_NAMES = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateFile:
    """A certificate file, or the same part of a Secret.

    Attributes:
        source: What messages call it.
        certificates: In the order of the file.
        key: The private key of the first one, if it is known.
    """

    source: str
    certificates: tuple[x509.Certificate, ...]
    key: pem.PrivateKey | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectedCertificate:
    """One certificate, and how it fits the others.

    Attributes:
        source: The file, with the certificate's place in it after the first one.
        certificate: Itself.
        days_left: Whole days until it expires, negative once it has.
        key_fits: Whether the given private key belongs to it; None when none was given.
        chains: Whether it leads to a given CA; None when there is none, or it is one itself.
    """

    source: str
    certificate: x509.Certificate
    days_left: int
    key_fits: bool | None
    chains: bool | None

    def problems(self, now: datetime, margin: timedelta) -> list[str]:
        """Return what is wrong with it, the most pressing first."""
        begins, ends = self.certificate.not_valid_before_utc, self.certificate.not_valid_after_utc
        named = dns_names(self.certificate) or ip_addresses(self.certificate) or is_ca(self.certificate)
        checks = [
            (self.key_fits is False, "the private key belongs to another certificate"),
            (now > ends, f"expired on {ends:%Y-%m-%d %H:%M} UTC"),
            (ends - margin < now <= ends, f"expires on {ends:%Y-%m-%d %H:%M} UTC, in {self.days_left} days"),
            (now < begins, f"is not valid before {begins:%Y-%m-%d %H:%M} UTC"),
            (self.chains is False, "is not signed by any of the given CAs"),
            (not named, "has no subject alternative name, so clients refuse it"),
        ]
        return [f"{self.source}: {text}" for applies, text in checks if applies]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """What some files hold together.

    Attributes:
        certificates: In the order of the files.
        problems: What is wrong, one line each.
        ca_bundle: The CAs as PEM, for a webhook configuration; empty when none was given.
    """

    certificates: tuple[InspectedCertificate, ...]
    problems: tuple[str, ...]
    ca_bundle: bytes


def inspect(
    files: Iterable[CertificateFile],
    trusted: Sequence[x509.Certificate],
    *,
    now: datetime,
    margin: timedelta = timedelta(0),
) -> Inspection:
    """Inspect every certificate and collect what is wrong.

    Args:
        files: The files.
        trusted: The CAs to which the other certificates must lead; none means that this is not checked.
        now: The current time, with a time zone.
        margin: How long before its end a certificate already counts as a problem.
    """
    found = [
        _inspect(file, position, certificate, trusted, now)
        for file in files
        for position, certificate in enumerate(file.certificates)
    ]
    return Inspection(
        certificates=tuple(found),
        problems=tuple(problem for entry in found for problem in entry.problems(now, margin)),
        ca_bundle=pem.certificates_to_pem(filter(is_ca, trusted)),
    )


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


def key_type(certificate: x509.Certificate) -> str:
    """Return what people call the kind of a certificate's key, such as ``ECDSA P-256``."""
    match certificate.public_key():
        case ec.EllipticCurvePublicKey(curve=curve):
            return f"ECDSA {_CURVE_NAMES.get(curve.name, curve.name)}"
        case rsa.RSAPublicKey(key_size=bits):
            return f"RSA {bits}"
        case key:
            return type(key).__name__.removesuffix("PublicKey")


def _inspect(
    file: CertificateFile,
    position: int,
    certificate: x509.Certificate,
    trusted: Sequence[x509.Certificate],
    now: datetime,
) -> InspectedCertificate:
    """Inspect one certificate of a file; only the first one has a key and must lead to a CA."""
    key_fits = chains = None
    if position == 0 and file.key is not None:
        key_fits = fits(file.key, certificate)
    if position == 0 and trusted and certificate not in trusted:
        chains = leads_to(certificate, trusted, chain=file.certificates[1:])
    return InspectedCertificate(
        source=f"{file.source} (certificate {position + 1})" if position else file.source,
        certificate=certificate,
        days_left=math.floor((certificate.not_valid_after_utc - now) / timedelta(days=1)),
        key_fits=key_fits,
        chains=chains,
    )


def _signed(certificate: x509.Certificate, *, by: x509.Certificate) -> bool:
    if not is_ca(by):
        return False
    try:
        certificate.verify_directly_issued_by(by)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True

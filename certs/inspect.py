"""Tell what certificates say and what is wrong with them. Pure: content and clock are arguments."""

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
from certs.errors import MalformedError
from certs.keypair import dns_names, fingerprint, fits, ip_addresses

#: The names that people know curves by; others are shown as cryptography names them. FIPS 186-4 D.1.2.
CURVE_NAMES = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What one file holds.

    Attributes:
        source: What messages call the file.
        certificates: In the order of the file.
        key: The private key, if there is one.
    """

    source: str
    certificates: tuple[x509.Certificate, ...]
    key: pem.PrivateKey | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What one certificate says.

    Attributes:
        source: The file, with the certificate's place in it after the first one.
        subject: RFC 4514 text.
        issuer: RFC 4514 text.
        serial: Lower case hex.
        dns_names: From the subject alternative names.
        ip_addresses: From the subject alternative names, as text.
        not_before: UTC.
        not_after: UTC.
        days_left: Whole days until ``not_after``, negative once it is past.
        key_type: For people ("ECDSA P-256").
        sha256: Fingerprint, upper case hex with colons.
        authority: Whether it may sign others.
        key_fits: Whether a given private key belongs to it; None when no key was given that should.
        chains: Whether it leads to a given authority; None when there is none, or it is one itself.
    """

    source: str
    subject: str
    issuer: str
    serial: str
    dns_names: tuple[str, ...]
    ip_addresses: tuple[str, ...]
    not_before: datetime
    not_after: datetime
    days_left: int
    key_type: str
    sha256: str
    authority: bool
    key_fits: bool | None
    chains: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What some files say together.

    Attributes:
        certificates: In the order of the files.
        problems: What is wrong, one line each.
        ca_bundle: The authorities as PEM, for a webhook configuration; empty when none was given.
    """

    certificates: tuple[Description, ...]
    problems: tuple[str, ...]
    ca_bundle: bytes


def parse_material(content: bytes, source: str) -> Material:
    """Read a PEM file of certificates, a private key, or both.

    Raises:
        MalformedError: It holds neither, or something damaged.
    """
    has_certificates, has_key = pem.CERTIFICATE_MARK in content, pem.KEY_MARK in content
    if not has_certificates and not has_key:
        raise MalformedError(f"{source}: holds neither a PEM certificate nor a PEM private key")
    return Material(
        source=source,
        certificates=pem.parse_certificates(content, source) if has_certificates else (),
        key=pem.parse_key(content, source) if has_key else None,
    )


def begins_with_authority(material: Material) -> bool:
    """Tell whether a file says whom to trust.

    An authority further down in a file is a chain, which proves nothing by itself.

    Raises:
        MalformedError: A certificate is damaged.
    """
    with pem.reading(material.source, what="certificate"):
        return bool(material.certificates) and is_ca(material.certificates[0])


def anchors(materials: Iterable[Material]) -> tuple[x509.Certificate, ...]:
    """Return the certificates of files that say whom to trust, without repeats."""
    return tuple(
        dict.fromkeys(certificate for material in materials for certificate in material.certificates)
    )


def examine(
    groups: Sequence[Sequence[Material]],
    trusted: Sequence[x509.Certificate],
    *,
    now: datetime,
    margin: timedelta = timedelta(0),
) -> Report:
    """Describe every certificate and collect what is wrong.

    Args:
        groups: Files that belong together: every key of a group must fit a certificate of that group.
        trusted: The authorities that the other certificates must lead to; none means that is not asked.
        now: The current time, with a time zone.
        margin: How long before its end a certificate already counts as a problem.

    Raises:
        MalformedError: A certificate is damaged.
    """
    described: list[Description] = []
    problems: list[str] = []
    for group in groups:
        problems += [
            f"{material.source}: the private key fits none of the certificates it was given with"
            for material in _stray_keys(group)
        ]
        for material in group:
            with pem.reading(material.source, what="certificate"):
                described += _describe_all(material, group, trusted=trusted, now=now)
    for description in described:
        problems += _problems(description, now=now, margin=margin)
    return Report(
        certificates=tuple(described),
        problems=tuple(problems),
        ca_bundle=pem.certificates_to_pem(*filter(is_ca, trusted)),
    )


def _describe_all(
    material: Material, group: Sequence[Material], *, trusted: Sequence[x509.Certificate], now: datetime
) -> list[Description]:
    """Describe the certificates of a file; only the first one has a key and is asked for its authority."""
    descriptions = []
    for position, certificate in enumerate(material.certificates):
        first = position == 0
        asked = first and trusted and certificate not in trusted
        descriptions.append(
            _describe(
                certificate,
                material.source if first else f"{material.source} (certificate {position + 1})",
                now=now,
                key_fits=_key_fits(certificate, group) if first else None,
                chains=leads_to(certificate, trusted, chain=material.certificates[1:]) if asked else None,
            )
        )
    return descriptions


def _stray_keys(group: Sequence[Material]) -> list[Material]:
    """Return the files whose private key fits no certificate that begins a file of the group."""
    leaves = [certificate for material in group for certificate in material.certificates[:1]]
    return [
        material
        for material in group
        if material.key is not None and not any(fits(material.key, leaf) for leaf in leaves)
    ]


def _key_fits(certificate: x509.Certificate, group: Sequence[Material]) -> bool | None:
    """Tell whether a key of the group fits; None when every key there has found another certificate."""
    if any(material.key is not None and fits(material.key, certificate) for material in group):
        return True
    return False if _stray_keys(group) else None


def _describe(
    certificate: x509.Certificate, source: str, *, now: datetime, key_fits: bool | None, chains: bool | None
) -> Description:
    return Description(
        source=source,
        subject=certificate.subject.rfc4514_string(),
        issuer=certificate.issuer.rfc4514_string(),
        serial=f"{certificate.serial_number:x}",
        dns_names=dns_names(certificate),
        ip_addresses=ip_addresses(certificate),
        not_before=certificate.not_valid_before_utc,
        not_after=certificate.not_valid_after_utc,
        days_left=math.floor((certificate.not_valid_after_utc - now) / timedelta(days=1)),
        key_type=_key_type(certificate),
        sha256=fingerprint(certificate),
        authority=is_ca(certificate),
        key_fits=key_fits,
        chains=chains,
    )


def leads_to(
    certificate: x509.Certificate,
    trusted: Sequence[x509.Certificate],
    *,
    chain: Sequence[x509.Certificate] = (),
) -> bool:
    """Tell whether signatures lead from a certificate, over its chain, to one of the trusted."""
    remaining = list(chain)
    while True:
        if any(_signed(certificate, by=anchor) for anchor in trusted):
            return True
        issuers = [candidate for candidate in remaining if _signed(certificate, by=candidate)]
        if not issuers:
            return False
        certificate = issuers[0]
        remaining.remove(certificate)  # or two that sign each other would go round for ever


def _signed(certificate: x509.Certificate, *, by: x509.Certificate) -> bool:
    if not is_ca(by):
        return False
    try:
        certificate.verify_directly_issued_by(by)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _key_type(certificate: x509.Certificate) -> str:
    match certificate.public_key():
        case ec.EllipticCurvePublicKey(curve=curve):
            return f"ECDSA {CURVE_NAMES.get(curve.name, curve.name)}"
        case rsa.RSAPublicKey(key_size=bits):
            return f"RSA {bits}"
        case key:
            return type(key).__name__.removesuffix("PublicKey")


def _problems(description: Description, *, now: datetime, margin: timedelta) -> list[str]:
    """Return what is wrong with one certificate, the most pressing first."""
    end = f"{description.not_after:%Y-%m-%d %H:%M} UTC"
    problems = []
    if now > description.not_after:
        problems.append(f"expired on {end}")
    elif now + margin > description.not_after:
        problems.append(f"expires on {end}, in {description.days_left} days")
    if now < description.not_before:
        problems.append(f"is not valid before {description.not_before:%Y-%m-%d %H:%M} UTC")
    if description.chains is False:
        problems.append("is signed by none of the authorities it was given with")
    if not (description.authority or description.dns_names or description.ip_addresses):
        problems.append("has no subject alternative name, so no client accepts it")
    return [f"{description.source}: {problem}" for problem in problems]

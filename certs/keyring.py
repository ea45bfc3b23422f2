"""What a Secret shared by all replicas holds: a serving pair, two authorities, and whom to trust.

Values only: a Secret's data goes in and comes out as bytes by key, and how it is sent is not known here.
The keys are the file names of a folder that ``evenkeel certs init`` makes, so such a folder makes a Secret
too (``kubectl create secret generic --from-file``), and two keys more:

==================  ==================================================================================
``tls.crt``         the serving certificate
``tls.key``         its private key
``ca.crt``          every authority to trust: the active one, the standby, then those that were active
``ca.key``          the private key of the active authority, which signs
``standby.key``     the private key of the standby, which will sign once everybody has long trusted it
``distrusted.crt``  authorities that were taken out of ``ca.crt`` and must not come back
==================  ==================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from cryptography import x509

from certs import pem, store
from certs.ca import is_ca
from certs.errors import CertificateError, MalformedError, MismatchedKeyError
from certs.keypair import KeyPair, fits, parse_keypair

#: The private key of the authority that signs next.
STANDBY_KEY = "standby.key"
#: Authorities that are trusted no more.
DISTRUSTED = "distrusted.crt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyring:
    """The content of a Secret, as far as it can be used.

    Attributes:
        serving: What replicas serve; None where it is missing or broken.
        active: The authority that signs; None where it is missing or broken.
        standby: The authority that signs next; None where it is missing or broken.
        trusted: Every authority to trust, the active one and the standby among them.
        distrusted: Authorities that must not be trusted again.
        problems: What is broken, one line each.
    """

    serving: KeyPair | None = None
    active: KeyPair | None = None
    standby: KeyPair | None = None
    trusted: tuple[x509.Certificate, ...] = ()
    distrusted: tuple[x509.Certificate, ...] = ()
    problems: tuple[str, ...] = ()

    def bundle(self, now: datetime) -> tuple[x509.Certificate, ...]:
        """Return whom clients shall trust: every authority that has not expired."""
        return still_valid(self.trusted, now)

    def retired(self) -> tuple[x509.Certificate, ...]:
        """Return the authorities that are trusted and sign no more."""
        signers = {pair.certificate() for pair in (self.active, self.standby) if pair}
        return tuple(certificate for certificate in self.trusted if certificate not in signers)


def still_valid(certificates: Iterable[x509.Certificate], now: datetime) -> tuple[x509.Certificate, ...]:
    """Return the certificates that have not expired, without repeats."""
    return tuple(
        dict.fromkeys(certificate for certificate in certificates if now <= certificate.not_valid_after_utc)
    )


def parse_keyring(data: Mapping[str, bytes], source: str) -> Keyring:
    """Read the data of a Secret; what is broken is left out and told, and never raised.

    Args:
        data: Bytes by key.
        source: What messages call the Secret.
    """
    problems: list[str] = []
    trusted = _authorities(data, store.AUTHORITY_CERTIFICATE, source, problems)
    return Keyring(
        serving=_serving(data, source, problems),
        active=_authority(data, store.AUTHORITY_KEY, trusted, source, problems),
        standby=_authority(data, STANDBY_KEY, trusted, source, problems) if data.get(STANDBY_KEY) else None,
        trusted=trusted,
        distrusted=_authorities(data, DISTRUSTED, source, problems) if data.get(DISTRUSTED) else (),
        problems=tuple(problems),
    )


def keyring_data(keyring: Keyring) -> dict[str, bytes]:
    """Return the data of a Secret that holds a keyring."""
    data = {store.AUTHORITY_CERTIFICATE: pem.certificates_to_pem(*keyring.trusted)}
    if keyring.serving:
        data |= store.serving_files(keyring.serving)
    if keyring.active:
        data[store.AUTHORITY_KEY] = keyring.active.key_pem
    if keyring.standby:
        data[STANDBY_KEY] = keyring.standby.key_pem
    if keyring.distrusted:
        data[DISTRUSTED] = pem.certificates_to_pem(*keyring.distrusted)
    return data


def _serving(data: Mapping[str, bytes], source: str, problems: list[str]) -> KeyPair | None:
    certificate, key = store.SERVING_CERTIFICATE, store.SERVING_KEY
    try:
        return parse_keypair(
            _value(data, certificate, source),
            _value(data, key, source),
            certificate_source=f"{source}: {certificate}",
            key_source=f"{source}: {key}",
        )
    except CertificateError as error:
        problems.append(str(error))
        return None


def _authorities(
    data: Mapping[str, bytes], name: str, source: str, problems: list[str]
) -> tuple[x509.Certificate, ...]:
    try:
        certificates = pem.parse_certificates(_value(data, name, source), f"{source}: {name}")
        with pem.reading(f"{source}: {name}", what="certificate"):
            return tuple(dict.fromkeys(filter(is_ca, certificates)))
    except CertificateError as error:
        problems.append(str(error))
        return ()


def _authority(
    data: Mapping[str, bytes],
    key_name: str,
    trusted: tuple[x509.Certificate, ...],
    source: str,
    problems: list[str],
) -> KeyPair | None:
    """Return the trusted authority that a private key belongs to."""
    try:
        key_pem = _value(data, key_name, source)
        key = pem.parse_key(key_pem, f"{source}: {key_name}")
        for certificate in trusted:
            if fits(key, certificate):
                return parse_keypair(pem.certificates_to_pem(certificate), key_pem)
    except CertificateError as error:
        problems.append(str(error))
        return None
    mismatch = MismatchedKeyError(
        f"{source}: {key_name} belongs to no authority in {store.AUTHORITY_CERTIFICATE}"
    )
    problems.append(str(mismatch))
    return None


def _value(data: Mapping[str, bytes], name: str, source: str) -> bytes:
    value = data.get(name, b"")
    if not value:
        raise MalformedError(f"{source}: has no {name}")
    return value

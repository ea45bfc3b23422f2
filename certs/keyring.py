"""The keys and CAs of one installation, as a Secret and a folder hold them.

Values only: bytes by name go in and come out, and where they are stored is not known here. The names are the
same in a Secret and in a folder, which makes one (``kubectl create secret generic --from-file=DIR/..data``):

===========  =========================================================================================
``tls.crt``  the serving certificate
``tls.key``  its private key
``ca.crt``   every CA to trust: the one that signs, then the retired ones
``ca.key``   the private key of the CA that signs
===========  =========================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from cryptography import x509

from certs import keypair
from certs.ca import is_ca
from certs.errors import CertificateError
from certs.keypair import KeyPair, fits, parse_keypair

#: File names, after the keys of a ``kubernetes.io/tls`` Secret; cert-manager adds ``ca.crt`` in the same way.
SERVING_CERTIFICATE, SERVING_KEY = "tls.crt", "tls.key"
CA_CERTIFICATE, CA_KEY = "ca.crt", "ca.key"
#: Every file of a folder.
FILE_NAMES = (CA_KEY, CA_CERTIFICATE, SERVING_KEY, SERVING_CERTIFICATE)

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyring:
    """The keys and CAs of one installation, as far as they can be used."""

    serving: KeyPair | None = None  #: What is served; None where it is missing or broken.
    ca: KeyPair | None = None  #: The CA that signs; None where it is missing or broken.
    trusted: tuple[x509.Certificate, ...] = ()  #: Every CA to trust, the one that signs among them.
    problems: tuple[str, ...] = ()  #: What is broken, one line each.

    def bundle(self, now: datetime) -> tuple[x509.Certificate, ...]:
        """Return the CAs that clients must trust: all that have not expired."""
        return still_valid(self.trusted, now)

    def retired(self) -> tuple[x509.Certificate, ...]:
        """Return the CAs that are trusted and sign no more."""
        return tuple(one for one in self.trusted if self.ca is None or one != self.ca.certificate)

    def data(self) -> dict[str, bytes]:
        """Return the content of a Secret or a folder, private keys included."""
        data = {CA_CERTIFICATE: keypair.certificates_to_pem(self.trusted)}
        if self.serving:
            data |= serving_data(self.serving)
        if self.ca:
            data[CA_KEY] = self.ca.key_pem
        return data


def serving_data(serving: KeyPair) -> dict[str, bytes]:
    """Return the part of a Secret or a folder that a server needs."""
    return {SERVING_KEY: serving.key_pem, SERVING_CERTIFICATE: serving.certificate_pem}


def still_valid(certificates: Iterable[x509.Certificate], now: datetime) -> tuple[x509.Certificate, ...]:
    """Return the certificates that have not expired, without repeats."""
    return tuple(dict.fromkeys(one for one in certificates if now <= one.not_valid_after_utc))


def parse_keyring(data: Mapping[str, bytes], source: str) -> Keyring:
    """Read the content of a Secret or a folder; what is broken is left out and reported, never raised.

    Args:
        data: Bytes by name.
        source: What messages call the Secret or the folder.
    """
    problems: list[str] = []

    def attempt(parse: Callable[[], _T]) -> _T | None:
        try:
            return parse()
        except CertificateError as error:
            problems.append(str(error))
            return None

    trusted = attempt(lambda: _cas(data, source)) or ()
    return Keyring(
        serving=attempt(lambda: _serving(data, source)),
        ca=attempt(lambda: _signer(data, trusted, source)),
        trusted=trusted,
        problems=tuple(problems),
    )


def _serving(data: Mapping[str, bytes], source: str) -> KeyPair:
    return parse_keypair(
        _value(data, SERVING_CERTIFICATE, source),
        _value(data, SERVING_KEY, source),
        certificate_source=f"{source}: {SERVING_CERTIFICATE}",
        key_source=f"{source}: {SERVING_KEY}",
    )


def _cas(data: Mapping[str, bytes], source: str) -> tuple[x509.Certificate, ...]:
    text = _value(data, CA_CERTIFICATE, source)
    return tuple(
        dict.fromkeys(filter(is_ca, keypair.parse_certificates(text, f"{source}: {CA_CERTIFICATE}")))
    )


def _signer(data: Mapping[str, bytes], trusted: Iterable[x509.Certificate], source: str) -> KeyPair:
    """Return the trusted CA that the private key belongs to."""
    key = keypair.parse_key(_value(data, CA_KEY, source), f"{source}: {CA_KEY}")
    for certificate in trusted:
        if fits(key, certificate):
            return KeyPair(certificate=certificate, key=key)
    raise CertificateError(f"{source}: {CA_KEY} belongs to no CA in {CA_CERTIFICATE}")


def _value(data: Mapping[str, bytes], name: str, source: str) -> bytes:
    if value := data.get(name):
        return value
    raise CertificateError(f"{source}: has no {name}")

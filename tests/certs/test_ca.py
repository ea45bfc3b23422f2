"""The contents of a CA's certificate."""

from __future__ import annotations

from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from certs.ca import (
    create_ca,
    is_ca,
    require_ca,
)
from certs.clocks import BACKDATE, CA_LIFETIME
from certs.errors import CertificateError
from tests.certs.builders import CA, DAY, NOW, a_pair


def test_it_may_sign_serving_certificates_only() -> None:
    """The extensions are those of a CA with nothing but serving certificates below it."""
    extensions = CA.certificate.extensions
    constraints = extensions.get_extension_for_class(x509.BasicConstraints)
    usage = extensions.get_extension_for_class(x509.KeyUsage)

    assert (constraints.critical, constraints.value.ca, constraints.value.path_length) == (True, True, 0)
    assert (usage.critical, usage.value.key_cert_sign, usage.value.crl_sign) == (True, True, True)
    assert not usage.value.digital_signature
    assert not extensions.get_extension_for_class(x509.SubjectKeyIdentifier).critical


def test_its_key_is_p256() -> None:
    """The key is ECDSA over P-256 and fits the certificate."""
    key = CA.key

    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert isinstance(key.curve, ec.SECP256R1)
    assert key.public_key() == CA.certificate.public_key()


def test_its_validity() -> None:
    """It begins before now, for clocks that are behind, and ends a lifetime from now."""
    assert CA.not_before == NOW - BACKDATE
    assert CA.not_after == NOW + CA_LIFETIME


def test_two_cas_differ() -> None:
    """Key and serial number are new every time."""
    first, second = create_ca(NOW), create_ca(NOW)

    assert first.certificate.serial_number != second.certificate.serial_number
    assert first.key_pem != second.key_pem


@pytest.mark.parametrize(
    ("after", "expired"),
    [
        pytest.param(timedelta(0), False, id="on its first day"),
        pytest.param(DAY, False, id="in its last second"),
        pytest.param(DAY + timedelta(seconds=1), True, id="1 s after its end"),
    ],
)
def test_an_expired_ca_does_not_sign(after: timedelta, *, expired: bool) -> None:
    """Nobody would trust what it signs."""
    ca = create_ca(NOW, lifetime=DAY)

    if expired:
        with pytest.raises(CertificateError, match="expired"):
            require_ca(ca, NOW + after)
    else:
        require_ca(ca, NOW + after)


@pytest.mark.parametrize(
    ("ahead", "refused"),
    [
        pytest.param(BACKDATE, False, id="made by a clock 1 h ahead"),
        pytest.param(250 * DAY, True, id="made by a clock 250 days ahead"),
    ],
)
def test_an_ca_that_is_not_valid_yet_does_not_sign(ahead: timedelta, *, refused: bool) -> None:
    """Its certificates would be valid no earlier than it is; a clock 1 h ahead is covered by backdating."""
    ca = create_ca(NOW + ahead)

    if refused:
        with pytest.raises(CertificateError, match="not valid before"):
            require_ca(ca, NOW)
    else:
        require_ca(ca, NOW)


def test_a_serving_certificate_is_no_ca() -> None:
    """A serving certificate cannot sign."""
    serving = a_pair()

    assert not is_ca(serving.certificate)
    with pytest.raises(CertificateError, match="CA:TRUE"):
        require_ca(serving, NOW)

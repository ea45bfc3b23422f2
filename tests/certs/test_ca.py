"""What an authority's certificate says."""

from __future__ import annotations

from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from certs.ca import (
    CA_LIFETIME,
    check_ca,
    create_ca,
    is_ca,
)
from certs.clocks import BACKDATE
from certs.errors import CAError
from tests.certs.builders import AUTHORITY, DAY, NOW, a_pair


def test_it_may_sign_leaves_only() -> None:
    """The extensions are those of an authority with nothing but leaves below it."""
    extensions = AUTHORITY.certificate().extensions
    constraints = extensions.get_extension_for_class(x509.BasicConstraints)
    usage = extensions.get_extension_for_class(x509.KeyUsage)

    assert (constraints.critical, constraints.value.ca, constraints.value.path_length) == (True, True, 0)
    assert (usage.critical, usage.value.key_cert_sign, usage.value.crl_sign) == (True, True, True)
    assert not usage.value.digital_signature
    assert not extensions.get_extension_for_class(x509.SubjectKeyIdentifier).critical


def test_its_key_is_p256() -> None:
    """The key is ECDSA over P-256 and fits the certificate."""
    key = AUTHORITY.key()

    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert isinstance(key.curve, ec.SECP256R1)
    assert key.public_key() == AUTHORITY.certificate().public_key()


def test_its_validity() -> None:
    """It begins before now, for clocks that are behind, and ends a lifetime from now."""
    assert AUTHORITY.not_before == NOW - BACKDATE
    assert AUTHORITY.not_after == NOW + CA_LIFETIME


def test_two_authorities_differ() -> None:
    """Key and serial number are new every time."""
    first, second = create_ca(NOW), create_ca(NOW)

    assert first.certificate().serial_number != second.certificate().serial_number
    assert first.key_pem != second.key_pem


@pytest.mark.parametrize(
    ("after", "expired"),
    [
        pytest.param(timedelta(0), False, id="on its first day"),
        pytest.param(DAY, False, id="in its last second"),
        pytest.param(DAY + timedelta(seconds=1), True, id="1 s after its end"),
    ],
)
def test_an_expired_authority_does_not_sign(after: timedelta, *, expired: bool) -> None:
    """Nobody would trust what it signs."""
    authority = create_ca(NOW, lifetime=DAY)

    if expired:
        with pytest.raises(CAError, match="expired"):
            check_ca(authority, NOW + after)
    else:
        check_ca(authority, NOW + after)


@pytest.mark.parametrize(
    ("ahead", "refused"),
    [
        pytest.param(BACKDATE, False, id="made by a clock 1 h ahead"),
        pytest.param(250 * DAY, True, id="made by a clock 250 days ahead"),
    ],
)
def test_an_authority_that_is_not_valid_yet_does_not_sign(ahead: timedelta, *, refused: bool) -> None:
    """What it signs would be trusted no earlier than itself; an hour is backdated."""
    authority = create_ca(NOW + ahead)

    if refused:
        with pytest.raises(CAError, match="not valid before"):
            check_ca(authority, NOW)
    else:
        check_ca(authority, NOW)


def test_a_leaf_is_no_authority() -> None:
    """A serving certificate cannot sign."""
    leaf = a_pair()

    assert not is_ca(leaf.certificate())
    with pytest.raises(CAError, match="CA:TRUE"):
        check_ca(leaf, NOW)

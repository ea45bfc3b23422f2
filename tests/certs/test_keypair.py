"""A certificate with its key."""

from __future__ import annotations

from datetime import timedelta

import pytest

from certs.errors import MismatchedKeyError
from certs.keypair import KeyPair, parse_keypair
from tests.certs.builders import CA, DAY, NOW, a_pair


def test_a_pair_tells_what_its_certificate_says() -> None:
    """Names, validity and fingerprint are read from the certificate."""
    made = a_pair("web.example", "10.0.0.1")
    read = parse_keypair(made.certificate_pem, made.key_pem)

    assert (read.names, read.not_after) == (("web.example", "10.0.0.1"), NOW + DAY)
    assert len(read.fingerprint) == 32 * 3 - 1
    assert read == made


def test_the_key_of_another_certificate() -> None:
    """Both files are named, since either may be the wrong one."""
    with pytest.raises(MismatchedKeyError) as caught:
        parse_keypair(
            a_pair().certificate_pem, a_pair().key_pem, certificate_source="c.crt", key_source="c.key"
        )

    assert {"c.crt", "c.key"} <= set(
        str(caught.value).replace(":", " ").replace(",", " ").replace(";", " ").split()
    )


def test_a_chain_may_follow() -> None:
    """The first certificate is the one that counts."""
    serving = a_pair()
    pair = parse_keypair(serving.certificate_pem + CA.certificate_pem, serving.key_pem)

    assert pair.fingerprint == serving.fingerprint


def test_a_chain_in_the_wrong_order() -> None:
    """TLS wants the serving certificate first; a file the other way round gets a message of its own."""
    serving = a_pair()

    with pytest.raises(MismatchedKeyError, match="must come first"):
        parse_keypair(CA.certificate_pem + serving.certificate_pem, serving.key_pem)


def test_the_key_is_never_shown() -> None:
    """A pair may end up in a log line."""
    pair = a_pair()

    assert "PRIVATE" not in repr(pair)
    assert "key_pem" not in repr(pair)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param(DAY, False, id="in its last second"),
        pytest.param(DAY + timedelta(seconds=1), True, id="1 s later"),
    ],
)
def test_expired(after: timedelta, *, expected: bool) -> None:
    """A pair past its validity is still a pair, and says so."""
    pair: KeyPair = a_pair()

    assert expected is pair.expired(NOW + after)

"""The contents of a Secret or a folder, whole and broken."""

from __future__ import annotations

from datetime import timedelta

import pytest

from certs import keypair
from certs.ca import create_ca
from certs.keyring import Keyring, parse_keyring
from tests.certs.builders import CA, DAY, NOW, a_pair

RETIRED = create_ca(NOW, lifetime=3 * DAY)
WHOLE = Keyring(serving=a_pair(), ca=CA, trusted=(CA.certificate, RETIRED.certificate))


def test_what_is_written_is_read() -> None:
    """Nothing is lost on the way through a Secret."""
    assert WHOLE == parse_keyring(WHOLE.data(), "Secret a/b")


@pytest.mark.parametrize(
    ("broken", "lost", "words"),
    [
        pytest.param({"tls.key": b""}, {"serving"}, "has no tls.key", id="0 bytes of a key"),
        pytest.param({"tls.crt": b"\xff" * 9}, {"serving"}, "tls.crt: holds no PEM", id="9 bytes of garbage"),
        pytest.param({"tls.key": CA.key_pem}, {"serving"}, "belongs to another", id="another's key"),
        pytest.param({"ca.crt": b"x"}, {"ca", "trusted"}, "ca.crt: holds no PEM", id="1 byte of trust"),
        pytest.param(
            {"ca.crt": a_pair().certificate_pem}, {"ca", "trusted"}, "ca.key belongs to no CA",
            id="0 CAs among 1 certificate",
        ),
        pytest.param({"ca.key": a_pair().key_pem}, {"ca"}, "ca.key belongs to no CA", id="another CA's key"),
        pytest.param(
            dict.fromkeys(WHOLE.data(), keypair.CERTIFICATE_MARK + b"\n-----END " + keypair.KEY_MARK),
            {"serving", "ca", "trusted"}, "damaged",
            id="4 keys of markers only",
        ),
        pytest.param({"standby.key": b"y", "distrusted.crt": b"z"}, set(), "", id="2 other keys"),
    ],
)  # fmt: skip
def test_broken_parts(broken: dict[str, bytes], lost: set[str], words: str) -> None:
    """Broken parts are reported and left out, the others stay usable."""
    parsed = parse_keyring(WHOLE.data() | broken, "Secret a/b")
    fields = {"serving", "ca", "trusted"}

    assert lost == {name for name in fields if not getattr(parsed, name)}
    assert all(getattr(WHOLE, name) == getattr(parsed, name) for name in fields - lost)
    assert words in "; ".join(parsed.problems)
    assert bool(words) == bool(parsed.problems)


def test_keys_are_not_shown() -> None:
    """A keyring in a message or a traceback gives away nothing."""
    assert "PRIVATE" not in repr(WHOLE)


@pytest.mark.parametrize(
    ("days", "expected"),
    [pytest.param(0, 2, id="day 0: both"), pytest.param(4, 1, id="day 4: one has expired")],
)
def test_bundle(days: int, expected: int) -> None:
    """A CA that has expired is trusted no more."""
    assert expected == len(WHOLE.bundle(NOW + timedelta(days=days)))


def test_retired() -> None:
    """A CA that is trusted and does not sign is retired."""
    assert (RETIRED.certificate,) == WHOLE.retired()

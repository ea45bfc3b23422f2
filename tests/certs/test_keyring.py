"""What a Secret holds, whole and broken."""

from __future__ import annotations

from datetime import timedelta

import pytest

from certs import pem
from certs.ca import create_ca
from certs.keypair import KeyPair
from certs.keyring import Keyring, keyring_data, parse_keyring
from tests.certs.builders import AUTHORITY, DAY, NOW, a_pair

STANDBY = create_ca(NOW, lifetime=400 * DAY)
RETIRED = create_ca(NOW, lifetime=3 * DAY)
DROPPED = create_ca(NOW)


def a_keyring() -> Keyring:
    """Return a whole keyring."""
    trusted = (AUTHORITY.certificate(), STANDBY.certificate(), RETIRED.certificate())
    return Keyring(
        serving=a_pair(),
        active=AUTHORITY,
        standby=STANDBY,
        trusted=trusted,
        distrusted=(DROPPED.certificate(),),
    )


def test_what_is_written_is_read() -> None:
    """Nothing is lost on the way through a Secret."""
    keyring = a_keyring()

    assert keyring == parse_keyring(keyring_data(keyring), "Secret a/b")


def test_a_folder_of_init_is_a_secret() -> None:
    """Four files make a keyring that lacks only a standby."""
    keyring = a_keyring()
    data = {key: keyring_data(keyring)[key] for key in ("tls.crt", "tls.key", "ca.crt", "ca.key")}
    parsed = parse_keyring(data, "Secret a/b")

    assert (parsed.serving, parsed.active, parsed.standby) == (keyring.serving, AUTHORITY, None)
    assert parsed.problems == ()


@pytest.mark.parametrize(
    ("broken", "lost", "words"),
    [
        pytest.param({"tls.key": b""}, {"serving"}, "has no tls.key", id="0 bytes of a key"),
        pytest.param({"tls.crt": b"\xff" * 9}, {"serving"}, "tls.crt: holds no PEM", id="9 bytes of garbage"),
        pytest.param(
            {"tls.key": AUTHORITY.key_pem}, {"serving"}, "belongs to another", id="a key that fits another"
        ),
        pytest.param(
            {"ca.crt": b"x"}, {"active", "standby", "trusted"}, "ca.crt: holds no PEM", id="1 byte of trust"
        ),
        pytest.param(
            {"ca.crt": a_pair().certificate_pem},
            {"active", "standby", "trusted"},
            "ca.key belongs to no authority",
            id="0 authorities among 1 certificate",
        ),
        pytest.param({"ca.key": DROPPED.key_pem}, {"active"}, "belongs to no", id="another's key"),
        pytest.param({"standby.key": b"y"}, {"standby"}, "holds no PEM", id="1 byte of a standby"),
        pytest.param({"standby.key": b""}, {"standby"}, "", id="0 bytes of a standby, which may be missing"),
        pytest.param(
            {"distrusted.crt": b"z"}, {"distrusted"}, "holds no PEM", id="1 byte of who was dropped"
        ),
        pytest.param(
            dict.fromkeys(keyring_data(a_keyring()), pem.CERTIFICATE_MARK + b"\n-----END " + pem.KEY_MARK),
            {"serving", "active", "standby", "trusted", "distrusted"},
            "damaged",
            id="7 keys of markers only",
        ),
    ],
)  # fmt: skip
def test_broken_parts(broken: dict[str, bytes], lost: set[str], words: str) -> None:
    """What is broken is told and left out, and what is not stays usable."""
    whole = a_keyring()
    parsed = parse_keyring(keyring_data(whole) | broken, "Secret a/b")
    fields = ("serving", "active", "standby", "trusted", "distrusted")
    same = {name for name in fields if parsed_equals(getattr(parsed, name), getattr(whole, name))}

    assert lost == {name for name in fields if not getattr(parsed, name)}
    assert set(fields) - lost <= same | {"serving"}
    assert words in "; ".join(parsed.problems)
    assert bool(words) == bool(parsed.problems)


def parsed_equals(one: object, other: object) -> bool:
    """Compare pairs by what they are, for the serving pair of each keyring here is new."""
    return one == other or (isinstance(one, KeyPair) and isinstance(other, KeyPair))


def test_keys_are_not_shown() -> None:
    """A keyring in a message or a traceback gives away nothing."""
    assert "PRIVATE" not in repr(a_keyring())


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        pytest.param(0, 3, id="day 0: all 3"),
        pytest.param(4, 2, id="day 4: one has expired"),
        pytest.param(401, 1, id="day 401: one is left"),
    ],
)
def test_bundle(days: int, expected: int) -> None:
    """An authority that has expired is trusted no more."""
    assert expected == len(a_keyring().bundle(NOW + timedelta(days=days)))


def test_retired() -> None:
    """Whoever is trusted and signs neither now nor next is retired."""
    assert (RETIRED.certificate(),) == a_keyring().retired()
    assert pem.certificates_to_pem(*a_keyring().retired()) == RETIRED.certificate_pem

"""PEM text that is not what it should be."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric import dsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from certs import keypair
from certs.errors import CertificateError
from tests.certs.builders import CA, a_pair

DSA_KEY = dsa.generate_private_key(1024).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def encrypted(form: PrivateFormat) -> bytes:
    """Return a private key with a passphrase."""
    return CA.key.private_bytes(Encoding.PEM, form, BestAvailableEncryption(b"secret"))


def test_several_certificates_keep_their_order() -> None:
    """A chain comes back as it was written, also with other text between."""
    leaf = a_pair()
    text = leaf.certificate_pem + b"# its authority\n" + CA.certificate_pem

    assert keypair.parse_certificates(text, "f") == (leaf.certificate, CA.certificate)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        pytest.param(b"", "no PEM certificate", id="0 bytes"),
        pytest.param(b"\x00\xff" * 100, "no PEM certificate", id="binary"),
        pytest.param(CA.key_pem, "a private key", id="the key"),
        pytest.param(CA.certificate_pem[:300], "damaged", id="cut off after 300 bytes"),
        pytest.param(CA.certificate_pem[:-20], "damaged", id="cut off 20 bytes before its end"),
        pytest.param(CA.certificate_pem.replace(b"M", b"N"), "damaged", id="other letters"),
    ],
)
def test_no_certificate(content: bytes, word: str) -> None:
    """The message names the file and says what is in it."""
    with pytest.raises(CertificateError, match=word) as caught:
        keypair.parse_certificates(content, "tls.crt")

    assert str(caught.value).startswith("tls.crt: ")


@pytest.mark.parametrize(
    ("content", "word"),
    [
        pytest.param(b"", "no PEM private key", id="0 bytes"),
        pytest.param(CA.certificate_pem, "a certificate", id="the certificate"),
        pytest.param(CA.key_pem[:100], "damaged|no PEM", id="cut off after 100 bytes"),
        pytest.param(encrypted(PrivateFormat.PKCS8), "encrypted", id="with a passphrase, PKCS #8"),
        pytest.param(
            encrypted(PrivateFormat.TraditionalOpenSSL), "encrypted", id="with a passphrase, old form"
        ),
        pytest.param(DSA_KEY, "neither", id="DSA"),
    ],
)
def test_no_key(content: bytes, word: str) -> None:
    """The message names the file and says what is in it; a passphrase is never asked for."""
    with pytest.raises(CertificateError, match=word) as caught:
        keypair.parse_key(content, "tls.key")

    assert str(caught.value).startswith("tls.key: ")


def test_words_around_a_key_do_not_matter() -> None:
    """Only the marks of an encrypted key count, not the word in a comment."""
    text = b"# NOT ENCRYPTED, mind\n" + CA.key_pem

    assert keypair.parse_key(text, "f").public_key() == CA.key.public_key()

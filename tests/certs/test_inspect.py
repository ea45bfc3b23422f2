"""The contents of certificates, and their problems."""

from __future__ import annotations

from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa

from certs.ca import create_ca
from certs.inject import encode_bundle
from certs.inspect import CertificateFile, inspect, leads_to
from tests.certs.builders import CA, DAY, NOW, a_pair, signed_by

SERVING = a_pair("web.example", "10.0.0.1")
OTHER = create_ca(NOW)
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
BETWEEN = signed_by(CA, "between", RSA_KEY, x509.BasicConstraints(ca=True, path_length=None))


def a_file(*certificates: x509.Certificate, key: object = None, source: str = "f") -> CertificateFile:
    """Return a file of some certificates."""
    return CertificateFile(source=source, certificates=certificates, key=key)  # type: ignore[arg-type]


def test_everything_in_order() -> None:
    """A serving certificate, its key and its CA have no problems."""
    files = [
        a_file(SERVING.certificate, key=SERVING.key, source="tls.crt"),
        a_file(CA.certificate, OTHER.certificate, source="ca.crt"),
    ]
    found = inspect(files, files[1].certificates, now=NOW)

    assert found["problems"] == []
    assert [(one["source"], one["keyFits"], one["chainsToCA"]) for one in found["certificates"]] == [
        ("tls.crt", True, True), ("ca.crt", None, None), ("ca.crt (certificate 2)", None, None),
    ]  # fmt: skip
    assert found["certificates"][0]["daysLeft"] == 1
    assert encode_bundle([CA.certificate, OTHER.certificate]) == found["caBundle"]


@pytest.mark.parametrize(
    ("after", "margin", "expected"),
    [
        pytest.param(timedelta(0), timedelta(0), "", id="1 day left"),
        pytest.param(DAY, timedelta(0), "", id="0 s left"),
        pytest.param(DAY + timedelta(seconds=1), timedelta(0), "f: expired on", id="1 s past"),
        pytest.param(timedelta(0), 2 * DAY, "f: expires on", id="1 day left, 2 wanted"),
        pytest.param(-DAY, timedelta(0), "f: is not valid before", id="1 day early"),
    ],
)
def test_validity(after: timedelta, margin: timedelta, expected: str) -> None:
    """A certificate is a problem outside its validity, or when too little is left."""
    problems = inspect([a_file(SERVING.certificate)], (), now=NOW + after, margin=margin)["problems"]

    assert bool(expected) == len(problems)
    assert "".join(problems).startswith(expected)


@pytest.mark.parametrize(
    ("file", "word"),
    [
        pytest.param(
            a_file(SERVING.certificate, key=CA.key), "private key belongs to another", id="a CA's key"
        ),
        pytest.param(a_file(a_pair(ca=OTHER).certificate), "any of the given CAs", id="signed by another CA"),
        pytest.param(a_file(signed_by(CA, "web").certificate), "no subject alternative name", id="0 names"),
    ],
)
def test_what_is_wrong(file: CertificateFile, word: str) -> None:
    """Each has a problem of its own."""
    (problem,) = inspect([file], [CA.certificate], now=NOW)["problems"]

    assert word in problem


def test_a_bundle_holds_cas_only() -> None:
    """A serving certificate behind a CA in the same file is not given to webhook configurations."""
    bundle = inspect([], [CA.certificate, SERVING.certificate], now=NOW)["caBundle"]

    assert encode_bundle([CA.certificate]) == bundle


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        pytest.param([BETWEEN.certificate], True, id="1 CA between"),
        pytest.param([], False, id="the one between missing"),
    ],
)
def test_a_chain_of_three(chain: list[x509.Certificate], expected: bool) -> None:  # noqa: FBT001  # of the table
    """Signatures are followed over the certificates between leaf and root, not around a gap."""
    assert expected is leads_to(a_pair(ca=BETWEEN).certificate, [CA.certificate], chain=chain)


def test_two_that_sign_each_other_end() -> None:
    """A chain that goes round is no chain, and is not followed for ever."""
    certificate = OTHER.certificate

    assert not leads_to(certificate, [CA.certificate], chain=[certificate, certificate])


def test_a_serving_certificate_signs_nothing() -> None:
    """A certificate signed with a serving key is not trusted, though the signature is good."""
    forged = signed_by(SERVING, "forged").certificate
    forged.verify_directly_issued_by(SERVING.certificate)

    assert not leads_to(forged, [CA.certificate], chain=[SERVING.certificate])

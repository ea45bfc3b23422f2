"""What certificates say and what is wrong with them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from certs import pem
from certs.ca import certificate_builder, create_ca
from certs.errors import MalformedError
from certs.inspect import Material, Report, anchors, begins_with_authority, examine, leads_to, parse_material
from certs.keypair import KeyPair
from tests.certs.builders import AUTHORITY, DAY, NOW, a_pair

LEAF = a_pair("web.example", "10.0.0.1")
OTHER = create_ca(NOW)


def a_chain() -> tuple[x509.Certificate, x509.Certificate, x509.Certificate]:
    """Return a leaf, the authority that signed it, and the root that signed that; for signatures only."""
    signer, key = AUTHORITY.certificate(), AUTHORITY.key()
    own_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "between")])
    between = (
        certificate_builder(NOW, not_after=NOW + DAY)
        .subject_name(name)
        .issuer_name(signer.subject)
        .public_key(own_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    middle = KeyPair(
        certificate_pem=pem.certificates_to_pem(between),
        key_pem=pem.key_to_pem(own_key),
        names=(),
        not_before=NOW,
        not_after=NOW + DAY,
        fingerprint="",
    )
    return a_pair(authority=middle).certificate(), between, signer


def a_material(*parts: bytes, source: str = "f") -> Material:
    """Return what a file of these PEM texts holds."""
    return parse_material(b"".join(parts), source)


def report_on(
    *materials: Material, after: timedelta = timedelta(0), margin: timedelta = timedelta(0)
) -> Report:
    """Examine files as one group."""
    trusted = anchors([material for material in materials if begins_with_authority(material)])
    return examine([materials], trusted, now=NOW + after, margin=margin)


def test_everything_in_order() -> None:
    """A leaf, its key and its authority have no problems."""
    report = report_on(
        a_material(LEAF.certificate_pem, source="tls.crt"),
        a_material(LEAF.key_pem),
        a_material(AUTHORITY.certificate_pem, source="ca.crt"),
    )
    leaf, authority = report.certificates

    assert report.problems == ()
    assert (leaf.source, leaf.authority, leaf.key_fits, leaf.chains) == ("tls.crt", False, True, True)
    assert (authority.authority, authority.key_fits, authority.chains) == (True, None, None)
    assert (leaf.dns_names, leaf.ip_addresses) == (("web.example",), ("10.0.0.1",))
    assert (leaf.key_type, leaf.sha256, leaf.days_left) == ("ECDSA P-256", LEAF.fingerprint, 1)
    assert report.ca_bundle == AUTHORITY.certificate_pem


@pytest.mark.parametrize(
    ("after", "margin", "expected"),
    [
        pytest.param(timedelta(0), timedelta(0), [], id="1 day left"),
        pytest.param(DAY, timedelta(0), [], id="0 s left"),
        pytest.param(DAY + timedelta(seconds=1), timedelta(0), ["expired on"], id="1 s past"),
        pytest.param(timedelta(0), 2 * DAY, ["expires on"], id="1 day left, 2 wanted"),
        pytest.param(-DAY, timedelta(0), ["is not valid before"], id="1 day early"),
    ],
)
def test_validity(after: timedelta, margin: timedelta, expected: list[str]) -> None:
    """A certificate is a problem outside its validity, or when too little is left."""
    report = report_on(a_material(LEAF.certificate_pem), after=after, margin=margin)

    assert len(expected) == len(report.problems)
    assert [word for word in expected if word not in " ".join(report.problems)] == []


@pytest.mark.parametrize(
    ("materials", "word"),
    [
        pytest.param([LEAF.certificate_pem, AUTHORITY.key_pem], "key fits none", id="a key too many"),
        pytest.param([LEAF.certificate_pem, OTHER.certificate_pem], "none of the authorities", id="wrong CA"),
    ],
)
def test_what_does_not_belong_together(materials: list[bytes], word: str) -> None:
    """A stray key and a foreign authority are problems."""
    (problem,) = report_on(*(a_material(content) for content in materials)).problems

    assert word in problem


def test_a_certificate_without_names() -> None:
    """Clients ignore the common name, so a leaf without alternative names is of no use."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "web.example")])
    builder = certificate_builder(NOW, not_after=NOW + DAY).subject_name(name).issuer_name(name)
    certificate = builder.public_key(key.public_key()).sign(key, hashes.SHA256())
    report = report_on(a_material(pem.certificates_to_pem(certificate)))

    assert report.problems == ("f: has no subject alternative name, so no client accepts it",)
    assert report.certificates[0].key_type == "RSA 2048"


def test_a_bundle_holds_authorities_only() -> None:
    """A leaf behind an authority in the same file is not given to webhook configurations."""
    report = report_on(a_material(AUTHORITY.certificate_pem, LEAF.certificate_pem, AUTHORITY.key_pem))

    assert report.ca_bundle == AUTHORITY.certificate_pem
    assert [description.source for description in report.certificates] == ["f", "f (certificate 2)"]


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        pytest.param(True, True, id="1 authority between"),
        pytest.param(False, False, id="the one between missing"),
    ],
)
def test_a_chain_of_three(*, chain: bool, expected: bool) -> None:
    """Signatures are followed over the certificates between leaf and root, not around a gap."""
    leaf, between, root = a_chain()

    assert expected is leads_to(leaf, [root], chain=[between] if chain else [])


def test_two_that_sign_each_other_end() -> None:
    """A chain that goes round is no chain, and is not followed for ever."""
    certificate = OTHER.certificate()

    assert not leads_to(certificate, [AUTHORITY.certificate()], chain=[certificate, certificate])


def test_a_leaf_signs_nothing() -> None:
    """A certificate signed with a serving key is not trusted, though the signature is good."""
    signer = LEAF.certificate()
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "forged")])
    builder = certificate_builder(NOW, not_after=NOW + DAY).subject_name(name).issuer_name(signer.subject)
    forged = builder.public_key(key.public_key()).sign(LEAF.key(), hashes.SHA256())
    forged.verify_directly_issued_by(signer)

    assert not leads_to(forged, [AUTHORITY.certificate()], chain=[signer])


def test_nothing_in_a_file() -> None:
    """A file without PEM blocks is named."""
    with pytest.raises(MalformedError, match="f: holds neither"):
        parse_material(b"apiVersion: v1", "f")

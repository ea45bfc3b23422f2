"""The contents of a serving certificate, and that others than us verify it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from hypothesis import given, settings
from hypothesis import strategies as st

from certs import keypair
from certs.ca import certificate_builder, create_ca, issue, key_usage, signature_hash
from certs.clocks import BACKDATE, SERVING_LIFETIME
from certs.errors import CertificateError
from certs.keypair import KeyPair
from certs.keyring import CA_CERTIFICATE, SERVING_CERTIFICATE
from certs.names import LABEL, Service, parse_names
from tests.certs.builders import CA, DAY, NOW, a_folder, a_pair

OPENSSL = shutil.which("openssl")


def a_ca_with(key: keypair.PrivateKey, *, key_identifier: bytes | None = None) -> KeyPair:
    """Return a CA that others created, with a key of another kind."""
    name = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "elsewhere")])
    builder = certificate_builder(NOW, not_after=NOW + DAY).subject_name(name).issuer_name(name)
    builder = builder.public_key(key.public_key()).add_extension(
        x509.BasicConstraints(ca=True, path_length=None), critical=True
    )
    if key_identifier:
        builder = builder.add_extension(x509.SubjectKeyIdentifier(key_identifier), critical=False)
    builder = builder.add_extension(key_usage("key_cert_sign"), critical=True)
    return KeyPair(certificate=builder.sign(key, signature_hash(key)), key=key)


def test_its_names() -> None:
    """Every name of the Service, every extra name and address is a subject alternative name."""
    names = parse_names(
        ["web.example"], ["10.0.0.1", "fd00::1"], service=Service(name="web", namespace="ops")
    )
    pair = issue(CA, names, now=NOW)

    assert pair.names == (
        "web", "web.ops", "web.ops.svc", "web.ops.svc.cluster.local", "web.example", "10.0.0.1", "fd00::1",
    )  # fmt: skip


def test_its_extensions() -> None:
    """It serves TLS and signs nothing."""
    extensions = a_pair().certificate.extensions
    usage = extensions.get_extension_for_class(x509.KeyUsage)
    extended = extensions.get_extension_for_class(x509.ExtendedKeyUsage)
    constraints = extensions.get_extension_for_class(x509.BasicConstraints)

    assert (usage.critical, usage.value.digital_signature, usage.value.key_cert_sign) == (True, True, False)
    assert list(extended.value) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert (constraints.critical, constraints.value.ca) == (True, False)


def test_it_names_its_ca() -> None:
    """The authority key identifier is the CA's own subject key identifier, whatever that is."""
    ca = a_ca_with(ec.generate_private_key(ec.SECP256R1()), key_identifier=b"any bytes")
    serving = a_pair(ca=ca).certificate
    identifier = serving.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value

    assert identifier.key_identifier == b"any bytes"
    assert serving.issuer == ca.certificate.subject


def test_its_validity() -> None:
    """It begins before now, for clocks that are behind, and ends a lifetime from now."""
    pair = issue(CA, parse_names(["web"]), now=NOW)

    assert (pair.not_before, pair.not_after) == (NOW - BACKDATE, NOW + SERVING_LIFETIME)


def test_it_does_not_outlive_its_ca() -> None:
    """After the CA's end nobody trusts it, so it does not claim to be valid."""
    ca = create_ca(NOW, lifetime=DAY)

    assert a_pair(ca=ca, lifetime=2 * DAY).not_after == NOW + DAY


def test_an_expired_ca_signs_nothing() -> None:
    """The error comes before any key is made."""
    ca = create_ca(NOW, lifetime=DAY)

    with pytest.raises(CertificateError, match="expired"):
        issue(ca, parse_names(["web"]), now=NOW + 2 * DAY)


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(ec.generate_private_key(ec.SECP384R1()), id="ECDSA P-384"),
        pytest.param(rsa.generate_private_key(public_exponent=65537, key_size=2048), id="RSA 2048"),
        pytest.param(ed25519.Ed25519PrivateKey.generate(), id="Ed25519"),
    ],
)
def test_cas_of_other_kinds_sign_too(key: keypair.PrivateKey) -> None:
    """A CA that a company already has can be used."""
    ca = a_ca_with(key)
    serving = a_pair(ca=ca).certificate

    serving.verify_directly_issued_by(ca.certificate)


@settings(max_examples=30)
@given(st.from_regex(LABEL, fullmatch=True), st.from_regex(LABEL, fullmatch=True))
def test_any_service_gets_a_certificate(name: str, namespace: str) -> None:
    """However long its names are, all of them are in the certificate."""
    service = Service(name=name, namespace=namespace)

    assert service.names() == issue(CA, parse_names(service=service), now=NOW).names


@pytest.mark.skipif(OPENSSL is None, reason="needs the openssl command")
@pytest.mark.parametrize(
    ("option", "name", "code"),
    [
        pytest.param("-verify_hostname", "web.ops.svc", 0, id="a name that is in it"),
        pytest.param("-verify_hostname", "other.ops.svc", 2, id="a name that is not"),
        pytest.param("-verify_ip", "fd00::1", 0, id="an address that is in it"),
        pytest.param("-verify_ip", "fd00::2", 2, id="an address that is not"),
    ],
)
def test_openssl_agrees(tmp_path: Path, option: str, name: str, code: int) -> None:
    """An independent program verifies the chain, the purpose and the names, as strictly as it can."""
    folder = a_folder(tmp_path / "pki", a_pair("web.ops.svc", "fd00::1"))
    command = [
        str(OPENSSL), "verify", "-x509_strict", "-purpose", "sslserver", option, name,
        "-CAfile", str(folder / CA_CERTIFICATE), str(folder / SERVING_CERTIFICATE),
    ]  # fmt: skip
    result = subprocess.run(command, capture_output=True, text=True, check=False)

    assert code == result.returncode, result.stderr

"""Certificates and folders for the tests; each builder mentions only what a test is about."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from certs import keypair, store
from certs.ca import certificate_builder, create_ca, issue, subject
from certs.keypair import KeyPair
from certs.keyring import CA_CERTIFICATE, CA_KEY, SERVING_CERTIFICATE, SERVING_KEY, Keyring, serving_data
from certs.names import parse_hosts

#: The real time, since clients check certificates against it; without the fraction that X.509 cannot hold.
NOW = datetime.now(UTC).replace(microsecond=0)
DAY = timedelta(days=1)
CA = create_ca(NOW)
CLIENT_AUTH = ExtendedKeyUsageOID.CLIENT_AUTH


def a_pair(*hosts: str, ca: KeyPair = CA, lifetime: timedelta = DAY) -> KeyPair:
    """Return a serving pair, by default for this machine."""
    return issue(ca, parse_hosts(hosts or ("localhost", "127.0.0.1")), now=NOW, lifetime=lifetime)


def signed_by(
    ca: KeyPair,
    name: str,
    key: keypair.PrivateKey | None = None,
    *extensions: x509.ExtensionType,
) -> KeyPair:
    """Return a pair of any kind, valid for a day, with these extensions, none of them critical."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    builder = certificate_builder(NOW, not_after=NOW + DAY).subject_name(subject(name))
    builder = builder.public_key(key.public_key()).issuer_name(ca.certificate.subject)
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return KeyPair(certificate=builder.sign(ca.key, hashes.SHA256()), key=key)


def a_client(*, ca: KeyPair = CA, usage: x509.ObjectIdentifier = CLIENT_AUTH) -> KeyPair:
    """Return a pair that a client shows to a server."""
    signer = ca.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    identifier = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(signer)
    return signed_by(ca, "kube-apiserver", None, x509.ExtendedKeyUsage([usage]), identifier)


def a_folder(path: Path, pair: KeyPair, *, ca: KeyPair = CA) -> Path:
    """Return a folder that holds a CA and a serving pair."""
    with store.locked(path):
        store.replace_files(path, Keyring(serving=pair, ca=ca, trusted=(ca.certificate,)).data())
    return path


def replace_serving(folder: Path, pair: KeyPair) -> None:
    """Put another serving pair into a folder, as a rotation does."""
    with store.locked(folder):
        store.replace_files(folder, serving_data(pair))


def writing_of(folder: Path) -> set[str]:
    """Return what else is in a folder beside the files: the link that is switched and what it leads to."""
    return {"..data", str((folder / "..data").readlink())}


def mount(folder: Path, files: Mapping[str, bytes]) -> None:
    """Bring a Secret into a folder as kubelet does, with the same steps at an update."""
    new, old = folder / f"..{secrets.token_hex(8)}", folder / "..data"
    before = old.resolve()
    new.mkdir(parents=True)
    for name, content in files.items():
        (new / name).write_bytes(content)
    (folder / "..data_tmp").symlink_to(new.name)
    (folder / "..data_tmp").replace(old)
    for name in files:
        if not (folder / name).exists():
            (folder / name).symlink_to(f"..data/{name}")
    if before != old:
        shutil.rmtree(before)


def read_serving(folder: Path) -> KeyPair:
    """Return the serving pair of a folder; errors are those of ``store.read_pair``."""
    return store.read_pair(folder / SERVING_CERTIFICATE, folder / SERVING_KEY)


def read_ca(folder: Path) -> KeyPair:
    """Return the CA of a folder, with those that it trusts besides as its chain."""
    return store.read_pair(folder / CA_CERTIFICATE, folder / CA_KEY)

"""A folder of certificates: made, written so that every program reads the files of one writing, and read.

As kubelet does in a mounted Secret, each writing is a folder of its own to which the link ``..data`` leads,
and each file is a link into that. Its rename replaces all files at once: wherever a writer or the machine
ends, they are all of the writing before, or all of the new one, which is on the disk by then. Writers hold an
exclusive lock, and remove what one that was killed left. Readers need none, so they can read what kubelet
writes: they read again if the link was switched meanwhile.

Private keys are created with mode 0600, never changed to it: at no moment can others open one.

Each step of a rotation is a person's demand. A CA that is in the folder is never replaced unannounced: that
would cut off every client that trusts it.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from certs.ca import create_ca, issue
from certs.clocks import BACKDATE, CA_LIFETIME, SERVING_LIFETIME
from certs.errors import CertificateError, UnreadableError
from certs.keypair import KeyPair, dns_names, ip_addresses, parse_keypair
from certs.keyring import (
    CA_CERTIFICATE,
    CA_KEY,
    FILE_NAMES,
    SERVING_CERTIFICATE,
    SERVING_KEY,
    Keyring,
    parse_keyring,
    serving_data,
)
from certs.names import SubjectNames, parse_hosts, parse_names
from certs.rotate import Demand, Trust, issue_serving, replace_ca

#: Bytes of a file, at most: the size limit of a Kubernetes Secret.
MAX_FILE_BYTES = 1024 * 1024
#: The link to the newest writing, by kubelet's name for it.
DATA = "..data"


def read_file(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        UnreadableError: It is missing, may not be read or is far too large for a certificate.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise UnreadableError(f"{path}: no such file; evenkeel certs init creates one") from None
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read: {error.strerror}") from error
    if len(content) > MAX_FILE_BYTES:
        raise UnreadableError(f"{path}: is larger than {MAX_FILE_BYTES} bytes, so it holds no certificate")
    return content


def read_files(*paths: Path) -> tuple[bytes, ...]:
    """Return the content of files, all of one writing where a link is switched to write them.

    Raises:
        UnreadableError: One cannot be read.
    """
    links = [path.parent / DATA for path in paths]
    while True:
        before = list(map(_target, links))
        try:
            content = tuple(map(read_file, paths))
        except UnreadableError:
            # A writer may have removed what a link led to.
            if before == list(map(_target, links)):
                raise
        else:
            if before == list(map(_target, links)):
                return content


def _target(link: Path) -> str:
    """Return where a link leads to; empty if it is none."""
    try:
        return str(link.readlink())
    except OSError:
        return ""


def read_pair(certificate: Path, key: Path) -> KeyPair:
    """Read a certificate and its private key.

    Raises:
        UnreadableError: A file is missing or cannot be read.
        MismatchedKeyError: The key belongs to another certificate.
        CertificateError: A file does not hold what it should.
    """
    chain, private = read_files(certificate, key)
    return parse_keypair(chain, private, certificate_source=str(certificate), key_source=str(key))


def existing_files(folder: Path) -> tuple[str, ...]:
    """Return which of the files are in a folder; links of others that lead nowhere belong to someone too."""
    return tuple(
        name
        for name in FILE_NAMES
        if (folder / name).exists() or _target(folder / name) not in {"", f"{DATA}/{name}"}
    )


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Create a folder if need be and keep every other writer out of it meanwhile.

    Raises:
        CertificateError: The folder cannot be created or opened.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise CertificateError(f"{folder}: cannot be used as a folder: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)  # which releases the lock


def replace_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder that the caller has ``locked``, all of them or none.

    Raises:
        CertificateError: Something could not be written; the files that were there are still there.
    """
    linked = {name for name in FILE_NAMES if _target(folder / name) == f"{DATA}/{name}"}
    # What others linked, and is not replaced, stays theirs.
    names = linked.union(files)
    held = {name: read_file(folder / name) for name in names if (folder / name).exists()}
    try:
        if not linked.issuperset(held):
            # What plain files hold is linked before it is replaced.
            _link(old := _write(folder, held), DATA, old.name)
        new = _write(folder, {**held, **files})
        for name in names - linked:
            _link(new, name, f"{DATA}/{name}")
        _link(new, DATA, new.name)
    except OSError as error:
        raise CertificateError(f"{folder}: cannot be written: {error.strerror}") from error
    finally:
        # The writing before, and what a writer left that was killed.
        for path in folder.glob("..*"):
            if path.name not in {DATA, _target(folder / DATA)}:
                shutil.rmtree(path, ignore_errors=True)


def _write(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write files into a new folder within another, bring them to the disk and return it."""
    new = folder / f"..{secrets.token_hex(8)}"
    new.mkdir(mode=0o755)
    for name, content in files.items():
        (new / name).touch(mode=0o600 if name.endswith(".key") else 0o644)
        (new / name).write_bytes(content)
        _flush(new / name)
    _flush(new)
    _flush(folder)
    return new


def _link(new: Path, name: str, target: str) -> None:
    """Have a link beside a new folder lead to a target, in place of what has its name."""
    (new / "..link").symlink_to(target)
    (new / "..link").replace(new.with_name(name))
    _flush(new.parent)


def _flush(path: Path) -> None:
    """Bring a file or the names in a folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfSignedFiles:
    """Where a self-signed pair is, and the CA certificate that clients can trust."""

    ca: Path
    certificate: Path
    key: Path


def create_folder(
    folder: Path,
    names: SubjectNames,
    *,
    now: datetime,
    lifetime: timedelta = SERVING_LIFETIME,
    ca_lifetime: timedelta = CA_LIFETIME,
    force: bool = False,
) -> tuple[KeyPair, KeyPair]:
    """Issue a serving certificate into a folder, and create the folder and a CA where there is none.

    Args:
        folder: Where.
        names: The names of the serving certificate.
        now: The current time, with a time zone.
        lifetime: How long the serving certificate is valid.
        ca_lifetime: How long a new CA is valid.
        force: Replace a serving certificate that is in the folder.

    Returns:
        The CA and the serving certificate.

    Raises:
        CertificateError: It cannot be created, or would replace another.
    """
    with locked(folder):
        existing = existing_files(folder)
        occupied = [str(folder / name) for name in existing if name.startswith("tls.")]
        if occupied and not force:
            raise CertificateError(
                f"{', '.join(occupied)}: already exists; --force replaces it, and keeps the CA"
            )
        files: dict[str, bytes] = {}
        missing = {CA_CERTIFICATE, CA_KEY}.difference(existing)
        if len(missing) == 1:
            raise CertificateError(f"{folder / missing.pop()}: missing, so the CA of the folder cannot sign")
        if not missing:
            ca = read_pair(folder / CA_CERTIFICATE, folder / CA_KEY)
        else:
            ca = create_ca(now, lifetime=ca_lifetime)
            files = {CA_KEY: ca.key_pem, CA_CERTIFICATE: ca.certificate_pem}
        serving = issue(ca, names, now=now, lifetime=lifetime)
        replace_files(folder, files | serving_data(serving))
    return ca, serving


def rotate_folder(folder: Path, demand: Demand, *, now: datetime) -> Keyring:
    """Replace what a folder holds, by one step.

    A serving certificate is issued for the same names and for as long as the one before. A new CA joins
    ``ca.crt``, which all clients must get then; it signs when the next serving certificate is issued.

    Returns:
        What the folder holds now.

    Raises:
        CertificateError: The folder does not hold what is needed, or cannot be written.
    """
    if not folder.is_dir():
        raise UnreadableError(f"{folder}: no such folder; evenkeel certs init creates one")
    with locked(folder):
        data = {name: read_file(folder / name) for name in existing_files(folder)}
        keyring = parse_keyring(data, str(folder))
        old = keyring.serving
        if keyring.problems or old is None:
            raise CertificateError("\n".join(keyring.problems))
        if demand is Demand.CA:
            keyring = replace_ca(keyring, Trust(), now=now)
        else:
            names = parse_names(dns_names(old.certificate), ip_addresses(old.certificate))
            lifetime = old.not_after - old.not_before - BACKDATE
            keyring = issue_serving(keyring, names, now=now, lifetime=lifetime)
        replace_files(folder, keyring.data())
    return keyring


def provision_self_signed(folder: Path, hosts: Iterable[str] = (), *, now: datetime) -> SelfSignedFiles:
    """Create a pair for this machine that lives as long as the folder, which the caller owns and removes.

    The CA's key is never written: nothing else can ever be signed with it.

    Args:
        folder: A private temporary folder.
        hosts: DNS names and IP addresses besides those of this machine.
        now: The current time, with a time zone.

    Raises:
        CertificateError: A host is neither a DNS name nor an IP address, or the folder cannot be written.
    """
    names = parse_hosts(["localhost", "127.0.0.1", "::1", *hosts])
    ca = create_ca(now, lifetime=SERVING_LIFETIME)
    files = serving_data(issue(ca, names, now=now)) | {CA_CERTIFICATE: ca.certificate_pem}
    with locked(folder):
        replace_files(folder, files)
    return SelfSignedFiles(
        ca=folder / CA_CERTIFICATE,
        certificate=folder / SERVING_CERTIFICATE,
        key=folder / SERVING_KEY,
    )

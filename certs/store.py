"""A folder of certificates: read and written so that a mixed pair is never taken for a good one, and made.

Plain files, for ``kubectl create secret --from-file`` skips symbolic links, so a folder that is switched by a
link, as kubelet does it, could not be uploaded. Two renames make a pair, then. What keeps a pair whole:

- Everything is written to temporary files in the same folder and flushed to the disk before the first
  rename, so the two renames follow each other within microseconds, and no file is ever half-written.
- A writer holds an exclusive lock on the folder, so two writers cannot interleave their renames.
- A reader checks that the key fits the certificate, which proves that both are of one writing, and reads
  again if not. A crash between the renames leaves files that do not fit, which is reported, never served.

Private keys are created with mode 0600, never changed to it: at no moment can others open one.

Each step of a rotation is a person's demand. A CA that is in the folder is never replaced unannounced: that
would cut off every client that trusts it.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from certs.ca import create_ca, issue
from certs.clocks import BACKDATE, CA_LIFETIME, SERVING_LIFETIME
from certs.errors import CertificateError, MismatchedKeyError, UnreadableError
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


def read_pair(certificate: Path, key: Path) -> KeyPair:
    """Read a certificate and its private key, again if a writer is just replacing them.

    Raises:
        UnreadableError: A file is missing or cannot be read.
        MismatchedKeyError: The key belongs to another certificate, and stays so.
        CertificateError: A file does not hold what it should.
    """
    for last in (False, False, False, False, True):
        try:
            return parse_keypair(
                read_file(certificate),
                read_file(key),
                certificate_source=str(certificate),
                key_source=str(key),
            )
        except MismatchedKeyError:
            if last:
                raise
            time.sleep(0.01)  # a writer needs microseconds for its renames
    raise AssertionError("the last attempt returns or raises")


def existing_files(folder: Path) -> tuple[str, ...]:
    """Return which of the files are in a folder, dangling links included: they belong to someone too."""
    return tuple(name for name in FILE_NAMES if os.path.lexists(folder / name))


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
    """Write files into a folder that the caller has ``locked``, each of them whole or not at all.

    Raises:
        CertificateError: Something could not be written; the files that were there are still there.
    """
    for name in files:
        if (folder / name).is_dir():
            raise CertificateError(f"{folder / name}: is a folder where a file belongs; move it away")
    written: list[tuple[Path, Path]] = []
    try:
        for name in sorted(files, key=FILE_NAMES.index):
            temporary = folder / f".{name}.{secrets.token_hex(8)}"
            written.append((temporary, folder / name))
            _write_durably(temporary, files[name], mode=0o600 if name.endswith(".key") else 0o644)
        for temporary, final in written:
            temporary.replace(final)
        _flush_folder(folder)
    except OSError as error:
        raise CertificateError(f"{folder}: cannot be written: {error.strerror}") from error
    finally:
        for temporary, _ in written:
            temporary.unlink(missing_ok=True)


def _write_durably(path: Path, content: bytes, *, mode: int) -> None:
    """Create a file with its final mode and bring its content to the disk."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, mode), "wb") as file:  # noqa: PTH123  # a descriptor, not a path
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    """Bring the renames to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
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

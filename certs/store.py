"""A folder of certificates, read and written so that a mixed pair is never taken for a good one.

Plain files, for ``kubectl create secret --from-file`` skips symbolic links, so a folder that is switched by a
link, as kubelet does it, could not be uploaded. Two renames make a pair, then. What keeps a pair whole:

- Everything is written to temporary files in the same folder and flushed to the disk before the first
  rename, so the two renames follow each other within microseconds, and no file is ever half-written.
- A writer holds an exclusive lock on the folder, so two writers cannot interleave their renames.
- A reader checks that the key fits the certificate, which proves that both are of one writing, and reads
  again if not. A crash between the renames leaves files that do not fit, which is reported, never served.

Private keys are created with mode 0600, never changed to it: at no moment can others open one.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from certs.errors import CertificateError, MismatchedKeyError, UnreadableError
from certs.keypair import KeyPair, parse_keypair

#: File names, after the keys of a ``kubernetes.io/tls`` Secret; cert-manager adds ``ca.crt`` in the same way.
SERVING_CERTIFICATE, SERVING_KEY = "tls.crt", "tls.key"
CA_CERTIFICATE, CA_KEY = "ca.crt", "ca.key"
#: Every file of a folder, in the order in which it is written: a certificate right after its key.
FILE_NAMES = (CA_KEY, CA_CERTIFICATE, SERVING_KEY, SERVING_CERTIFICATE)

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

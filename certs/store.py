"""A folder of certificates: read and written so that nobody takes a mixed pair for a good one.

The files have the names of a Kubernetes TLS secret's keys, and are plain files: ``kubectl create secret
--from-file`` skips symbolic links, so a folder that is switched through a link, as kubelet does it, could
not be uploaded. Plain files mean that two renames make a pair. What keeps a pair whole:

- Everything is written to temporary files in the same folder and flushed to the disk before the first
  rename, so the two renames follow each other within microseconds, and no file is ever half-written.
- A writer holds an exclusive lock on the folder, so two writers cannot interleave their renames.
- A reader checks that the key fits the certificate, which proves that both are of one writing; one
  that meets the moment between the renames reads again. So a pair that ``read_pair`` returns is never
  mixed. A crash between the renames leaves files that do not fit, which is told, never served.

Private keys are created with mode 0600, never changed to it: there is no moment in which others can open one.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from certs.errors import MismatchedKeyError, UnreadableError, UnwritableError
from certs.keypair import KeyPair, parse_keypair

#: File names, after the keys of a ``kubernetes.io/tls`` secret; cert-manager adds ``ca.crt`` in the same way.
AUTHORITY_CERTIFICATE = "ca.crt"
#: The authority's private key; no secret of a cluster needs it.
AUTHORITY_KEY = "ca.key"
#: The serving certificate, then its chain.
SERVING_CERTIFICATE = "tls.crt"
#: The serving certificate's private key.
SERVING_KEY = "tls.key"
#: Every file of a folder, in the order in which it is written: a certificate right after its key.
FILE_NAMES = (AUTHORITY_KEY, AUTHORITY_CERTIFICATE, SERVING_KEY, SERVING_CERTIFICATE)

#: Mode bits of a private key.
KEY_MODE = 0o600
#: Mode bits of a certificate, before the umask; it is public.
CERTIFICATE_MODE = 0o644
#: Mode bits of a folder that we create.
FOLDER_MODE = 0o700
#: Bytes of a file, at most: the size limit of a Kubernetes secret.
MAX_FILE_BYTES = 1024 * 1024
#: How often a pair is read that does not fit, before it counts as broken. Arbitrary.
FIT_ATTEMPTS = 5
#: Seconds between two of these attempts. Arbitrary; a writer needs microseconds for its renames.
FIT_PAUSE_S = 0.01


def read_file(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        UnreadableError: It is missing, may not be read or is far too large for a certificate.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise UnreadableError(f"{path}: there is no such file; evenkeel certs init makes one") from None
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read: {error.strerror}") from error
    if len(content) > MAX_FILE_BYTES:
        raise UnreadableError(f"{path}: is larger than {MAX_FILE_BYTES} bytes, so it holds no certificate")
    return content


def read_pair_once(certificate: Path, key: Path) -> KeyPair:
    """Read a certificate and its private key as they are at this moment.

    Raises:
        UnreadableError: A file is missing or cannot be read.
        MalformedError: A file does not hold what it should.
        MismatchedKeyError: The key belongs to another certificate.
    """
    return parse_keypair(
        read_file(certificate), read_file(key), certificate_source=str(certificate), key_source=str(key)
    )


def read_pair(certificate: Path, key: Path) -> KeyPair:
    """Read a certificate and its private key, patient with a writer who is just replacing them.

    Raises:
        UnreadableError: A file is missing or cannot be read.
        MalformedError: A file does not hold what it should.
        MismatchedKeyError: The key belongs to another certificate, and stays so.
    """
    for _ in range(FIT_ATTEMPTS - 1):
        try:
            return read_pair_once(certificate, key)
        except MismatchedKeyError:
            time.sleep(FIT_PAUSE_S)
    return read_pair_once(certificate, key)


def read_authority(folder: Path) -> KeyPair:
    """Read the authority of a folder; errors are those of ``read_pair``."""
    return read_pair(folder / AUTHORITY_CERTIFICATE, folder / AUTHORITY_KEY)


def existing_files(folder: Path) -> tuple[str, ...]:
    """Return which of the files are in a folder, dangling links included: they are somebody's too."""
    return tuple(name for name in FILE_NAMES if os.path.lexists(folder / name))


def authority_files(authority: KeyPair) -> dict[str, bytes]:
    """Return the files of an authority."""
    return {AUTHORITY_KEY: authority.key_pem, AUTHORITY_CERTIFICATE: authority.certificate_pem}


def serving_files(serving: KeyPair) -> dict[str, bytes]:
    """Return the files of a serving certificate."""
    return {SERVING_KEY: serving.key_pem, SERVING_CERTIFICATE: serving.certificate_pem}


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Create a folder if need be and keep every other writer out of it meanwhile.

    Raises:
        UnwritableError: The folder cannot be created or opened.
    """
    try:
        folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise UnwritableError(f"{folder}: cannot be used as a folder: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)  # which gives the lock back


def replace_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder that the caller has ``locked``, each of them whole or not at all.

    Raises:
        UnwritableError: Something could not be written; the files that were there are still there.
    """
    for name in files:
        if (folder / name).is_dir():
            raise UnwritableError(f"{folder / name}: is a folder where a file belongs; move it away")
    written: list[tuple[Path, Path]] = []
    try:
        for name in sorted(files, key=FILE_NAMES.index):
            temporary = folder / f".{name}.{secrets.token_hex(8)}"
            written.append((temporary, folder / name))
            mode = KEY_MODE if name.endswith(".key") else CERTIFICATE_MODE
            _write_durably(temporary, files[name], mode=mode)
        for temporary, final in written:
            temporary.replace(final)
        _flush_folder(folder)
    except OSError as error:
        raise UnwritableError(f"{folder}: cannot be written: {error.strerror}") from error
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

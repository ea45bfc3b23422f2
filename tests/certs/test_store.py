"""Folders of certificates: modes, whole files, whole pairs."""

from __future__ import annotations

import os
import resource
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from certs import store
from certs.errors import CertificateError, MismatchedKeyError, UnreadableError
from certs.keypair import KeyPair, fits
from certs.keyring import CA_KEY, FILE_NAMES, SERVING_CERTIFICATE, SERVING_KEY
from tests.certs.builders import CA, a_folder, a_pair, read_ca, read_serving, replace_serving

#: How often the writer replaces the pair under the readers' hands; each time takes a few flushes to the disk.
ROUNDS = 60


@pytest.fixture
def permissive_umask() -> Iterator[None]:
    """Let new files have every permission that is asked for."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def chmod_calls() -> Iterator[list[object]]:
    """Record every change of a file's mode; an audit hook stays for ever, so it is switched off after."""
    calls: list[object] = []
    recording = [True]

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if recording[0] and event == "os.chmod":
            calls.append(arguments)

    sys.addaudithook(hook)
    yield calls
    recording[0] = False


def mode(path: Path) -> int:
    """Return the permission bits of a file."""
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Both pairs come back as they were."""
    pair = a_pair()
    folder = a_folder(tmp_path / "pki", pair)

    assert (read_ca(folder), read_serving(folder)) == (CA, pair)
    assert {path.name for path in folder.iterdir()} == set(FILE_NAMES)


@pytest.mark.usefixtures("permissive_umask")
def test_modes(tmp_path: Path, chmod_calls: list[object]) -> None:
    """Private keys are 0600 although the umask would allow all, and were never anything else."""
    folder = a_folder(tmp_path / "pki", a_pair())

    assert [mode(folder / name) for name in (CA_KEY, SERVING_KEY)] == [0o600, 0o600]
    assert mode(folder) == 0o700
    assert chmod_calls == []


def test_a_replaced_key_loses_a_loose_mode(tmp_path: Path) -> None:
    """A key that somebody made readable for all is private again after the next writing."""
    folder = a_folder(tmp_path / "pki", a_pair())
    (folder / SERVING_KEY).chmod(0o644)
    replace_serving(folder, a_pair())

    assert mode(folder / SERVING_KEY) == 0o600


def test_a_link_is_replaced_not_followed(tmp_path: Path) -> None:
    """A key is never written to where somebody else's link points."""
    folder = a_folder(tmp_path / "pki", a_pair())
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("untouched")
    (folder / SERVING_KEY).unlink()
    (folder / SERVING_KEY).symlink_to(elsewhere)
    replace_serving(folder, a_pair())

    assert elsewhere.read_text() == "untouched"
    assert not (folder / SERVING_KEY).is_symlink()


def test_a_failed_writing_changes_nothing(tmp_path: Path) -> None:
    """When the disk takes no more, the old pair stays whole and no piece of a key is left."""
    pair = a_pair()
    folder = a_folder(tmp_path / "pki", pair)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, hard))  # bytes: enough for the key, not the certificate
    try:
        with pytest.raises(CertificateError, match="pki: cannot be written: File too large"):
            replace_serving(folder, a_pair())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert pair == read_serving(folder)
    assert {path.name for path in folder.iterdir()} == set(FILE_NAMES)


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    """It is refused before the other file of the pair is replaced."""
    folder = a_folder(tmp_path / "pki", a_pair())
    before = (folder / SERVING_KEY).read_bytes()
    (folder / SERVING_CERTIFICATE).unlink()
    (folder / SERVING_CERTIFICATE).mkdir()
    with pytest.raises(CertificateError, match=r"tls\.crt: is a folder"):
        replace_serving(folder, a_pair())

    assert before == (folder / SERVING_KEY).read_bytes()


def test_a_file_instead_of_the_folder(tmp_path: Path) -> None:
    """The message names it."""
    (tmp_path / "pki").write_text("")
    with (
        pytest.raises(CertificateError, match="pki: cannot be used as a folder"),
        store.locked(tmp_path / "pki"),
    ):
        pass


@pytest.mark.parametrize(
    ("content", "error"),
    [
        pytest.param(None, UnreadableError, id="missing"),
        pytest.param(b"", CertificateError, id="0 bytes"),
        pytest.param(
            b"x" * (store.MAX_FILE_BYTES + 1), UnreadableError, id="1 byte more than a secret may have"
        ),
        pytest.param(a_pair().key_pem, MismatchedKeyError, id="the key of another certificate"),
    ],
)
def test_unreadable_pairs(tmp_path: Path, content: bytes | None, error: type[Exception]) -> None:
    """Every way in which a key can be wrong has its own exception, which names the file."""
    folder = a_folder(tmp_path / "pki", a_pair())
    (folder / SERVING_KEY).unlink()
    if content is not None:
        (folder / SERVING_KEY).write_bytes(content)

    with pytest.raises(error, match=r"tls\.key"):
        read_serving(folder)


def test_a_folder_instead_of_a_file(tmp_path: Path) -> None:
    """It cannot be read, and that is said."""
    with pytest.raises(UnreadableError, match="Is a directory"):
        store.read_file(tmp_path)


def test_readers_never_see_a_mixed_pair(tmp_path: Path) -> None:
    """While a writer replaces the pair again and again, every pair that is read is one of the two."""
    pairs = [a_pair(), a_pair()]
    folder = a_folder(tmp_path / "pki", pairs[0])
    done = threading.Event()
    seen: list[KeyPair] = []
    failures: list[Exception] = []

    def read() -> None:
        while not (seen and done.is_set()):
            try:
                seen.append(read_serving(folder))
            except Exception as error:  # noqa: BLE001  # a thread's exception would go unnoticed
                failures.append(error)
                return

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for turn in range(ROUNDS):
        replace_serving(folder, pairs[turn % 2])
    done.set()
    for reader in readers:
        reader.join()

    assert failures == []
    assert seen
    assert {pair.fingerprint for pair in seen} <= {pair.fingerprint for pair in pairs}
    assert all(fits(pair.key, pair.certificate) for pair in seen[:: max(1, len(seen) // 100)])


def test_writers_do_not_interleave(tmp_path: Path) -> None:
    """Of several writers at once one is the last, with both of its files."""
    folder = a_folder(tmp_path / "pki", a_pair())
    pairs = [a_pair() for _ in range(4)]

    def write(pair: KeyPair) -> None:
        for _ in range(5):
            replace_serving(folder, pair)

    writers = [threading.Thread(target=write, args=(pair,)) for pair in pairs]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert store.read_pair(folder / SERVING_CERTIFICATE, folder / SERVING_KEY) in pairs

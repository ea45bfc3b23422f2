"""Folders of certificates: modes, whole files, whole pairs."""

from __future__ import annotations

import itertools
import os
import resource
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest

from certs import store
from certs.ca import create_ca
from certs.errors import CertificateError, MismatchedKeyError, UnreadableError
from certs.keypair import KeyPair
from certs.keyring import (
    CA_CERTIFICATE,
    CA_KEY,
    FILE_NAMES,
    SERVING_CERTIFICATE,
    SERVING_KEY,
    Keyring,
    serving_data,
)
from tests.certs.builders import (
    CA,
    NOW,
    a_folder,
    a_pair,
    mount,
    read_ca,
    read_serving,
    replace_serving,
    writing_of,
)

#: Called with the name of an audit event.
Hook = Callable[[str], object]
#: The audit events at which a folder changes.
STEPS = {"os.mkdir", "os.symlink", "os.rename", "os.remove", "os.rmdir"}


@pytest.fixture
def permissive_umask() -> Iterator[None]:
    """Let new files have every permission that is asked for."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def hooks() -> Iterator[list[Hook]]:
    """Call functions with what this process does; an audit hook stays for ever, so it is emptied after."""
    functions: list[Hook] = []

    def hook(event: str, _arguments: object) -> None:
        for function in functions.copy():
            function(event)

    sys.addaudithook(hook)
    yield functions
    functions.clear()


def mode(path: Path) -> int:
    """Return the permission bits of a file."""
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Both pairs come back as they were."""
    pair = a_pair()
    folder = a_folder(tmp_path / "pki", pair)

    assert (read_ca(folder), read_serving(folder)) == (CA, pair)
    assert {path.name for path in folder.iterdir()} == {*FILE_NAMES, *writing_of(folder)}


@pytest.mark.usefixtures("permissive_umask")
def test_modes(tmp_path: Path, hooks: list[Hook]) -> None:
    """Private keys are 0600 although the umask would allow all, and were never anything else."""
    events: list[str] = []
    hooks.append(events.append)
    folder = a_folder(tmp_path / "pki", a_pair())

    assert [mode(folder / name) for name in (CA_KEY, SERVING_KEY)] == [0o600, 0o600]
    assert mode(folder) == 0o700
    assert "open" in events
    assert "os.chmod" not in events


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
    assert (folder / SERVING_KEY).resolve().parent == (folder / "..data").resolve()


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
    assert {path.name for path in folder.iterdir()} == {*FILE_NAMES, *writing_of(folder)}


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    """It is refused before the other file of the pair is replaced."""
    folder = a_folder(tmp_path / "pki", a_pair())
    before = (folder / SERVING_KEY).read_bytes()
    (folder / SERVING_CERTIFICATE).unlink()
    (folder / SERVING_CERTIFICATE).mkdir()
    with pytest.raises(CertificateError, match=r"tls\.crt: .*Is a directory"):
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


def mount_serving(folder: Path, pair: KeyPair) -> None:
    """Bring a serving pair into a folder as kubelet does."""
    mount(folder, serving_data(pair))


@pytest.mark.parametrize("write", [replace_serving, mount_serving])
@pytest.mark.parametrize("moments", [{1}, {2}, {1, 2}, {2, 3}, set(range(1, 10))], ids=str)
def test_readers_never_see_a_mixed_pair(
    tmp_path: Path,
    hooks: list[Hook],
    write: Callable[[Path, KeyPair], None],
    moments: set[int],
) -> None:
    """Where a writer replaces the pair as a reader opens a file, once or often, the newest is read whole."""
    pairs = [a_pair()]
    write(tmp_path, pairs[0])
    opened = itertools.count(1)

    def replace(event: str) -> None:
        if event == "open" and next(opened) in moments:
            # Not for what the writer opens.
            hooks.remove(replace)
            pairs.append(a_pair())
            write(tmp_path, pairs[-1])
            hooks.append(replace)

    hooks.append(replace)
    found = read_serving(tmp_path)

    assert found == pairs[-1]
    assert len(pairs) == 1 + len(moments)


def content_of(folder: Path) -> dict[str, bytes]:
    """Return what any program finds in a folder."""
    return {name: (folder / name).read_bytes() for name in store.existing_files(folder)}


def copy_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put files into a folder as ``cp`` does."""
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put files into a folder as the product does."""
    with store.locked(folder):
        store.replace_files(folder, files)


def is_killed(work: Callable[[], object], step: int) -> bool:
    """Do work in a child process that is killed before it changes a folder for the given time."""
    child = os.fork()
    if child == 0:
        steps = itertools.count()

        def hook(event: str, _arguments: object) -> None:
            if event in STEPS and next(steps) == step:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.parametrize(
    ("begin", "names"),
    [
        pytest.param(copy_files, (), id="0 files"),
        pytest.param(copy_files, (CA_CERTIFICATE, CA_KEY), id="2 plain files"),
        pytest.param(mount, FILE_NAMES, id="4 files of a Secret"),
    ],
)
def test_a_writer_that_is_killed(
    tmp_path: Path, begin: Callable[[Path, Mapping[str, bytes]], None], names: tuple[str, ...]
) -> None:
    """At any step, every program finds all that was there or all that is new; the next writer tidies up."""
    old, new, newest = (
        Keyring(serving=a_pair(ca=ca), ca=ca, trusted=(ca.certificate,)).data()
        for ca in (create_ca(NOW) for _ in range(3))
    )
    old = {name: old[name] for name in names}
    found = []
    for step in itertools.count():
        folder = tmp_path / str(step)
        begin(folder, old)
        killed = is_killed(partial(write_files, folder, new), step)
        found.append(content_of(folder))
        assert found[-1] in (old, new), step
        write_files(folder, newest)
        assert content_of(folder) == newest, step
        assert {path.name for path in folder.iterdir()} == {*FILE_NAMES, *writing_of(folder)}, step
        if not killed:
            break

    assert (found[0], found[-1]) == (old, new)
    assert len(found) >= 10


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

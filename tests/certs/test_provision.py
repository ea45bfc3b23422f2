"""Filling a folder: what is decided, and what is done."""

from __future__ import annotations

import ssl
import threading
from pathlib import Path

import pytest

from certs import store
from certs.errors import CAError, CertificateError, ExistingFilesError, NamesError
from certs.inspect import leads_to
from certs.names import parse_names
from certs.provision import Action, Request, plan, provision, provision_self_signed
from certs.serving import ServingContext
from tests.certs.builders import NOW, read_serving
from tests.certs.tls import EchoServer, connect, echoed

NAMES = parse_names(["localhost"])
AUTHORITY_FILES = ("ca.crt", "ca.key")
SERVING_FILES = ("tls.crt", "tls.key")


def a_request(*options: str) -> Request:
    """Return a request with some of ``reuse`` and ``force``."""
    return Request(names=NAMES, reuse_authority="reuse" in options, overwrite="force" in options)


@pytest.mark.parametrize(
    ("existing", "options", "expected"),
    [
        pytest.param((), (), Action.CREATE_ALL, id="0 files"),
        pytest.param(
            AUTHORITY_FILES, ("reuse",), Action.ISSUE_SERVING, id="2 files of an authority to reuse"
        ),
        pytest.param(store.FILE_NAMES, ("force",), Action.CREATE_ALL, id="4 files to replace"),
        pytest.param(store.FILE_NAMES, ("reuse", "force"), Action.ISSUE_SERVING, id="4 files, 2 to replace"),
    ],
)
def test_plan(existing: tuple[str, ...], options: tuple[str, ...], expected: Action) -> None:
    """What is asked for and what is there decide what is made."""
    assert expected is plan(existing, Path("pki"), request=a_request(*options))


@pytest.mark.parametrize(
    ("existing", "options", "error", "words"),
    [
        pytest.param(
            AUTHORITY_FILES, (), ExistingFilesError, ("pki/ca.crt, pki/ca.key are", "--reuse-ca signs"),
            id="2 files of an authority",
        ),
        pytest.param(
            ("tls.key",), (), ExistingFilesError, ("pki/tls.key is", "--force replaces everything"),
            id="1 file of a pair",
        ),
        pytest.param(
            store.FILE_NAMES, (), ExistingFilesError, ("pki/tls.key are", "--reuse-ca --force"), id="4 files"
        ),
        pytest.param(
            store.FILE_NAMES, ("reuse",), ExistingFilesError, ("pki/tls.crt, pki/tls.key are", "--force"),
            id="4 files, authority to reuse",
        ),
        pytest.param(
            ("ca.crt",), ("reuse", "force"), CAError, ("pki/ca.key is missing", "--reuse-ca"),
            id="1 file of an authority to reuse",
        ),
        pytest.param(
            (), ("reuse",), CAError, ("pki/ca.crt and pki/ca.key are missing",), id="0 files, to reuse"
        ),
    ],
)  # fmt: skip
def test_refusals(
    existing: tuple[str, ...], options: tuple[str, ...], error: type[CertificateError], words: tuple[str, ...]
) -> None:
    """What nobody allowed to be replaced stays; the message names the files and the way out."""
    with pytest.raises(error) as caught:
        plan(existing, Path("pki"), request=a_request(*options))

    assert [word for word in words if word not in str(caught.value)] == []


def test_a_new_folder(tmp_path: Path) -> None:
    """It holds both pairs, and one is signed by the other."""
    folder = tmp_path / "new" / "pki"
    made = provision(folder, a_request(), now=NOW)

    assert (store.read_authority(folder), read_serving(folder)) == (made.authority, made.serving)
    assert leads_to(made.serving.certificate(), [made.authority.certificate()])


def test_the_authority_is_kept(tmp_path: Path) -> None:
    """A client that trusts it trusts the new serving certificate too."""
    first = provision(tmp_path, a_request(), now=NOW)
    second = provision(tmp_path, a_request("reuse", "force"), now=NOW)

    assert second.authority == first.authority
    assert second.serving.fingerprint != first.serving.fingerprint
    assert leads_to(second.serving.certificate(), [first.authority.certificate()])


def test_a_refusal_leaves_everything(tmp_path: Path) -> None:
    """Neither the files nor the absence of a folder changes."""
    made = provision(tmp_path / "pki", a_request(), now=NOW)
    with pytest.raises(ExistingFilesError):
        provision(tmp_path / "pki", a_request(), now=NOW)
    with pytest.raises(CAError):
        provision(tmp_path / "none", a_request("reuse"), now=NOW)

    assert read_serving(tmp_path / "pki") == made.serving
    assert not (tmp_path / "none").exists()


def test_of_many_at_once_one_wins(tmp_path: Path) -> None:
    """Without force only the first of several may write, however close they come."""
    outcomes: list[str] = []

    def attempt() -> None:
        try:
            provision(tmp_path / "pki", a_request(), now=NOW)
        except ExistingFilesError:
            outcomes.append("refused")
        else:
            outcomes.append("made")

    threads = [threading.Thread(target=attempt) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(outcomes) == ["made", *["refused"] * 4]
    assert read_serving(tmp_path / "pki").names == ("localhost",)


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "::1", "web.example", "10.1.2.3"])
def test_self_signed(tmp_path: Path, name: str) -> None:
    """A client that trusts the authority reaches the server by every name, local or given."""
    files = provision_self_signed(tmp_path, ["web.example", "10.1.2.3"], now=NOW)
    with (
        EchoServer(ServingContext(files.certificate, files.key)) as server,
        connect(server.port, name, trust=files.authority) as client,
    ):
        answer = echoed(client, b"hello")

    assert answer == b"hello"


def test_self_signed_keeps_no_authority_key(tmp_path: Path) -> None:
    """Nothing else can ever be signed by an authority that people trusted for one try."""
    provision_self_signed(tmp_path, now=NOW)

    assert not (tmp_path / store.AUTHORITY_KEY).exists()


def test_self_signed_checks_hosts(tmp_path: Path) -> None:
    """A host that is no name is refused with the reason."""
    with pytest.raises(NamesError, match="a_b"):
        provision_self_signed(tmp_path, ["a_b"], now=NOW)


def test_a_client_with_another_authority_refuses(tmp_path: Path) -> None:
    """The tests' client does check: it does not take a certificate that another authority signed."""
    files = provision_self_signed(tmp_path / "one", now=NOW)
    other = provision_self_signed(tmp_path / "other", now=NOW)

    with (
        EchoServer(ServingContext(files.certificate, files.key)) as server,
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        connect(server.port, "localhost", trust=other.authority)

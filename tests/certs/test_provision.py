"""Folders: created, rotated, and what is never replaced."""

from __future__ import annotations

import ssl
import threading
from pathlib import Path

import pytest

from certs import store
from certs.ca import create_ca
from certs.errors import CertificateError
from certs.inspect import signer_of
from certs.keyring import CA_KEY
from certs.names import parse_names
from certs.rotate import Demand
from certs.serving import ServingContext
from certs.store import create_folder, provision_self_signed, rotate_folder
from tests.certs.builders import CA, DAY, NOW, a_folder, a_pair, read_ca, read_serving
from tests.certs.tls import EchoServer, connect, echoed

NAMES = parse_names(["localhost"])


class TestCreate:
    """``create_folder``."""

    def test_a_new_folder(self, tmp_path: Path) -> None:
        """It holds both pairs, and one is signed by the other."""
        folder = tmp_path / "new" / "pki"
        ca, serving = create_folder(folder, NAMES, now=NOW)

        assert (read_ca(folder), read_serving(folder)) == (ca, serving)
        assert ca.certificate == signer_of(serving, [ca.certificate])

    def test_the_ca_is_kept(self, tmp_path: Path) -> None:
        """A client that trusts it trusts the new serving certificate too; a serving certificate stays."""
        ca, first = create_folder(tmp_path, NAMES, now=NOW)
        with pytest.raises(CertificateError, match=r"tls\.key, .*tls\.crt: already exists; --force replaces"):
            create_folder(tmp_path, NAMES, now=NOW)
        before = read_serving(tmp_path)
        same, second = create_folder(tmp_path, NAMES, now=NOW, force=True)

        assert (before, ca) == (first, same)
        assert second != first
        assert ca.certificate == signer_of(second, [ca.certificate])

    @pytest.mark.parametrize("missing", ["ca.crt", "ca.key"])
    def test_a_ca_that_cannot_sign(self, tmp_path: Path, missing: str) -> None:
        """It is not replaced behind the back of those that trust it."""
        folder = a_folder(tmp_path, a_pair())
        (folder / missing).unlink()
        with pytest.raises(CertificateError, match=missing):
            create_folder(folder, NAMES, now=NOW, force=True)

        assert len(store.existing_files(folder)) == 3

    def test_of_many_at_once_one_wins(self, tmp_path: Path) -> None:
        """Without force only the first of several may write, however close they come."""
        outcomes: list[str] = []

        def attempt() -> None:
            try:
                create_folder(tmp_path / "pki", NAMES, now=NOW)
            except CertificateError:
                outcomes.append("refused")
            else:
                outcomes.append("created")

        threads = [threading.Thread(target=attempt) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert sorted(outcomes) == ["created", *["refused"] * 4]
        assert read_serving(tmp_path / "pki").names == ("localhost",)


class TestRotate:
    """``rotate_folder``."""

    def test_serving(self, tmp_path: Path) -> None:
        """Another key and certificate for the same names and as long, of the same CA."""
        old = a_pair("web.ops.svc", "10.0.0.1", lifetime=30 * DAY)
        folder = a_folder(tmp_path, old)
        keyring = rotate_folder(folder, Demand.SERVING, now=NOW + DAY)
        new = read_serving(folder)

        assert (new, CA) == (keyring.serving, keyring.ca)
        assert old.names == new.names
        assert old.key_pem != new.key_pem
        assert old.not_after + DAY == new.not_after
        assert CA.certificate == signer_of(new, keyring.trusted)

    def test_a_new_ca_in_two_steps(self, tmp_path: Path) -> None:
        """At each step what is served leads to ca.crt before and after it; a third forgets the first CA."""
        folder = a_folder(tmp_path, a_pair())
        before = read_serving(folder)
        first = rotate_folder(folder, Demand.CA, now=NOW)
        second = rotate_folder(folder, Demand.SERVING, now=NOW)
        third = rotate_folder(folder, Demand.CA, now=NOW)

        assert first.ca
        assert second.serving
        assert before == first.serving
        assert CA.certificate == signer_of(before, first.trusted)
        assert first.ca.certificate == signer_of(second.serving, first.trusted)
        assert (first.ca.certificate,) == third.retired()
        assert third.trusted == (read_ca(folder).certificate, *read_ca(folder).chain)

    @pytest.mark.parametrize("missing", ["tls.crt", "ca.key"])
    @pytest.mark.parametrize("demand", [Demand.SERVING, Demand.CA])
    def test_what_is_missing(self, tmp_path: Path, missing: str, demand: Demand) -> None:
        """A folder that lacks a file is left as it is, and one that does not exist is not created."""
        folder = a_folder(tmp_path / "pki", a_pair())
        (folder / missing).unlink()
        with pytest.raises(CertificateError, match=missing):
            rotate_folder(folder, demand, now=NOW)
        with pytest.raises(CertificateError, match="no such folder"):
            rotate_folder(tmp_path / "none", demand, now=NOW)

        assert len(store.existing_files(folder)) == 3
        assert not (tmp_path / "none").exists()

    def test_a_ca_that_ended(self, tmp_path: Path) -> None:
        """It signs nothing, and a new one does not keep it."""
        ended = create_ca(NOW, lifetime=DAY)
        folder = a_folder(tmp_path, a_pair(ca=ended), ca=ended)
        with pytest.raises(CertificateError, match="expired"):
            rotate_folder(folder, Demand.SERVING, now=NOW + 2 * DAY)

        assert len(rotate_folder(folder, Demand.CA, now=NOW + 2 * DAY).trusted) == 1


class TestSelfSigned:
    """``provision_self_signed``."""

    @pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "::1", "web.example", "10.1.2.3"])
    def test_names(self, tmp_path: Path, name: str) -> None:
        """A client that trusts the CA reaches the server by every name, local or given."""
        files = provision_self_signed(tmp_path, ["web.example", "10.1.2.3"], now=NOW)
        with (
            EchoServer(ServingContext(files.certificate, files.key)) as server,
            connect(server.port, name, trust=files.ca) as client,
        ):
            answer = echoed(client, b"hello")

        assert answer == b"hello"
        assert not (tmp_path / CA_KEY).exists()

    def test_hosts_are_checked(self, tmp_path: Path) -> None:
        """A host that is no name is refused with the reason."""
        with pytest.raises(CertificateError, match="a_b"):
            provision_self_signed(tmp_path, ["a_b"], now=NOW)

    def test_a_client_with_another_ca_refuses(self, tmp_path: Path) -> None:
        """The tests' client does check: it does not take a certificate that another CA signed."""
        files = provision_self_signed(tmp_path / "one", now=NOW)
        other = provision_self_signed(tmp_path / "other", now=NOW)

        with (
            EchoServer(ServingContext(files.certificate, files.key)) as server,
            pytest.raises(ssl.SSLCertVerificationError),
        ):
            connect(server.port, "localhost", trust=other.ca)

"""``evenkeel certs show`` as a person or a script uses it."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from certs.errors import CertificateError, UnreadableError
from certs.inject import CONFIGURATION_KINDS
from certs.names import Target
from policies.manifests.errors import UsageError
from tests.certs.builders import CA, a_folder, a_pair
from tests.webhook.cert_rotation.cluster import (
    MUTATING,
    SECRET,
    Objects,
    a_cluster,
    a_configuration,
    serving,
    use,
)
from webhook.cert_rotation.reconcile import Reconciler
from webhook.cli.certs import command
from webhook.cli.certs_show import SCHEMA

FORM = json.loads(resources.files("webhook.cli").joinpath("certs.schema.json").read_text())
#: Every JSON that these tests read is of the form.
VALIDATOR = jsonschema.Draft202012Validator(FORM)


def test_the_schema() -> None:
    """It is one, names the form, and closes every object."""
    jsonschema.Draft202012Validator.check_schema(FORM)

    assert SCHEMA == FORM["properties"]["schema"]["const"]
    assert FORM["additionalProperties"] is FORM["$defs"]["certificate"]["additionalProperties"] is False


def run(*arguments: str | Path) -> Result:
    """Run ``evenkeel certs show`` in this process."""
    return CliRunner().invoke(command, ["show", *map(str, arguments)])


def shown(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
    """Return the exit code and the JSON of the command."""
    result = run("-o", "json", *arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "PRIVATE" not in result.output
    document: dict[str, Any] = json.loads(result.stdout)
    VALIDATOR.validate(document)
    return result.exit_code, document


class TestFolder:
    """With --cert-dir."""

    def test_in_order(self, tmp_path: Path) -> None:
        """Everything fits; the caBundle is the CA."""
        pair = a_pair("web.example", "10.0.0.1")
        folder = a_folder(tmp_path / "pki", pair)
        code, document = shown("--cert-dir", folder)
        first, ca = document["certificates"]

        assert (code, document["problems"]) == (0, [])
        assert (first["dnsNames"], first["ipAddresses"]) == (["web.example"], ["10.0.0.1"])
        assert (first["keyFits"], first["chainsToCA"], first["isCA"]) == (True, True, False)
        assert (first["keyType"], first["sha256"]) == ("ECDSA P-256", pair.fingerprint)
        assert (ca["keyFits"], ca["isCA"]) == (True, True)
        assert base64.b64decode(document["caBundle"]) == (folder / "ca.crt").read_bytes()

    def test_text(self, tmp_path: Path) -> None:
        """People see the same: yes and no for what is so or not, and numbers as numbers."""
        folder = a_folder(tmp_path / "pki", a_pair("web.example", lifetime=timedelta(days=2)))
        result = run("--cert-dir", folder)
        words = [
            "dnsNames      web.example",
            "ECDSA P-256",
            "keyFits       yes",
            "isCA          no",
            "daysLeft      1",
            "chainsToCA    yes",
            "No problems.",
        ]

        assert result.exit_code == 0
        assert [word for word in words if word not in result.stdout] == []

    @pytest.mark.parametrize(
        ("spoil", "word"),
        [
            pytest.param({"tls.key": a_pair().key_pem}, "key belongs to another", id="1 other key"),
            pytest.param({"ca.key": a_pair().key_pem}, "key belongs to another", id="1 other CA key"),
            pytest.param({"tls.key": CA.key_pem}, "key belongs to another", id="the CA's key twice"),
            pytest.param({"ca.crt": a_pair().certificate_pem}, "any of the given CAs", id="no CA in ca.crt"),
        ],
    )
    def test_something_wrong(self, tmp_path: Path, spoil: dict[str, bytes], word: str) -> None:
        """A mismatch is a problem, and the exit code is 1."""
        folder = a_folder(tmp_path / "pki", a_pair())
        for name, content in spoil.items():
            (folder / name).write_bytes(content)
        code, document = shown("--cert-dir", folder)

        assert code == 1
        assert word in str(document["problems"])

    @pytest.mark.parametrize(
        ("margin", "code"),
        [pytest.param("0", 0, id="0 days wanted"), pytest.param("2", 1, id="2 days wanted")],
    )
    def test_expires_within(self, tmp_path: Path, margin: str, code: int) -> None:
        """A certificate with 1 day left is a problem when more is wanted."""
        folder = a_folder(tmp_path / "pki", a_pair(lifetime=timedelta(days=1)))

        assert code == run("--cert-dir", folder, "--expires-within", margin).exit_code

    def test_from_a_cluster(self, tmp_path: Path) -> None:
        """A mounted Secret has no ca.key and maybe no ca.crt; that is no problem."""
        folder = a_folder(tmp_path / "pki", a_pair())
        (folder / "ca.key").unlink()
        with_ca = shown("--cert-dir", folder)
        (folder / "ca.crt").unlink()
        without = shown("--cert-dir", folder)

        assert (with_ca[0], without[0]) == (0, 0)
        assert without[1]["caBundle"] is None

    @pytest.mark.parametrize(
        ("name", "content", "error"),
        [
            pytest.param("tls.crt", None, UnreadableError, id="0 certificates"),
            pytest.param("tls.key", b"x", CertificateError, id="1 byte of a key"),
            pytest.param("ca.crt", b"x" * 2**21, UnreadableError, id="2 MiB"),
        ],
    )
    def test_unreadable(
        self, tmp_path: Path, name: str, content: bytes | None, error: type[Exception]
    ) -> None:
        """A file that cannot be read is no finding but an error."""
        folder = a_folder(tmp_path / "pki", a_pair())
        (folder / name).unlink()
        if content is not None:
            (folder / name).write_bytes(content)

        assert isinstance(run("--cert-dir", folder).exception, error)

    def test_a_folder_and_a_secret(self, tmp_path: Path) -> None:
        """They are two questions."""
        assert isinstance(run("--secret", "s", "--cert-dir", tmp_path).exception, UsageError)


class TestCluster:
    """Without --cert-dir."""

    def shown(
        self, cluster: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> tuple[int, dict[str, Any]]:
        """Return the exit code and the JSON of the command on a cluster."""
        with serving(cluster) as url:
            use(monkeypatch, tmp_path, url)
            return shown()

    def test_in_order(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The serving certificate and its CA."""
        cluster = a_cluster()
        Reconciler(cluster, Target(), now=lambda: datetime.now(UTC)).reconcile()
        code, report = self.shown(cluster, tmp_path, monkeypatch)

        assert (0, 2, []) == (code, len(report["certificates"]), report["problems"])

    def test_a_bundle_that_was_overwritten(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is a problem, and says which one."""
        cluster = a_cluster()
        Reconciler(cluster, Target(), now=lambda: datetime.now(UTC)).reconcile()
        cluster.put(MUTATING, a_configuration(CONFIGURATION_KINDS[0]))
        code, report = self.shown(cluster, tmp_path, monkeypatch)

        assert (1, 1) == (code, len(report["problems"]))
        assert (
            "does not trust the serving certificate of Secret evenkeel/evenkeel-tls" in report["problems"][0]
        )

    @pytest.mark.parametrize(
        ("data", "problem"),
        [
            pytest.param(None, "does not exist", id="0 Secrets"),
            pytest.param({"tls.crt": "eA=="}, "has no ca.crt", id="1 key of garbage"),
        ],
    )
    def test_a_broken_secret(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        data: dict[str, str] | None,
        problem: str,
    ) -> None:
        """It is a problem and no error."""
        cluster = a_cluster()
        if data is not None:
            cluster.put(SECRET, {"data": data})
        code, report = self.shown(cluster, tmp_path, monkeypatch)

        assert code == 1
        assert problem in report["problems"][0]

"""``evenkeel certs init|show`` as a person or a script uses it."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from datetime import timedelta
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from certs import store
from certs.errors import CertificateError, ExistingFilesError, NamesError, UnreadableError
from policies.manifests.errors import UsageError
from tests.certs.builders import NOW, a_folder, a_pair, read_serving
from webhook.cli.certs import command
from webhook.cli.certs_json import SCHEMA

FORM = json.loads(resources.files("webhook.cli").joinpath("certs.schema.json").read_text())
#: Every JSON that these tests read is of the form.
VALIDATOR = jsonschema.Draft202012Validator(FORM)


def test_the_schema_of_show() -> None:
    """It is one, names the form, and closes every object."""
    jsonschema.Draft202012Validator.check_schema(FORM)

    assert SCHEMA == FORM["properties"]["schema"]["const"]
    assert FORM["additionalProperties"] is FORM["$defs"]["certificate"]["additionalProperties"] is False


def run(*arguments: str | Path, stdin: bytes = b"") -> Result:
    """Run ``evenkeel certs`` in this process."""
    return CliRunner().invoke(command, [str(argument) for argument in arguments], input=stdin)


def shown(*arguments: str | Path, stdin: bytes = b"") -> tuple[int, dict[str, Any]]:
    """Return the exit code and the JSON of ``evenkeel certs show``."""
    result = run("show", "-o", "json", *arguments, stdin=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    document: dict[str, Any] = json.loads(result.stdout)
    VALIDATOR.validate(document)
    return result.exit_code, document


class TestInit:
    """``evenkeel certs init``."""

    def test_defaults(self, tmp_path: Path) -> None:
        """Four files for the Service that our own manifests make."""
        result = run("init", "--cert-dir", tmp_path / "pki")

        assert (result.exit_code, result.exception) == (0, None)
        assert read_serving(tmp_path / "pki").names == (
            "evenkeel", "evenkeel.evenkeel", "evenkeel.evenkeel.svc", "evenkeel.evenkeel.svc.cluster.local",
        )  # fmt: skip

    def test_it_says_what_it_made(self, tmp_path: Path) -> None:
        """Files, names, ends of validity and the next steps, with names a shell takes as they are."""
        result = run("init", "--cert-dir", tmp_path / "my pki", "--namespace", "ops", "--days", "30")
        words = [
            "tls.crt", "ca.key", "evenkeel.ops.svc", "(30 days)", "(3650 days)", "--namespace ops",
            f"base64 < '{tmp_path}/my pki/ca.crt'",
        ]  # fmt: skip

        assert [word for word in words if word not in result.stdout] == []

    def test_every_option(self, tmp_path: Path) -> None:
        """Names, addresses and days arrive in the certificates."""
        options = ["--service", "web", "--namespace", "ops", "--cluster-domain", "corp.example"]
        extra = ["--dns", "a.example", "--dns", "b.example", "--ip", "10.0.0.1", "--ip", "::1"]
        result = run("init", "--cert-dir", tmp_path, *options, *extra, "--days", "7", "--ca-days", "70")
        serving, authority = read_serving(tmp_path), store.read_authority(tmp_path)

        assert result.exit_code == 0
        assert serving.names == (
            "web", "web.ops", "web.ops.svc", "web.ops.svc.corp.example", "a.example", "b.example",
            "10.0.0.1", "::1",
        )  # fmt: skip
        assert authority.not_after - serving.not_after == timedelta(days=63)

    def test_without_a_service(self, tmp_path: Path) -> None:
        """An empty Service leaves only the names that were given."""
        run("init", "--cert-dir", tmp_path, "--service", "", "--dns", "localhost")

        assert read_serving(tmp_path).names == ("localhost",)

    def test_existing_files_stay(self, tmp_path: Path) -> None:
        """A second run refuses and changes nothing; --force replaces, --reuse-ca keeps the authority."""
        run("init", "--cert-dir", tmp_path)
        authority, serving = store.read_authority(tmp_path), read_serving(tmp_path)
        refused = run("init", "--cert-dir", tmp_path)
        unchanged = read_serving(tmp_path)
        run("init", "--cert-dir", tmp_path, "--reuse-ca", "--force")
        reissued = (store.read_authority(tmp_path), read_serving(tmp_path))
        replaced = run("init", "--cert-dir", tmp_path, "--force")

        assert isinstance(refused.exception, ExistingFilesError)
        assert unchanged == serving
        assert reissued[0] == authority
        assert reissued[1] != serving
        assert store.read_authority(tmp_path) != authority
        assert "The authority is new" in replaced.stdout

    def test_a_certificate_that_is_cut_short(self, tmp_path: Path) -> None:
        """Asking for more days than the authority has is answered with less, and said."""
        result = run("init", "--cert-dir", tmp_path, "--days", "100", "--ca-days", "10")

        assert "less time than asked for" in result.stdout
        assert read_serving(tmp_path).not_after == store.read_authority(tmp_path).not_after

    @pytest.mark.parametrize(
        ("options", "error"),
        [
            pytest.param(["--dns", "a_b", "--ip", "10.0.0.256"], NamesError, id="2 bad names"),
            pytest.param(["--service", ""], NamesError, id="0 names"),
            pytest.param(["--reuse-ca"], CertificateError, id="no authority to reuse"),
            pytest.param(
                ["--reuse-ca", "--ca-days", "3"], UsageError, id="2 options that exclude each other"
            ),
        ],
    )
    def test_bad_input(self, tmp_path: Path, options: list[str], error: type[Exception]) -> None:
        """It is refused before a folder is made."""
        result = run("init", "--cert-dir", tmp_path / "pki", *options)

        assert isinstance(result.exception, error)
        assert not (tmp_path / "pki").exists()

    @pytest.mark.parametrize("days", ["0", "-1", "36501", "999999999999", "x"])
    def test_bad_days(self, tmp_path: Path, days: str) -> None:
        """Days outside of what a certificate can hold are bad usage."""
        assert run("init", "--cert-dir", tmp_path / "pki", "--days", days).exit_code == 2


class TestShow:
    """``evenkeel certs show``."""

    def test_a_folder_in_order(self, tmp_path: Path) -> None:
        """Everything fits; the caBundle is the authority."""
        pair = a_pair("web.example", "10.0.0.1")
        folder = a_folder(tmp_path / "pki", pair)
        code, document = shown("--cert-dir", folder)
        leaf, authority = document["certificates"]

        assert (code, document["problems"]) == (0, [])
        assert (leaf["dnsNames"], leaf["ipAddresses"]) == (["web.example"], ["10.0.0.1"])
        assert (leaf["keyFits"], leaf["chainsToCA"], leaf["isCA"]) == (True, True, False)
        assert (leaf["keyType"], leaf["sha256"]) == ("ECDSA P-256", pair.fingerprint)
        assert (authority["keyFits"], authority["isCA"]) == (True, True)
        assert base64.b64decode(document["caBundle"]) == (folder / "ca.crt").read_bytes()

    def test_text(self, tmp_path: Path) -> None:
        """People see the same."""
        folder = a_folder(tmp_path / "pki", a_pair("web.example"))
        result = run("show", "--cert-dir", folder)
        words = ["CN=web.example", "ECDSA P-256", "key fits    yes", "trusted     yes", "No problems."]

        assert result.exit_code == 0
        assert [word for word in words if word not in result.stdout] == []

    @pytest.mark.parametrize(
        ("spoil", "word"),
        [
            pytest.param({"tls.key": a_pair().key_pem}, "fits none", id="1 foreign key"),
            pytest.param(
                {"ca.crt": a_pair().certificate_pem}, "none of the authorities", id="no authority in ca.crt"
            ),
        ],
    )
    def test_something_wrong(self, tmp_path: Path, spoil: dict[str, bytes], word: str) -> None:
        """What does not fit is a problem, and the exit code is 1."""
        folder = a_folder(tmp_path / "pki", a_pair())
        for name, content in spoil.items():
            (folder / name).write_bytes(content)
        code, document = shown("--cert-dir", folder)

        assert code == 1
        assert word in str(document["problems"])

    def test_swapped_keys(self, tmp_path: Path) -> None:
        """In a folder each key must fit its own certificate, not just any."""
        folder = a_folder(tmp_path / "pki", a_pair())
        serving_key = (folder / "tls.key").read_bytes()
        (folder / "tls.key").write_bytes((folder / "ca.key").read_bytes())
        (folder / "ca.key").write_bytes(serving_key)
        code, document = shown("--cert-dir", folder)

        assert (code, len(document["problems"])) == (1, 2)

    @pytest.mark.parametrize(
        ("margin", "code"),
        [pytest.param("0", 0, id="0 days wanted"), pytest.param("2", 1, id="2 days wanted")],
    )
    def test_expires_within(self, tmp_path: Path, margin: str, code: int) -> None:
        """A certificate with 1 day left is a problem when more is wanted."""
        folder = a_folder(tmp_path / "pki", a_pair(lifetime=timedelta(days=1)))

        assert code == run("show", "--cert-dir", folder, "--expires-within", margin).exit_code

    def test_a_folder_from_a_cluster(self, tmp_path: Path) -> None:
        """A mounted secret has no ca.key and maybe no ca.crt; that is no problem."""
        folder = a_folder(tmp_path / "pki", a_pair())
        (folder / "ca.key").unlink()
        with_authority = shown("--cert-dir", folder)
        (folder / "ca.crt").unlink()
        without = shown("--cert-dir", folder)

        assert (with_authority[0], without[0]) == (0, 0)
        assert without[1]["caBundle"] is None

    def test_files_and_standard_input(self, tmp_path: Path) -> None:
        """Files are told apart by what they hold; "-" is standard input."""
        pair = a_pair()
        folder = a_folder(tmp_path / "pki", pair)
        code, document = shown(folder / "tls.key", "-", folder / "ca.crt", stdin=pair.certificate_pem)
        leaf, authority = document["certificates"]

        assert (code, leaf["source"], leaf["keyFits"], leaf["chainsToCA"]) == (
            0,
            "standard input",
            True,
            True,
        )
        assert authority["keyFits"] is None

    @pytest.mark.parametrize(
        ("arguments", "error"),
        [
            pytest.param(["--cert-dir", "none"], UnreadableError, id="no such folder"),
            pytest.param(["none.crt"], UnreadableError, id="no such file"),
            pytest.param(["/dev/zero"], UnreadableError, id="a file without end"),
            pytest.param(["-"], CertificateError, id="0 bytes on standard input"),
            pytest.param([], UsageError, id="0 arguments"),
            pytest.param(["--cert-dir", "a", "b"], UsageError, id="folder and file"),
        ],
    )
    def test_unreadable(self, arguments: list[str], error: type[Exception]) -> None:
        """What cannot be read is no finding but an error."""
        assert isinstance(run("show", *arguments).exception, error)

    def test_a_key_alone(self, tmp_path: Path) -> None:
        """There is nothing to show of a key."""
        folder = a_folder(tmp_path / "pki", a_pair())

        assert isinstance(run("show", folder / "tls.key").exception, CertificateError)


class TestProcess:
    """The command as its own process."""

    def evenkeel(self, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run ``evenkeel certs``."""
        program = [sys.executable, "-c", "from webhook.cli.main import run; run()", "certs", *arguments]
        environment = {**os.environ, "NO_COLOR": "1"}
        return subprocess.run(program, cwd=cwd, env=environment, capture_output=True, text=True, check=False)

    def test_init_then_show(self, tmp_path: Path) -> None:
        """The two commands agree."""
        made = self.evenkeel("init", "--cert-dir", "pki", cwd=tmp_path)
        seen = self.evenkeel("show", "--cert-dir", "pki", cwd=tmp_path)

        assert (made.returncode, made.stderr) == (0, "")
        assert (seen.returncode, seen.stderr) == (0, "")

    def test_findings_exit_with_1(self, tmp_path: Path) -> None:
        """A certificate that is about to expire is a finding, on standard output."""
        a_folder(tmp_path / "pki", a_pair(lifetime=timedelta(days=1)))
        result = self.evenkeel("show", "--cert-dir", "pki", "--expires-within", "10", cwd=tmp_path)

        assert (result.returncode, result.stderr) == (1, "")
        assert f"problem: pki/tls.crt: expires on {NOW + timedelta(days=1):%Y-%m-%d}" in result.stdout

    def test_errors_exit_with_2(self, tmp_path: Path) -> None:
        """Every problem of the input is one line on standard error, without a traceback."""
        result = self.evenkeel("init", "--cert-dir", "pki", "--dns", "a_b", "--ip", "x", cwd=tmp_path)

        assert (result.returncode, result.stdout) == (2, "")
        assert len(result.stderr.splitlines()) == 2
        assert "Traceback" not in result.stderr

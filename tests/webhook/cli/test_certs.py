"""``evenkeel certs init`` as a person or a script uses it."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from certs.errors import CertificateError
from tests.certs.builders import read_ca, read_serving
from webhook.cli.certs import command


def run(*arguments: str | Path) -> Result:
    """Run ``evenkeel certs init`` in this process."""
    return CliRunner().invoke(command, ["init", *map(str, arguments)])


def test_defaults(tmp_path: Path) -> None:
    """Four files for the Service that our own manifests create."""
    result = run("--cert-dir", tmp_path / "pki")

    assert (result.exit_code, result.exception) == (0, None)
    assert read_serving(tmp_path / "pki").names == (
        "evenkeel", "evenkeel.evenkeel", "evenkeel.evenkeel.svc", "evenkeel.evenkeel.svc.cluster.local",
    )  # fmt: skip


def test_it_says_what_it_created(tmp_path: Path) -> None:
    """Files, names, ends of validity and the next steps, with names a shell takes as they are."""
    result = run("--cert-dir", tmp_path / "my pki", "--namespace", "ops", "--days", "30")
    words = [
        "tls.crt", "ca.key", "evenkeel.ops.svc", "(30 days)", "(3650 days)", "--namespace ops",
        f"base64 < '{tmp_path}/my pki/ca.crt'",
    ]  # fmt: skip

    assert [word for word in words if word not in result.stdout] == []


def test_every_option(tmp_path: Path) -> None:
    """Names, addresses and days arrive in the certificates."""
    options = ["--service", "web", "--namespace", "ops", "--days", "7", "--ca-days", "70"]
    extra = ["--dns", "a.example", "--dns", "b.example", "--ip", "10.0.0.1", "--ip", "::1"]
    result = run("--cert-dir", tmp_path, *options, *extra)
    serving = read_serving(tmp_path)

    assert result.exit_code == 0
    assert serving.names == (
        "web", "web.ops", "web.ops.svc", "web.ops.svc.cluster.local", "a.example", "b.example",
        "10.0.0.1", "::1",
    )  # fmt: skip
    assert read_ca(tmp_path).not_after - serving.not_after == timedelta(days=63)


def test_without_a_service(tmp_path: Path) -> None:
    """An empty Service leaves only the names that were given."""
    run("--cert-dir", tmp_path, "--service", "", "--dns", "localhost")

    assert read_serving(tmp_path).names == ("localhost",)


def test_existing_files_stay(tmp_path: Path) -> None:
    """A second run refuses and changes nothing; --force replaces the serving certificate and keeps the CA."""
    run("--cert-dir", tmp_path)
    ca, serving = read_ca(tmp_path), read_serving(tmp_path)
    refused = run("--cert-dir", tmp_path)
    unchanged = read_serving(tmp_path)
    run("--cert-dir", tmp_path, "--force")

    assert isinstance(refused.exception, CertificateError)
    assert unchanged == serving != read_serving(tmp_path)
    assert ca == read_ca(tmp_path)


def test_a_certificate_that_is_cut_short(tmp_path: Path) -> None:
    """More days than the CA has are answered with less, and it is said."""
    result = run("--cert-dir", tmp_path, "--days", "100", "--ca-days", "10")

    assert "less time than --days says" in result.stdout
    assert read_serving(tmp_path).not_after == read_ca(tmp_path).not_after


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--dns", "a_b", "--ip", "10.0.0.256"], id="2 bad names"),
        pytest.param(["--service", ""], id="0 names"),
    ],
)
def test_bad_input(tmp_path: Path, options: list[str]) -> None:
    """It is refused before a folder is created."""
    result = run("--cert-dir", tmp_path / "pki", *options)

    assert isinstance(result.exception, CertificateError)
    assert not (tmp_path / "pki").exists()


@pytest.mark.parametrize("days", ["0", "-1", "36501", "999999999999", "x"])
def test_bad_days(tmp_path: Path, days: str) -> None:
    """Days outside of what a certificate can hold are bad usage."""
    assert run("--cert-dir", tmp_path / "pki", "--days", days).exit_code == 2


class TestProcess:
    """The command as its own process."""

    def evenkeel(self, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run ``evenkeel certs``."""
        program = [sys.executable, "-c", "from webhook.cli.start import run; run()", "certs", *arguments]
        environment = {**os.environ, "NO_COLOR": "1"}
        return subprocess.run(program, cwd=cwd, env=environment, capture_output=True, text=True, check=False)

    def test_init_then_show(self, tmp_path: Path) -> None:
        """The two commands agree, and a certificate that is about to expire is a finding."""
        created = self.evenkeel("init", "--cert-dir", "pki", "--days", "1", cwd=tmp_path)
        shown = self.evenkeel("show", "--cert-dir", "pki", cwd=tmp_path)
        late = self.evenkeel("show", "--cert-dir", "pki", "--expires-within", "10", cwd=tmp_path)

        assert (created.returncode, created.stderr) == (0, "")
        assert (shown.returncode, shown.stderr) == (0, "")
        assert (late.returncode, late.stderr) == (1, "")
        assert "problem: pki/tls.crt: expires on " in late.stdout

    def test_errors_exit_with_2(self, tmp_path: Path) -> None:
        """Every problem of the input is one line on standard error, without a traceback."""
        result = self.evenkeel("init", "--cert-dir", "pki", "--dns", "a_b", "--ip", "x", cwd=tmp_path)

        assert (result.returncode, result.stdout) == (2, "")
        assert len(result.stderr.splitlines()) == 2
        assert "Traceback" not in result.stderr

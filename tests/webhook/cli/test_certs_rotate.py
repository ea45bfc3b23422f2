"""``evenkeel certs rotate`` as a person or a script uses it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from certs import keypair
from certs.errors import CertificateError
from certs.names import Target
from policies.manifests.errors import UsageError
from tests.certs.builders import a_folder, a_pair, read_ca, read_serving
from tests.webhook.cert_rotation.cluster import SECRET, Objects, a_cluster, serving, use
from webhook.cert_rotation.reconcile import Reconciler
from webhook.cli.certs import command
from webhook.kube.api_server import ClusterError, KubeconfigError


def run(*arguments: str | Path) -> Result:
    """Run ``evenkeel certs rotate`` in this process."""
    return CliRunner().invoke(command, ["rotate", *map(str, arguments)])


class TestFolder:
    """With --cert-dir."""

    def test_serving(self, tmp_path: Path) -> None:
        """A new certificate of the same CA."""
        folder = a_folder(tmp_path, a_pair())
        before, ca = read_serving(folder), read_ca(folder)
        result = run("--cert-dir", folder)

        assert result.exit_code == 0
        assert before != read_serving(folder)
        assert ca == read_ca(folder)
        assert "tls.crt  serving certificate, valid until" in result.stdout

    def test_ca(self, tmp_path: Path) -> None:
        """A bundle of two, and the two commands that are left to do."""
        folder = a_folder(tmp_path / "my pki", a_pair())
        before = read_serving(folder)
        result = run("--cert-dir", folder, "--ca")

        assert before == read_serving(folder)
        assert len(keypair.parse_certificates((folder / "ca.crt").read_bytes(), "ca.crt")) == 2
        assert "ca.crt  trusts 2 CAs" in result.stdout
        assert f"evenkeel certs inject --cert-dir '{folder}'" in result.stdout

    @pytest.mark.parametrize(
        ("options", "error"),
        [
            pytest.param([], CertificateError, id="an empty folder"),
            pytest.param(["--secret", "s"], UsageError, id="a folder and a Secret"),
            pytest.param(["--context", "c"], UsageError, id="a folder and a context"),
            pytest.param(["--create"], UsageError, id="a folder and a Secret to create"),
        ],
    )
    def test_bad_input(self, tmp_path: Path, options: list[str], error: type[Exception]) -> None:
        """It is refused."""
        assert isinstance(run("--cert-dir", tmp_path, *options).exception, error)


class TestCluster:
    """Without --cert-dir."""

    def test_from_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Everything is made and published, with no server running."""
        cluster = a_cluster()
        with serving(cluster) as url:
            use(monkeypatch, tmp_path, url)
            refused, result = run(), run("--create")

        assert isinstance(refused.exception, ClusterError)
        assert 0 == result.exit_code
        assert SECRET in cluster.objects
        assert "created a new CA" in result.stderr
        assert "MutatingWebhookConfiguration evenkeel: trusts 1 CA" in result.stdout
        assert "PRIVATE" not in result.output

    def test_not_installed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where nobody calls there is nobody to wait for."""
        cluster = a_cluster(installed=False)
        rotation = Reconciler(cluster, Target(), now=lambda: datetime.now(UTC))
        before = rotation.reconcile()[0].keyring
        with serving(cluster) as url:
            use(monkeypatch, tmp_path, url)
            result = run("--ca")

        assert before.ca != rotation.observe().keyring.ca
        assert "ValidatingWebhookConfiguration evenkeel: does not exist" in result.stdout

    def test_not_in_time(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A certificate that API servers do not trust in time is not waited for beyond --timeout."""
        cluster = a_cluster()
        Reconciler(cluster, Target(), now=lambda: datetime.now(UTC)).reconcile()
        with serving(cluster) as url:
            use(monkeypatch, tmp_path, url)
            result = run("--timeout", "0")

        assert isinstance(result.exception, ClusterError)

    def test_no_cluster(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is said where a cluster was looked for."""
        use(monkeypatch, tmp_path, "http://127.0.0.1:9")
        (tmp_path / "kubeconfig").unlink()

        assert isinstance(run().exception, KubeconfigError)

    def test_somebody_elses_secret(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A Secret of cert-manager is left alone."""
        cluster = Objects()
        cluster.put(SECRET, {"metadata": {"annotations": {"cert-manager.io/issuer-name": "ca"}}})
        with serving(cluster) as url:
            use(monkeypatch, tmp_path, url)
            result = run()

        assert "cert-manager" in str(result.exception)
        assert cluster.writes == []

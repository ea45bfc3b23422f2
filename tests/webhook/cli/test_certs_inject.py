"""``evenkeel certs inject`` as a person or a script uses it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from certs.errors import CertificateError
from certs.inject import encode_bundle
from certs.names import Target
from policies.manifests.emit import scalar_text
from policies.manifests.errors import UsageError
from tests.certs.builders import CA, a_folder, a_pair
from tests.webhook.cert_rotation.cluster import MUTATING, VALIDATING, Objects, a_cluster, serving, use
from webhook.cert_rotation.cluster_objects import read_configurations
from webhook.cert_rotation.reconcile import Reconciler
from webhook.cli.certs import command
from webhook.kube.api_server import ClusterError

MANIFEST = "# ours\nkind: MutatingWebhookConfiguration\nwebhooks:\n- clientConfig:\n    caBundle: x\n"


def run(*arguments: str | Path, stdin: str = "") -> Result:
    """Run ``evenkeel certs inject`` in this process."""
    return CliRunner().invoke(command, ["inject", *map(str, arguments)], input=stdin)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with an authority and a serving pair."""
    return a_folder(tmp_path / "pki", a_pair())


def run_on(
    cluster: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str | Path
) -> Result:
    """Run it on a cluster."""
    with serving(cluster) as url:
        use(monkeypatch, tmp_path, url)
        return run(*arguments)


class TestManifest:
    """With -f."""

    @pytest.mark.parametrize("source", ["--cert-dir", "--ca-file"])
    def test_to_standard_output(self, folder: Path, source: str) -> None:
        """No cluster is asked, and what is not the bundle stays."""
        value = scalar_text(encode_bundle([CA.certificate]))
        result = run(
            source, folder if source == "--cert-dir" else folder / "ca.crt", "-f", "-", stdin=MANIFEST
        )

        assert result.stdout == MANIFEST.replace("caBundle: x", f"caBundle: {value}")

    def test_of_the_clusters_secret(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """For a manifest that is applied later."""
        cluster = a_cluster()
        keyring = Reconciler(cluster, Target(), now=lambda: datetime.now(UTC)).reconcile()[0].keyring
        file = tmp_path / "w.yaml"
        file.write_text(MANIFEST)
        result = run_on(cluster, tmp_path, monkeypatch, "--secret", "evenkeel-tls", "-f", file)

        assert encode_bundle(keyring.trusted) in result.stdout
        assert file.read_text() == MANIFEST


class TestCluster:
    """Without -f."""

    def test_both_configurations(self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """They trust the folder's authority and nobody else; a second time nothing is sent."""
        cluster = a_cluster()
        first = run_on(cluster, tmp_path, monkeypatch, "--cert-dir", folder)
        second = run_on(cluster, tmp_path, monkeypatch, "--cert-dir", folder)
        bundles = [found.trusted for found in read_configurations(cluster, "evenkeel")]

        assert all(set(trusted.values()) == {frozenset([CA.certificate])} for trusted in bundles)
        assert "ValidatingWebhookConfiguration evenkeel: changed, trusts 1" in first.stdout
        assert "ValidatingWebhookConfiguration evenkeel: unchanged, trusts 1" in second.stdout
        assert [("PATCH", MUTATING), ("PATCH", VALIDATING)] == cluster.writes

    def test_one_is_missing(self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The other is changed, and it is told."""
        cluster = a_cluster()
        del cluster.objects[MUTATING]
        result = run_on(cluster, tmp_path, monkeypatch, "--cert-dir", folder)

        assert (0, [("PATCH", VALIDATING)]) == (result.exit_code, cluster.writes)
        assert "MutatingWebhookConfiguration evenkeel: does not exist" in result.stderr

    def test_nothing_is_there(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Neither a Secret to trust nor webhooks that could."""
        folder = a_folder(tmp_path / "pki", a_pair())
        no_secret = run_on(a_cluster(), tmp_path, monkeypatch)
        no_webhooks = run_on(a_cluster(installed=False), tmp_path, monkeypatch, "--cert-dir", folder)

        assert isinstance(no_secret.exception, ClusterError)
        assert "evenkeel-tls does not exist" in str(no_secret.exception)
        assert "--webhooks" in str(no_webhooks.exception)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        pytest.param(["--cert-dir", "pki", "--ca-file", "x"], UsageError, id="2 sources"),
        pytest.param(["--cert-dir", "none", "-f", "-"], CertificateError, id="a folder that is not there"),
        pytest.param(["--ca-file", "pki/tls.crt", "-f", "-"], CertificateError, id="no authority"),
        pytest.param(["--ca-file", "pki/tls.key", "-f", "-"], CertificateError, id="a key"),
        pytest.param(["--cert-dir", "pki", "-f", "none.yaml"], SystemExit, id="0 manifests"),
        pytest.param(["--cert-dir", "pki", "-f", "-"], SystemExit, id="0 webhooks"),
    ],
)  # fmt: skip
def test_bad_input(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], error: type[BaseException]
) -> None:
    """It is refused, and nothing is printed."""
    monkeypatch.chdir(folder.parent)
    result = run(*arguments, stdin="kind: ConfigMap\n")

    assert isinstance(result.exception, error)
    assert result.stdout == ""

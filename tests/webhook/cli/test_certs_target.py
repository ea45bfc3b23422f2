"""``evenkeel certs show --secret`` and the options that name a cluster's certificates."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from certs.inject import CONFIGURATION_KINDS
from policies.manifests.errors import UsageError
from tests.webhook.cert_rotation.cluster import (
    MUTATING,
    SECRET,
    Objects,
    a_cluster,
    a_configuration,
    serving,
    use,
)
from webhook.cert_rotation.reconcile import Reconciler, Target
from webhook.cli.certs import command
from webhook.cli.certs_target import target_of


def shown(
    cluster: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[int, dict[str, list[str]]]:
    """Return the exit code and the JSON of ``evenkeel certs show``."""
    with serving(cluster) as url:
        use(monkeypatch, tmp_path, url)
        result = CliRunner().invoke(command, ["show", "--secret", "evenkeel-tls", "-o", "json"])
    assert "PRIVATE" not in result.output
    return result.exit_code, json.loads(result.stdout)


def test_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The serving certificate and both authorities."""
    cluster = a_cluster()
    Reconciler(cluster, Target(namespace="evenkeel"), now=lambda: datetime.now(UTC)).reconcile()
    code, report = shown(cluster, tmp_path, monkeypatch)

    assert (0, 3, []) == (code, len(report["certificates"]), report["problems"])


def test_a_bundle_that_was_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a problem, and says whose."""
    cluster = a_cluster()
    Reconciler(cluster, Target(namespace="evenkeel"), now=lambda: datetime.now(UTC)).reconcile()
    cluster.put(MUTATING, a_configuration(CONFIGURATION_KINDS[0]))
    code, report = shown(cluster, tmp_path, monkeypatch)

    assert (1, 1) == (code, len(report["problems"]))
    assert "does not trust the serving certificate of Secret evenkeel/evenkeel-tls" in report["problems"][0]


def test_any_option_of_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is enough: the Secret's name has a default, as help says."""
    cluster = a_cluster()
    Reconciler(cluster, Target(namespace="evenkeel"), now=lambda: datetime.now(UTC)).reconcile()
    with serving(cluster) as url:
        use(monkeypatch, tmp_path, url)
        result = CliRunner().invoke(command, ["show", "-n", "evenkeel"])

    assert result.exit_code == 0
    assert "Secret evenkeel/evenkeel-tls: serving certificate" in result.stdout


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param(None, "does not exist", id="0 Secrets"),
        pytest.param({"tls.crt": "eA=="}, "has no ca.crt", id="1 key of garbage"),
    ],
)
def test_a_broken_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: dict[str, str] | None, problem: str
) -> None:
    """It is a problem and no error."""
    cluster = a_cluster()
    if data is not None:
        cluster.put(SECRET, {"data": data})
    code, report = shown(cluster, tmp_path, monkeypatch)

    assert code == 1
    assert problem in report["problems"][0]


def test_one_source_only(tmp_path: Path) -> None:
    """A folder and a Secret are two questions."""
    result = CliRunner().invoke(command, ["show", "--secret", "s", "--cert-dir", str(tmp_path)])

    assert isinstance(result.exception, UsageError)


def test_names_that_are_not_given() -> None:
    """They are those of our own manifests."""
    assert Target(namespace="evenkeel") == target_of(namespace=None, secret=None, webhooks=None)
    assert Target(namespace="a", secret="b", webhooks="c", service="d") == target_of(  # a name
        namespace="a",
        secret="b",
        webhooks="c",
        service="d",  # a name
    )

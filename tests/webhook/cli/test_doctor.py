"""`evenkeel doctor`, on an API server of the loopback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from policies.manifests.errors import UsageError
from tests.webhook.doctor.installation import Cluster, a_cluster, serving
from tests.webhook.loopback import write_kubeconfig
from webhook.cli.doctor import command
from webhook.kube.api_server import UnreachableError


def use(monkeypatch: pytest.MonkeyPatch, kubeconfig: str) -> None:
    """Make a kubeconfig the one that is meant."""
    monkeypatch.setenv("KUBECONFIG", kubeconfig)


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, cluster: Cluster, *arguments: str) -> Result:
    """Run the command on a cluster, at the time that its certificates are valid."""
    with serving(cluster) as url:
        use(monkeypatch, write_kubeconfig(folder, url))
        return CliRunner().invoke(command, arguments, catch_exceptions=False)


def without_webhooks() -> Cluster:
    cluster = a_cluster()
    cluster.empty("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations")
    return cluster


def forbidding() -> Cluster:
    cluster = a_cluster()
    cluster.forbidden = lambda _method, _path: True
    return cluster


@pytest.mark.parametrize(
    ("cluster", "code", "line"),
    [
        pytest.param(a_cluster, 0, "No problems, ", id="healthy"),
        pytest.param(without_webhooks, 1, "1 problem, ", id="1 problem"),
        pytest.param(
            forbidding, 3, "Nothing of the installation could be looked at: ", id="nothing may be read"
        ),
    ],
)
def test_exit_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: type[Cluster], code: int, line: str
) -> None:
    """The code says whether there is a problem, or nothing to be said."""
    result = run(tmp_path, monkeypatch, cluster())

    assert result.output.splitlines()[-1].startswith(line)
    assert code == result.exit_code


def test_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs get the names that were looked for, too."""
    result = run(tmp_path, monkeypatch, a_cluster(), "-o", "json", "-n", "evenkeel", "--context", "k")
    report = json.loads(result.output)

    assert ("evenkeel.dev/doctor/v1", "1.36", 0) == (
        report["schema"],
        report["kubernetesVersion"],
        report["summary"]["problems"],
    )


@pytest.mark.parametrize(
    "arguments",
    [["-n", "A B"], ["--service", "a.b"], ["--webhooks", "a/../b"]],
    ids=["namespace", "Service", "webhooks"],
)
def test_names_that_are_none(arguments: list[str]) -> None:
    """What would make another path of a URL is refused."""
    with pytest.raises(UsageError, match=arguments[1]):
        CliRunner().invoke(command, arguments, catch_exceptions=False)


def test_nobody_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program ends with the error of the cluster."""
    with serving(Cluster()) as url:
        use(monkeypatch, write_kubeconfig(tmp_path, url))

    with pytest.raises(UnreachableError):
        CliRunner().invoke(command, [], catch_exceptions=False)

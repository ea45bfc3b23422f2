"""`evenkeel doctor`: exit codes, formats, and an API server that hangs."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from policies.manifests.errors import UsageError
from tests.webhook.doctor.installation import CONFIGURATIONS, Change, Cluster, a_cluster
from tests.webhook.loopback import write_kubeconfig
from webhook.cli import doctor, live
from webhook.doctor import reader
from webhook.kube.api_server import UnreachableError


def run(monkeypatch: pytest.MonkeyPatch, change: Change, *arguments: str) -> Result:
    """Run the command on a changed cluster."""
    cluster = a_cluster(change)
    cluster.now = datetime.now(UTC)
    monkeypatch.setattr(live, "api_server", lambda _context: cluster)
    monkeypatch.setattr(doctor, "release", lambda: "0.1.0")
    return CliRunner().invoke(doctor.command, arguments, catch_exceptions=False)


def healthy(_cluster: Cluster) -> None:
    """Change nothing."""


def unregistered(cluster: Cluster) -> None:
    for path in CONFIGURATIONS.values():
        del cluster.objects[path]


def forbidding(cluster: Cluster) -> None:
    cluster.forbidden = lambda _path: True


@pytest.mark.parametrize(
    ("change", "code", "line"),
    [
        pytest.param(healthy, 0, "No problems, ", id="healthy"),
        pytest.param(
            lambda cluster: cluster.set_webhooks(timeoutSeconds=20), 0, "No problems, 2 w", id="warnings"
        ),
        pytest.param(unregistered, 1, "2 problems, ", id="2 problems"),
        pytest.param(forbidding, 3, "Nothing of the installation could be read: ", id="nothing can be read"),
    ],
)
def test_exit_codes(monkeypatch: pytest.MonkeyPatch, change: Change, code: int, line: str) -> None:
    """The code says whether there are problems, or nothing to say."""
    result = run(monkeypatch, change)

    assert result.output.splitlines()[-1].startswith(line)
    assert "\x1b" not in result.output
    assert code == result.exit_code


def test_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs get the names of the installation, too."""
    result = run(monkeypatch, healthy, "-o", "json", "-n", "evenkeel", "--context", "k")
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
def test_invalid_names(arguments: list[str]) -> None:
    """A name that would change the path of a URL is rejected."""
    with pytest.raises(UsageError, match=arguments[1]):
        CliRunner().invoke(doctor.command, arguments, catch_exceptions=False)


@pytest.fixture
def silent() -> Iterator[str]:
    """An API server that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"https://127.0.0.1:{server.getsockname()[1]}"


def test_an_api_server_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silent: str) -> None:
    """The command ends in a bounded time with a plain sentence."""
    monkeypatch.setattr(reader, "EACH_S", 0.5)
    monkeypatch.setenv("KUBECONFIG", write_kubeconfig(tmp_path, silent))
    started = time.monotonic()

    with pytest.raises(UnreachableError) as raised:
        CliRunner().invoke(doctor.command, [], catch_exceptions=False)
    # It would hang for ever.
    assert time.monotonic() - started < 60
    assert "hangs, or is not an API server" in str(raised.value)
    assert "_ssl" not in str(raised.value)

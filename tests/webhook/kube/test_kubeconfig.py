"""The errors of a kubeconfig in words, above all those of the plugins that it names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from webhook.kube.api_server import KubeconfigError
from webhook.kube.client import connect

VERSION = "client.authentication.k8s.io/v1"
CREDENTIAL = {"apiVersion": VERSION, "kind": "ExecCredential", "status": {"token": "s3cr3t"}}


def a_kubeconfig(folder: Path, user: dict[str, Any], **cluster: Any) -> str:
    named = {"name": "c", "cluster": {"server": "https://127.0.0.1:9", **cluster}}
    text = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [named],
        "users": [{"name": "u", "user": user}],
    }
    (folder / "config").write_text(json.dumps(text))
    return str(folder / "config")


def a_plugin(*command: str, **more: Any) -> dict[str, Any]:
    return {"exec": {"apiVersion": VERSION, "command": command[0], "args": list(command[1:]), **more}}


def problem(file: str) -> str:
    with pytest.raises(KubeconfigError) as caught:
        connect(kubeconfig=file)
    assert 1 == len(str(caught.value).splitlines())
    return str(caught.value)


@pytest.mark.parametrize(
    ("user", "expected", "logged"),
    [
        pytest.param(
            a_plugin("no-such-plugin"),
            'plugin "no-such-plugin" gave no credentials',
            "No such file or directory: 'no-such-plugin'",
            id="missing",
        ),
        pytest.param(
            a_plugin("no-such-plugin", installHint="Install it:\n  brew install it"),
            "; if it is not installed: Install it: brew install it",
            "No such file or directory",
            id="missing, with a hint",
        ),
        pytest.param(a_plugin("/etc/passwd"), '"/etc/passwd" gave no', "Permission denied", id="no program"),
        pytest.param(
            a_plugin("sh", "-c", "echo 'log in' >&2; exit 3"),
            'plugin "sh" gave no credentials',
            "process returned 3. log in",
            id="fails",
        ),
        pytest.param(a_plugin("echo", "hello"), "gave no", "failed to decode process output", id="no JSON"),
        pytest.param(
            a_plugin("echo", json.dumps(CREDENTIAL | {"status": {}})),
            "gave no credentials",
            "missing token",
            id="prints no credential",
        ),
        pytest.param({"exec": {"command": "true"}}, "gave no", "missing key 'apiVersion'", id="no version"),
    ],
)
def test_credential_plugins(
    tmp_path: Path, user: dict[str, Any], expected: str, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A plugin that gives no credentials ends the start; why it does not is the client's own line."""
    found = problem(a_kubeconfig(tmp_path, user))

    assert expected in found
    assert logged in caplog.text
    assert "s3cr3t" not in found + caplog.text


def test_a_credential_plugin_that_works(tmp_path: Path) -> None:
    """Its token is used."""
    found = connect(kubeconfig=a_kubeconfig(tmp_path, a_plugin("echo", json.dumps(CREDENTIAL))))

    assert {"BearerToken": "Bearer s3cr3t"} == found.client.configuration.api_key


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("[1]", "it is not a valid kubeconfig", id="a list"),
        pytest.param("", "file is empty", id="empty"),
        pytest.param("contexts: []", "no current-context, it has no context", id="no context"),
        pytest.param("current-context: c\ncontexts: [{name: c, context: 7}]", "kubeconfig", id="a number"),
    ],
)
def test_files_that_are_none(tmp_path: Path, text: str, expected: str) -> None:
    """The error is not Python's own about a value of another type, which helps no user."""
    (tmp_path / "config").write_text(text)
    told = problem(str(tmp_path / "config"))

    assert expected in told
    assert [] == [word for word in ("indices", "NoneType", "argument of type") if word in told]


def test_secrets_stay_secret(tmp_path: Path) -> None:
    """The client names a user by all that stands in it."""
    user = {"auth-provider": {"name": "oidc", "config": {"refresh-token": "s3cr3t"}}}

    assert "s3cr3t" not in problem(a_kubeconfig(tmp_path, user))


def test_a_file_that_it_names(tmp_path: Path) -> None:
    """A file that is missing is told by its own name."""
    told = problem(a_kubeconfig(tmp_path, {"tokenFile": "gone"}))

    assert "gone: No such file or directory" in told
    assert "Errno" not in told

"""The errors of a kubeconfig in words, above all those of the plugins that it names."""

from __future__ import annotations

import json
import logging
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
    ("user", "expected"),
    [
        pytest.param(
            a_plugin("no-such-plugin"),
            'plugin "no-such-plugin" is not installed, or not on the PATH',
            id="missing",
        ),
        pytest.param(
            a_plugin("no-such-plugin", installHint="Install it:\n  brew install it"),
            "on the PATH: Install it: brew install it",
            id="missing, with a hint",
        ),
        pytest.param(a_plugin("/etc/passwd"), "cannot be run: Permission denied", id="no program"),
        pytest.param(
            a_plugin("sh", "-c", "echo 'log in\nagain' >&2; exit 3"),
            "failed with exit code 3: log in again",
            id="fails",
        ),
        pytest.param(a_plugin("false"), 'plugin "false" failed with exit code 1', id="fails without a word"),
        pytest.param(a_plugin("true"), "did not print an ExecCredential", id="prints nothing"),
        pytest.param(a_plugin("echo", "hello"), "did not print an ExecCredential", id="prints no JSON"),
        pytest.param(a_plugin("echo", "{}"), "missing key 'apiVersion'", id="prints another object"),
        pytest.param(
            a_plugin("echo", json.dumps(CREDENTIAL | {"status": {}})),
            "missing token",
            id="prints no credential",
        ),
        pytest.param(
            a_plugin("echo", json.dumps(CREDENTIAL | {"apiVersion": f"{VERSION}beta1"})),
            "does not match",
            id="version",
        ),
        pytest.param({"exec": {"command": "true"}}, "missing key 'apiVersion'", id="no version"),
    ],
)
def test_credential_plugins(
    tmp_path: Path, user: dict[str, Any], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A plugin that gives no credentials is told as such, and nothing else is printed."""
    handlers = list(logging.getLogger().handlers)
    told = problem(a_kubeconfig(tmp_path, user))

    assert expected in told
    assert "s3cr3t" not in told
    assert ("", "") == capsys.readouterr()
    assert handlers == logging.getLogger().handlers


def test_a_credential_plugin_that_works(tmp_path: Path) -> None:
    """Its token is used."""
    found = connect(kubeconfig=a_kubeconfig(tmp_path, a_plugin("echo", json.dumps(CREDENTIAL))))

    assert {"Authorization": "Bearer s3cr3t"} == found._credentials()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("[1]", "it is no valid kubeconfig", id="a list"),
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

"""What programs that are run on files of strangers see, and what stops them."""

from __future__ import annotations

import resource
import shutil

import pytest

from policies.manifests.skipped import SkipReason
from webhook.lint import sandbox
from webhook.lint.external_tools import ToolError, run_tool


def test_what_programs_see(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable but those that are meant, an empty home, no Git."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    script = "export; echo ~/*; command -v git; exit 0"
    output = run_tool([shutil.which("sh") or "sh", "-c", script]).decode()

    assert "hunter2" not in output
    assert not any(line.startswith("/") and line.endswith("/git") for line in output.splitlines())
    assert "https_proxy" in output


@pytest.mark.parametrize(
    ("script", "limit"),
    [
        pytest.param("while :; do echo 0123456789012345678901234567890123456789; done", "MiB", id="output"),
        pytest.param("while :; do :; done", "of processor time", id="processor time"),
        pytest.param("sleep 60 & sleep 60", "takes more than 1 s", id="time"),
    ],
)
def test_limits(monkeypatch: pytest.MonkeyPatch, script: str, limit: str) -> None:
    """Who exceeds one is stopped, and told by it."""
    is_busy = "processor" in limit
    monkeypatch.setattr(sandbox, "TIMEOUT_S", 1 if "sleep" in script else 60)
    small = {
        resource.RLIMIT_CPU: 1 if is_busy else 60,
        resource.RLIMIT_FSIZE: 2**20,
        resource.RLIMIT_AS: 2**28,
    }
    monkeypatch.setattr(sandbox, "MAX_OUTPUT", 2**20)
    monkeypatch.setattr(sandbox, "_LIMITS", tuple(small.items()))
    script = script.replace("sleep", shutil.which("sleep") or "sleep")
    with pytest.raises(ToolError, match=limit) as caught:
        run_tool([shutil.which("sh") or "sh", "-c", script])

    assert SkipReason.LIMIT_EXCEEDED == caught.value.reason

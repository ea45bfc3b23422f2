"""The programs that turn templates into manifests: their limits and their errors."""

from __future__ import annotations

import resource
import shutil
from pathlib import Path

import pytest

from policies.manifests.skipped import SkipReason
from webhook.lint import sandbox, tool_limits
from webhook.lint.external_tools import HEAD_LENGTH, TAIL_LENGTH, complaint, run_tool
from webhook.lint.tool_limits import ToolError

CWD = Path.cwd()


@pytest.mark.parametrize(
    ("stderr", "expected"),
    [
        pytest.param("", "it does not say why", id="nothing"),
        pytest.param(
            "WARNING: This chart is deprecated\nError: execution error at (a/b.yaml:3:4): no tag\n\n"
            "Use --debug flag to render out invalid YAML\n",
            "execution error at (a/b.yaml:3:4): no tag",
            id="helm: a warning before, advice after",
        ),
        pytest.param(
            "Error: values don't meet the specifications of the schema(s) in the following chart(s):\nshop:\n"
            "- (root): a is required\n- b: Invalid type\n",
            "values don't meet the specifications of the schema(s) in the following chart(s): shop: (root): a"
            " is required; b: Invalid type",
            id="helm: a schema",
        ),
        pytest.param("WARNING: old\nboom\n", "boom", id="no Error, but a warning"),
        pytest.param("WARNING: old\n", "WARNING: old", id="nothing but a warning"),
        pytest.param(
            'E1122 22:17:30.604638 19462 run.go:72] "command failed" err=<\n\tno match:\n\t- a\n >\nmore\n',
            "no match: a",
            id="a log line of several lines",
        ),
        pytest.param(
            "Error: no matches for Id a (&{0xc002d0eb60 <nil>})\n", "no matches for Id a", id="an address"
        ),
        pytest.param(
            'E1120 18:28:51.183882   28775 run.go:72] "command failed" err="no match \\"a\\": b"\n',
            'no match "a": b',
            id="kubectl: 1 line of its log",
        ),
        pytest.param(
            "Error: accumulating resources: accumulation err='accumulating resources from '../base':"
            f" '{CWD}/base' must resolve to a file': recursed accumulation of path '{CWD}/base': accumulating"
            " resources: accumulation err='accumulating resources from 'web.yaml': evalsymlink failure on"
            f" '{CWD}/base/web.yaml' : lstat {CWD}/base/web.yaml: no such file or directory': must build at"
            f" directory: not a valid directory: evalsymlink failure on '{CWD}/base/web.yaml' : lstat"
            f" {CWD}/base/web.yaml: no such file or directory\n",
            "base: web.yaml: evalsymlink failure on 'base/web.yaml' : lstat base/web.yaml: no such file or"
            " directory",
            id="kustomize: a chain of 2 folders",
        ),
        pytest.param(
            "Error: accumulating resources: accumulation err='accumulating resources from '../base': read"
            f" {CWD}/base: is a directory': recursed accumulation of path '{CWD}/base': no such patch\n",
            "base: no such patch",
            id="kustomize: a folder that it has read",
        ),
        pytest.param("Error: \x1b[31ma\n", r"\x1b[31ma", id="what steers a terminal"),
    ],
)
def test_complaint(stderr: str, expected: str) -> None:
    """The error with its cause, on one line."""
    assert expected == complaint(stderr.encode())


def test_a_long_complaint() -> None:
    """Its end is kept, which has the cause."""
    told = complaint(b"Error: start " + b"x" * 10_000 + b" the cause")

    assert (told[:5], told[-9:]) == ("start", "the cause")
    assert len(told) <= HEAD_LENGTH + TAIL_LENGTH + 3


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
    monkeypatch.setattr(sandbox, "PROCESSOR_S", 1 if is_busy else 60)
    small = {
        resource.RLIMIT_FSIZE: 2**20,
        resource.RLIMIT_AS: 2**28,
    }
    monkeypatch.setattr(sandbox, "MAX_OUTPUT", 2**20)
    monkeypatch.setattr(sandbox, "_LIMITS", tuple(small.items()))
    script = script.replace("sleep", shutil.which("sleep") or "sleep")
    with pytest.raises(ToolError, match=limit) as caught:
        run_tool([shutil.which("sh") or "sh", "-c", script])

    assert SkipReason.LIMIT_EXCEEDED == caught.value.reason


def test_the_time_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that take long leave those after them the usual time only; a thousand usual ones leave all."""
    allowance = sandbox._Allowance()
    monkeypatch.setattr(sandbox, "_ALLOWANCE", allowance)
    for _ in range(1_000):
        allowance.charge(tool_limits.ORDINARY_S)

    assert tool_limits.PROCESSOR_S == allowance.limit_s

    limits = []
    for _ in range(100):
        limits.append(allowance.limit_s)
        allowance.charge(limits[-1])

    assert tool_limits.ORDINARY_S == limits[-1]
    assert sum(limits) <= 100 * tool_limits.ORDINARY_S + tool_limits.EXTRA_S


def test_after_the_time_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that exceeds the time of its run is reported with what to do."""
    monkeypatch.setattr(sandbox, "_ALLOWANCE", sandbox._Allowance(0.0))
    monkeypatch.setattr(sandbox, "ORDINARY_S", 1)
    with pytest.raises(ToolError, match=r"1 s of processor time.*run of its own") as caught:
        run_tool([shutil.which("sh") or "sh", "-c", "while :; do :; done"])

    assert SkipReason.LIMIT_EXCEEDED == caught.value.reason


def test_time_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a program that was stopped, too."""
    allowance = sandbox._Allowance()
    monkeypatch.setattr(sandbox, "_ALLOWANCE", allowance)
    monkeypatch.setattr(sandbox, "PROCESSOR_S", 1)
    monkeypatch.setattr(sandbox, "ORDINARY_S", 0)
    with pytest.raises(ToolError):
        run_tool([shutil.which("sh") or "sh", "-c", "while :; do :; done"])

    assert allowance.extra_s < tool_limits.EXTRA_S - 0.5

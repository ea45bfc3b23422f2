"""Commands that read files need nothing that Windows lacks: they are run here without it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.examples_repository import examples_repository
from tests.forked import ForkedPython, forked_python
from tests.webhook.cli.in_process import evenkeel

pytestmark = pytest.mark.slow

#: Runs the command in a Python without the modules and names that only Unix has.
WITHOUT_UNIX = """
import importlib.abc, os, signal, sys

MODULES = {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty", "_posixsubprocess_"}

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

# What Python itself does by them it does another way on Windows.
import selectors, subprocess, tempfile, threading
sys.meta_path.insert(0, Absent())
for name in MODULES:
    sys.modules.pop(name, None)
for name in (
    "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "fchmod", "fork", "geteuid", "getgid", "getuid",
    "killpg", "memfd_create", "mkfifo", "openpty", "posix_fadvise", "pread", "register_at_fork",
    "sched_getaffinity", "setsid", "wait4",
):
    delattr(os, name)
for name in ("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "pthread_sigmask", "setitimer"):
    delattr(signal, name)
from kube_evenkeel.start import run
run()
"""


@pytest.fixture(scope="module")
def python() -> Iterator[ForkedPython]:
    """Return a Python, of which forks lose what only Unix has."""
    with forked_python(Path(sys.executable), os.environ) as started:
        yield started


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the examples in a Git repository."""
    return examples_repository(tmp_path_factory.mktemp("docs") / "examples")


@pytest.mark.parametrize(
    "command",
    [
        "lint .",
        "lint --diff checkout.yaml",
        "explain -f web.yaml --cluster cluster.yaml",
        "explain -f web.yaml --cluster cluster.yaml -o scores",
        "what-if -f web.yaml --cluster cluster.yaml",
        "plan --from HEAD --cluster cluster.yaml .",
        "plan --from web.yaml --cluster cluster.yaml web-next.yaml",
        "advise -f web.yaml --cluster cluster.yaml --one-a-node",
        "audit --cluster cluster.yaml",
        "policy check policy.yaml",
    ],
    ids=lambda text: text.split()[0],
)
def test_a_command_runs(command: str, python: ForkedPython, examples: Path) -> None:
    """The answer is the one of this system, letter for letter."""
    words = command.split()
    there = python.run(WITHOUT_UNIX, "evenkeel", *words, folder=examples, environment=os.environ)
    here = evenkeel(*words, folder=examples)

    assert here.returncode in (0, 1), here.stderr
    assert (here.returncode, here.stdout.decode(), here.stderr.decode()) == (
        there.returncode, there.stdout, there.stderr
    )  # fmt: skip


def test_a_chart_is_not_rendered(python: ForkedPython, tmp_path: Path) -> None:
    """Where nothing confines a program, none is run for files that anybody may have written; that is said."""
    (tmp_path / "chart/templates").mkdir(parents=True)
    (tmp_path / "chart/Chart.yaml").write_text("apiVersion: v2\nname: a\nversion: 1.0.0\n")
    (tmp_path / "chart/templates/a.yaml").write_text("a: {{ .Values.a }}\n")
    helm = tmp_path / "bin/helm"
    helm.parent.mkdir()
    helm.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    helm.chmod(0o755)
    environment = os.environ | {"PATH": f"{helm.parent}:{os.environ['PATH']}"}
    done = python.run(WITHOUT_UNIX, "evenkeel", "lint", "chart", folder=tmp_path, environment=environment)

    assert 2 == done.returncode
    assert "is not run: nothing confines a program here" in done.stdout
    assert not (tmp_path / "ran").exists()

"""No process that has threads forks: the locks that its other threads hold would stay taken in the child."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.for_each import for_each
from tests.waiting import PATIENCE_S, eventually
from tests.webhook.running import HEAVY, Server, serving

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path.relative_to(ROOT)
    for package in ("certs", "conformance", "policies", "webhook", "kube_evenkeel")
    for path in (ROOT / package).rglob("*.py")
    if "node_modules" not in path.parts
)
#: Who may fork: a server that has one thread, and runs nothing else.
FORKS = {"webhook/forked.py": {"os.fork"}, "webhook/lint/sandbox.py": {"preexec_fn"}}
#: What copies a process with all of its locks.
_NAMES = {"fork", "forkpty"}
#: Notes each fork of a process and its threads, those of libraries too.
_HOOK = """
import os, sys

def note(event, arguments):
    if event in ("os.fork", "os.forkpty"):
        threads = len(os.listdir("/proc/self/task"))
        with open(os.environ["NOTED_FORKS"], "a") as file:
            file.write(f"{threads} {os.getpid()} {sys.orig_argv[-1][:60]!r}\\n")

sys.addaudithook(note)
"""


def _forking(tree: ast.AST) -> set[str]:
    """Return what a module forks by, whatever it imported it as."""
    found = set[str]()
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    system = {alias.asname or alias.name for node in imported for alias in node.names if alias.name == "os"}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in system and name in _NAMES:
                found.add(f"os.{name}")
            case ast.ImportFrom(module="os", names=names):
                found.update(f"os.{alias.name}" for alias in names if alias.name in _NAMES)
            case ast.keyword(arg="preexec_fn"):
                found.add("preexec_fn")
            case ast.Call(func=ast.Attribute(attr="get_context" | "set_start_method"), args=[first, *_]):
                if not (isinstance(first, ast.Constant) and first.value in ("forkserver", "spawn")):
                    found.add("multiprocessing")
            case ast.Attribute(value=ast.Name(id="multiprocessing"), attr="Process" | "Pool" | "Manager"):
                found.add("multiprocessing")
            case ast.Name(id="ProcessPoolExecutor") | ast.Attribute(attr="ProcessPoolExecutor"):
                found.add("multiprocessing")
    return found


@for_each(SOURCES)
def test_who_forks_in_the_source(module: Path) -> None:
    """One module forks, in a process that has one thread; another has a program confine itself."""
    assert FORKS.get(str(module), set()) == _forking(ast.parse((ROOT / module).read_text()))


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos.fork()",
        "from os import fork",
        "import os as system\nsystem.forkpty()",
        "import subprocess\nsubprocess.run([], preexec_fn=print)",
        "import multiprocessing\nmultiprocessing.Process()",
        "import multiprocessing\nmultiprocessing.get_context('fork')",
        "import multiprocessing\nmultiprocessing.get_context(method)",
        "import concurrent.futures\nconcurrent.futures.ProcessPoolExecutor()",
    ],
)
def test_what_is_found(source: str) -> None:
    """Each way to fork is found."""
    assert _forking(ast.parse(source))


def _hooked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have every Python of this test note its forks; return the file."""
    (folder / "hook").mkdir()
    (folder / "hook/sitecustomize.py").write_text(_HOOK)
    noted = folder / "forks"
    noted.touch()
    monkeypatch.setenv("PYTHONPATH", f"{folder / 'hook'}:{ROOT}")
    monkeypatch.setenv("NOTED_FORKS", str(noted))
    return noted


def _threads(noted: Path) -> list[int]:
    return [int(line.split()[0]) for line in noted.read_text().splitlines()]


@pytest.mark.slow
def test_the_hook_sees_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork beside a thread is noted as that, also where Python does not warn of it."""
    noted = _hooked(tmp_path, monkeypatch)
    text = (
        "import os, threading\nended = threading.Event()\nthreading.Thread(target=ended.wait).start()\n"
        "os.fork() or os._exit(0)\nended.set()\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", text], check=True, timeout=PATIENCE_S)

    assert [2] == _threads(noted)


@pytest.mark.slow
def test_a_server_forks_no_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for workers, for answers, for one that takes too long, nor for what replaces a killed one."""
    noted = _hooked(tmp_path, monkeypatch)
    cluster = str(ROOT / "webhook/demo/shop.json")
    with serving(tmp_path, "--role=all", f"--cluster={cluster}", "--request-timeout-s=1") as server:
        eventually(lambda: _asked(server, b"{}") == 400)
        dear = _asked(server, HEAVY)
        for pid in server.workers():
            os.kill(pid, signal.SIGKILL)
        eventually(lambda: _asked(server, b"{}") == 400)

    assert 504 == dear
    # The workers, twice; a fork server, twice; and its children.
    assert 9 <= len(_threads(noted))
    assert {1} == set(_threads(noted)), noted.read_text()


def _asked(server: Server, body: bytes) -> int:
    try:
        return server.ask("POST", "/v1/score", body=body, content_type="application/json").status
    except OSError:
        # Its worker was killed.
        return 0

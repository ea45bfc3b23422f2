"""A Python that stays: code runs in a fork of it, which saves Python's start and the import of libraries."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

#: The libraries of a base install.
BASE_LIBRARIES = ("click", "numpy", "orjson", "rich.console", "yaml")
_SERVER = """\
import contextlib, importlib, json, os, sys
for name in sys.argv[1:]:
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
for line in sys.stdin:
    code, arguments, folder, environment, outputs = json.loads(line)
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for descriptor, path in enumerate(outputs, 1):
            os.dup2(os.open(path, os.O_WRONLY), descriptor)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = arguments
        exec(compile(code, "forked", "exec"), {"__name__": "__main__"})
        sys.exit()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@dataclass(frozen=True, slots=True)
class ForkedPython:
    """A running interpreter."""

    process: subprocess.Popen[str]

    def run(
        self, code: str, *arguments: str, folder: Path, environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Run code in a fork, with files for its outputs.

        Args:
            code: Runs as ``__main__``.
            *arguments: ``sys.argv``.
            folder: The working directory.
            environment: The whole environment.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with tempfile.NamedTemporaryFile("r") as stdout, tempfile.NamedTemporaryFile("r") as stderr:
            request = (code, arguments, str(folder), dict(environment), (stdout.name, stderr.name))
            print(json.dumps(request), file=self.process.stdin, flush=True)
            status = int(self.process.stdout.readline())
            return subprocess.CompletedProcess(arguments, status, stdout.read(), stderr.read())


@contextmanager
def forked_python(
    python: Path, environment: Mapping[str, str], libraries: tuple[str, ...] = BASE_LIBRARIES
) -> Iterator[ForkedPython]:
    """Run an interpreter that has imported those of some libraries that it has."""
    command = [str(python), "-c", _SERVER, *libraries]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(environment)
    ) as process:
        yield ForkedPython(process)
        assert process.stdin is not None
        process.stdin.close()

"""Runs the examples of the documentation, in text blocks and in images of a terminal.

A block of the language ``console`` that shows output is run in a copy of ``docs/examples``: ``evenkeel``, and
``kubectl``, which is ``docs.generator.kubectl``. A block of commands alone is not run.
"""

from __future__ import annotations

import io
import os
import pty
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn

from rich.console import Console
from rich.text import Text

from docs.generator import kubectl
from webhook.cli import main as evenkeel

EXAMPLES = Path(__file__).parents[1] / "examples"
#: Columns of the terminal.
WIDTH: Final = 100
#: What the commands of examples run; each ends the process.
PROGRAMS: Final[Mapping[str, Callable[[], object]]] = {"evenkeel": evenkeel.run, "kubectl": kubectl.run}
#: What each image shows.
IMAGES: Final[Mapping[str, str]] = {
    "explain.svg": "evenkeel explain -f web.yaml --cluster cluster.yaml",
    "lint.svg": "evenkeel lint cart.yaml",
}
#: rich's page without the fonts that it would load from the network.
_SVG: Final = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font: bold 18px sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
_BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
#: A command of a block, over several lines where they end in a backslash, and the output below it.
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)", re.MULTILINE)


def refreshed(pages: Mapping[Path, str]) -> dict[Path, str]:
    """Return pages with the output that their examples have now."""
    return {path: _BLOCK.sub(lambda found: _run(found[0]), text) for path, text in pages.items()}


def images() -> dict[str, str]:
    """Return each image as SVG."""
    with _folder() as folder:
        return {name: _image(name, command, folder) for name, command in IMAGES.items()}


def _run(block: str) -> str:
    """Run the commands of a block that shows output, and return it with the output of each."""
    commands = _COMMAND.findall(block)
    if not any(output.strip() for _, output in commands):
        return block
    with _folder() as folder:
        return "".join(f"$ {command}{_output(command, folder, os.pipe())}" for command, _ in commands)


@contextmanager
def _folder() -> Iterator[Path]:
    """Yield a copy of the examples, which commands may change."""
    with tempfile.TemporaryDirectory() as temporary:
        yield shutil.copytree(EXAMPLES, Path(temporary, "examples"))


def _image(name: str, command: str, folder: Path) -> str:
    screen = Console(width=WIDTH, record=True, file=io.StringIO(), legacy_windows=False)
    screen.print(Text.assemble(("$ ", "bold green"), command))
    screen.print(Text.from_ansi(_output(command, folder, pty.openpty())))
    return screen.export_svg(title="evenkeel", code_format=_SVG, unique_id=Path(name).stem)


def _output(command: str, folder: Path, ends: tuple[int, int]) -> str:
    """Run a command in a fork of this process, where all that it imports is there already.

    Args:
        command: A line of an example.
        folder: Where it runs.
        ends: Descriptors to read its output from, and for it to write to: a pipe or a terminal.
    """
    reader, writer = ends
    sys.stdout.flush()
    if not (child := os.fork()):
        _become(shlex.split(command, comments=True), folder, writer)
    os.close(writer)
    chunks = []
    try:
        while chunk := os.read(reader, 65536):
            chunks.append(chunk)
    except OSError:  # how Linux says that nothing writes to a terminal any more
        pass
    os.close(reader)
    os.waitpid(child, 0)
    return b"".join(chunks).decode().replace("\r\n", "\n")


def _become(arguments: list[str], folder: Path, writer: int) -> NoReturn:
    """Be a program that writes to a descriptor, and end."""
    os.chdir(folder)
    os.dup2(writer, 1)
    os.dup2(writer, 2)
    os.environ |= {"COLUMNS": str(WIDTH), "TERM": "xterm-256color", "HOME": str(folder)}
    # pytest and others put streams of their own here.
    sys.stdout = os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", buffering=1)
    sys.argv = arguments
    try:
        PROGRAMS[arguments[0]]()
    finally:
        sys.stdout.flush()
        os._exit(0)

"""Every command that README, guide and help show runs as it stands in the folder of the examples.

Blocks that show output are run by the generator. Those of commands alone are run here, one after the other,
beside an API server that has the cluster of the examples; ``NOT_RUN`` says which are not, and why.
"""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
import yaml

from docs.generator.terminal import EXAMPLES
from tests.docs import shell
from tests.docs.examples_repository import examples_repository
from tests.webhook.http.authorization.control_plane import ControlPlane, a_control_plane
from webhook.cli import main

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "conformance/README.md"]
REFERENCE = ROOT / "docs/reference/commands.md"
#: Why a command is only read: what it begins with, as a pattern.
NOT_RUN = {
    r"git clone|cd evenkeel|cd docs/examples": "they lead to where all others run",
    r"pip |pipx ": "tests/deploy/test_distribution.py installs",
    r"docker |gh |make ": "they need a registry, GitHub or the sources; targets are tested one by one",
    r"helm (install|upgrade)|kubectl evenkeel doctor|kubectl -n": "tests/e2e installs in a control plane",
    r"evenkeel (doctor|certs (show|rotate|inject) -n)": "tests/e2e runs them on an installation",
    r"evenkeel (serve|ui) ": "they run until they are ended, as in test_ui.py and tests/e2e",
    r"evenkeel conformance --against": "tests/conformance calls such programs and servers",
    r"evenkeel conformance --cluster-under-test|kubectl delete ": "tests/e2e runs it in a control plane",
}
#: Output of a real API server, which nothing here prints: the page, and the command above it.
OF_A_SERVER = {("emit.md", "kubectl apply -f web.yaml"), ("policies.md", "kubectl apply -f policy.yaml")}
_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
#: A command behind a prompt, over several lines where they end in a backslash, and the output below it.
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
#: A command in a row of a table.
_ROW = re.compile(r"^\| [^`|]+ \| `(evenkeel [^`]+)` \|$", re.MULTILINE)


class Block(NamedTuple):
    """Command lines that are typed one after the other."""

    page: str
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page} {self.lines[0]}"


def _blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of commands without output, and each command of the table of README."""
    text = page.read_text()
    for _, language, content in _BLOCK.findall(text):
        block = textwrap.dedent(content)
        prompted = _COMMAND.findall(block)
        if language == "bash":
            yield Block(page.name, tuple(block.replace("\\\n", " ").splitlines()))
        elif prompted and not any(output.strip() for _, output in prompted):
            yield Block(page.name, tuple(command.replace("\\\n", " ") for command, _ in prompted))
    if page.name == "README.md":
        yield from (Block(page.name, (command,)) for command in _ROW.findall(text))


BLOCKS = [block for page in PAGES for block in _blocks(page)]
#: The examples of all helps: their files are the reader's, so that only their options are read.
EXAMPLES_OF_HELP = sorted(
    {
        line
        for block in _blocks(REFERENCE)
        for line in block.lines
        if line.startswith(("evenkeel ", "kubectl "))
    }
)


def _not_run(line: str) -> bool:
    return any(re.match(pattern, line) for pattern in NOT_RUN)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the examples in a Git repository."""
    return examples_repository(tmp_path_factory.mktemp("docs") / "examples")


def _example(name: str) -> dict[str, Any]:
    obj: dict[str, Any] = yaml.safe_load((EXAMPLES / name).read_text())
    return obj


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """Serve the cluster of the examples, with the Deployment that its pods are of."""
    with a_control_plane() as started:
        started.objects = yaml.safe_load((EXAMPLES / "cluster.yaml").read_text())["items"]
        pod = {**started.objects[-1], "metadata": {**started.objects[-1]["metadata"], "name": "web-7d9f-x2x"}}
        started.gets = {
            "/apis/apps/v1/namespaces/shop/deployments/web": _example("web.yaml"),
            "/apis/apps/v1/namespaces/shop/statefulsets/orders": _example("deploy/orders.yaml"),
            "/api/v1/namespaces/shop/pods/web-7d9f-x2x": pod,
        }
        yield started


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_a_block_runs(
    block: Block, repository: Path, plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command finds what it reads, with findings or without, and no old name is used."""
    folder = tmp_path / "docs/examples"
    shutil.copytree(repository, folder)
    (tmp_path / "deploy").symlink_to(ROOT / "deploy")
    if any(" deploy/examples" in line for line in block.lines):
        # In the root of a clone, as the guide says.
        folder = tmp_path
    monkeypatch.chdir(folder)
    monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig(tmp_path)))
    for line in block.lines:
        if _not_run(line):
            _read_all(line)
            continue
        for ran in shell.run(line, folder):
            assert ran.code in (0, 1), ran.stderr
            assert "works in this release only" not in ran.stderr


@pytest.mark.parametrize("line", EXAMPLES_OF_HELP)
def test_an_example_of_help_is_read(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It has options that exist, by their names of today."""
    _read_all(line)

    assert "" == capsys.readouterr().err


def test_other_output_is_of_a_server() -> None:
    """All other blocks with output are of the language that the generator runs."""
    others = {
        (page.name, found[1])
        for page in PAGES
        for _, language, content in _BLOCK.findall(page.read_text())
        if language != "console" and (found := re.match(r"\$ (.*)", content))
    }

    assert OF_A_SERVER == others


def test_what_is_not_run_is_shown_somewhere() -> None:
    """No reason is left over."""
    lines = [line for block in BLOCKS for line in block.lines]

    assert [] == [pattern for pattern in NOT_RUN if not any(re.match(pattern, line) for line in lines)]


def _read_all(line: str) -> None:
    for words in shell.commands(line):
        own = words[1:] if words[:2] == ("kubectl", "evenkeel") else words
        if own[:1] == ("evenkeel",):
            _read_options(list(own[1:]))


def _read_options(words: list[str]) -> None:
    """Read the options of a command and of the one below it, without running either."""
    command: click.Command = main.command
    context = click.Context(command, info_name="evenkeel")
    while isinstance(command, click.Group):
        name, found, words = command.resolve_command(context, words)
        assert found is not None
        command, context = found, click.Context(found, info_name=name, parent=context)
        if isinstance(command, click.Group) and not words:
            return
    command.parse_args(context, words)

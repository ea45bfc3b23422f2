"""Command lines of the documentation, run in this process: pipes, ``&&``, and files to read and write."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from click.testing import CliRunner

from webhook.cli import live, main, manifest

#: The operators of the shell itself.
_OPERATORS = frozenset({"|", "&&", ">", ">>", "<"})


@dataclass(frozen=True)
class Ran:
    """One command that ran."""

    words: tuple[str, ...]  #: It and its arguments.
    code: int  #: Its exit code.
    stdout: bytes  #: What it wrote, which the next one of a pipeline reads.
    stderr: str = ""  #: What it said besides.


def split(line: str) -> list[str]:
    """Return the words and operators of a line without its comment."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&<>")
    lexer.whitespace_split, lexer.commenters = True, "#"
    return list(lexer)


def commands(line: str) -> Iterator[tuple[str, ...]]:
    """Yield each command of a line, without what is read and written."""
    words: list[str] = []
    given = iter([*split(line), "&&"])
    for word in given:
        if word in ("|", "&&"):
            yield tuple(words)
            words = []
        elif word in _OPERATORS:
            next(given)
        else:
            words.append(word)


def run(line: str, folder: Path) -> Iterator[Ran]:
    """Run the commands of a line in a folder, which is the working one, and yield each."""
    words: list[str] = []
    stdin, target, mode = b"", "", "wb"
    given = iter([*split(line), "&&"])
    for word in given:
        if word == "<":
            stdin = (folder / next(given)).read_bytes()
        elif word in (">", ">>"):
            target, mode = next(given), "ab" if word == ">>" else "wb"
        elif word not in _OPERATORS:
            words.append(word)
        else:
            ran = _run(tuple(words), stdin)
            yield ran
            if target:
                with (folder / target).open(mode) as file:
                    file.write(ran.stdout)
            stdin, target, mode, words = ran.stdout if word == "|" else b"", "", "wb", []


def _run(words: tuple[str, ...], stdin: bytes) -> Ran:
    if words[:2] == ("kubectl", "evenkeel"):
        words = words[1:]
    return (
        _evenkeel(words, stdin)
        if words[0] == "evenkeel"
        else Ran(words, 0, STAND_INS[words[0]](words, stdin))
    )


def _evenkeel(words: tuple[str, ...], stdin: bytes) -> Ran:
    # A process of its own would remember neither.
    live.api_server.cache_clear()
    manifest._standard_input.cache_clear()
    runner = CliRunner()
    with runner.isolation(input=stdin) as (stdout, stderr, _):
        sys.argv, before = list(words), sys.argv
        try:
            code = main._guarded("evenkeel")
        finally:
            sys.argv = before
        sys.stdout.flush()
        return Ran(words, code, stdout.getvalue(), stderr.getvalue().decode())


def _kubectl(words: tuple[str, ...], stdin: bytes) -> bytes:
    """Print the cluster of the examples, or their policy."""
    if words[1] != "get":
        return b""
    text = Path("policy.yaml" if words[2].startswith("spreadpolicies") else "cluster.yaml").read_bytes()
    return json.dumps(yaml.safe_load(text)).encode()


def _manifests(_words: tuple[str, ...], _stdin: bytes) -> bytes:
    """Print a manifest that a chart or kustomization may render."""
    return Path("web.yaml").read_bytes()


def _pass_on(_words: tuple[str, ...], stdin: bytes) -> bytes:
    return stdin


#: The stand-ins for other programs.
STAND_INS: Mapping[str, Callable[[tuple[str, ...], bytes], bytes]] = {
    "kubectl": _kubectl,
    "helm": _manifests,
    "kustomize": _manifests,
    "argocd": _manifests,
    "flux": _manifests,
    "jq": _pass_on,
}

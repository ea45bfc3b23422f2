"""Completion, as the shells and kubectl ask for it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from policies.config.loader import builtin_names
from tests.webhook.cli.in_process import evenkeel
from webhook.cli.completion import command
from webhook.cli.main import command as main

#: Where the examples of the guide are.
EXAMPLES = "docs/examples"
_CODE = "import sys; sys.argv[0] = 'evenkeel'; from webhook.cli.start import run; run()"


def _complete(words: str) -> list[str]:
    """Ask as the bash function does for the last of the words."""
    environment = {
        "_EVENKEEL_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    return evenkeel(folder=Path(), environment=environment).stdout.decode().split()


MISSING = ["plain,selector-misses-own-pod", "plain,selector-missing"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param("evenkeel se", ["plain,serve"], id="commands"),
        pytest.param(
            "evenkeel lint --fail", ["plain,--fail-on", "plain,--fail-on-skipped"], id="an option of lint"
        ),
        pytest.param("evenkeel lint --fix --in", ["plain,--inject"], id="an option of fix"),
        pytest.param("evenkeel lint --fail-on n", ["plain,note", "plain,never"], id="a value"),
        pytest.param("evenkeel lint -o js", ["plain,json"], id="a report format"),
        pytest.param("evenkeel lint -o json=li", ["file,li"], id="the file of a report"),
        pytest.param("evenkeel lint --select selector-m", MISSING, id="a rule"),
        pytest.param(
            "evenkeel lint --fix --ignore wrong-type,selector-m",
            [entry.replace("plain,", "plain,wrong-type,") for entry in MISSING],
            id="a further rule",
        ),
        pytest.param(
            "evenkeel lint --ignore selector-missing,selector-m",
            ["plain,selector-missing,selector-misses-own-pod"],
            id="no rule twice",
        ),
        pytest.param(
            "evenkeel lint --explain unr",
            ["plain,unreachable-domain-counted", "plain,unreadable"],
            id="a manual",
        ),
        pytest.param(
            "evenkeel lint --policy builtin:d",
            ["file,builtin:d", "plain,builtin:default"],
            id="a built-in policy",
        ),
        pytest.param(
            "evenkeel serve --policy builtin:d", ["file,builtin:d", "plain,builtin:default"], id="of serve"
        ),
        pytest.param(
            "evenkeel explain --policy builtin:d",
            ["file,builtin:d", "plain,builtin:default"],
            id="of explain",
        ),
        pytest.param("evenkeel policy show so", ["file,so", "plain,soft-spread"], id="a policy to show"),
        pytest.param(
            f"evenkeel explain --cluster {EXAMPLES}/cluster.yaml deploy/w",
            ["plain,deploy/web"],
            id="an object of the snapshot, whose ReplicaSet is there",
        ),
        pytest.param(
            f"evenkeel explain --cluster {EXAMPLES}/cluster.yaml rs/",
            ["plain,rs/web-5d9"],
            id="of a kind",
        ),
        pytest.param(
            f"evenkeel what-if -f {EXAMPLES}/api.yaml dep",
            ["plain,deploy/api"],
            id="an object of a file",
        ),
        pytest.param("evenkeel what-if --lose-each z", ["plain,zone"], id="a topology key"),
        pytest.param(
            f"evenkeel what-if --cluster {EXAMPLES}/cluster.yaml --lose-each topo",
            ["plain,topology.kubernetes.io/zone"],
            id="a topology key of the snapshot",
        ),
        pytest.param(
            f"evenkeel what-if --cluster {EXAMPLES}/cluster.yaml --drain n",
            ["plain,n1", "plain,n2", "plain,n3"],
            id="a node",
        ),
        pytest.param(
            f"evenkeel what-if --cluster {EXAMPLES}/cluster.yaml --lose zone=",
            ["plain,zone=a", "plain,zone=b", "plain,zone=c"],
            id="a domain",
        ),
        pytest.param("evenkeel what-if --fail-on one", ["plain,one-domain"], id="a cause"),
        pytest.param("evenkeel explain --cluster gone.yaml deploy/", [], id="nothing of no file"),
        pytest.param("evenkeel explain --cluster Makefile deploy/", [], id="nothing of another file"),
    ],
)
def test_what_fits_is_completed(words: str, expected: list[str]) -> None:
    """The bash function completes with the words that fit."""
    assert expected == _complete(words)


def test_kubectl_asks_the_script_of_the_help(tmp_path: Path) -> None:
    """The script that the help gives answers what kubectl asks of it: the words after the plugin's name."""
    (script,) = re.findall(r"<<'EOF'\n(.*?)EOF\n", command.epilog or "", re.DOTALL)
    file = tmp_path / "kubectl_complete-evenkeel"
    file.write_text(script)
    file.chmod(0o755)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])

    def ask(*words: str) -> list[str]:
        done = subprocess.run(
            [file, *words], capture_output=True, text=True, check=True, env={**os.environ, "PATH": path}
        )
        return done.stdout.split()

    assert ["lint"] == ask("li")
    assert ["--diff"] == ask("lint", "--di")
    assert {"lint", "audit", "serve"} <= set(ask(""))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("evenkeel lint --fail-on n", ["note", "never"], id="a value"),
        pytest.param(
            "evenkeel lint --policy b", [f"builtin:{name}" for name in builtin_names()], id="colon ahead"
        ),
        pytest.param("evenkeel lint --policy builtin:", builtin_names(), id="at the colon"),
        pytest.param("evenkeel lint --policy builtin:so", ["soft-spread"], id="after the colon"),
        pytest.param(
            "evenkeel lint --policy=builtin:so", ["soft-spread"], id="after an equals sign and a colon"
        ),
        pytest.param(
            "evenkeel lint --select wrong-type,selector-mi",
            ["wrong-type,selector-misses-own-pod", "wrong-type,selector-missing"],
            id="a list",
        ),
        pytest.param(
            "evenkeel lint --fail-on ", ["error", "warning", "note", "never"], id="nothing typed yet"
        ),
    ],
)
def test_bash(line: str, expected: list[str], tmp_path: Path) -> None:
    """bash replaces only what stands after a colon or an equals sign, so only that is completed."""
    program = tmp_path / "evenkeel"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{_CODE}"\n')
    program.chmod(0o755)
    script = CliRunner().invoke(main, ["completion", "bash"], prog_name="evenkeel").output
    # As bash breaks a line by COMP_WORDBREAKS.
    words = [*re.findall(r"[:=]|[^\s:=]+", line), *([""] if line.endswith(" ") else [])]
    asked = (
        f"{script}\ncompopt() {{ :; }}\nCOMP_WORDS=({' '.join(map(shlex.quote, words))})\n"
        f"COMP_CWORD={len(words) - 1} COMP_LINE={shlex.quote(line)} COMP_POINT={len(line)}\n"
        f"_evenkeel_completion {program}\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)

    assert expected == done.stdout.split()


def test_fish_parts_a_value_once() -> None:
    """A list of rules is one value, commas included."""
    assert 'string split --max 1 ","' in CliRunner().invoke(main, ["completion", "fish"]).output

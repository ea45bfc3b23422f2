"""``evenkeel conformance``: options, exit codes, and implementations that are right, wrong and none."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click.testing
import pytest

from conformance.command import command
from policies.manifests.errors import EvenkeelError
from tests.conformance.programs import command_of

#: The smallest file of the corpus.
TABLES = str(Path(__file__).parents[2] / "conformance" / "unit-tables.jsonl")
#: A model of the scheduler that knows nothing but taints, and of those not which of them a pod tolerates.
WRONG = """
import json, sys
for line in sys.stdin:
    cluster = json.loads(line)["cluster"]
    nodes = []
    for node in cluster.get("nodes", []):
        spec = node.get("spec") or {}
        hard = [t for t in spec.get("taints") or [] if t["effect"] != "PreferNoSchedule"]
        rejection = {"plugin": "TaintToleration", "reason": "node(s) had untolerated taint(s)"}
        reasons = [rejection] if hard else []
        if spec.get("unschedulable"):
            reasons.append({"plugin": "NodeUnschedulable", "reason": "node(s) were unschedulable"})
        nodes.append({"name": node["metadata"]["name"], "feasible": not reasons, "rejections": reasons})
    print(json.dumps({"nodes": nodes}), flush=True)
"""


def _run(*arguments: str, stdin: str = "") -> click.testing.Result:
    return click.testing.CliRunner().invoke(command, arguments, input=stdin)


def _wrong(*arguments: str) -> click.testing.Result:
    return _run("--against", shlex.join([sys.executable, "-c", WRONG]), *arguments)


def test_this_engine() -> None:
    """Every recorded case of a feature is answered; only the chosen features are reported."""
    result = _run("--feature", "KEP-5471", "-o", "json")
    report = json.loads(result.output)

    assert (0, ["KEP-5471"]) == (result.exit_code, [entry["id"] for entry in report["features"]])
    assert report["cases"]["passed"] == 24 == sum(report["cases"].values())


def test_a_wrong_implementation(golden: Callable[[str, str], str]) -> None:
    """Wrong answers fail, missing ones do not."""
    result = _wrong("--feature", "releases", "--feature", "KEP-3022", "--corpus", TABLES)
    text = "\n".join(["... against a wrong implementation", *result.output.splitlines()[1:], ""])

    assert 1 == result.exit_code
    assert golden("conformance_wrong.txt", text) == text


@pytest.mark.parametrize("program", ["echo", "ends at once", "without end"])
def test_rubbish(program: str) -> None:
    """A program that answers no score requests cannot be tested; the report says why."""
    result = _run("--against", command_of(program), "--corpus", TABLES)

    assert 3 == result.exit_code
    assert result.output.splitlines()[-1].startswith("Not finished: ")


def test_a_report_for_programs_says_it_too() -> None:
    """Why the run ended is in the JSON, and on stderr."""
    result = _run("--against", command_of("ends at once"), "-o", "json", "--corpus", TABLES)

    assert 3 == result.exit_code
    assert json.loads(result.stdout)["stopped"] in result.stderr


def test_two_commands(tmp_path: Path) -> None:
    """Simulate requests go to a command of their own; without one such cases are not run."""
    corpus = tmp_path / "two.jsonl"
    sequences = str(Path(TABLES).with_name("sequences.jsonl.gz"))
    printed = (("sequence-k1-00000", sequences), ("filter 1: no pods", TABLES))
    corpus.write_text("".join(_run("--print", "--case", case, "--corpus", of).output for case, of in printed))
    sequence = ["--corpus", str(corpus), "-o", "json"]
    evenkeel = f"{sys.executable} -c 'from webhook.cli.main import run; run()'"
    one = json.loads(_run("--against", f"{evenkeel} score --jsonl", *sequence).stdout)
    both = json.loads(
        _run(
            *("--against", f"{evenkeel} score --jsonl"),
            *("--simulate-against", f"{evenkeel} simulate --jsonl"),
            *sequence,
        ).stdout
    )

    assert {"passed": 1, "notRun": 1} == _counted(one)
    assert {"passed": 2} == _counted(both)


def _counted(report: dict[str, Any]) -> dict[str, int]:
    return {name: count for name, count in report["cases"].items() if count}


def test_print(tmp_path: Path) -> None:
    """Printed cases are a corpus."""
    printed = _run("--print", "--feature", "releases", "--corpus", TABLES)
    path = tmp_path / "some.jsonl"
    path.write_text(printed.output)

    assert 58 == len(printed.output.splitlines())
    assert printed.output == _run("--print", "--corpus", str(path)).output


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--feature", "KEP-1"], id="an unknown feature"),
        pytest.param(["--case", "no such"], id="an unknown case"),
        pytest.param(["--case", "filter 1: no pods", "--feature", "profile"], id="no case left"),
        pytest.param(["--against", "no-such-program-anywhere"], id="no command"),
        pytest.param(["--against", "ftp://x/"], id="another scheme"),
        pytest.param(["--simulate-against", "cat"], id="simulate without score"),
        pytest.param(["--against", "cat", "--simulate-against", "http://x/"], id="simulate at a URL"),
        pytest.param(["--against", "cat", "--token-file", "x"], id="a token for a command"),
        pytest.param(["--ca-file", "x"], id="a CA for this engine"),
        pytest.param(["--against", "https://x/score", "--token-file", "-"], id="an empty token"),
        pytest.param(["--against", "https://x/score", "--ca-file", "no-such-file"], id="no CA"),
        pytest.param(["--cluster-under-test", "--against", "cat"], id="a cluster and a command"),
        pytest.param(["--cluster-under-test", "--shard", "9/8"], id="no such shard"),
        pytest.param(["--sample", "5"], id="a sample without a cluster"),
        pytest.param(["--context", "kind-test"], id="a context without a cluster"),
        pytest.param(["--corpus", "no-such-folder"], id="no corpus"),
        pytest.param(["--timeout", "0"], id="no time"),
    ],
)
def test_usage(arguments: list[str]) -> None:
    """Options that do not go together, and files that are missing, are mistakes of usage."""
    # To read the whole corpus takes a second.
    result = _run("--corpus", TABLES, *arguments)

    assert 2 == result.exit_code or isinstance(result.exception, EvenkeelError | OSError)

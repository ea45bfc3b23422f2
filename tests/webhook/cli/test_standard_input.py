"""Standard input has one name in whatever a command says of it, be it a manifest, a cluster or a policy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from docs.generator.terminal import EXAMPLES

pytestmark = pytest.mark.slow

START = "from kube_evenkeel.start import run; run()"
#: A command for each way in which a file is read.
READING = (
    "lint -",
    "lint web.yaml --baseline -",
    "lint web.yaml --cluster -",
    "plan --cluster - web.yaml",
    "explain -f - --cluster cluster.yaml",
    "explain -f web.yaml --cluster -",
    "explain -f web.yaml --cluster cluster.yaml --policy -",
    "explain -f web.yaml --cluster cluster.yaml --scheduler-config -",
    "what-if -f web.yaml --cluster cluster.yaml --autoscale -",
    "audit --cluster -",
    "ui --cluster -",
    "policy check -",
    "policy emit --as vap -",
    "policy preview -f - --cluster cluster.yaml",
    "policy preview -f policy.yaml --cluster -",
)


@pytest.mark.parametrize("line", READING)
def test_what_is_wrong_with_it_is_told_by_one_name(line: str) -> None:
    """As ruff and kubectl name it, with the line of the first error."""
    done = subprocess.run(
        [sys.executable, "-c", START, *line.split()],
        cwd=EXAMPLES, input="a: [\n", capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert 2 == done.returncode
    assert "<stdin>:1: " in done.stdout + done.stderr or "<stdin>:2: " in done.stdout + done.stderr
    assert "/dev/stdin" not in done.stdout + done.stderr
    assert "-:" not in done.stdout + done.stderr


def test_a_cluster_is_read_from_a_pipe() -> None:
    """It is the same as from its file."""
    command = [sys.executable, "-c", START, "explain", "-f", "web.yaml", "-o", "scores", "--cluster"]
    piped = subprocess.run(
        [*command, "-"], cwd=EXAMPLES, input=(EXAMPLES / "cluster.yaml").read_bytes(), capture_output=True,
        check=False,
    )  # fmt: skip
    named = subprocess.run([*command, "cluster.yaml"], cwd=EXAMPLES, capture_output=True, check=False)

    assert (1, named.stdout) == (piped.returncode, piped.stdout)

"""The parts that other programs run: the hooks of pre-commit, the GitHub Action, and the examples of both."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from deploy.release.project import REF
from planning.plan.text import MARK
from webhook.cli.main import command

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "deploy/examples"
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "deploy/github-action/action.yml").read_text())
STEPS: dict[str, dict[str, Any]] = {step["name"]: step for step in ACTION["runs"]["steps"]}
#: Names of the steps that are scripts.
SCRIPTS = [name for name, step in STEPS.items() if "run" in step]

GOOD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: web}]
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
        matchLabelKeys: [pod-template-hash]
"""
BAD = GOOD.replace("maxSkew: 1", "maxSkew: 0")

#: Runs the action's lint step, as the runner does, with inputs; gives the finished process.
Lint = Callable[..., subprocess.CompletedProcess[str]]


def _check(arguments: list[str]) -> None:
    """Parse a command line of ours, which runs nothing; fail with click's words."""
    program, *rest = arguments
    assert "evenkeel" == program
    parent = click.Context(command)
    name, found, rest = command.resolve_command(parent, rest)
    assert found is not None
    found.make_context(name, rest, parent=parent)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "file"),
    [
        pytest.param("validate-manifest", ROOT / ".pre-commit-hooks.yaml", id="our hooks"),
        pytest.param("validate-config", EXAMPLES / "pre-commit-config.yaml", id="the example"),
    ],
)
def test_pre_commit_takes_the_file(check: str, file: Path) -> None:
    """Hooks that pre-commit itself holds for valid."""
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", check, str(file)], capture_output=True, text=True, check=False
    )

    # What it says of the branch that is named before the first release; docs/ci.md says it, too.
    said = [line for line in done.stdout.splitlines() if "mutable reference" not in line or REF != "main"]

    assert (0, []) == (done.returncode, said)


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_names_a_real_command(hook: dict[str, Any]) -> None:
    """The entry and its arguments are a command line of ours."""
    _check([*shlex.split(hook["entry"]), *hook.get("args", [])])


@pytest.mark.parametrize(
    ("hook", "file", "wanted"),
    [
        ("evenkeel-lint", "web.yaml", True),
        ("evenkeel-lint", "deploy/web.yml", True),
        ("evenkeel-lint", "web.json", True),
        ("evenkeel-lint", "charts/web/templates/_spread.tpl", True),
        ("evenkeel-lint", "overlays/Kustomization", True),
        ("evenkeel-lint", "web.yaml.md", False),
        ("evenkeel-lint", "MyKustomization", False),
        ("evenkeel-fix", "web.yaml", True),
        ("evenkeel-fix", "deploy/a.b/web.yml", True),
        ("evenkeel-fix", ".pre-commit-config.yaml", False),
        ("evenkeel-fix", ".github/workflows/lint.yaml", False),
        ("evenkeel-fix", "deploy/.hidden/web.yaml", False),
    ],
)
def test_hooks_run_for_what_may_matter(hook: str, file: str, *, wanted: bool) -> None:
    """Lint runs when anything changes that may matter; fix gets no hidden file, which lint leaves out too."""
    (pattern,) = (each["files"] for each in HOOKS if each["id"] == hook)

    assert wanted == bool(re.search(pattern, file))


def test_the_example_uses_our_hooks() -> None:
    """Fixing comes before linting, and the arguments that it gives exist."""
    (repo,) = yaml.safe_load((EXAMPLES / "pre-commit-config.yaml").read_text())["repos"]
    entries = {hook["id"]: hook["entry"] for hook in HOOKS}

    assert ["evenkeel-fix", "evenkeel-lint"] == [hook["id"] for hook in repo["hooks"]]
    for hook in repo["hooks"]:
        _check([*shlex.split(entries[hook["id"]]), *hook.get("args", [])])


def test_no_expression_stands_in_a_script() -> None:
    """The runner pastes expressions into scripts: an input there could be a command."""
    assert SCRIPTS
    assert not [name for name in SCRIPTS if "${{" in STEPS[name]["run"]]


def test_every_script_is_run_by_a_test() -> None:
    """As a process, by the name of its step; a new step needs a test of its own."""
    assert set(SCRIPTS) == set(re.findall(r'_run_step\(\s*"([^"]+)"', Path(__file__).read_text()))


def test_the_action_uses_the_inputs_that_it_has() -> None:
    """Every input is described and used, and none is used that is not there."""
    used = set(re.findall(r"inputs\.([a-z-]+)", str(ACTION["runs"]) + str(ACTION["outputs"])))

    assert set(ACTION["inputs"]) == used
    assert all(each["description"] for each in ACTION["inputs"].values())


def test_the_example_workflow_gives_known_inputs() -> None:
    """Inputs and outputs of the action that the example uses exist."""
    text = (EXAMPLES / "github-workflow.yaml").read_text()
    (given,) = (
        step["with"]
        for step in yaml.safe_load(text)["jobs"]["lint"]["steps"]
        if "/deploy/github-action@" in step["uses"]
    )

    assert set(given) <= set(ACTION["inputs"])
    assert set(re.findall(r"steps\.evenkeel\.outputs\.([a-z-]+)", text)) <= set(ACTION["outputs"])


@pytest.fixture
def lint(tmp_path: Path) -> Lint:
    """Return a function that runs the action's lint step in a folder with a good and a bad manifest."""
    work, temporary = tmp_path / "work", tmp_path / "temporary"
    work.mkdir()
    temporary.mkdir()
    (work / "good.yaml").write_text(GOOD)
    (work / "bad.yaml").write_text(BAD)

    def run(**inputs: str) -> subprocess.CompletedProcess[str]:
        return _run_step("Lint", work, {"SUMMARY": str(temporary / "summary.md")}, inputs)

    return run


def _run_step(
    name: str, work: Path, environment: dict[str, str], inputs: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a step of the action as the runner does; its outputs and summary go beside the working folder."""
    values = {name: each["default"] for name, each in ACTION["inputs"].items()} | inputs
    files = {name: str(work.parent / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    step = STEPS[name]
    given = {
        name: re.sub(r"\$\{\{ inputs\.([a-z-]+) }}", lambda found: values[found[1]], text)
        for name, text in step["env"].items()
    } | {"EVENKEEL": str(Path(sys.executable).with_name("evenkeel")), **environment}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=work, env={**os.environ, **files, **given}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_the_action_installs_its_own_revision(tmp_path: Path) -> None:
    """Into a folder without pip, by the script that images use, with the Python of the step before."""
    script = tmp_path / "source/deploy/install.sh"
    script.parent.mkdir(parents=True)
    script.write_text('#!/bin/sh\necho "$PYTHON $1" > "$(dirname "$0")/called"\n')
    script.chmod(0o755)
    folder = tmp_path / "a folder"
    given = {"PYTHON": sys.executable, "FOLDER": str(folder), "SOURCE": str(tmp_path / "source")}
    done = _run_step("Install Evenkeel", tmp_path, given, {})

    assert (0, "") == (done.returncode, done.stderr)
    assert f"{sys.executable} {folder}\n" == script.with_name("called").read_text()
    assert (folder / "bin/python").exists()
    assert not (folder / "bin/pip").exists()


@pytest.mark.slow
def test_the_action_tells_findings_and_fails(lint: Lint, tmp_path: Path) -> None:
    """An error becomes an annotation, a SARIF file, a summary, and the exit code of the step."""
    done = lint()

    assert 1 == done.returncode
    assert done.stdout.startswith("::error file=bad.yaml,line=12,title=max-skew-not-positive::")
    assert (tmp_path / "work/evenkeel.sarif").is_file()
    assert "max-skew-not-positive" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    assert ["exit-code=1", "has-sarif=true"] == (tmp_path / "GITHUB_OUTPUT").read_text().split()


@pytest.mark.slow
def test_the_action_hands_inputs_on(lint: Lint, tmp_path: Path) -> None:
    """Lists come a line each, and without a file for SARIF there is none."""
    given = {"paths": "\nbad.yaml\ngood.yaml\n", "policy": "builtin:default\nbuiltin:audit\n", "sarif": ""}
    done = lint(**given, **{"fail-on": "never", "kubernetes-version": "1.33"})

    assert (0, ["exit-code=0"]) == (done.returncode, (tmp_path / "GITHUB_OUTPUT").read_text().split())
    assert "checked 2 files" in done.stderr


@pytest.mark.slow
def test_inputs_are_no_commands(lint: Lint, tmp_path: Path) -> None:
    """Whatever an input contains, it is a path or a value, never a command or a further option."""
    paths = "$(touch ../pwned)\n`touch ../pwned`\n'; touch ../pwned; '\n*\n--write-baseline=pwned"
    done = lint(paths=paths, sarif="$(touch pwned) x.sarif")

    assert 2 == done.returncode
    assert 5 == done.stdout.count("::error file=")
    assert [] == [*tmp_path.rglob("pwned")]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with a manifest, another one of the same workload, and a cluster."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "before.yaml").write_text(GOOD)
    (work / "after.yaml").write_text(GOOD.replace("replicas: 3", "replicas: 4"))
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    (work / "nodes.json").write_text(json.dumps({"kind": "List", "items": [node]}))
    return work


@pytest.mark.slow
def test_the_action_plans(work: Path, tmp_path: Path) -> None:
    """The plan is in the log and in the summary, and fails the step as it fails the command."""
    given = {"plan-from": "before.yaml", "paths": "after.yaml", "cluster": "nodes.json"}
    done = _run_step("Plan", work, {"PLAN": str(tmp_path / "plan.md")}, given)
    outputs = (tmp_path / "GITHUB_OUTPUT").read_text().split()

    assert (1, ["exit-code=1", "has-plan=true"]) == (done.returncode, outputs)
    assert "Plan: 0 to add, 1 to change" in done.stdout
    assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text() == (tmp_path / "plan.md").read_text()


@pytest.mark.slow
def test_inputs_of_the_plan_are_no_commands(work: Path, tmp_path: Path) -> None:
    """Whatever an input contains, it is a path or a value."""
    given = {"plan-from": "$(touch ../pwned)", "paths": "`touch ../pwned`\n--live", "cluster": "nodes.json"}
    done = _run_step("Plan", work, {"PLAN": str(tmp_path / "plan.md")}, given)

    assert 2 == done.returncode
    assert not (tmp_path / "pwned").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("comments", "expected"),
    [
        pytest.param("", "--method POST repos/o/r/issues/7/comments", id="the first"),
        pytest.param("11\n12\n", "--method PATCH repos/o/r/issues/comments/11", id="a later one"),
    ],
)
def test_the_action_comments(work: Path, tmp_path: Path, comments: str, expected: str) -> None:
    """One comment is written, and replaced by later runs."""
    (tmp_path / "comments").write_text(comments)
    (tmp_path / "gh").write_text(
        '#!/bin/sh\necho "$*" >> ../calls\ncase "$*" in *--paginate*) cat ../comments;; esac\n'
    )
    (tmp_path / "gh").chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PLAN": "plan.md",
        "NUMBER": "7",
        "GITHUB_REPOSITORY": "o/r",
    }
    done = _run_step("Comment", work, environment, {"token": "t"})
    _, written = (tmp_path / "calls").read_text().splitlines()

    assert (0, f"api --silent {expected} --field body=@plan.md") == (done.returncode, written)


def test_the_comment_is_found_by_its_first_line() -> None:
    """It is the one with which the report begins."""
    assert f'startswith("{MARK}")' in STEPS["Comment"]["run"]


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.yaml")), ids=lambda file: file.name)
def test_the_examples_are_yaml(file: Path) -> None:
    """Every example says in a comment what it is, and is YAML."""
    text = file.read_text()

    assert text.startswith("# ")
    assert all(isinstance(document, dict) for document in yaml.safe_load_all(text))

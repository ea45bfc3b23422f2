"""All that is installed and run for a release is pinned by its content, not by a name that may move."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from deploy.release.archives import PYTHONS
from deploy.release.project import SLUG
from tests.deploy.manifests import DEPLOY

#: Files of ours whose steps GitHub runs.
WORKFLOWS = sorted(
    [
        *(DEPLOY.parent / ".github/workflows").iterdir(),
        DEPLOY / "examples/github-workflow.yaml",
        DEPLOY / "github-action/action.yml",
    ]
)
#: The workflow of a tag.
RELEASE = DEPLOY.parent / ".github/workflows/release.yaml"
#: One a line: a requirement with its hashes.
CONSTRAINTS = [
    line
    for line in (DEPLOY / "constraints.txt").read_text().replace("\\\n", " ").splitlines()
    if not line.lstrip().startswith("#")
]
#: What tests, checks and builds a checkout, by the line of each release.
TOOLS = [
    Requirement(line.partition("#")[0])
    for line in (DEPLOY / "tools.txt").read_text().splitlines()
    if not line.lstrip().startswith("#")
]
PROJECT = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())


def _pins(name: str) -> list[str]:
    """Return the releases of a tool that are pinned, one for each kind of system that differs."""
    return [
        str(tool.specifier).removeprefix("==")
        for tool in TOOLS
        if canonicalize_name(name) == canonicalize_name(tool.name)
    ]


def _steps(path: Path) -> list[dict[str, Any]]:
    document = yaml.safe_load(path.read_text())
    jobs = [document["runs"]] if "runs" in document else document["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


@pytest.mark.parametrize("line", CONSTRAINTS, ids=lambda line: line.split()[0])
def test_every_package_has_hashes(line: str) -> None:
    """Whatever a registry serves, only files that existed when this was written are installed."""
    assert re.fullmatch(r"[a-z0-9-]+==[\w.]+ ( *; [^#]*?)?( +--hash=sha256:[0-9a-f]{64})+", line)


@pytest.mark.parametrize(
    "text",
    [
        *PROJECT["build-system"]["requires"],
        *(
            text
            for extra in PROJECT["project"]["optional-dependencies"].values()
            for text in extra
            if not text.startswith("kube-evenkeel[")
        ),
    ],
)
def test_a_tool_is_one_release_that_we_allow(text: str) -> None:
    """A checkout does not depend on the day that it is set up; `make constraints` pins a new tool."""
    pins = _pins(Requirement(text).name)

    assert pins
    assert [] == [pin for pin in pins if not Requirement(text).specifier.contains(pin)]


@pytest.mark.parametrize("line", CONSTRAINTS, ids=lambda line: line.split()[0])
def test_tests_run_with_what_an_image_has(line: str) -> None:
    """What is in both lists is the same release in both."""
    pinned = Requirement(line.partition("--hash")[0])

    assert _pins(pinned.name) == [str(pinned.specifier).removeprefix("==")]


def test_all_that_pip_installs_is_pinned() -> None:
    """Whatever target of the Makefile it is for."""
    makefile = (DEPLOY.parent / "Makefile").read_text()
    calls = [line for line in makefile.replace("\\\n", " ").splitlines() if "pip install" in line]

    assert 2 == len(calls)
    assert [] == [line for line in calls if "deploy/tools.txt" not in line]


def test_each_package_of_the_image_has_a_reason() -> None:
    """The decision lists what an image installs and keeps, each package once, and few of them."""
    script = (DEPLOY / "install.sh").read_text()
    (removed,) = re.findall(r"^pip uninstall --yes (.*)$", script, re.MULTILINE)
    kept = {Requirement(line.partition("--hash")[0]).name for line in CONSTRAINTS} - {*removed.split()}
    text = (DEPLOY.parent / "docs/decisions/installation.md").read_text()
    (count, table) = re.findall(
        r"\n## The image has (\d+) packages.*?\|---\|---\|\n(.*?)\n\n", text, re.DOTALL
    )[0]
    cells = [line.split("|")[1] for line in table.splitlines()]

    assert sorted(kept) == sorted(
        name for cell in cells for name in re.findall(r"\b(?!with\b)[a-z][a-z0-9-]+", cell)
    )
    assert len(kept) == int(count) <= 56


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_commits(path: Path) -> None:
    """A tag of an action may move; the comment says which release the commit is."""
    used = re.findall(rf"^ +(?:- )?uses: (?!{SLUG}/)(.*)$", path.read_text(), re.MULTILINE)

    assert used
    assert used == [each for each in used if re.search(r"@[0-9a-f]{40}  # v\d+\.\d+\.\d+$", each)]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_no_expression_stands_in_a_script(path: Path) -> None:
    """The runner pastes expressions into scripts: the name of a tag there could be a command."""
    assert not [step for step in _steps(path) if "${{" in step.get("run", "")]


@pytest.mark.parametrize("path", ["Dockerfile", "github-action/action.yml"])
def test_one_script_installs(path: str) -> None:
    """Image and action install by hashes, and build nothing but this source tree."""
    text, script = (DEPLOY / path).read_text(), (DEPLOY / "install.sh").read_text()

    assert "deploy/install.sh" in text
    assert not re.search(r"\bpip\S* install\b", text)
    assert "--require-hashes --only-binary :all:" in script
    assert "--no-deps --no-index --no-build-isolation" in script


@pytest.mark.parametrize("path", sorted(RELEASE.parent.iterdir()), ids=lambda path: path.name)
def test_what_a_workflow_makes_is_a_target(path: Path) -> None:
    """A workflow does what anyone can do in a checkout, by the same name."""
    targets = set(re.findall(r"^([a-z0-9-]+):.*## ", (DEPLOY.parent / "Makefile").read_text(), re.MULTILINE))
    called = {
        name
        for step in _steps(path)
        for name in re.findall(r"^\s*make ([a-z0-9-]+)", step.get("run", ""), re.MULTILINE)
    }

    assert called
    assert set() == called - targets


def test_every_supported_python_is_tested() -> None:
    """From the oldest that the package can be installed with, as the archives have them."""
    jobs = yaml.safe_load((RELEASE.parent / "ci.yaml").read_text())["jobs"]

    assert list(PYTHONS) == jobs["test"]["strategy"]["matrix"]["python"]


def test_what_has_no_hashes_may_change_nothing() -> None:
    """The job that signs and pushes installs nothing, and begins when the one that tests has ended."""
    document = yaml.safe_load(RELEASE.read_text())
    jobs = document["jobs"]
    # A make target that needs no environment.
    plain = {"make corpus"}
    for job in jobs.values():
        ours = [
            line.strip()
            for step in job["steps"]
            for line in step.get("run", "").splitlines()
            if re.match(r"\s*(make|pip|python|npm|npx)\b", line)
        ]
        rights = {name for name, right in job.get("permissions", {}).items() if right == "write"}

        assert not rights or set(ours) <= plain
    assert {"contents": "read"} == document["permissions"] == jobs["check"]["permissions"]
    assert ["check", "systems", "archives"] == jobs["release"]["needs"]
    assert re.search(r"^corpus: ## ", (DEPLOY.parent / "Makefile").read_text(), re.MULTILINE)


def test_a_release_is_tested_listed_and_signed() -> None:
    """In this order, and of the image that was pushed."""
    steps = _steps(RELEASE)
    runs = [step.get("run", step.get("uses", "")).splitlines()[0] for step in steps]
    done = [run.split("@")[0].split(" --")[0].strip() for run in runs]
    wanted = [
        "make check", "make test", "make sbom", "make dist",
        "docker/build-push-action", "actions/attest-build-provenance", "actions/attest-build-provenance",
    ]  # fmt: skip
    build = next(step for step in steps if step.get("id") == "build")

    assert wanted == [each for each in done if each in wanted]
    assert "mode=max" == build["with"]["provenance"]
    assert "deploy/Dockerfile" == build["with"]["file"]

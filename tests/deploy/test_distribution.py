"""The published wheels hold one name, and a base install runs all that needs no more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXAMPLES = ROOT / "docs/examples"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what ``make dist`` builds of the two distributions."""
    folder = tmp_path_factory.mktemp("dist")
    for source in (ROOT, ROOT / "conformance"):
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(source)]
        subprocess.run(command, check=True, capture_output=True, text=True)
    return folder


def _wheel(built: Path, name: str) -> Path:
    (found,) = built.glob(f"{name}-*.whl")
    return found


def _closure(requirements: list[str]) -> set[str]:
    """Return the names of all distributions that some need, themselves among them."""
    found: set[str] = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        waiting += map(Requirement, distribution(name).requires or ())
    return found


def base_closure() -> set[str]:
    """Return the names of the distributions that a base install needs."""
    return _closure(PROJECT["dependencies"])


@pytest.fixture(scope="module")
def base(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the ``bin`` of an environment with the wheel, and of other packages those that it requires.

    They are links to the ones that the tests run with, so nothing is downloaded.
    """
    folder = tmp_path_factory.mktemp("base")
    venv.create(folder, with_pip=False, symlinks=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    for name in base_closure():
        owned = distribution(name)
        for top in {
            path.parts[0] for path in owned.files or () if path.parts[0] not in ("..", "__pycache__")
        }:
            (packages / top).symlink_to(Path(str(owned.locate_file(top))).resolve())
    install = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "install", "--no-deps"]
    subprocess.run(
        [*install, "--no-index", "--quiet", str(_wheel(built, "evenkeel"))], check=True, capture_output=True
    )
    return folder / "bin"


def _run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    # Passed on by name, for readline writes the terminal's size where os.environ does not see it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(command, cwd=EXAMPLES, env=environment, capture_output=True, text=True, check=False)


def test_one_name_in_site_packages(built: Path) -> None:
    """Other distributions may have a ``policies`` or a ``webhook`` of their own."""
    names = {
        name.partition("/")[0]
        for wheel in built.glob("*.whl")
        for name in zipfile.ZipFile(wheel).namelist()
        if ".dist-info/" not in name
    }

    assert {"evenkeel"} == names


def test_data_files_are_in_the_wheel(built: Path) -> None:
    """Each schema, policy and page of the repository, and no source of the page or test."""
    inside = {
        name.removeprefix("evenkeel/") for name in zipfile.ZipFile(_wheel(built, "evenkeel")).namelist()
    }
    tracked = subprocess.run(
        ["git", "ls-files", "certs", "policies", "webhook", ":!webhook/ui/page"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip

    assert set() == set(tracked) - inside
    assert not [name for name in inside if name.startswith(("tests", "webhook/ui/page/"))]


def test_the_source_archive_has_no_more(built: Path) -> None:
    """What builds the wheel, and what people read: no test, no benchmark, nothing of this folder's tools."""
    (archive,) = built.glob("evenkeel-*.tar.gz")
    with tarfile.open(archive) as opened:
        tops = {Path(name).parts[1] for name in opened.getnames() if len(Path(name).parts) > 1}

    assert {"certs", "evenkeel", "policies", "webhook", "pyproject.toml", "README.md", "LICENSE"} <= tops
    assert tops <= {
        *("certs", "evenkeel", "policies", "webhook", "pyproject.toml", "README.md", "LICENSE"),
        *("CHANGELOG.md", "PKG-INFO", ".gitignore"),
    }


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--version"], 0),
        (["lint", "web.yaml"], 0),
        (["fix", "--diff", "web.yaml"], 0),
        (["explain", "-f", "web.yaml", "--cluster", "cluster.yaml"], 1),
        (["score", "-f", "web.yaml", "--cluster", "cluster.yaml"], 1),
        (["simulate", "-f", "web.yaml", "--cluster", "cluster.yaml"], 1),
        (["survive", "zone", "-f", "web.yaml", "--cluster", "cluster.yaml"], 1),
        (["audit", "--cluster", "cluster.yaml"], 0),
        (["policy", "check", "policy.yaml"], 0),
        (["rule", "max-skew-not-positive"], 0),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_the_base_install_answers_from_files(base: Path, arguments: list[str], code: int) -> None:
    """With neither the Kubernetes client nor any part of the server."""
    here = _run(sys.executable, "-m", "evenkeel", *arguments)
    done = _run(base / "evenkeel", *arguments)

    assert (code, here.stdout, here.stderr) == (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["audit", "--live"], "live"),
        (["snapshot"], "live"),
        (["doctor"], "live"),
        (["certs", "init"], "certs"),
        (["ui", "--cluster", "cluster.yaml"], "ui"),
        (["serve", "--self-signed"], "server"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_needs_more_names_the_line_to_type(base: Path, arguments: list[str], extra: str) -> None:
    """The extra has all that the command needs, as far as its first import tells."""
    done = _run(base / "evenkeel", *arguments)

    assert 3 == done.returncode
    assert f"pip install 'evenkeel[{extra}]'\n" in done.stderr
    assert 1 == done.stderr.count("\n")


def test_conformance_is_found_beside_it(built: Path, base: Path, tmp_path: Path) -> None:
    """Its wheel adds to the folder of the other."""
    assert "evenkeel-conformance" in _run(base / "evenkeel", "conformance").stderr
    zipfile.ZipFile(_wheel(built, "evenkeel_conformance")).extractall(tmp_path)
    (packages,) = base.parent.glob("lib/python3*/site-packages")
    link = packages / "evenkeel/conformance"
    link.symlink_to(tmp_path / "evenkeel/conformance")
    try:
        done = _run(base / "evenkeel", "conformance", "--feature", "list-defaults", "-o", "json")
    finally:
        link.unlink()

    assert (0, "") == (done.returncode, done.stderr)
    assert json.loads(done.stdout)

"""The published wheels hold one name, and a base install runs all that needs no more."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

import click
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.forked import BASE_LIBRARIES, forked_python
from tests.webhook.cli.in_process import evenkeel
from webhook.cli import main

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXAMPLES = ROOT / "docs/examples"
#: The libraries of all extras that are slow to import.
LIBRARIES = (
    *BASE_LIBRARIES,
    *("cryptography.x509", "flask", "gunicorn", "kubernetes.client", "prometheus_client", "urllib3"),
)
#: Runs a command in an environment.
Evenkeel = Callable[..., subprocess.CompletedProcess[str]]

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


def closure(*extras: str) -> set[str]:
    """Return the names of the distributions that an install with some extras needs besides Evenkeel's own."""
    seen: set[tuple[str, str]] = set()
    waiting = [("kube-evenkeel", extra) for extra in ("", *extras)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        for requirement in map(Requirement, distribution(name).requires or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                waiting += [(canonicalize_name(requirement.name), each) for each in ("", *requirement.extras)]
    return {name for name, _ in seen} - {"kube-evenkeel"}


def _environment(folder: Path, *extras: str) -> Path:
    """Make an environment with what some extras require, as links to what the tests run with.

    Nothing is downloaded so.

    Returns:
        Its ``site-packages``.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    for name in closure(*extras):
        _link(packages, name)
    return packages


def _link(packages: Path, name: str) -> None:
    owned = distribution(name)
    for top in {path.parts[0] for path in owned.files or ()} - {"..", "__pycache__"}:
        (packages / top).symlink_to(Path(str(owned.locate_file(top))).resolve())


@pytest.fixture(scope="module")
def base(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the ``bin`` of an environment with the wheel and no extra."""
    folder = tmp_path_factory.mktemp("environment")
    _environment(folder)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "install", "--no-deps"]
    wheel = str(_wheel(built, "kube_evenkeel"))
    subprocess.run([*pip, "--no-index", "--quiet", wheel], check=True, capture_output=True)
    return folder / "bin"


@pytest.fixture(scope="module")
def installed(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Evenkeel]]:
    """Return a function that gives ``evenkeel`` of an environment with some extras."""
    (wheel,) = base.parent.glob("lib/python3*/site-packages")
    variables = _variables()
    with ExitStack() as running:

        @cache
        def install(extras: str) -> Evenkeel:
            python = base / "python"
            if extras:
                folder = tmp_path_factory.mktemp("environment")
                packages = _environment(folder, *extras.split(","))
                for part in wheel.glob("kube_evenkeel*"):
                    (packages / part.name).symlink_to(part)
                python = folder / "bin/python"
            forked = running.enter_context(forked_python(python, variables, LIBRARIES))
            return lambda *arguments: forked.run(
                "from kube_evenkeel.start import run; run()",
                *("evenkeel", *arguments),
                folder=EXAMPLES,
                environment=variables,
            )

        yield install


@pytest.fixture(scope="module")
def base_evenkeel(installed: Callable[[str], Evenkeel]) -> Evenkeel:
    """Return ``evenkeel`` of the environment with no extra."""
    return installed("")


def _variables() -> dict[str, str]:
    # Passed on by name, for readline writes the terminal's size where os.environ does not see it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    # There is no cluster.
    return environment | {"KUBECONFIG": os.devnull, "KUBERNETES_SERVICE_HOST": ""}


def _run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=EXAMPLES, env=_variables(), capture_output=True, text=True, check=False
    )


def test_one_name_in_site_packages(built: Path) -> None:
    """Other distributions may have a ``policies`` or a ``webhook`` of their own."""
    names = {
        name.partition("/")[0]
        for wheel in built.glob("*.whl")
        for name in zipfile.ZipFile(wheel).namelist()
        if ".dist-info/" not in name
    }

    assert {"kube_evenkeel"} == names


def test_data_files_are_in_the_wheel(built: Path) -> None:
    """Each schema, policy and page of the repository, and no source of the page or test."""
    inside = {
        name.removeprefix("kube_evenkeel/")
        for name in zipfile.ZipFile(_wheel(built, "kube_evenkeel")).namelist()
    }
    tracked = subprocess.run(
        ["git", "ls-files", "certs", "planning", "policies", "webhook", ":!webhook/ui/page"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip

    assert set() == set(tracked) - inside
    assert not [name for name in inside if name.startswith(("tests", "webhook/ui/page/"))]


def test_the_wheel_has_the_licenses_of_what_it_holds(built: Path) -> None:
    """Each package of the page's bundle asks that its license goes with every copy."""
    wheel = zipfile.ZipFile(_wheel(built, "kube_evenkeel"))
    (notices,) = (
        wheel.read(name).decode()
        for name in wheel.namelist()
        if name.endswith("built/third-party-notices.txt") and ".dist-info/licenses/" in name
    )
    direct = json.loads((ROOT / "webhook/ui/page/package.json").read_text())["dependencies"]

    assert [] == [name for name, release in direct.items() if f"\n{name} {release}\n" not in notices]


def test_the_source_archive_has_no_more(built: Path) -> None:
    """It has the wheel's sources and the files that people read: no tests, benchmarks or build tools."""
    (archive,) = built.glob("kube_evenkeel-*.tar.gz")
    with tarfile.open(archive) as opened:
        tops = {Path(name).parts[1] for name in opened.getnames() if len(Path(name).parts) > 1}

    needed = {"certs", "kube_evenkeel", "planning", "policies", "webhook"}
    needed |= {"pyproject.toml", "README.md", "LICENSE"}
    assert needed <= tops <= needed | {"CHANGELOG.md", "PKG-INFO", ".gitignore"}


def test_the_base_install_is_small(base: Path) -> None:
    """At most 130 MB on the disk, with what it requires and with what Python compiles of it."""
    (packages,) = base.parent.glob("lib/python3*/site-packages")
    folders = [
        packages / "kube_evenkeel",
        *(path.resolve() for path in packages.iterdir() if path.is_symlink()),
    ]
    files = {file for folder in folders for file in (folder, *folder.rglob("*")) if file.is_file()}

    assert sum(file.stat().st_blocks * 512 for file in files) <= 130_000_000


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--version"], 0),
        (["lint", "web.yaml"], 0),
        (["lint", "--diff", "web.yaml"], 0),
        (["explain", "-f", "web.yaml", "--cluster", "cluster.yaml"], 1),
        (["explain", "-f", "web.yaml", "--cluster", "cluster.yaml", "-o", "scores"], 1),
        (["what-if", "-f", "web.yaml", "--cluster", "cluster.yaml"], 1),
        (["what-if", "--lose-each", "zone", "--cluster", "cluster.yaml"], 0),
        (["audit", "--cluster", "cluster.yaml"], 0),
        (["policy", "check", "policy.yaml"], 0),
        (["lint", "--explain", "max-skew-not-positive"], 0),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_the_base_install_answers_from_files(
    base_evenkeel: Evenkeel, arguments: list[str], code: int
) -> None:
    """With neither the Kubernetes client nor any part of the server."""
    here = evenkeel(*arguments, folder=EXAMPLES)
    done = base_evenkeel(*arguments)

    assert (code, here.stdout.decode(), here.stderr.decode()) == (done.returncode, done.stdout, done.stderr)


def test_the_installed_program(base: Path) -> None:
    """It is a program of its own, which needs no Python on the command line."""
    here = evenkeel("lint", "web.yaml", folder=EXAMPLES)
    done = _run(base / "evenkeel", "lint", "web.yaml")

    assert (0, here.stdout.decode(), "") == (done.returncode, done.stdout, done.stderr)


def _paths(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command below one that runs something."""
    if not isinstance(command, click.Group):
        yield path
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        if (below := command.get_command(context, name)) is not None:
            yield from _paths(below, (*path, name))


COMMANDS = [" ".join(path) for path in _paths(main.command)]
#: Command lines that need an extra, and the smallest that has all they need.
NEEDING = {
    "lint --live web.yaml": "live",
    "plan --live web.yaml": "live",
    "explain -f web.yaml --live": "live",
    "explain deploy/web": "live",
    "explain -f web.yaml --live -o scores": "live",
    "what-if -f web.yaml --live --lose zone=a": "live",
    "what-if deploy/web --replicas 6": "live",
    "what-if --lose-each zone --live": "live",
    "audit --live": "live",
    "snapshot": "live",
    "advise -f web.yaml --live --lose-at-most 1/3": "live",
    "audit deploy/web --evictions --live": "live",
    "policy preview -f policy.yaml --live": "live",
    "doctor": "live",
    "certs init --cert-dir {empty}": "certs",
    "certs show --cert-dir {empty}": "certs",
    "certs show": "live",
    "certs rotate --cert-dir {empty}": "certs",
    "certs rotate": "live",
    "certs inject --cert-dir {empty} -f web.yaml": "certs",
    "certs inject": "live",
    "ui --cluster cluster.yaml --port {taken}": "ui",
    "ui --live": "live,ui",
    "serve --self-signed --live": "server",
}
#: Commands that need none, whatever their options are.
NEEDING_NONE = {
    "completion",
    *(f"policy {name}" for name in ("check", "emit", "schema", "show", "test")),
}


def test_no_command_is_left_out() -> None:
    """Each needs an extra for some of its options, none for any, or a distribution of its own."""
    needing = {name for name in COMMANDS for line in NEEDING if f"{line} ".startswith(f"{name} ")}

    assert set(COMMANDS) == needing | NEEDING_NONE | set(main.APART)
    assert set() == needing & NEEDING_NONE


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - set(main.APART)))
def test_the_base_install_has_all_help(base_evenkeel: Evenkeel, command: str) -> None:
    """Also of commands that do nothing without an extra."""
    done = base_evenkeel(*command.split(), "--help")

    assert (0, "") == (done.returncode, done.stderr)
    assert f"Usage: evenkeel {command}" in done.stdout


@pytest.fixture
def fill(tmp_path: Path) -> Iterator[Callable[[str], list[str]]]:
    """Return a function that gives the words of a command line, with a folder and a port in it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        yield lambda line: line.format(empty=tmp_path / "empty", taken=port).split()


@pytest.mark.parametrize(("line", "extra"), NEEDING.items(), ids=str)
def test_what_needs_more_names_the_line_to_type(
    built: Path, base_evenkeel: Evenkeel, fill: Callable[[str], list[str]], line: str, extra: str
) -> None:
    """In one line, which names an extra that has all that is needed."""
    done = base_evenkeel(*fill(line))

    assert 3 == done.returncode
    wheel = _wheel(built, "kube_evenkeel").as_uri()
    assert f"pip install 'kube-evenkeel[{extra}] @ {wheel}'\n" in done.stderr
    assert 1 == done.stderr.count("\n")


@pytest.mark.parametrize(("line", "extra"), NEEDING.items(), ids=str)
def test_what_the_line_installs_is_enough(
    installed: Callable[[str], Evenkeel], fill: Callable[[str], list[str]], line: str, extra: str
) -> None:
    """The command gets to what is wrong with its input: no cluster, a port that is in use."""
    done = installed(extra)(*fill(line))

    assert "is not installed" not in done.stderr
    assert "internal error" not in done.stderr
    assert done.returncode in (0, 2, 3)


@pytest.mark.parametrize(
    ("marker", "extra", "distribution_of_its_own"),
    [
        ("pipx_metadata.json", "pipx install --force '{}'", "pipx inject kube-evenkeel '{}'"),
        ("uv-receipt.toml", "uv tool install '{}'", "uv tool install '{}' --with '{}'"),
    ],
)
def test_the_line_is_for_the_program_that_installed_it(
    built: Path, base: Path, marker: str, extra: str, distribution_of_its_own: str
) -> None:
    """The pip of a shell would not reach the environments that pipx and uv make."""
    own, apart = (
        f"@ {_wheel(built, name).as_uri()}" for name in ("kube_evenkeel", "kube_evenkeel_conformance")
    )
    file = base.parent / marker
    file.touch()
    try:
        snapshot, conformance = (_run(base / "evenkeel", name).stderr for name in ("snapshot", "conformance"))
    finally:
        file.unlink()

    sources = [f"kube-evenkeel-conformance {apart}"]
    if distribution_of_its_own.count("{}") == 2:
        sources.insert(0, f"kube-evenkeel {own}")
    assert snapshot.endswith(f": {extra.format(f'kube-evenkeel[live] {own}')}\n")
    assert conformance.endswith(f": {distribution_of_its_own.format(*sources)}\n")


@pytest.fixture(scope="module")
def index(built: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of an index that has both wheels, and another project that is named evenkeel."""
    sources, simple = tmp_path_factory.mktemp("hostile"), tmp_path_factory.mktemp("index") / "simple"
    (sources / "evenkeel.py").touch()
    (sources / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "evenkeel"\nversion = "99"\noptional-dependencies.live = []\n'
    )
    command = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--wheel",
        "--outdir",
        str(sources),
        str(sources),
    ]
    subprocess.run(command, check=True, capture_output=True)
    for wheel in (*built.glob("*.whl"), *sources.glob("*.whl")):
        folder = simple / canonicalize_name(wheel.name.partition("-")[0])
        folder.mkdir(parents=True)
        shutil.copy(wheel, folder)
        (folder / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>')
    return simple.as_uri()


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["kube-evenkeel"], id="of an index"),
        pytest.param(["{wheel}"], id="of a wheel"),
        pytest.param([str(ROOT)], id="of a folder"),
        pytest.param(["--editable", str(ROOT)], id="of a checkout that is edited"),
    ],
)
def test_the_line_installs_nothing_of_others(
    built: Path, index: str, tmp_path: Path, words: list[str]
) -> None:
    """What is followed to the letter installs this copy's extra, and not what an index calls evenkeel."""
    packages = _environment(tmp_path, "live")
    for name in ("hatchling", "packaging", "pathspec", "pluggy", "trove-classifiers"):
        _link(packages, name)
    pip = f"{sys.executable} -m pip --python {tmp_path / 'bin/python'}"
    settings = {"PIP_INDEX_URL": index, "PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    environment = {**_variables(), **settings}

    def follow(line: str) -> None:
        line = line.replace("pip install", f"{pip} install --quiet --no-build-isolation")
        subprocess.run(["sh", "-c", line], cwd=tmp_path, env=environment, check=True, capture_output=True)

    follow(" ".join(["pip install", *words]).format(wheel=_wheel(built, "kube_evenkeel")))
    hint = "from webhook import distribution as d; print(d.extra_hint('live')); print(d.conformance_hint())"
    code = f"import sys, kube_evenkeel; sys.path.insert(0, kube_evenkeel.__path__[0]); {hint}"
    lines = _run(tmp_path / "bin/python", "-c", code).stdout.splitlines()
    for line in lines:
        follow(line)

    assert 2 == len(lines)
    names = {file.name.partition("-")[0] for file in packages.glob("*.dist-info")}
    assert {"kube_evenkeel", "kube_evenkeel_conformance"} <= names
    assert "evenkeel" not in names


def test_what_was_unpacked_cannot_be_added_to(built: Path, tmp_path: Path) -> None:
    """An archive of a release has no pip that knows it: no line would install anything there."""
    packages = _environment(tmp_path)
    zipfile.ZipFile(_wheel(built, "kube_evenkeel")).extractall(packages)
    done = _run(tmp_path / "bin/python", "-m", "kube_evenkeel", "snapshot")

    assert 3 == done.returncode
    assert "this copy cannot be added to" in done.stderr


def test_conformance_is_found_beside_it(built: Path, base: Path, tmp_path: Path) -> None:
    """Its wheel adds to the folder of the other."""
    assert "kube-evenkeel-conformance" in _run(base / "evenkeel", "conformance").stderr
    zipfile.ZipFile(_wheel(built, "kube_evenkeel_conformance")).extractall(tmp_path)
    (packages,) = base.parent.glob("lib/python3*/site-packages")
    link = packages / "kube_evenkeel/conformance"
    link.symlink_to(tmp_path / "kube_evenkeel/conformance")
    try:
        done = _run(base / "evenkeel", "conformance", "--feature", "list-defaults", "-o", "json")
    finally:
        link.unlink()

    assert (0, "") == (done.returncode, done.stderr)
    assert json.loads(done.stdout)

"""The parts of a release for people without pip: archives that need only Python, and their installers."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from deploy.release import archives, channels
from deploy.release.project import HOMEPAGE, PROJECT, ROOT, SLUG, VERSION
from docs.generator import repository
from tests.deploy.test_distribution import EXAMPLES, closure

#: The name of the folder of packages for the Python that runs the tests.
OWN = f"python{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an archive of the packages that the tests run with, so that nothing is downloaded."""
    folder = tmp_path_factory.mktemp("archive")
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (wheel,) = folder.glob("*.whl")
    lib = folder / "lib"
    archives.unpack(wheel, lib)
    for name in closure():
        owned = distribution(name)
        for path in owned.files or ():
            if path.parts[0] != ".." and path.suffix != ".pyc":
                target = lib / OWN / path
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(Path(str(owned.locate_file(path))), target)
    target = folder / archives.name_of("linux/amd64")
    archives.pack(lib, target)
    return target


@pytest.fixture(scope="module")
def plugin(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the plugin as krew installs it by the manifest: unpacked, moved, linked by its name."""
    folder = tmp_path_factory.mktemp("krew")
    manifest = yaml.safe_load(channels.krew_manifest(channels.digests(archive.parent)))
    (platform,) = manifest["spec"]["platforms"]
    with tarfile.open(archive) as opened:
        opened.extractall(folder / "unpacked", filter="data")
    installed = folder / "store/evenkeel"
    installed.mkdir(parents=True)
    for each in platform["files"]:
        for path in (folder / "unpacked").glob(each["from"]):
            shutil.move(path, installed / each["to"])
    link = folder / "bin/kubectl-evenkeel"
    link.parent.mkdir()
    link.symlink_to(installed / platform["bin"])
    return link


def _run(program: Path, *arguments: str, path: Path) -> subprocess.CompletedProcess[str]:
    """Run a program with nothing in its environment but a path to search."""
    return subprocess.run(
        [program, *arguments], cwd=EXAMPLES, env={"PATH": f"{path}:{os.defpath}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """Return a folder with a ``python3`` that has no package installed."""
    (tmp_path / "python3").symlink_to(Path(sys.base_prefix) / "bin" / OWN)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--version"], 0),
        (["lint", "web.yaml"], 0),
        (["explain", "-f", "web.yaml", "--cluster", "cluster.yaml"], 1),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_the_plugin_needs_nothing_but_python(
    plugin: Path, python: Path, arguments: list[str], code: int
) -> None:
    """It answers as the program of the repository does."""
    here = subprocess.run(
        [sys.executable, "-m", "kube_evenkeel", *arguments],
        cwd=EXAMPLES,
        capture_output=True,
        text=True,
        check=False,
    )
    done = _run(plugin, *arguments, path=python)

    assert (code, here.stdout, here.stderr) == (done.returncode, done.stdout, done.stderr)


@pytest.mark.slow
def test_a_python_that_there_are_no_packages_for(plugin: Path, tmp_path: Path) -> None:
    """The error names those that there are, and another one on the path is taken instead."""
    launcher = plugin.resolve()
    lib = tmp_path / "lib"
    (lib / "python3.99").mkdir(parents=True)
    (lib / "python3.98").mkdir()
    alone = Path(shutil.copy(launcher, tmp_path / "evenkeel"))
    (tmp_path / "python3").symlink_to(Path(sys.base_prefix) / "bin" / OWN)

    refused = _run(alone, path=tmp_path)
    (tmp_path / "python3.98").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "python3.98").chmod(0o755)
    taken = _run(alone, "lint", "-", path=tmp_path)

    assert (3, 1) == (refused.returncode, refused.stderr.count("\n"))
    assert "needs Python 3.98 or 3.99 on the path" in refused.stderr
    assert f"{alone} lint -\n" == taken.stdout


@pytest.mark.slow
def test_the_same_packages_give_the_same_archive(archive: Path, tmp_path: Path) -> None:
    """Anyone can build it again and compare."""
    archives.pack(archive.parent / "lib", tmp_path / "again.tar.gz")

    assert archive.read_bytes() == (tmp_path / "again.tar.gz").read_bytes()


def test_every_python_that_is_allowed_is_packed() -> None:
    """From the oldest on, without a gap."""
    allowed = SpecifierSet(PROJECT["requires-python"])
    minors = [int(python.partition(".")[2]) for python in archives.PYTHONS]

    assert all(allowed.contains(f"{python}.0") for python in archives.PYTHONS)
    assert not allowed.contains(f"3.{minors[0] - 1}.99")
    assert list(range(minors[0], minors[-1] + 1)) == minors


def test_what_a_platform_lacks_is_only_for_an_extra_of_it() -> None:
    """Archives without those packages lack the commands of certificates only; all else runs."""
    of_certificates = closure("certs") - closure()

    assert set(archives.LEFT_OUT) <= set(archives.PLATFORMS)
    assert all(names <= of_certificates for names in archives.LEFT_OUT.values())


def test_a_formula_for_one_processor_requires_it(sums: dict[str, str]) -> None:
    """Homebrew loads it on the other one, too, where it would find no address."""
    del sums["darwin/amd64"]

    assert re.search(r'arch: :arm64\n +url ".*darwin_arm64', channels.formula(sums))


def test_every_package_is_pinned_by_its_hashes() -> None:
    """The client of Kubernetes and the page are among them, the server is not."""
    names = archives.needed()

    assert {"numpy", "kubernetes", "cryptography", "flask"} <= names
    assert not {"gunicorn", "hatchling", "pytest"} & names
    assert all(
        re.fullmatch(r"\S+==\S+ +(--hash=sha256:[0-9a-f]{64} *)+", line) for line in archives.pinned(names)
    )


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("a-1-py3-none-any.whl", "all"),
        ("a-1-cp311-abi3-manylinux_2_28_x86_64.whl", "all"),
        ("a-1-cp313-cp313-macosx_11_0_arm64.whl", "python3.13"),
    ],
)
def test_a_wheel_is_unpacked_where_it_runs(name: str, folder: str, tmp_path: Path) -> None:
    """Packages compiled for one Python are not visible to another."""
    with zipfile.ZipFile(tmp_path / name, "w") as wheel:
        wheel.writestr("a.py", "")
        wheel.writestr("a-1.data/scripts/a", "")
    archives.unpack(tmp_path / name, tmp_path / "lib")

    assert [tmp_path / "lib" / folder / "a.py"] == [
        path for path in (tmp_path / "lib").rglob("*") if path.is_file()
    ]


@pytest.fixture
def sums(tmp_path: Path) -> dict[str, str]:
    """Return the digests of archives of all platforms."""
    for platform in archives.PLATFORMS:
        (tmp_path / archives.name_of(platform)).write_text(platform)
    return channels.digests(tmp_path)


def test_digests_are_those_of_the_files(sums: dict[str, str]) -> None:
    """Of each platform that was built, and of no other."""
    assert {name: hashlib.sha256(name.encode()).hexdigest() for name in archives.PLATFORMS} == sums


def test_the_manifest_is_what_krew_takes(sums: dict[str, str], tmp_path: Path) -> None:
    """By the rules of krew's own validation of manifests."""
    manifest: dict[str, Any] = yaml.safe_load(channels.krew_manifest(sums))
    spec = manifest["spec"]
    chosen = [each["selector"]["matchLabels"] for each in spec["platforms"]]

    assert ("krew.googlecontainertools.github.com/v1alpha2", "Plugin") == (
        manifest["apiVersion"],
        manifest["kind"],
    )
    assert "evenkeel" == manifest["metadata"]["name"]
    assert {"version", "homepage", "shortDescription", "description", "caveats", "platforms"} == set(spec)
    assert re.fullmatch(r"v\d+\.\d+\.\d+", spec["version"])
    assert len(spec["shortDescription"]) <= 50
    assert [tuple(name.split("/")) for name in archives.PLATFORMS] == [
        (each["os"], each["arch"]) for each in chosen
    ]
    for platform, each in zip(archives.PLATFORMS, spec["platforms"], strict=True):
        assert sums[platform] == each["sha256"]
        assert f"{HOMEPAGE}/releases/download/v{VERSION}/{archives.name_of(platform)}" == each["uri"]


def test_the_formula_has_every_platform(sums: dict[str, str]) -> None:
    """With its own address and digest, in the block of its system and processor."""
    text = channels.formula(sums)
    found = re.findall(r'(on_arm do|on_intel do)\n +url "(.*)"\n +sha256 "(.*)"\n', text)

    assert [
        ("on_intel do", channels.address("linux/amd64"), sums["linux/amd64"]),
        ("on_arm do", channels.address("linux/arm64"), sums["linux/arm64"]),
        ("on_arm do", channels.address("darwin/arm64"), sums["darwin/arm64"]),
        ("on_intel do", channels.address("darwin/amd64"), sums["darwin/amd64"]),
    ] == found
    assert (
        text.index("on_linux do")
        < text.index("linux_amd64")
        < text.index("on_macos do")
        < text.index("darwin_arm64")
    )
    assert len(re.findall(r'desc "(.*)"', text)[0]) < 80
    assert "$" not in re.sub(r'"\$@"', "", text)
    assert len(re.findall(r"\b(?:do|def|class)\b", re.sub(r'"[^"]*"', "", text))) == len(
        re.findall(r"^ *end$", text, re.MULTILINE)
    )


def test_one_place_says_where_the_project_is() -> None:
    """No file has a placeholder or another owner; `make generate` writes what pyproject.toml says."""
    tracked = subprocess.run(
        ["git", "grep", "-lIE", r"(github\.com|ghcr\.io)/[A-Za-z0-9_.-]+/evenkeel|OWNER[/]REPO"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    ).stdout.split()  # fmt: skip
    texts = {name: (ROOT / name).read_text() for name in tracked}

    copied = {name: text for name, text in texts.items() if not name.endswith(".py")}

    assert [] == [name for name, text in texts.items() if "OWNER" + "/REPO" in text]
    assert [] == [name for name, text in copied.items() if text != repository.current(text)]
    assert SLUG in texts["docs/ci.md"]


def test_nothing_points_at_a_tag_that_does_not_exist() -> None:
    """A tag of ours that people are told to fetch is a release of the CHANGELOG; there may be none yet."""
    released = set(re.findall(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE))
    ours = rf"(?:{SLUG}\S*?|\brev: )(?:[@/]|tags/)?v(\d+\.\d+\.\d+)"
    tracked = subprocess.run(
        ["git", "ls-files", "*.md", "*.y*ml", "deploy"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    named = {
        (name, tag) for name in tracked for tag in re.findall(ours, (ROOT / name).read_text(errors="ignore"))
    }

    assert re.findall(ours, f"{SLUG}/deploy/github-action@v9.8.7 rev: v9.8.6") == ["9.8.7", "9.8.6"]
    assert [] == sorted((name, tag) for name, tag in named if tag not in released)


def test_the_repository_is_said_once() -> None:
    """pyproject.toml has it, no module does."""
    assert {"Repository"} == set(PROJECT["urls"])
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Repository"] == HOMEPAGE
    assert [] == [path for path in (ROOT / "deploy/release").glob("*.py") if SLUG in path.read_text()]

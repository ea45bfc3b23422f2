"""One archive for each platform, which runs wherever there is a Python: all packages, for every Python.

``python -m deploy.release.archives [PLATFORM…]``; with none, all of them. It downloads what
``deploy/constraints.txt`` lists, by its hashes, and takes Evenkeel's own wheel from ``dist/``.

NumPy and a few others are compiled for one platform and one release of Python, so those are in a folder for
each, and all else in one that they share.
"""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from deploy.release.project import ROOT, VERSION

DIST: Final = ROOT / "dist"
#: The releases of Python that an archive runs on.
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
#: For each platform, by krew's words, the tags of the wheels that run on it, the best first. Windows is left
#: out, where krew wants an .exe.
PLATFORMS: Final = {
    "linux/amd64": ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"),
    "linux/arm64": ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"),
    "darwin/arm64": ("macosx_11_0_arm64",),
    "darwin/amd64": tuple(
        f"macosx_{release}_{binary}"
        for release in ("10_15", "10_13", "10_12", "10_9")
        for binary in ("x86_64", "universal2")
    ),
}
#: Packages without wheels for a platform, and what they need: cryptography has none for Macs with Intel since
#: 49. `evenkeel certs` and `doctor` need it, and say so there.
LEFT_OUT: Final = {"darwin/amd64": frozenset({"cryptography", "cffi", "pycparser"})}
#: What the archives can do besides reading files: not serve, which is the image's.
EXTRAS: Final = ("live", "ui")
#: The folder of packages that run on any of these Pythons.
ALL: Final = "all"


def name_of(platform: str) -> str:
    """Return the file name of a platform's archive."""
    return f"evenkeel_{VERSION}_{platform.replace('/', '_')}.tar.gz"


def needed() -> set[str]:
    """Return the names of the packages that some platform and Python need.

    The metadata of the environment says what that is.
    """
    surroundings = [
        {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": system}
        for python in PYTHONS
        for system in {platform.partition("/")[0] for platform in PLATFORMS}
    ]
    found: set[str] = set()
    waiting = [(Requirement("kube-evenkeel"), extra) for extra in EXTRAS]
    seen: set[tuple[str, str]] = set()
    while waiting:
        requirement, extra = waiting.pop()
        name = canonicalize_name(requirement.name)
        found.add(name)
        for text in () if (name, extra) in seen else distribution(name).requires or ():
            each = Requirement(text)
            if each.marker is None or any(
                each.marker.evaluate({**at, "extra": extra}) for at in surroundings
            ):
                waiting += [(each, wanted) for wanted in each.extras or ("",)]
        seen.add((name, extra))
    return found - {"kube-evenkeel"}


def pinned(names: Iterable[str]) -> list[str]:
    """Return the lines of constraints.txt for some packages, with their hashes.

    Markers are left out: pip would read them for the Python that it runs on.
    """
    lines = (ROOT / "deploy/constraints.txt").read_text("utf-8").replace("\\\n", " ").splitlines()
    pins = {found[1]: line for line in lines if (found := re.match(r"([a-z0-9-]+)==", line))}
    return [re.sub(r";.*?(?= --hash)", "", pins[name]) for name in sorted(names)]


def download(platform: str, folder: Path) -> None:
    """Fetch the wheels of one platform for every Python."""
    listed = folder / "requirements.txt"
    names = needed() - LEFT_OUT.get(platform, frozenset())
    listed.write_text("\n".join(pinned(names)) + "\n", "utf-8")
    tags = [f"--platform={tag}" for tag in PLATFORMS[platform]]
    for python in PYTHONS:
        abi = f"cp{python.replace('.', '')}"
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
                *("--only-binary=:all:", "--no-deps", "--require-hashes", f"--requirement={listed}"),
                *(f"--python-version={python}", "--implementation=cp"),
                *(f"--abi={abi}", "--abi=abi3", "--abi=none"),
                *(*tags, f"--dest={folder}"),
            ],
            check=True,
        )


def unpack(wheel: Path, lib: Path) -> None:
    """Unpack a wheel into the folder of its Python, or of all."""
    tags = parse_wheel_filename(wheel.name)[3]
    abis = {tag.abi for tag in tags}
    pythons = {f"python3.{tag.interpreter.removeprefix('cp3')}" for tag in tags}
    folder = ALL if abis <= {"none", "abi3"} else min(pythons)
    with zipfile.ZipFile(wheel) as opened:
        # Scripts are in the folder of data; the launcher takes the place of ours.
        names = [name for name in opened.namelist() if not name.partition("/")[0].endswith(".data")]
        opened.extractall(lib / folder, names)  # noqa: S202  # of a wheel that its hash vouches for


def pack(lib: Path, target: Path) -> None:
    """Write an archive of packages, the launcher and the license; the same ones give the same bytes."""
    top = f"evenkeel-{VERSION}"
    files = {
        "evenkeel": Path(__file__).with_name("launcher.py"),
        "LICENSE": ROOT / "LICENSE",
        **{f"lib/{path.relative_to(lib).as_posix()}": path for path in lib.rglob("*") if path.is_file()},
    }
    with (
        target.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, path in sorted(files.items()):
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size = path.stat().st_size
            entry.mode = 0o755 if name == "evenkeel" else 0o644
            with path.open("rb") as content:
                archive.addfile(entry, content)


def build(platform: str) -> Path:
    """Build the archive of one platform in ``dist/``, where the wheel is."""
    target = DIST / name_of(platform)
    with tempfile.TemporaryDirectory() as folder:
        wheels, lib = Path(folder, "wheels"), Path(folder, "lib")
        wheels.mkdir()
        download(platform, wheels)
        shutil.copy(DIST / f"kube_evenkeel-{VERSION}-py3-none-any.whl", wheels)
        for wheel in sorted(wheels.glob("*.whl")):
            unpack(wheel, lib)
        pack(lib, target)
    return target


def main(arguments: list[str]) -> int:
    """Build the archives of some platforms, or of all."""
    if unknown := set(arguments) - set(PLATFORMS):
        sys.stderr.write(f"unknown platform {', '.join(sorted(unknown))}: known are {', '.join(PLATFORMS)}\n")
        return 2
    for platform in arguments or PLATFORMS:
        path = build(platform)
        left_out = f", without {', '.join(sorted(LEFT_OUT[platform]))}" if platform in LEFT_OUT else ""
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1e6:.0f} MB{left_out}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

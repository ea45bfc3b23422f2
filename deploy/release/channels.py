"""What installs the archives: a manifest for krew and a formula for Homebrew.

``python -m deploy.release.channels`` writes them with the digests of the archives in ``dist/``. Platforms
without one there are left out.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from string import Template
from typing import Final

import yaml

from deploy.release.archives import DIST, PLATFORMS, PYTHONS, name_of
from deploy.release.project import HOMEPAGE, PROJECT, ROOT, VERSION

_PYTHONS: Final = f"{', '.join(PYTHONS[:-1])} or {PYTHONS[-1]}"
#: Both channels show it in lists: krew up to 50 characters, Homebrew up to 80.
_SUMMARY: Final = "Explain and check topology spread constraints"
_ABOUT: Final = """\
Explains in kube-scheduler's own numbers why a pod is pending, simulates rollouts and the loss of
zones, audits how workloads are spread, and lints and fixes topologySpreadConstraints in manifests.
"""
_CAVEATS: Final = f"""\
This plugin is written in Python. It brings its packages, and needs Python on the path:
{_PYTHONS}.
Linux needs glibc 2.28 or later.
"""
_SYSTEMS: Final = {"linux": "linux", "darwin": "macos"}
#: What Homebrew calls each processor: a block of its own, and what a formula requires.
_PROCESSORS: Final = {"amd64": ("intel", "x86_64"), "arm64": ("arm", "arm64")}


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, as the manifests of krew's index are written."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", data, style="|" if "\n" in data else None)


_Dumper.add_representer(str, _Dumper.represent_str)


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each platform's archive in a folder, in hexadecimal digits."""
    found = {platform: folder / name_of(platform) for platform in PLATFORMS}
    return {
        platform: hashlib.sha256(path.read_bytes()).hexdigest()
        for platform, path in found.items()
        if path.exists()
    }


def address(platform: str) -> str:
    """Return where a release has the archive of a platform."""
    return f"{HOMEPAGE}/releases/download/v{VERSION}/{name_of(platform)}"


def krew_manifest(sums: dict[str, str]) -> str:
    """Return the manifest of the plugin, as krew-index and ``kubectl krew install --manifest`` take it."""
    top = f"evenkeel-{VERSION}"
    platforms = [
        {
            "selector": {"matchLabels": dict(zip(("os", "arch"), platform.split("/"), strict=True))},
            "uri": address(platform),
            "sha256": digest,
            "files": [{"from": f"{top}/*", "to": "."}],
            "bin": "evenkeel",
        }
        for platform, digest in sums.items()
    ]
    spec = {
        "version": f"v{VERSION}",
        "homepage": HOMEPAGE,
        "shortDescription": _SUMMARY,
        "description": _ABOUT,
        "caveats": _CAVEATS,
        "platforms": platforms,
    }
    document = {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "evenkeel"},
        "spec": spec,
    }
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=200)


def formula(sums: dict[str, str]) -> str:
    """Return the formula for a tap."""
    blocks = []
    for system, word in _SYSTEMS.items():
        found = [platform for platform in sums if platform.startswith(f"{system}/")]
        if found:
            blocks.append(f"  on_{word} do\n{_sources(found, sums)}  end\n")
    return Template((ROOT / "deploy/homebrew/evenkeel.rb.in").read_text("utf-8")).substitute(
        description=_SUMMARY,
        homepage=HOMEPAGE,
        version=VERSION,
        license=PROJECT["license"],
        python=PYTHONS[-1],
        platforms="\n".join(blocks),
    )


def _sources(platforms: list[str], sums: dict[str, str]) -> str:
    """Return the lines of one system: which archive, by processor, or which processor is required."""
    lines = []
    for platform in platforms:
        block, name = _PROCESSORS[platform.partition("/")[2]]
        # Homebrew loads a formula on the other processor too, and wants an address there.
        first, last = (f"on_{block} do", "end") if len(platforms) > 1 else (f"depends_on arch: :{name}", "")
        indent = "  " if last else ""
        lines += [
            f"    {first}",
            f'    {indent}url "{address(platform)}"',
            f'    {indent}sha256 "{sums[platform]}"',
            *([f"    {last}"] if last else []),
        ]
    return "".join(f"{line}\n" for line in lines)


def main() -> int:
    """Write both files into ``dist/``."""
    sums = digests(DIST)
    if not sums:
        sys.stderr.write(
            "dist/ has no archive of this version: python -m deploy.release.archives builds them\n"
        )
        return 2
    for name, text in (("evenkeel.yaml", krew_manifest(sums)), ("evenkeel.rb", formula(sums))):
        (DIST / name).write_text(text, "utf-8")
        print(f"dist/{name}: {', '.join(sums)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

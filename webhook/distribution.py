"""The distribution that this copy is of, how it was installed, and what to type to add to it.

``evenkeel`` on PyPI is another project: what is added comes from where this copy came from.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

#: The name of the distribution, and that of the corpus beside it.
NAME: Final = "kube-evenkeel"
CONFORMANCE: Final = "kube-evenkeel-conformance"
#: How programs that make environments for commands install an extra there, and a distribution beside it, by
#: the file that they leave: a pip of the shell would install elsewhere.
_INSTALLERS: Final[Mapping[str, tuple[str, str]]] = {
    "pipx_metadata.json": ("pipx install --force", f"pipx inject {NAME}"),
    "uv-receipt.toml": ("uv tool install", "uv tool install {} --with"),
}
_PIP: Final = ("pip install", "pip install")
#: Of archives and images, and where the folder or wheel that was installed is gone.
_ELSEWHERE: Final = "this copy cannot be added to, so install Evenkeel from its sources with pip"


def release() -> str:
    """Return the version of this copy."""
    return metadata.version(NAME)


def extra_hint(extra: str) -> str:
    """Return what to type to get an extra."""
    install, _ = _installer()
    source = _requirement(NAME, extra, "")
    return f"{install} {source}" if source else _ELSEWHERE


def conformance_hint() -> str:
    """Return what to type to get the corpus and its command."""
    _, add = _installer()
    own, source = _requirement(NAME, "", ""), _requirement(CONFORMANCE, "", "conformance")
    return f"{add.format(own)} {source}" if own and source else _ELSEWHERE


def _installer() -> tuple[str, str]:
    """Return the commands that install an extra, and a distribution, into the environment of this process."""
    return next((how for file, how in _INSTALLERS.items() if Path(sys.prefix, file).exists()), _PIP)


def _requirement(name: str, extra: str, part: str) -> str | None:
    """Return how an installer is told of a distribution where this copy came from; None if it is not there.

    Args:
        name: The distribution.
        extra: One of its extras, or empty.
        part: Its folder below that of Evenkeel's sources.

    Source: https://packaging.python.org/en/latest/specifications/direct-url/
    """
    installed = metadata.distribution(NAME)
    if installed.read_text("INSTALLER") is None:
        return None  # It was unpacked.
    extras = f"[{extra}]" if extra else ""
    text = installed.read_text("direct_url.json")
    if text is None:
        return shlex.quote(f"{name}{extras}=={installed.version}")
    origin: dict[str, Any] = json.loads(text)
    if "dir_info" in origin:
        editable = "--editable " if origin["dir_info"].get("editable") else ""
        folder = _path(origin["url"]) / part
        return f"{editable}{shlex.quote(f'{folder}{extras}')}" if folder.is_dir() else None
    url = _url(origin, name, part)
    is_gone = url.startswith("file:") and not _path(url).is_file()
    return None if is_gone else shlex.quote(f"{name}{extras} @ {url}")


def _url(origin: Mapping[str, Any], name: str, part: str) -> str:
    """Return where a distribution is that was published with the installed one."""
    url: str = origin["url"]
    if url.endswith(".whl"):
        folder, _, file = url.rpartition("/")
        return f"{folder}/{file.replace(NAME.replace('-', '_'), name.replace('-', '_'))}"
    if vcs := origin.get("vcs_info"):
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    return f"{url}#subdirectory={part}" if part else url


def _path(url: str) -> Path:
    return Path(unquote(urlsplit(url).path))

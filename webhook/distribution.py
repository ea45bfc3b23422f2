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
    url: str = origin["url"]
    local = Path(unquote(urlsplit(url).path)) if url.startswith("file:") else None
    if local is not None and "dir_info" in origin:
        editable = "--editable " if origin["dir_info"].get("editable") else ""
        folder = local / part
        return f"{editable}{shlex.quote(f'{folder}{extras}')}" if folder.is_dir() else None
    if vcs := origin.get("vcs_info"):
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    if url.endswith(".whl"):
        # Both wheels are published in one place.
        folder_url, _, file = url.rpartition("/")
        file = file.replace(NAME.replace("-", "_"), name.replace("-", "_"))
        url, local = f"{folder_url}/{file}", local and local.with_name(file)
    elif part:
        url += f"#subdirectory={part}"
    return None if local is not None and not local.is_file() else shlex.quote(f"{name}{extras} @ {url}")

"""Render Helm charts with the ``helm`` of the machine. Installs and downloads nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from policies.manifests.file_name import shown_file
from policies.manifests.skipped import SkipReason
from webhook.lint.discovery import CHART
from webhook.lint.files import Text, is_file, is_special, is_within, shown_path
from webhook.lint.tool_limits import Release, ToolError

if TYPE_CHECKING:
    from webhook.lint import chart_dependencies

#: How helm marks where a document comes from: ``# Source: chart/templates/web.yaml``.
_SOURCE = re.compile(rb"^---[ \t]*\n# Source: (.+)\n", re.MULTILINE)
#: The name by which helm reads values from standard input.
_STDIN: Final = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Helm:
    """The program that renders charts, and its settings."""

    program: str  #: Its path.
    kube_version: str  #: The release of Kubernetes that charts are rendered for.
    library: chart_dependencies.ChartLibrary  #: Where dependencies of charts are looked for.


def render_chart(folder: str, release: Release, helm: Helm) -> list[Text]:
    """Return the texts rendered from a chart, one for each of its templates.

    Args:
        folder: The chart's folder.
        release: The values and names to render it with.
        helm: What renders it.

    Raises:
        ToolError: helm cannot render it, or would have to download something.
    """
    from webhook.lint import chart_dependencies, external_tools

    options = _options(release, helm)
    with chart_dependencies.complete_chart(folder, helm.library) as chart:
        # A folder may be named like an option, and there are some that run programs.
        command = [helm.program, "template", *options, "--", release.name, chart.folder]
        try:
            output = external_tools.run_tool(command, stdin=release.inline)
        except ToolError as error:
            error = chart.explained(error)
            text = str(error).replace(chart.folder, folder)
            raise ToolError(text, error.reason, error.needs) from error
    parts = _SOURCE.split(output)
    if len(parts) == 1 and output.strip():
        raise ToolError("helm template: printed documents without their source")
    chart.check(zip(parts[1::2], parts[2::2], strict=True))
    return [
        Text(
            shown_file(_template(folder, chart, source.decode(errors="replace"))),
            content,
            rendered=True,
            namespace=release.namespace,
        )
        for source, content in zip(parts[1::2], parts[2::2], strict=True)
    ]


def _options(release: Release, helm: Helm) -> list[str]:
    remote = tuple(file for file in release.values if "://" in file)
    if remote:
        raise ToolError("values not in this repository", SkipReason.VALUES_MISSING, remote)
    for file in release.values:
        if is_special(Path(file)):
            raise ToolError(f"values {shown_file(file)}: not a regular file", SkipReason.NOT_A_FILE)
    options = [f"--kube-version={helm.kube_version}"]
    if release.namespace:
        options.append(f"--namespace={release.namespace}")
    # With the whole path, what helm would take for standard input or an address is a file.
    options += (f"--values={_listed(str(Path(file).absolute()))}" for file in release.values)
    if release.inline:
        options.append(f"--values={_STDIN}")
    options += (f"--api-versions={_listed(version)}" for version in release.api_versions)
    return [*options, *release.settings]


def _listed(text: str) -> str:
    """Return a text as the one entry of a list of comma-separated values, which helm reads."""
    return '"' + text.replace('"', '""') + '"' if {",", '"', "\n"} & set(text) else text


def _template(folder: str, chart: chart_dependencies.Complete, source: str) -> str:
    """Return a template's file: its source starts with the chart's name, which need not be the folder's."""
    path = source.strip().partition("/")[2]
    for place in sorted(chart.linked, key=len, reverse=True):
        if path.startswith(f"{place}/"):
            return str(Path(chart.linked[place], path.removeprefix(f"{place}/")))
    return str(Path(folder, path))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartSource:
    """A chart and how it is installed, as an object says."""

    folder: str = ""  #: The chart's folder; empty where it would have to be downloaded.
    release: Release = field(default_factory=Release)  #: How it is installed.
    needs: tuple[str, ...] = ()  #: What would have to be downloaded.
    unread: tuple[str, ...] = ()  #: What belongs to its values and is not read.


def chart_folder(root: Path, path: str) -> str:
    """Return the folder of a chart in a repository, as people would type it; empty where there is none."""
    folder = root / path.lstrip("/")
    return shown_path(folder) if is_within(folder, root) and is_file(folder / CHART) else ""


def values_file(root: Path, folder: Path, name: str) -> str:
    """Return a file with values of a repository: from its root if it starts with a slash, else from a folder.

    What leads out of the repository is left as an address, which is never opened.
    """
    path = root / name.lstrip("/") if name.startswith("/") else folder / name
    return shown_path(path) if "://" not in name and is_within(path, root) else f"file://{name}"


def mapping_of(obj: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return a mapping in an object, an empty one where there is none."""
    node: Any = obj
    for name in names:
        node = node.get(name) if isinstance(node, dict) else None
    return node if isinstance(node, dict) else {}


def text_of(obj: Mapping[str, Any], *names: str) -> str:
    """Return a text in an object, an empty one where there is none."""
    *outer, last = names
    value = mapping_of(obj, *outer).get(last)
    return value if isinstance(value, str) else ""


def texts_of(value: object) -> list[str]:
    """Return the texts of a list."""
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []

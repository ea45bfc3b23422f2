"""Render Helm charts with the ``helm`` of the machine. Installs and downloads nothing."""

from __future__ import annotations

import re
from pathlib import Path

from webhook.sources.texts import Text, shown_file
from webhook.sources.tools import ToolError, run_tool

#: How helm marks where a document comes from: ``# Source: chart/templates/web.yaml``.
_SOURCE = re.compile(rb"^---[ \t]*\n# Source: (.+)\n", re.MULTILINE)
#: The release's name in what is rendered. Arbitrary; many charts build their names from it.
_RELEASE = "release"


def is_library(folder: str) -> bool:
    """Tell whether a chart only lends templates to others, and cannot be rendered."""
    try:
        text = Path(folder, "Chart.yaml").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return re.search(r"^type:\s*[\"']?library\b", text, re.MULTILINE) is not None


def render_chart(folder: str, helm: str) -> list[Text]:
    """Return what a chart renders to with its own values, a text for each of its templates.

    Args:
        folder: The chart's folder.
        helm: The program.

    Raises:
        ToolError: helm cannot render it.
    """
    # A folder may be named like an option, and there are some that run programs.
    output = run_tool([helm, "template", "--", _RELEASE, folder])
    parts = _SOURCE.split(output)
    if len(parts) == 1 and output.strip():
        raise ToolError("helm template: printed documents without their source")
    return [
        Text(shown_file(_template(folder, source.decode(errors="replace"))), content, rendered=True)
        for source, content in zip(parts[1::2], parts[2::2], strict=True)
    ]


def _template(folder: str, source: str) -> str:
    """Return a template's file: its source starts with the chart's name, which need not be the folder's."""
    return str(Path(folder, source.strip().partition("/")[2]))

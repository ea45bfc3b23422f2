"""The TypeScript types of the page."""

from __future__ import annotations

import re

from docs.generator.typescript import files


def test_types() -> None:
    """Every type that is referred to is there, and optional members are marked."""
    (text,) = files().values()
    named = set(re.findall(r"^export interface (\w+) ", text, re.MULTILINE))
    members = re.findall(r"^  \w+\??: (.+);$", text, re.MULTILINE)
    used = {name for member in members for name in re.findall(r"\b[A-Z]\w+", re.sub(r'"[^"]*"', "", member))}

    assert used <= named | {"Record"}
    assert {"ClusterMap", "PageError", "EmbeddedReport", "Outcome", "LintReport"} <= named
    assert "  each?: string | null;\n" in text
    assert '  kind: "file" | "live";\n' in text

"""The numbers of cases of the conformance corpus: one for each file in its README, their sum in the guide."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from deploy.release.project import ROOT

README: Final = ROOT / "conformance/README.md"
GUIDE: Final = ROOT / "docs/conformance.md"


def refreshed(texts: Mapping[Path, str]) -> Mapping[Path, str]:
    """Return some pages, those two of them with the numbers of the corpus."""
    readme = texts.get(README) or README.read_text("utf-8")
    return {**texts, README: _readme(readme), GUIDE: _guide(texts[GUIDE])}


def _counts() -> dict[str, int]:
    """Return the number of cases of each file: they are one a line."""
    counts = {}
    for name in json.loads((README.parent / "corpus.json").read_text("utf-8"))["files"]:
        content = (README.parent / name).read_bytes()
        lines = gzip.decompress(content) if name.endswith(".gz") else content
        counts[name] = sum(bool(line.strip()) for line in lines.split(b"\n"))
    return counts


def _readme(text: str) -> str:
    for name, count in _counts().items():
        row = rf"^(\| `{re.escape(name)}` \| )[\d,]+"
        text, found = re.subn(row, rf"\g<1>{count:,}", text, flags=re.MULTILINE)
        if not found:
            raise ValueError(f"{README} has no row for {name}")
    return text


def _guide(text: str) -> str:
    total = sum(_counts().values())
    return re.sub(r"[\d,]+(?= requests of the\n\[conformance corpus\])", f"{total:,}", text)

"""Write the generated parts of the documentation, or check that the checked-in ones are current.

``python -m docs.generator [--check]``
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from docs.generator import (
    commands,
    corpus,
    deployed,
    documents,
    http,
    installation,
    published,
    releases,
    repository,
    rules,
    shop,
    terminal,
    typescript,
    verdicts,
)
from docs.generator.markdown import NOTE
from docs.generator.published import write_or_check

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"


def main(arguments: list[str]) -> int:
    """Write or check every generated file; returns the exit code."""
    files = _files()
    generated = (path for path in REFERENCE.rglob("*.md") if NOTE in path.read_text("utf-8"))
    stale = [path for path in generated if path not in files]
    for path in stale:
        if arguments:
            sys.stderr.write(f"{path}: not generated any more; run `make generate` and commit the result\n")
        else:
            path.unlink()
    current = write_or_check(files, arguments)
    return current or int(bool(stale and arguments))


def _files() -> Mapping[Path, str]:
    """Return the content that each generated file should have."""
    reference = {
        "commands.md": commands.page_of_commands(),
        "settings.md": commands.page_of_settings(),
        "documents.md": documents.page_of_documents(),
        "http.md": http.page_of_routes(),
        "metrics.md": installation.page_of_metrics(),
        "alerts.md": installation.page_of_alerts(),
        "chart.md": installation.page_of_values(),
        "verdicts.md": verdicts.page_of_verdicts(),
        **{f"rules/{name}": text for name, text in rules.pages().items()},
    }
    pages = [ROOT / "README.md", *sorted(set(DOCS.rglob("*.md")) - set(REFERENCE.rglob("*.md")))]
    texts = {page: repository.current(page.read_text("utf-8")) for page in pages}
    return {
        **{REFERENCE / name: text for name, text in reference.items()},
        **corpus.refreshed({**repository.files(), **terminal.refreshed(texts)}),
        **{DOCS / "images" / name: image for name, image in terminal.images().items()},
        REFERENCE / "releases.md": releases.refreshed(
            repository.current((REFERENCE / "releases.md").read_text("utf-8"))
        ),
        # The guide shows commands on the cluster of evenkeel ui --demo, which a wheel has without the guide.
        **dict.fromkeys(
            (DOCS / "examples" / "shop.json", ROOT / "webhook" / "demo" / "shop.json"), shop.cluster()
        ),
        **published.files(),
        **deployed.roles(),
        **typescript.files(),
        **deployed.definitions(),
        **deployed.webhooks(),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

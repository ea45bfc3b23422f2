"""Write the JSON Schema of the SpreadPolicy document, or check that the checked-in one is current.

``python -m policies.documents.generate [--check]``
"""

from __future__ import annotations

import sys
from pathlib import Path

from policies.documents.schema import SCHEMA_FILE, schema_text


def main(arguments: list[str]) -> int:
    """Write or check the schema; returns the exit code."""
    if arguments not in ([], ["--check"]):
        sys.stderr.write("usage: python -m policies.documents.generate [--check]\n")
        return 2
    path = Path(__file__).with_name(SCHEMA_FILE)
    if not arguments:
        path.write_text(schema_text(), encoding="utf-8")
        return 0
    if path.is_file() and path.read_text(encoding="utf-8") == schema_text():
        return 0
    sys.stderr.write(f"{path}: stale; run `make generate` and commit the result\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

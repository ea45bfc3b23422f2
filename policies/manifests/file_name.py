"""Names of files as people give them, and as all that is said of them has it."""

from __future__ import annotations

from typing import Final

from policies.manifests.fields import shown

#: The name that means standard input.
STDIN: Final = "-"
#: What messages and reports call it, as ruff and kubectl do.
_SHOWN_STDIN: Final = "<stdin>"


def shown_file(name: str) -> str:
    """Return a file's name as messages use it: on one line.

    >>> shown_file("web.yaml"), shown_file("-")
    ('web.yaml', '<stdin>')
    """
    if name == STDIN:
        return _SHOWN_STDIN
    return name if name.isprintable() else shown(name)

"""The page of what commands and options were called before."""

from __future__ import annotations

from docs.generator.markdown import code, page, table
from webhook.cli.renames import rows

_OLD = """\
The old names in this table work in this release, and stderr says the new one. The next release does not have
them."""
_KEPT = """\
What `evenkeel simulate` did for other questions has commands of its own. The options below work as before and
stay; the help of `evenkeel simulate` no longer lists them."""


def page_of_renames() -> str:
    """Return the tables of old names with their new ones."""
    listed = tuple(rows())
    old, kept = (
        table(("before", "now"), ((code(was), code(new)) for was, new, goes in listed if goes is wanted))
        for wanted in (True, False)
    )
    return page("Renamed commands and options", _OLD, old, "## Split off", _KEPT, kept)

"""The lines of the texts that were read, for reports that show them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from policies.manifests.documents import decoded
from policies.manifests.errors import DocumentError
from webhook.lint.field_origins import FieldOrigins
from webhook.lint.texts import Text

#: What every manifest says.
_MARK = "apiVersion"
_BREAK = re.compile(r"\r\n|\r|\n")


def lines_of(texts: Iterable[Text], sources: FieldOrigins) -> Callable[[str], Sequence[str]]:
    """Return what returns the lines of a file, by the name that findings use; none for what a tool made.

    Args:
        texts: What was linted.
        sources: What kustomizations were built from.
    """
    by_file = {text.file: text.content for text in texts if not text.rendered}

    @lru_cache(maxsize=1)
    def lines(file: str) -> Sequence[str]:
        try:
            text = decoded(by_file[file] if file in by_file else sources.source(file), file)
        except DocumentError:
            return ()
        if file in by_file and _MARK not in text:
            # It is no manifest: who knows what else it is, and who may see it.
            return ()
        return _BREAK.split(text.removeprefix("\ufeff"))

    return lines

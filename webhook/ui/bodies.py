"""The requests of the page: a manifest that a person edits, and what is to be done with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final

from policies.manifests.edits import FieldEdit
from policies.manifests.fields import (
    FIELD_MISSING,
    VALUE_INVALID,
    ErrorKind,
    ErrorList,
    FieldError,
    FieldPath,
    required_value,
)
from policies.manifests.wire import Form, Received

#: Bytes of a text that a person edits: its YAML takes 10 µs a byte, again and again as they type. The objects
#: that people write have a tenth of it.
MOST_TEXT_BYTES: Final = 2**18


def check_text(name: str, text: str, found: ErrorList) -> None:
    """Record a text that is empty or too long."""
    path = FieldPath((name,))
    if not text.strip():
        found.add(required_value(path, "is empty", FIELD_MISSING))
    elif len(text.encode(errors="surrogatepass")) > MOST_TEXT_BYTES:
        problem = f"has more than {MOST_TEXT_BYTES >> 10} KiB, use evenkeel lint and evenkeel explain"
        found.add(FieldError(path, problem, ErrorKind.TOO_LONG, VALUE_INVALID))


@dataclass(frozen=True, kw_only=True)
class ManifestBody(Received):
    """A manifest."""

    manifest: str  #: One object, YAML or JSON.

    def check(self, found: ErrorList) -> None:
        """Record a text that is empty or too long."""
        super().check(found)
        check_text("manifest", self.manifest, found)


@dataclass(frozen=True, kw_only=True)
class ShownBody(Received):
    """A view of the cluster that is saved as a file, in the words of the page."""

    title: str  #: What it is about.
    action: str  #: What happens in it; empty for nothing.
    verdict: str  #: What comes of it, in a sentence; empty where that is not known.
    command: str  #: The command that answers the same; empty for none.


@dataclass(frozen=True, kw_only=True)
class SuggestBody(ManifestBody):
    """A manifest, and a suggestion of its explanation."""

    edits: Annotated[list[dict[str, Any]], Form(list[FieldEdit])]  #: The edits of the suggestion.


@dataclass(frozen=True, kw_only=True)
class PatchBody(ManifestBody):
    """A manifest, and what it was before."""

    original: str  #: What it was.

    def check(self, found: ErrorList) -> None:
        """Record a text that is empty or too long."""
        super().check(found)
        check_text("original", self.original, found)

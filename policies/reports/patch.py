"""A change of an object: as a diff for ``git apply`` and ``patch``, a command of kubectl, or in words."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, Final

import orjson

from policies.manifests.edits import Edit
from policies.manifests.fields import shown
from policies.manifests.sanitize import one_line
from policies.model.workload import DEFAULT_NAMESPACE
from policies.model.workload_kinds import WorkloadKind

_NO_NEWLINE = "\n\\ No newline at end of file\n"
#: A patch is of bytes, whatever they encode: each is a character here.
_BYTES = "latin-1"
#: What the lines of a hunk begin with, by the kind of difference.
_OLD, _NEW, _SAME = "-", "+", " "
#: Entries of an object or a list that are repeated: a toleration has four.
MOST_ENTRIES: Final = 5
#: Characters of a value that are repeated.
VALUE_LENGTH: Final = 120
#: Characters up to which a value that is removed is repeated: a node selector.
REMOVED_LENGTH: Final = 40
#: The default values of absent fields of a constraint.
_DEFAULTS: Final = {"nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Ignore"}


def unified_diff(file: str, old: bytes, new: bytes) -> bytes:
    r"""Return a unified diff; empty if there is none.

    Args:
        file: The file's name.
        old: Its content, in any encoding.
        new: What it becomes.

    >>> print(unified_diff("web.yaml", b"a: 1\nb: 2", b"a: 1\nb: 3\n").decode(), end="")
    --- a/web.yaml
    +++ b/web.yaml
    @@ -1,2 +1,2 @@
     a: 1
    -b: 2
    \ No newline at end of file
    +b: 3
    """
    if old == new:
        return b""
    hunks = list(_hunks(_pieces(old), _pieces(new)))
    if not hunks:
        return b""
    # An absolute name is kept; git wants the others with a letter before.
    before, after = (file, file) if file.startswith("/") else (f"a/{file}", f"b/{file}")
    head = f"--- {before}\n+++ {after}\n".encode()
    lines = (line if line.endswith("\n") else line + _NO_NEWLINE for line in hunks)
    return head + "".join(lines).encode(_BYTES)


def _pieces(content: bytes) -> list[list[str]]:
    """Return the lines of each YAML document; a carriage return belongs to its line."""
    *whole, rest = content.decode(_BYTES).split("\n")
    pieces: list[list[str]] = [[]]
    for line in (*(f"{line}\n" for line in whole), *filter(None, [rest])):
        if line.startswith("---"):
            pieces.append([])
        pieces[-1].append(line)
    return pieces


def _hunks(old: list[list[str]], new: list[list[str]]) -> Iterator[str]:
    """Yield the lines of every hunk. Documents are compared one by one: the time grows as the square."""
    if len(old) != len(new):
        old, new = ([[line for piece in pieces for line in piece]] for pieces in (old, new))
    above_old = above_new = 0
    for before, after in zip(old, new, strict=True):
        groups = SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes()
        for group in groups if before != after else ():
            first, last = group[0], group[-1]
            ours, theirs = _range(first[1], last[2], above_old), _range(first[3], last[4], above_new)
            yield f"@@ -{ours} +{theirs} @@\n"
            for kind, i1, i2, j1, j2 in group:
                if kind == "equal":
                    yield from (_SAME + line for line in before[i1:i2])
                    continue
                yield from (_OLD + line for line in before[i1:i2])
                yield from (_NEW + line for line in after[j1:j2])
        above_old += len(before)
        above_new += len(after)


def _range(start: int, end: int, above: int) -> str:
    """Return the first line of a range and its length; an empty range names the line before it."""
    length = end - start
    return f"{above + start + (1 if length else 0)},{length}"


def patch_command(kind: WorkloadKind, metadata: Mapping[str, Any], patch: Mapping[str, Any]) -> str:
    """Return the command that applies a JSON merge patch to an object of the cluster.

    Args:
        kind: Its kind.
        metadata: Its metadata.
        patch: The patch.
    """
    namespace = metadata.get("namespace") or DEFAULT_NAMESPACE
    words = ["kubectl", "patch", f"{kind.typed}/{metadata.get('name')}", "--namespace", namespace]
    return shlex.join([*words, "--type", "merge", "--patch", orjson.dumps(patch).decode()])


def edit_text(edit: Edit) -> str:
    """Return an edit of a manifest as a person would make it."""
    path = one_line(str(edit.path))
    if edit.new is None:
        old = _flow(edit.old)
        return f"remove {path}{f' ({old})' if len(old) <= REMOVED_LENGTH else ''}"
    if edit.old is None:
        default = _DEFAULTS.get(str(edit.path.segments[-1]))
        return f"add {path}: {_flow(edit.new)}{f' (now {default} by default)' if default else ''}"
    return f"{path}: {_flow(edit.new)} (now {_flow(edit.old)})"


def _flow(value: Any) -> str:
    """Return a value as YAML writes it on one line, cut where it is long."""
    text = _flowed(value)
    return text if len(text) <= VALUE_LENGTH else f"{text[: VALUE_LENGTH - 3]}..."


def _flowed(value: Any) -> str:
    match value:
        case dict():
            entries = [f"{one_line(str(key))}: {_flowed(entry)}" for key, entry in _some(value.items())]
            return f"{{{', '.join(entries)}{_rest(value)}}}"
        case list():
            return f"[{', '.join(map(_flowed, _some(value)))}{_rest(value)}]"
        case str():
            return one_line(value) or '""'
    return shown(value)


def _some(entries: Any) -> list[Any]:
    return [entry for _, entry in zip(range(MOST_ENTRIES), entries, strict=False)]


def _rest(entries: Any) -> str:
    return ", ..." if len(entries) > MOST_ENTRIES else ""

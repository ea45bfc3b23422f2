"""Which files of a folder Git ignores, as its ``.gitignore`` files say.

Every file below a folder is compared with all patterns in force there, so there are limits; a ``.gitignore``
with more has no effect, which is said.

Whoever wrote a pattern, a comparison takes time linear in its length and in that of the path. A star need
not be tried at a second place: what follows it may as well be found where it is found first, since the next
star can skip the rest. The same holds for ``**`` and names. So no expression here repeats anything.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from webhook.lint.files import GIT, TooLargeError, read_file

#: The classes that brackets may name, as pairs of their first and last bytes.
_CLASSES: Final = {
    b"alnum": b"09AZaz", b"alpha": b"AZaz", b"blank": b"\t\t  ", b"cntrl": b"\x00\x1f\x7f\x7f",
    b"digit": b"09", b"graph": b"!~", b"lower": b"az", b"print": b" ~", b"punct": b"!/:@[`{~",
    b"space": b"\t\r  ", b"upper": b"AZ", b"xdigit": b"09AFaf",
}  # fmt: skip
#: What brackets hold: a class, or a byte and perhaps the last one of a range.
_ITEM: Final = re.compile(rb"\[:(?P<class>[A-Za-z]*):\]|(?:\\(.)|([^\\]))(?:-(?:\\(.)|([^]\\])))?", re.DOTALL)
#: The other parts of a pattern.
_PART: Final = re.compile(rb"/|\*+|\?|\\(?P<escaped>.)|(?P<byte>[^\\])", re.DOTALL)
#: The expression of what Git cannot read either: it fits nothing.
_NEVER: Final = b"(?!)"
#: Where a folder says what Git ignores below it.
GITIGNORE = ".gitignore"
#: Bytes of one file that are read: a thousand times those of the longest that people write.
MAX_BYTES: Final = 2**20
#: Bytes of a pattern: as many as a path may have.
MAX_PATTERN: Final = 4_096
#: Patterns in force in one folder: to compare a name with this many takes 1 ms. The longest that people
#: collect has half of them.
MAX_PATTERNS: Final = 2_000
#: Bytes of patterns that one run prepares, 4 to 15 µs each: those of some 20,000 patterns.
MAX_PREPARED: Final = 2**18


class _Name(NamedTuple):
    """The name of a file or folder."""

    #: What is before, between and behind the stars: expressions of a fixed length each.
    pieces: tuple[re.Pattern[bytes], ...]

    def fits(self, name: bytes) -> bool:
        first, *others = self.pieces
        found = first.match(name)
        for piece in others:
            if found is None:
                return False
            found = piece.search(name, found.end())
        return found is not None


_NO_NAME: Final = _Name((re.compile(_NEVER),))


class IgnorePattern(NamedTuple):
    """A line of a ``.gitignore``."""

    names: tuple[_Name | None, ...]  #: The names of the path; None for ``**``, any number of them.
    #: Whether they are the whole path from the folder of the file; else one is the path's last.
    is_anchored: bool
    folders_only: bool  #: Whether only folders are meant.
    is_negated: bool  #: Whether what fits is not ignored.

    def fits(self, path: Sequence[bytes]) -> bool:
        """Return whether the names of a path fit."""
        return _fits(self.names, path if self.is_anchored else path[-1:])


def parse_pattern(line: bytes) -> IgnorePattern:
    """Return the pattern of a line that is neither empty nor a comment.

    >>> parse_pattern(b"*.tmp.y?ml").fits([b"deploy", b"web.tmp.yaml"])
    True
    """
    text = _without_spaces(line)
    is_negated = text.startswith(b"!")
    text = text.removeprefix(b"!")
    folders_only = text.endswith(b"/")
    text = text.removesuffix(b"/")
    is_anchored = b"/" in text
    names: list[list[bytes]] = [[]]
    for part in _parts(text.removeprefix(b"/")):
        if part == b"/":
            names.append([])
        else:
            names[-1].append(part)
    found = tuple(None if is_anchored and _is_any(name) else _name(name) for name in names)
    return IgnorePattern(found, is_anchored, folders_only, is_negated)


def _without_spaces(line: bytes) -> bytes:
    """Return a line without the spaces at its end; the first of them counts behind a backslash."""
    text = line.rstrip(b" ")
    is_escaped = (len(text) - len(text.rstrip(b"\\"))) % 2
    return line[: len(text) + 1] if is_escaped else text


def _parts(text: bytes) -> Iterator[bytes]:
    """Yield slashes and stars as they are, and for each other part an expression of one byte."""
    place = 0
    while place < len(text):
        if text[place] == ord("["):
            expression, place = _brackets(text, place + 1)
            yield expression
            continue
        part = _PART.match(text, place)
        if part is None:
            yield _NEVER
            return
        place = part.end()
        byte = part["escaped"] or part["byte"]
        yield re.escape(byte) if byte else b"." if part[0] == b"?" else part[0]


def _brackets(text: bytes, start: int) -> tuple[bytes, int]:
    """Return the expression of what brackets hold, and where they end."""
    is_negated = text[start : start + 1] in (b"!", b"^")
    place = first = start + is_negated
    ranges = b""
    while place == first or text[place : place + 1] != b"]":
        item = _ITEM.match(text, place)
        ends = _ends(item) if item else None
        if item is None or ends is None:
            return _NEVER, len(text)
        place = item.end()
        ranges += b"".join(b"\\x%02x-\\x%02x" % pair for pair in zip(ends[::2], ends[1::2], strict=True))
    return (b"[^%s]" if is_negated else b"[%s]") % ranges, place + 1


def _ends(item: re.Match[bytes]) -> bytes | None:
    """Return the first and last bytes of ranges; None for a class that does not exist."""
    if item["class"] is not None:
        return _CLASSES.get(item["class"])
    low: bytes = item[2] or item[3]
    # Of a range that ends before it starts, its start remains.
    return low + max(low, item[4] or item[5] or low)


def _is_any(parts: list[bytes]) -> bool:
    return len(parts) == 1 and parts[0].startswith(b"**")


def _name(parts: list[bytes]) -> _Name:
    pieces: list[list[bytes]] = [[]]
    for part in parts:
        if part.startswith(b"*"):
            pieces.append([])
        else:
            pieces[-1].append(part)
    pieces[-1].append(rb"\Z")
    return _Name(tuple(re.compile(b"".join(piece), re.DOTALL) for piece in pieces))


def _fits(wanted: Sequence[_Name | None], path: Sequence[bytes]) -> bool:
    here = at = 0
    # Where to go on behind the last "**": in the pattern, and in the path.
    again: tuple[int, int] | None = None
    while at < len(path):
        name = wanted[here] if here < len(wanted) else _NO_NAME
        if name is None:
            here += 1
            if here == len(wanted):
                return True
            again = here, at + 1
        elif name.fits(path[at]):
            here, at = here + 1, at + 1
        elif again is None:
            return False
        else:
            here, at = again
            again = here, at + 1
    return here == len(wanted)


@dataclass(slots=True)
class Refused:
    """The files with patterns that were not read, and what is left of the limits of the run."""

    files: dict[Path, str] = field(default_factory=dict)  #: The files, each with the reason.
    left: int = MAX_PREPARED  #: Bytes of patterns that may yet be prepared.


@dataclass(frozen=True, slots=True)
class Ignored:
    """The patterns in force in a folder."""

    #: A folder and its patterns, from the outermost folder to the innermost.
    specs: tuple[tuple[Path, tuple[IgnorePattern, ...]], ...] = ()
    refused: Refused = field(default_factory=Refused, compare=False)  #: Takes the files that are not read.
    count: int = 0  #: How many patterns there are.

    def below(self, folder: Path) -> Ignored:
        """Return the patterns in force in a folder further down, which may have some of its own."""
        file = folder / GITIGNORE
        try:
            # Git follows no link here.
            content = read_file(file, follow=False, most=MAX_BYTES)
        except TooLargeError as error:
            self.refused.files[file] = str(error.strerror)
            return self
        except OSError:
            return self
        lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
        patterns = _patterns(line.removesuffix(b"\r") for line in lines)
        if problem := self._problem(patterns):
            self.refused.files[file] = problem
            return self
        return self.with_patterns(folder, patterns) if patterns else self

    def _problem(self, lines: list[bytes]) -> str:
        """Return why this number of patterns must not come into force; empty if they may."""
        if any(len(line) > MAX_PATTERN for line in lines):
            return f"holds a pattern of more than {MAX_PATTERN:,} bytes"
        if self.count + len(lines) > MAX_PATTERNS:
            return f"more than {MAX_PATTERNS:,} patterns, with those of the folders above it"
        if sum(map(len, lines)) > self.refused.left:
            return f"more than {MAX_PREPARED:,} bytes of patterns, with those of the folders before it"
        return ""

    def with_patterns(self, folder: Path, lines: list[bytes]) -> Ignored:
        """Return these patterns and further ones, which count from a folder."""
        self.refused.left -= sum(map(len, lines))
        spec = (folder, tuple(map(parse_pattern, lines)))
        return Ignored((*self.specs, spec), self.refused, self.count + len(lines))

    def holds(self, path: Path, *, is_folder: bool = False) -> bool:
        """Return whether a path is ignored: the last pattern that fits it of the innermost folder decides.

        What is below an ignored folder is ignored too, which is not looked at here.
        """
        for folder, patterns in reversed(self.specs):
            start, whole = os.path.join(folder, ""), str(path)  # noqa: PTH118  # a path keeps no last slash
            if not whole.startswith(start):
                continue
            names = os.fsencode(whole.removeprefix(start)).split(b"/")
            for pattern in reversed(patterns):
                if (is_folder or not pattern.folders_only) and pattern.fits(names):
                    return not pattern.is_negated
        return False


def _patterns(lines: Iterable[bytes]) -> list[bytes]:
    return [line for line in lines if line and not line.startswith(b"#")]


def excluded_from(folder: Path, lines: Iterable[str]) -> Ignored:
    """Return the exclusions of a user, by patterns that count from a folder."""
    return Ignored().with_patterns(folder, _patterns(map(os.fsencode, lines)))


def ignored_in(folder: Path, refused: Refused | None = None) -> Ignored:
    """Return the patterns in force in a folder: those of the folders above it, up to its repository's root.

    They do not count where they ignore the folder itself: who names an ignored folder means it.

    Args:
        folder: An absolute path.
        refused: Takes the files that are not read; None if they are not wanted.
    """
    refused = refused or Refused()
    above: list[Path] = []
    for parent in (folder, *folder.parents):
        above.append(parent)
        if (parent / GIT).exists():
            break
    else:
        above = [folder]
    ignored = Ignored(refused=refused)
    for parent in reversed(above[1:]):
        ignored = ignored.below(parent)
        child = above[above.index(parent) - 1]
        if ignored.specs and ignored.holds(child, is_folder=True):
            return Ignored(refused=refused).below(folder)
    return ignored.below(folder)

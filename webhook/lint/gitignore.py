"""Which files of a folder Git ignores, as its ``.gitignore`` files say.

Every file below a folder is compared with all patterns in force there, so there are limits; a ``.gitignore``
with more has no effect, which is said.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from webhook.lint.files import GIT, TooLargeError, read_file
from webhook.lint.ignore_patterns import IgnorePattern, parse_pattern

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


@dataclass(slots=True)
class Refused:
    """The files with patterns that were not read, and what is left of the limits of the run.

    Attributes:
        files: The files, each with the reason.
        left: Bytes of patterns that may yet be prepared.
    """

    files: dict[Path, str] = field(default_factory=dict)
    left: int = MAX_PREPARED


@dataclass(frozen=True, slots=True)
class Ignored:
    """The patterns in force in a folder.

    Attributes:
        specs: A folder and its patterns, from the outermost folder to the innermost.
        refused: Takes the files that are not read.
        count: How many patterns there are.
    """

    specs: tuple[tuple[Path, tuple[IgnorePattern, ...]], ...] = ()
    refused: Refused = field(default_factory=Refused, compare=False)
    count: int = 0

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

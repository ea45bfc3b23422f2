"""Which files of a folder Git ignores, as its ``.gitignore`` files say.

Every file below a folder is compared with all patterns in force there, so there are limits; a ``.gitignore``
with more has no effect, which is said.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from webhook.lint.files import TooLargeError, read_file

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

#: Where a folder says what Git ignores below it.
GITIGNORE = ".gitignore"
#: What pathspec writes for ``*``, with what is behind it, before another; and for ``/**`` amid a pattern.
_STAR_BEFORE_STAR = re.compile(
    r"\[\^/\]\*((?:\\.|\[(?!\^/\]\*)\^?\]?(?:\\.|[^\]\\])*+\]|[^][\\/()])*+)(?=\[\^/\]\*)"
)
_FOLDERS = "(?:/.+)?"
#: The classes that Git knows in brackets and pathspec does not, spelled out.
_CLASSES: Final = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": " \t", "cntrl": "\x01-\x1f\x7f", "digit": "0-9",
    "graph": '"-~!', "lower": "a-z", "print": " -~", "punct": '"-.:-@^-`{-~!', "space": "\t-\r ",
    "upper": "A-Z", "xdigit": "0-9a-fA-F",
}  # fmt: skip
#: A negated bracket but for the one that excludes only a slash.
_NEGATED: Final = re.compile(r"(?<!\\)\[\^(?!/\])")
_CLASS: Final = re.compile(r"\[:([a-z]+):\]")
_BRACKETS: Final = re.compile(r"(?<!\\)\[[!^]?(?:[^][]|\[:[a-z]+:\])*+\]")


#: Bytes of one file that are read: a thousand times those of the longest that people write.
MAX_BYTES: Final = 2**20
#: Characters of a pattern: as many as a path may have.
MAX_PATTERN: Final = 4_096
#: Patterns in force in one folder: to compare a name with so many takes 1 ms. The longest that people
#: collect has half of them.
MAX_PATTERNS: Final = 2_000
#: Patterns that one run prepares, some 0.1 ms each.
MAX_PREPARED: Final = 20_000


@dataclass(slots=True)
class Refused:
    """The files with patterns that were not read, and what is left of the limits of the run.

    Attributes:
        files: The files, each with the reason.
        left: Patterns that may yet be prepared.
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

    specs: tuple[tuple[Path, GitIgnoreSpec], ...] = ()
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
        # Nor does it know other ends of lines.
        text = content.removeprefix(b"\xef\xbb\xbf").decode(errors="surrogateescape")
        lines = [line for each in text.split("\n") if (line := each.removesuffix("\r")) and line[0] != "#"]
        if problem := self._problem(lines):
            self.refused.files[file] = problem
            return self
        return self.with_patterns(folder, lines) if lines else self

    def _problem(self, lines: list[str]) -> str:
        """Return why so many patterns must not come into force; empty if they may."""
        if any(len(line) > MAX_PATTERN for line in lines):
            return f"holds a pattern of more than {MAX_PATTERN:,} characters"
        if self.count + len(lines) > MAX_PATTERNS:
            return f"more than {MAX_PATTERNS:,} patterns, with those of the folders above it"
        if len(lines) > self.refused.left:
            return f"more than {MAX_PREPARED:,} patterns, with those of the folders before it"
        return ""

    def with_patterns(self, folder: Path, patterns: Iterable[str]) -> Ignored:
        """Return these patterns and further ones, which count from a folder."""
        lines = [_BRACKETS.sub(_spelled_out, pattern) for pattern in patterns]
        self.refused.left -= len(lines)
        with warnings.catch_warnings(action="ignore", category=FutureWarning):
            try:
                spec = _spec(lines)
            except Exception:  # noqa: BLE001  # of pathspec or of re
                spec = _spec(line for line in lines if _is_pattern(line))
            for pattern in spec.patterns:
                if pattern.regex is not None:
                    pattern.regex = re.compile(without_slashes(without_backtracking(pattern.regex.pattern)))
        return Ignored((*self.specs, (folder, spec)), self.refused, self.count + len(lines))

    def holds(self, path: Path, *, is_folder: bool = False) -> bool:
        """Tell whether a path is ignored: the innermost folder with a pattern that fits it decides."""
        for folder, spec in reversed(self.specs):
            if not path.is_relative_to(folder):
                continue
            name = path.relative_to(folder).as_posix()
            decided = spec.check_file(f"{name}/" if is_folder else name).include
            if decided is not None:
                return decided
        return False


def without_backtracking(expression: str) -> str:
    """Return pathspec's expression of a pattern, changed so that it is matched in linear time.

    A wildcard before another one may go on from the first place that fits, and need not come back: whatever
    is behind it can be skipped by the next. ``*a*a*a*a*b`` would take the fourth power of a name's length.

    >>> without_backtracking("^[^/]*a[^/]*b$"), without_backtracking("^a(?:/.+)?/b(?:/.+)?/c$")
    ('^(?>[^/]*?a)[^/]*b$', '^(?>a(?=/))(?>(?:/.+?)??/b(?=/))(?:/.+)?/c$')
    """
    expression = _STAR_BEFORE_STAR.sub(r"(?>[^/]*?\1)", expression)
    first, *others = expression.split(_FOLDERS)
    if not others:
        return expression
    start = "^(?:.+/)?"
    head = f"(?:.+?/)??{first.removeprefix(start)}" if first.startswith(start) else first.removeprefix("^")
    found = f"^(?>{head}(?=/))"
    for part in others[:-1]:
        found += f"(?>(?:/.+?)??{part}(?=/))"
    return found + _FOLDERS + others[-1]


def without_slashes(expression: str) -> str:
    """Return pathspec's expression of a pattern, changed so that brackets match no slash, as for Git.

    >>> without_slashes("^[^/]*[^a]$")
    '^[^/]*(?!/)[^a]$'
    """
    return _NEGATED.sub("(?!/)[^", expression)


def _spelled_out(brackets: re.Match[str]) -> str:
    inner = brackets[0][1:-1]
    return f"[{_CLASS.sub(lambda match: _CLASSES.get(match[1], match[0]), inner)}]"


def _spec(lines: Iterable[str]) -> GitIgnoreSpec:
    # Few runs need it, and it takes a twentieth of the time that a run on one file may take.
    from pathspec import GitIgnoreSpec  # noqa: PLC0415

    # Another backend, if it is installed, would not take our expressions.
    return GitIgnoreSpec.from_lines(lines, backend="simple")


def _is_pattern(line: str) -> bool:
    """Tell whether a line is a pattern: Git passes over those that are none."""
    try:
        _spec([line])
    except Exception:  # noqa: BLE001  # as above
        return False
    return True


def ignored_in(folder: Path, refused: Refused | None = None) -> Ignored:
    """Return the patterns in force in a folder: those of the folders above it, up to its repository's root.

    They do not count where they ignore the folder itself: who names an ignored folder means it.

    Args:
        folder: An absolute path.
        refused: Takes the files that are not read; None if nobody asks.
    """
    refused = refused or Refused()
    above: list[Path] = []
    for parent in (folder, *folder.parents):
        above.append(parent)
        if (parent / ".git").exists():
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

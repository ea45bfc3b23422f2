"""Which files of a folder Git ignores, as its ``.gitignore`` files say."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from webhook.lint.files import read_file

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


@dataclass(frozen=True, slots=True)
class Ignored:
    """The patterns in force in a folder.

    Attributes:
        specs: A folder and its patterns, from the outermost folder to the innermost.
    """

    specs: tuple[tuple[Path, GitIgnoreSpec], ...] = ()

    def below(self, folder: Path) -> Ignored:
        """Return the patterns in force in a folder further down, which may have some of its own."""
        try:
            # Git follows no link here.
            content = read_file(folder / GITIGNORE, follow=False)
        except OSError:
            return self
        # Nor does it know other ends of lines.
        text = content.removeprefix(b"\xef\xbb\xbf").decode(errors="surrogateescape")
        return self.with_patterns(folder, (line.removesuffix("\r") for line in text.split("\n")))

    def with_patterns(self, folder: Path, patterns: Iterable[str]) -> Ignored:
        """Return these patterns and further ones, which count from a folder."""
        # Few runs need it, and it takes a twentieth of the time that a run on one file may take.
        from pathspec import GitIgnoreSpec  # noqa: PLC0415

        lines = [_BRACKETS.sub(_spelled_out, pattern) for pattern in patterns]
        with warnings.catch_warnings(action="ignore", category=FutureWarning):
            try:
                spec = GitIgnoreSpec.from_lines(lines)
            except Exception:  # noqa: BLE001  # of pathspec, of re, or of what else matches
                spec = GitIgnoreSpec.from_lines(line for line in lines if _is_pattern(line))
            for pattern in spec.patterns:
                if pattern.regex is not None:
                    pattern.regex = re.compile(without_slashes(without_backtracking(pattern.regex.pattern)))
        return Ignored((*self.specs, (folder, spec)))

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
    """Return what pathspec makes of a pattern so that it is matched in linear time.

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
    """Return what pathspec makes of a pattern so that brackets match no slash, as for Git.

    >>> without_slashes("^[^/]*[^a]$")
    '^[^/]*(?!/)[^a]$'
    """
    return _NEGATED.sub("(?!/)[^", expression)


def _spelled_out(brackets: re.Match[str]) -> str:
    inner = brackets[0][1:-1]
    return f"[{_CLASS.sub(lambda match: _CLASSES.get(match[1], match[0]), inner)}]"


def _is_pattern(line: str) -> bool:
    """Tell whether a line is a pattern: Git passes over those that are none."""
    from pathspec import GitIgnoreSpec  # noqa: PLC0415

    try:
        GitIgnoreSpec.from_lines([line])
    except Exception:  # noqa: BLE001  # as above
        return False
    return True


def ignored_in(folder: Path) -> Ignored:
    """Return the patterns in force in a folder: those of the folders above it, up to its repository's root.

    They do not count where they ignore the folder itself: who names an ignored folder means it.

    Args:
        folder: An absolute path.
    """
    above: list[Path] = []
    for parent in (folder, *folder.parents):
        above.append(parent)
        if (parent / ".git").exists():
            break
    else:
        above = [folder]
    ignored = Ignored()
    for parent in reversed(above[1:]):
        ignored = ignored.below(parent)
        child = above[above.index(parent) - 1]
        if ignored.specs and ignored.holds(child, is_folder=True):
            return Ignored().below(folder)
    return ignored.below(folder)

"""Which files of a folder Git ignores, as its ``.gitignore`` files say."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

#: Where a folder says what Git ignores below it.
GITIGNORE = ".gitignore"


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
            lines = (folder / GITIGNORE).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        except OSError:
            return self
        return self.with_patterns(folder, lines)

    def with_patterns(self, folder: Path, patterns: Iterable[str]) -> Ignored:
        """Return these patterns and further ones, which count from a folder."""
        # Few runs need it, and it takes a twentieth of the time that a run on one file may take.
        from pathspec import GitIgnoreSpec  # noqa: PLC0415

        spec = GitIgnoreSpec.from_lines(patterns)
        for pattern in spec.patterns:
            if pattern.regex is not None:
                pattern.regex = re.compile(without_backtracking(pattern.regex.pattern))
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


#: What pathspec writes for ``*``, with what is behind it, before another; and for ``/**`` amid a pattern.
_STAR_BEFORE_STAR = re.compile(
    r"\[\^/\]\*((?:\\.|\[(?!\^/\]\*)\^?\]?(?:\\.|[^\]\\])*+\]|[^][\\/()])*+)(?=\[\^/\]\*)"
)
_FOLDERS = "(?:/.+)?"


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
